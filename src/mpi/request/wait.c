/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Wait, MPI_Test and variants; freeing and cancelling. */
#include "mpi/request/wait.h"

#include "mpi/request/bounce.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- One request ---- */

static bool is_inactive(const struct rz_request *request)
{
    return !request->active && !request->complete;
}

/* Whether it is complete, or has an error that a call must report. */
static bool has_news(struct rz_request *request)
{
    if (request->complete) {
        return true;
    }
    if (__builtin_expect(request->pending_error != MPI_SUCCESS, 0)) {
        request->class->look_again(request);
    }
    return request->complete || request->pending_error != MPI_SUCCESS;
}

static bool one_has_news(void *arg)
{
    return has_news(arg);
}

int64_t rz_wait_peer(const struct rz_request *request)
{
    struct rz_blocked blocked = {.peer = MPI_ANY_SOURCE};
    if (request->class->waits_for) {
        request->class->waits_for(request, &blocked);
    }
    return blocked.peer;
}

/* Sets what a wait for the request waits for. */
static void tell_of(struct rz_blocked *blocked, const struct rz_request *request)
{
    blocked->comm = request->comm;
    blocked->operation = 0;
    blocked->peer = MPI_ANY_SOURCE;
    blocked->tag = MPI_ANY_TAG;
    if (request->class->waits_for) {
        request->class->waits_for(request, blocked);
    }
}

static void tell_of_one(struct rz_blocked *blocked, const void *arg)
{
    tell_of(blocked, arg);
}

/* The rest of wait_for. */
static int wait_long(struct rz_request *request, const char *call)
{
    return rz_engine_wait(&(struct rz_blocked){.call = call, .look = tell_of_one}, one_has_news,
                          request);
}

/* Waits until request is complete or has a pending_error (ANY_SOURCE and a failure): MPI_SUCCESS,
 * whatever its error, or RZM_ROLLBACK. call: for reports of hanging calls. The request is kept.
 * Mostly the first round of progress ends the wait. */
static inline int wait_for(struct rz_request *request, const char *call)
{
    if (request->complete) {
        rz_engine_quick();
    }
    if (request->complete || (rz_engine_progress_waiting() > 0 && request->complete)) {
        return rz_engine.rollback ? RZM_ROLLBACK : MPI_SUCCESS;
    }
    return wait_long(request, call);
}

void rz_wait_copy_status(const struct rz_request *request, MPI_Status *status)
{
    int error = status->MPI_ERROR;
    *status = request->status;
    status->MPI_ERROR = error;
}

/* As wait_for, then sets *status; returns the error of the request as well. */
static inline int wait_result(struct rz_request *request, const char *call, MPI_Status *status)
{
    int error = wait_for(request, call);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (status) {
        rz_wait_copy_status(request, status);
    }
    return request->error;
}

int rz_wait_clear(struct rz_request *request, const char *call, MPI_Status *status)
{
    int error = wait_result(request, call, status);
    rz_request_clear(request);
    return error;
}

int rz_wait_end(struct rz_request *request, const char *call, MPI_Status *status)
{
    int error = wait_result(request, call, status);
    if (error != RZM_ROLLBACK) {
        rz_request_destroy(request);
    }
    return error;
}

void rz_wait_blame(struct rz_blame *blame, int error, const struct rz_request *request)
{
    if (blame && blame->error == MPI_SUCCESS) {
        blame->error = error;
        blame->comm = request->comm;
        if (blame->comm) {
            rz_comm_retain(blame->comm);
        }
    }
}

int rz_wait_cause(const struct rz_blame *blame)
{
    return blame->error == MPI_SUCCESS ? MPI_SUCCESS
                                       : rzm_error_in_status(blame->error, blame->comm);
}

/* Ends the use of a request that is complete or has an error to report. Returns its error, which
 * `blame` records; the user's handle becomes null, or the request inactive. */
