/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool of requests, and the list of active ones: making, activating, completing and ending
 * them.
 */
#include "mpi/request/request.h"

#include "mpi/request/bounce.h"

#include <stdlib.h>

#define CHUNK 64

/* Memory comes in chunks that stay until the process ends; free requests are linked by `next`. */
static struct chunk {
    struct chunk *next;
    struct rz_request requests[CHUNK];
} * chunks;
static struct rz_request *free_first;

static bool pool_grow(void)
{
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    if (!chunk) {
        return false;
    }
    chunk->next = chunks;
    chunks = chunk;
    for (int i = CHUNK - 1; i >= 0; i--) {
        chunk->requests[i].next = free_first;
        free_first = &chunk->requests[i];
    }
    return true;
}

struct rz_request *rz_request_new(const struct rz_request_class *class, struct rz_comm *comm)
{
    if (!free_first && !pool_grow()) {
        return NULL;
    }
    struct rz_request *request = free_first;
    free_first = request->next;
    rz_request_init(request, class, comm);
    return request;
}

static void list_put(struct rz_request **list, struct rz_request *request)
{
    request->poll_prev = NULL;
    request->poll_next = *list;
    if (request->poll_next) {
        request->poll_next->poll_prev = request;
    }
    *list = request;
}

static void list_take(struct rz_request **list, struct rz_request *request)
{
    *(request->poll_prev ? &request->poll_prev->poll_next : list) = request->poll_next;
    if (request->poll_next) {
        request->poll_next->poll_prev = request->poll_prev;
    }
}

static void poll_link(struct rz_request **list, struct rz_request *request)
{
    list_put(list, request);
    rz_work_set(RZ_WORK_POLL, true);
}

static void poll_unlink(struct rz_request **list, struct rz_request *request)
{
    list_take(list, request);
    rz_work_set(RZ_WORK_POLL, rz_engine.polled || rz_engine.woken);
}

static void sleep_again(struct rz_request *request)
{
    request->flags &= ~(uint32_t)RZ_REQUEST_WOKEN;
    poll_unlink(&rz_engine.woken, request);
}

void rz_request_activate(struct rz_request *request)
{
    rz_assert(!request->active && !request->complete);
    request->active = true;
    request->prev = NULL;
    request->next = rz_engine.active;
    if (request->next) {
        request->next->prev = request;
    }
    rz_engine.active = request;
    if (request->class->poll && !request->class->polled_for_parts) {
        poll_link(&rz_engine.polled, request);
    }
}

static void poll_no_more(struct rz_request *request)
{
    if (request->flags & RZ_REQUEST_WOKEN) {
        sleep_again(request);
    } else if (!request->class->polled_for_parts) {
        poll_unlink(&rz_engine.polled, request);
    }
}

static void deactivate(struct rz_request *request)
{
    request->active = false;
    *(request->prev ? &request->prev->next : &rz_engine.active) = request->next;
    if (request->next) {
        request->next->prev = request->prev;
    }
    if (request->class->poll) {
        poll_no_more(request);
    }
}

void rz_request_part_of(struct rz_request *message, struct rz_request *whole)
{
    rz_assert(!message->complete && !message->state && whole->class->polled_for_parts);
    message->flags |= RZ_REQUEST_PART;
    message->state = whole;
}

void rz_request_asks(struct rz_request *message)
{
    if (!(message->flags & RZ_REQUEST_ASKS)) {
        message->flags |= RZ_REQUEST_ASKS;
        list_put(&rz_engine.asking, message);
    }
}

void rz_request_asks_no_more(struct rz_request *message)
{
    message->flags &= ~(uint32_t)RZ_REQUEST_ASKS;
    list_take(&rz_engine.asking, message);
}

/* Its first message may complete before it is active itself: what begins it looks at that. */
void rz_request_wake(struct rz_request *whole)
{
    if (whole->active && !(whole->flags & RZ_REQUEST_WOKEN)) {
        whole->flags |= RZ_REQUEST_WOKEN;
        poll_link(&rz_engine.woken, whole);
    }
}

/* What few requests have ends with them. */
static void complete_more(struct rz_request *request)
{
    if (request->flags & RZ_REQUEST_ASKS) {
        rz_request_asks_no_more(request);
    }
    if (request->flags & RZ_REQUEST_PART) {
        rz_request_wake(request->state);
    }
    if (request->serial != 0 || request->flags & RZ_REQUEST_BSEND) {
        request->class->ended(request);
    }
    free(request->packed);
    request->packed = NULL;
    if (request->bounces && request->error != RZM_ROLLBACK) {
        rz_bounces_empty(request->bounces);
    }
    if (request->flags & RZ_REQUEST_DETACHED) {
        rz_request_destroy(request);
    }
}

