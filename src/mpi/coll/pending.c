/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of a collective operation: beginning, waiting, giving up. */
#include "mpi/coll/pending.h"

#include "mpi/p2p/inquiry.h"
#include "mpi/p2p/p2p_inside.h"
#include "mpi/request/wait.h"

void rz_pending_give_up(struct rz_pending *pending, int error)
{
    rz_pending_note(pending, error);
    if (error == MPI_ERR_PROC_FAILED && !pending->whole->collectives_failed) {
        /* The partner has ended in order, amid the operation. */
        rz_absence_tell_all(pending->whole, pending->tag);
    }
    for (size_t i = 0; i < pending->n; i++) {
        struct rz_request *request = pending->request[i];
        if (!request->complete && !(request->flags & RZ_REQUEST_SEND)) {
            request->class->cancel(request);
        }
    }
    pending->tells = pending->whole->collectives_failed;
    if (pending->gave_up) {
        pending->gave_up(pending);
    }
    struct rz_participation *all = rz_operation_find(pending->whole, pending->tag);
    if (all) {
        rz_operation_end(pending->whole, all);
    }
}

void rz_pending_tell(const struct rz_pending *pending, const struct rz_comm *comm, int peer)
{
    if (pending->tells && !rz_engine.rollback) {
        rz_absence_tell(comm, peer, pending->tag);
    }
}

/* The error of a message, if the operation needs the message. */
static int error_of_message(const struct rz_request *request)
{
    bool unneeded = request->flags & RZ_REQUEST_SEND && request->error == MPI_ERR_PROC_FAILED;
    return unneeded ? MPI_SUCCESS : request->error;
}

/* A message may have ended already. */
static void look_at(struct rz_pending *pending, const struct rz_request *request)
{
    int error = request->complete ? error_of_message(request) : MPI_SUCCESS;
    if (__builtin_expect(error == MPI_SUCCESS, 1)) {
        return;
    }
    if (error == MPI_ERR_TRUNCATE || pending->over || rz_engine.rollback) {
        rz_pending_note(pending, error);
    } else {
        rz_pending_give_up(pending, error);
    }
}

/* A message was begun with this result; request NULL: it has left. */
static inline void begun(struct rz_pending *pending, int error, struct rz_request *request)
{
    if (error != MPI_SUCCESS) {
        rz_pending_give_up(pending, error);
    } else if (request) {
        pending->request[pending->n++] = request;
        look_at(pending, request);
    }
}

void rz_pending_send(struct rz_pending *pending, const struct rz_p2p_message *message)
{
    struct rz_request *request = NULL;
    int error = rz_p2p_isend(message, &request);
    begun(pending, error, request);
}

void rz_pending_recv(struct rz_pending *pending, const struct rz_p2p_message *message)
{
    struct rz_request *request = NULL;
    int error = rz_p2p_irecv(message, &request);
    begun(pending, error, request);
}

/* If a pending message has failed already, the others are not waited for. */
static void look_for_failures(struct rz_pending *pending)
{
    for (size_t i = 0; i < pending->n && !pending->over; i++) {
        look_at(pending, pending->request[i]);
    }
}

bool rz_pending_is_settled(struct rz_pending *pending)
{
    if (__builtin_expect(pending->whole->collectives_failed, 0)) {
        look_for_failures(pending);
    }
    while (pending->complete < pending->n && pending->request[pending->complete]->complete) {
        pending->complete++;
    }
    return pending->complete == pending->n;
}

static bool is_settled(void *arg)
{
    return rz_pending_is_settled(arg);
}

void rz_pending_collect(struct rz_pending *pending)
{
    for (size_t i = 0; i < pending->n; i++) {
        look_at(pending, pending->request[i]);
    }
    for (size_t i = 0; i < pending->n; i++) {
        rz_request_destroy(pending->request[i]);
    }
    pending->n = pending->complete = 0;
}

static void wait_for_all(struct rz_pending *pending)
{
    const struct rz_request *request = pending->request[pending->complete];
    struct rz_blocked blocked = {.call = request->comm->call,
                                 .comm = request->comm,
                                 .operation = request->comm->operations,
                                 .peer = rz_wait_peer(request),
                                 .tag = request->tag};
    /* At a roll-back all of them have ended, so they can be destroyed, too. */
    rz_engine_wait(&blocked, is_settled, pending);
}

/* Mostly the first round of progress ends the wait. */
void rz_pending_settle(struct rz_pending *pending)
{
    if (!rz_pending_is_settled(pending) &&
        (rz_engine_progress_waiting() == 0 || !rz_pending_is_settled(pending))) {
        wait_for_all(pending);
    }
    rz_pending_collect(pending);
}