static inline int harvest(MPI_Request *handle, struct rz_request *request, MPI_Status *status,
                          struct rz_blame *blame)
{
    if (!request->complete) { /* stays active and may still match */
        rz_wait_blame(blame, request->pending_error, request);
        return request->pending_error;
    }
    int error = request->error;
    bool stays = request->flags & RZ_REQUEST_PERSISTENT;
    if (!stays) { /* before a function of the program runs, which might end it, too */
        *handle = MPI_REQUEST_NULL;
    }
    if (error == MPI_SUCCESS && request->class->query) {
        error = request->class->query(request, true);
    }
    if (error != MPI_SUCCESS) {
        rz_wait_blame(blame, error, request);
    }
    if (status) {
        rz_wait_copy_status(request, status);
    }
    if (stays) {
        request->complete = false;
    } else {
        rz_request_destroy(request);
    }
    return error;
}

void rz_wait_empty_status(MPI_Status *status)
{
    if (status) {
        rz_status_set_empty(status);
        status->MPI_ERROR = MPI_SUCCESS;
    }
}

int rzm_wait(MPI_Request *handle, MPI_Status *status)
{
    int error = rz_engine_begin();
    struct rz_request *request = rz_request_of(*handle);
    if (error != MPI_SUCCESS || !request || is_inactive(request)) {
        rz_wait_empty_status(status);
        return error;
    }
    error = wait_for(request, "MPI_Wait");
    return error != MPI_SUCCESS ? error : harvest(handle, request, status, NULL);
}

/* Makes progress unless has(arg) is true already; returns has(arg) afterwards. */
static bool look(bool (*has)(void *arg), void *arg)
{
    if (has(arg)) {
        return true;
    }
    if (rz_engine_progress() == 0 && rz_engine_yields()) {
        rz_engine_yield();
    }
    return has(arg);
}

int rzm_test(MPI_Request *handle, int *flag, MPI_Status *status)
{
    int error = rz_engine_begin();
    struct rz_request *request = rz_request_of(*handle);
    if (error != MPI_SUCCESS || !request || is_inactive(request)) {
        rz_wait_empty_status(status);
        *flag = 1;
        return error;
    }
    *flag = look(one_has_news, request);
    if (rz_engine.rollback) {
        return RZM_ROLLBACK;
    }
    return *flag ? harvest(handle, request, status, NULL) : MPI_SUCCESS;
}

/* ---- Several requests ---- */

struct many {
    MPI_Request *handles;
    int n, from;        /* the one that is looked at first */
    uint64_t looked_at; /* completions at the last look, plus one */
    bool all;           /* all must be complete; an error of one also ends the wait */
    int found;          /* if not all: the first with news; MPI_UNDEFINED: none */
    bool have_news;     /* at the last look */
    bool calm;         /* if all: at the last look at each of them none had an error, and so many */
    uint64_t troubles; /* requests of this process had got one */
    int done;          /* if all and calm: this many of the first are complete */
};

/* Looks at each request. */
static void look_at_all(struct many *many)
{
    bool complete = true;
    many->found = MPI_UNDEFINED;
    many->have_news = false;
    for (int k = 0, i = many->from; k < many->n && !many->have_news; k++, i++) {
        i = i < many->n ? i : 0;
        struct rz_request *request = rz_request_of(many->handles[i]);
        if (!request || is_inactive(request)) {
            continue;
        }
        bool news = has_news(request);
        complete = complete && news;
        if (news && (!many->all || !request->complete || request->error != MPI_SUCCESS)) {
            many->found = i;
            many->have_news = true;
        }
    }
    many->calm = many->all && !many->have_news;
    many->troubles = rz_engine.troubles;
    many->have_news = many->have_news || (many->all && complete);
}

/* As long as no request gets an error only the first that is not complete matters. */
static void look_further(struct many *many)
{
    const struct rz_request *request;
    while (many->done < many->n &&
           ((request = rz_request_of(many->handles[many->done])) == NULL || !request->active)) {
        many->done++;
    }
    many->have_news = many->done == many->n;
}

/* Checks the requests again only when something has completed since the last look. */
static bool many_have_news(void *arg)
{
    struct many *many = arg;
    if (many->looked_at == rz_engine.completions + 1) {
        return many->have_news;
    }
    many->looked_at = rz_engine.completions + 1;
    if (many->calm && many->troubles == rz_engine.troubles) {
        look_further(many);
    } else {
        look_at_all(many);
    }
    return many->have_news;
}