void rz_request_complete(struct rz_request *request, int error)
{
    rz_assert(!request->complete && !(request->flags & (RZ_REQUEST_NETWORK | RZ_REQUEST_POSTED)));
    if (request->active) {
        deactivate(request);
    }
    request->complete = true;
    request->error = error;
    request->pending_error = MPI_SUCCESS;
    rz_engine.completions++;
    rz_engine.troubles += error != MPI_SUCCESS;
    uint32_t more = request->flags &
                    (RZ_REQUEST_BSEND | RZ_REQUEST_DETACHED | RZ_REQUEST_PART | RZ_REQUEST_ASKS);
    bool owns = request->packed || request->bounces;
    if (__builtin_expect(more != 0 || request->serial != 0 || owns, 0)) {
        complete_more(request);
    }
}

int rzm_bounce_bind(struct rz_bounce **bounce, struct rz_request *request)
{
    struct rz_bounce *alone = NULL;
    bool ended = request->complete && !(request->flags & RZ_REQUEST_PERSISTENT);
    int error = rz_bounces_add(ended ? &alone : &request->bounces, bounce);
    if (alone) {
        rz_bounces_empty(alone);
        rz_bounces_free(alone);
    }
    return error;
}

void rz_request_clear(struct rz_request *request)
{
    rz_assert(!request->active);
    if (request->class->destroy) {
        request->class->destroy(request);
    }
    if (request->comm) {
        rz_comm_release(request->comm);
    }
    if (request->datatype) {
        rz_datatype_release(request->datatype);
    }
    if (request->packed) {
        free(request->packed);
        request->packed = NULL;
    }
    if (request->bounces) {
        rz_bounces_free(request->bounces);
        request->bounces = NULL;
    }
}

void rz_request_destroy(struct rz_request *request)
{
    if (request->flags & RZ_REQUEST_SHARED) {
        return;
    }
    rz_request_clear(request);
    bool last = rz_object_release(&request->object);
    rz_assert(last);
    request->next = free_first;
    free_first = request;
}

void rz_request_detach(struct rz_request *request)
{
    if (request->active) {
        request->flags |= RZ_REQUEST_DETACHED;
    } else {
        rz_request_destroy(request);
    }
}

struct rz_comm *rz_request_comm(const struct rz_request *request)
{
    return request->comm;
}

void rz_requests_abandon(void)
{
    struct rz_request *request;
    while ((request = rz_engine.active) != NULL) {
        /* A transport that was destroyed holds none of this memory any more. */
        request->flags &= ~(uint32_t)RZ_REQUEST_NETWORK;
        if (request->class->abandon) {
            request->class->abandon(request);
        }
        rz_request_complete(request, RZM_ROLLBACK);
    }
}

/* Handles of an epoch refer to no other request until the end of the next epoch: requests that
 * ended in the epoch before are free for use again, those that end now are not yet. */
void rz_requests_close(void)
{
    static struct rz_request *ended_last;
    struct rz_request *free_now = free_first, **end = &ended_last;
    while (*end) {
        end = &(*end)->next;
    }
    *end = free_now;
    free_now = ended_last;
    free_first = NULL;
    for (struct chunk *chunk = chunks; chunk; chunk = chunk->next) {
        for (int i = 0; i < CHUNK; i++) {
            struct rz_request *request = &chunk->requests[i];
            if (rz_object_is(request, RZ_OBJECT_REQUEST) && !request->active) {
                rz_request_destroy(request);
            }
        }
    }
    ended_last = free_first;
    free_first = free_now;
}

/* ---- Shared requests ---- */

static const struct rz_request_class done_class = {.name = "nothing"};

#define DONE(source)                                                                               \
    {                                                                                              \
        .object = {.magic = RZ_OBJECT_MAGIC + RZ_OBJECT_REQUEST, .references = 1},                 \
        .class = &done_class, .flags = RZ_REQUEST_SHARED, .complete = true,                        \
        .status = {.MPI_SOURCE = (source), .MPI_TAG = MPI_ANY_TAG},                                \
    }

struct rz_request rz_request_done = DONE(MPI_ANY_SOURCE);
struct rz_request rz_request_no_proc = DONE(MPI_PROC_NULL);

/* ---- For the engine ---- */

static unsigned poll_requests(void)
{
    uint64_t before = rz_engine.completions;
    struct rz_request *next;
    rz_engine.within++;
    for (struct rz_request *request = rz_engine.polled; request; request = next) {
        next = request->poll_next;
        request->class->poll(request);
    }
    while (rz_engine.woken) {
        struct rz_request *request = rz_engine.woken;
        sleep_again(request);
        request->class->poll(request);
    }
    rz_engine.within--;
    return (unsigned)(rz_engine.completions - before);
}

bool rz_requests_sent(uint64_t session)
{
    for (const struct rz_request *request = rz_engine.active; request; request = request->next) {
        bool counts =
            session == RZ_SESSION_ANY || !request->comm || request->comm->group->session == session;
        if (counts && request->flags & (RZ_REQUEST_SEND | RZ_REQUEST_NETWORK)) {
            return false;
        }
    }
    return true;
}

const struct rz_hooks rz_request_hooks = {
    .work = {[RZ_WORK_POLL] = poll_requests},
    .abandon = rz_requests_abandon,
    .discard = rz_requests_close,
};
