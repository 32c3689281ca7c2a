/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the library's own operations: blocking and non-blocking ones over p2p.h, with a look
 * at failed members.
 */
#include "mpi/p2p/p2p_inside.h"

#include "mpi/p2p/inquiry.h"
#include "mpi/request/wait.h"

/* A message of an operation that continues in spite of a failed member: its peer may not take part
 * any more, and is asked. */
static inline void look_at_failures(const struct rz_comm *comm, struct rz_request *request)
{
    if (__builtin_expect(comm->collectives_failed, 0)) {
        rz_inquire(request);
    }
}

int rz_p2p_isend(const struct rz_p2p_message *message, struct rz_request **request)
{
    if (rz_p2p_inject(message)) {
        *request = NULL;
        return MPI_SUCCESS;
    }
    int error = rz_p2p_start_send(message, request);
    if (error == MPI_SUCCESS) {
        look_at_failures(message->comm, *request);
    }
    return error;
}

int rz_p2p_irecv(const struct rz_p2p_message *message, struct rz_request **request)
{
    int error = rz_p2p_start_recv(message, request);
    if (error == MPI_SUCCESS) {
        look_at_failures(message->comm, *request);
    }
    return error;
}

bool rz_p2p_done(struct rz_request **requests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (requests[i] && !requests[i]->complete) {
            return false;
        }
    }
    return true;
}

int rz_p2p_end(struct rz_request **requests, size_t n)
{
    int error = MPI_SUCCESS;
    for (size_t i = 0; i < n; i++) {
        if (!requests[i]) {
            continue;
        }
        error = error != MPI_SUCCESS ? error : requests[i]->error;
        rz_request_destroy(requests[i]);
        requests[i] = NULL;
    }
    return error;
}

struct set {
    struct rz_request **requests;
    size_t n, first; /* all before `first` are complete */
};

static bool set_done(void *arg)
{
    struct set *set = arg;
    while (set->first < set->n && rz_p2p_done(&set->requests[set->first], 1)) {
        set->first++;
    }
    return set->first == set->n;
}

int rz_p2p_wait(struct rz_request **requests, size_t n)
{
    struct set set = {.requests = requests, .n = n};
    if (!set_done(&set)) {
        const struct rz_request *request = requests[set.first];
        struct rz_blocked blocked = {.call = request->comm->call,
                                     .comm = request->comm,
                                     .operation = request->comm->operations,
                                     .peer = rz_wait_peer(request),
                                     .tag = request->tag};
        /* At a roll-back all of them have ended, so they can be destroyed here, too. */
        rz_engine_wait(&blocked, set_done, &set);
    }
    return rz_p2p_end(requests, n);
}

void rz_p2p_abandon(struct rz_request **requests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (requests[i]) {
            rz_request_detach(requests[i]);
            requests[i] = NULL;
        }
    }
}