/* Finds the first request that is active; false: none is. */
static bool any_active(struct many *many)
{
    for (int k = 0, i = many->from; k < many->n; k++, i++) {
        i = i < many->n ? i : 0;
        struct rz_request *request = rz_request_of(many->handles[i]);
        if (request && !is_inactive(request)) {
            many->from = i;
            return true;
        }
    }
    return false;
}

/* Reports the first request that has no news, and whether the news of another one will do. */
static void tell_of_many(struct rz_blocked *blocked, const void *arg)
{
    const struct many *many = arg;
    bool told = false;
    for (int i = 0; i < many->n && !(told && many->all); i++) {
        const struct rz_request *request = rz_request_of(many->handles[i]);
        if (!request || !request->active || request->complete) {
            continue;
        }
        if (told) {
            blocked->others = true;
            return;
        }
        tell_of(blocked, request);
        told = true;
    }
}

/* A round of progress may bring one message only. Where a look is long, all that has arrived is
 * taken before it: the next calls find their requests complete, and look at those only. (A wait for
 * all goes on where its last look has ended; a test begins at the first request each time.) */
#define MANY_LONG 64
#define MANY_ROUND 16 /* a round takes no longer than a look at so many requests */

static void take_arrived(const struct many *many)
{
    int rounds = many->n < MANY_LONG ? 0 : many->n / MANY_ROUND;
    while (rounds > 0 && !rz_engine.rollback && rz_engine_progress() > 0) {
        rounds--;
    }
}

static int wait_many(struct many *many, const char *call)
{
    struct rz_blocked blocked = {
        .call = call, .peer = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG, .look = tell_of_many};
    bool news = many_have_news(many);
    if (!news && !many->all) {
        take_arrived(many);
        news = many_have_news(many);
    }
    return news && !rz_engine.rollback ? MPI_SUCCESS
                                       : rz_engine_wait(&blocked, many_have_news, many);
}

/* As look. */
static bool look_many(struct many *many)
{
    bool news = many_have_news(many);
    if (!news) {
        take_arrived(many);
    }
    return news || look(many_have_news, many);
}

/* Ends the use of one of several requests that has news: its error goes into the status as well,
 * and `blame` records it. */
static void harvest_one(MPI_Request *handle, struct rz_request *request, MPI_Status *status,
                        struct rz_blame *blame)
{
    int error = harvest(handle, request, status, blame);
    if (status) {
        status->MPI_ERROR = error;
    }
}

/* Requests without news get MPI_ERR_PENDING, which is no error of their own: another request has
 * one. */
static int harvest_all(int count, MPI_Request *handles, MPI_Status *statuses)
{
    struct rz_blame blame = {0};
    for (int i = 0; i < count; i++) {
        MPI_Status *status = statuses ? &statuses[i] : NULL;
        struct rz_request *request = rz_request_of(handles[i]);
        if (!request || is_inactive(request)) {
            rz_wait_empty_status(status);
        } else if (has_news(request)) {
            harvest_one(&handles[i], request, status, &blame);
        } else if (status) {
            status->MPI_ERROR = MPI_ERR_PENDING;
        }
    }
    return rz_wait_cause(&blame);
}

int rzm_waitall(int count, MPI_Request *handles, MPI_Status *statuses)
{
    int error = rz_engine_begin();
    struct many many = {.handles = handles, .n = count, .all = true};
    if (error == MPI_SUCCESS) {
        error = wait_many(&many, "MPI_Waitall");
    }
    return error != MPI_SUCCESS ? error : harvest_all(count, handles, statuses);
}

int rzm_testall(int count, MPI_Request *handles, int *flag, MPI_Status *statuses)
{
    int error = rz_engine_begin();
    struct many many = {.handles = handles, .n = count, .all = true};
    if (error != MPI_SUCCESS) {
        return error;
    }
    *flag = look_many(&many);
    if (rz_engine.rollback) {
        return RZM_ROLLBACK;
    }
    return *flag ? harvest_all(count, handles, statuses) : MPI_SUCCESS;
}

/*
 * A program ends many requests one by one in a loop over one array. The last array of MPI_Waitany
 * and MPI_Testany, and where the next call begins to look: else each call would look at all
 * requests that have ended, and at all that are pending before the next. It is only a hint.
 */
static struct {
    const MPI_Request *handles;
    MPI_Count n;
    int next;
} any_last;

static struct many many_any(int count, MPI_Request *handles)
{
    bool again = handles == any_last.handles && count == any_last.n;
    return (struct many){.handles = handles, .n = count, .from = again ? any_last.next : 0};
}

/* Ends the use of the request that was found. */
static int harvest_any(const struct many *many, int *indx, MPI_Status *status)
{
    int i = many->found;
    any_last.handles = many->handles;
    any_last.n = many->n;
    any_last.next = i + 1 < many->n ? i + 1 : 0;
    *indx = i;
    return harvest(&many->handles[i], rz_request_of(many->handles[i]), status, NULL);
}

/* The request of a handle that nothing has looked at yet; NULL: it is none, or an error. */
static struct rz_request *unchecked(MPI_Request handle)
{
    uintptr_t value = (uintptr_t)handle;
    struct rz_request *request = (struct rz_request *)handle;
    bool is_pointer = value >= RZ_HANDLE_PREDEFINED_END && value % sizeof(void *) == 0;
    return is_pointer && rz_object_is(request, RZ_OBJECT_REQUEST) ? request : NULL;
}

static bool may_begin(void)
{
    bool plain = rz_phase == RZ_PHASE_RUNNING && !rz_engine_shared;
#if RZ_GROUP
    plain = plain && !atomic_load_explicit(&rz_monitors_untold, memory_order_relaxed);
#endif
    return plain && rz_engine_begin_calm();
}

/* The array is the last one, and a request has ended with nothing to report: the next one in turn.
 * What was not found once is not looked for again. */
bool rzm_waitany_short(MPI_Count count, MPI_Request *requests, int *indx, MPI_Status *status)
{
    if (!requests || requests != any_last.handles || count != any_last.n || !indx || !may_begin()) {
        return false;
    }
    struct many many = many_any((int)count, requests);
    for (int k = 0, i = many.from; k < many.n; k++, i++) {
        i = i < many.n ? i : 0;
        if (requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        const struct rz_request *request = unchecked(requests[i]);
        bool plain = request && request->error == MPI_SUCCESS && !request->class->query;
        if (!request || (request->complete && !plain)) {
            return false;
        }
        if (request->complete) {
            many.found = i;
            harvest_any(&many, indx, status);
            return true;
        }
    }
    any_last.handles = NULL;
    return false;
}

bool rzm_testany_short(MPI_Count count, MPI_Request *requests, int *indx, int *flag,
                       MPI_Status *status)
{
    return flag && rzm_waitany_short(count, requests, indx, status) && (*flag = 1);
}

int rzm_waitany(int count, MPI_Request *handles, int *indx, MPI_Status *status)
{
    int error = rz_engine_begin();
    struct many many = many_any(count, handles);
    if (error != MPI_SUCCESS) {
        return error;
    }
    *indx = MPI_UNDEFINED;
    if (!any_active(&many)) {
        rz_wait_empty_status(status);
        return MPI_SUCCESS;
    }
    error = wait_many(&many, "MPI_Waitany");
    return error != MPI_SUCCESS ? error : harvest_any(&many, indx, status);
}

int rzm_testany(int count, MPI_Request *handles, int *indx, int *flag, MPI_Status *status)
{
    int error = rz_engine_begin();
    struct many many = many_any(count, handles);
    if (error != MPI_SUCCESS) {
        return error;
    }
    *indx = MPI_UNDEFINED;
    if (!any_active(&many)) {
        rz_wait_empty_status(status);
        *flag = 1;
        return MPI_SUCCESS;
    }
    *flag = look_many(&many);
    if (rz_engine.rollback) {
        return RZM_ROLLBACK;
    }
    return *flag ? harvest_any(&many, indx, status) : MPI_SUCCESS;
}

static int harvest_some(int count, MPI_Request *handles, int *outcount, int *indices,
                        MPI_Status *statuses)
{
    struct rz_blame blame = {0};
    *outcount = 0;
    for (int i = 0; i < count; i++) {
        struct rz_request *request = rz_request_of(handles[i]);
        if (!request || is_inactive(request) || !has_news(request)) {
            continue;
        }
        MPI_Status *status = statuses ? &statuses[*outcount] : NULL;
        harvest_one(&handles[i], request, status, &blame);
        indices[(*outcount)++] = i;
    }
    return rz_wait_cause(&blame);
}

/* MPI_Waitsome, or (waits: false) MPI_Testsome. */
static int some(bool waits, int incount, MPI_Request *handles, int *outcount, int indices[],
                MPI_Status *statuses)
{
    int error = rz_engine_begin();
    struct many many = {.handles = handles, .n = incount};
    if (error != MPI_SUCCESS) {
        return error;
    }
    *outcount = MPI_UNDEFINED;
    if (!any_active(&many)) {
        return MPI_SUCCESS;
    }
    if (waits) {
        error = wait_many(&many, "MPI_Waitsome");
    } else {
        look_many(&many);
        error = rz_engine.rollback ? RZM_ROLLBACK : MPI_SUCCESS;
    }
    return error != MPI_SUCCESS ? error
                                : harvest_some(incount, handles, outcount, indices, statuses);
}

int rzm_waitsome(int incount, MPI_Request *handles, int *outcount, int indices[],
                 MPI_Status *statuses)
{
    return some(true, incount, handles, outcount, indices, statuses);
}

int rzm_testsome(int incount, MPI_Request *handles, int *outcount, int indices[],
                 MPI_Status *statuses)
{
    return some(false, incount, handles, outcount, indices, statuses);
}

/* ---- Starting, freeing, cancelling ---- */

static bool is_startable(const struct rz_request *request)
{
    return request && (request->flags & RZ_REQUEST_PERSISTENT) && is_inactive(request);
}

/* Reports why the request cannot be started. name: of the argument. */
static int refuse_start(const struct rz_request *request, const char *name)
{
    return rzm_error(MPI_ERR_REQUEST, "%s %s", name,
                     !request                                    ? "is the null handle"
                     : !(request->flags & RZ_REQUEST_PERSISTENT) ? "is not persistent"
                                                                 : "is active, it was started "
                                                                   "already");
}

static int start_one(struct rz_request *request)
{
    if (request->bounces) {
        rz_bounces_fill(request->bounces);
    }
    return request->class->start(request);
}

int rzm_start(struct rz_request *request)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS && !is_startable(request)) {
        error = refuse_start(request, "request");
    }
    return error != MPI_SUCCESS ? error : start_one(request);
}

/* If one request cannot be started, none is. But of a request that is listed twice, the first entry
 * is started. */
int rzm_startall(int count, MPI_Request *handles)
{
    int error = rz_engine_begin();
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < count && error == MPI_SUCCESS; i++) {
            struct rz_request *request = rz_request_of(handles[i]);
            if (!is_startable(request)) {
                char name[48];
                snprintf(name, sizeof(name), "array_of_requests[%d]", i);
                error = refuse_start(request, name);
            } else if (pass == 1) {
                error = start_one(request);
            }
        }
    }
    return error;
}

int rzm_request_free(struct rz_request *request)
{
    bool persistent = request->flags & RZ_REQUEST_PERSISTENT;
    if (request->class->waited_for && request->active && !persistent) {
        return rzm_error(
            MPI_ERR_REQUEST,
            "request is an active collective operation: wait for it, it cannot be freed");
    }
    rz_request_detach(request);
    return MPI_SUCCESS;
}

int rzm_cancel(struct rz_request *request)
{
    int error;
    if (request->class->waited_for) {
        return rzm_error(MPI_ERR_REQUEST, "request is a %s, which cannot be cancelled",
                         request->class->name);
    }
    if (rz_grequest_cancel(request, &error)) {
        return error;
    }
    if (request->active && request->class->cancel) {
        request->class->cancel(request);
    }
    return MPI_SUCCESS;
}

/* ---- What a status says ---- */

int rzm_get_count(const MPI_Status *status, struct rz_datatype *datatype, MPI_Count *count)
{
    MPI_Count bytes = rz_status_bytes(status), size = datatype->size;
    if (size == 0) {
        *count = 0;
    } else {
        *count = bytes % size == 0 ? bytes / size : MPI_UNDEFINED;
    }
    return MPI_SUCCESS;
}
