/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Comm_revoke (ULFM): marks the communicator first, then tells the other members. By way of
 * the daemons: reads the log of revocations on the board, and asks the daemon about communicators
 * whose entries may have been overwritten.
 */
#include "mpi/agree/comm_revoke.h"

#include "base/trace.h"
#include "mpi/agree/agreement_context.h"
#include "mpi/comm/comm_hints.h"
#include "mpi/engine/waiting.h"
#include "port/kill_point.h"

#include <stdlib.h>
#include <string.h>

/* ---- By way of the daemons ---- */

static uint64_t seen; /* how many entries of the board's log were read */

/* What is passed on is a number made of the communicator's context, the epoch and its first member:
 * context ids are unique among the communicators of a process, and this number among all of the
 * job. */
static uint64_t revocation_of(const struct rz_comm *comm)
{
    uint32_t here = comm->group->process[0], there = comm->remote->process[0];
    return rz_comm_number(comm->context, here < there ? here : there);
}

/* Does not return when the daemon is gone: the process ends then. */
static void tell_daemon(const struct rz_comm *comm)
{
    struct rz_link_message message = {.type = RZ_LINK_REVOKE,
                                      .revoke = {.revocation = revocation_of(comm)}};
    rz_engine_tell_daemon(&message);
    rz_kill_here(RZ_KILL_REVOKE_TOLD);
}

static void ask(const struct rz_comm *comm)
{
    struct rz_link_message message = {.type = RZ_LINK_REVOKED_ASK,
                                      .revoked_ask = {.revocation = revocation_of(comm)}};
    rz_engine_tell_daemon(&message);
}

/* The end of one communicator may free others: searches the list from its start again after
 * each. */
static void revoked(uint64_t revocation)
{
    struct rz_comm *comm = rz_comms_first();
    while (comm) {
        if (!comm->revoked && revocation_of(comm) == revocation) {
            rz_comm_revoked(comm);
            comm = rz_comms_first();
        } else {
            comm = comm->next;
        }
    }
}

/* Any entry of the log, also one that is written while it is read, is a revocation. For entries
 * that were overwritten before they were read, the daemon is asked. */
void rz_revoke_look(void)
{
    const struct rz_board *board = rz_engine.board;
    uint64_t count = atomic_load_explicit(&board->revocations, memory_order_acquire);
    uint64_t from = seen, max = board->revocations_max;
    if (count == from || rz_engine.rollback) {
        return;
    }
    seen = count;
    for (uint64_t i = count - from > max ? count - max : from; i < count; i++) {
        revoked(atomic_load_explicit(&board->revocation[i % max], memory_order_acquire));
    }
    /* The next entry takes the place of the oldest one, and may be half written. */
    if (atomic_load_explicit(&board->revocations, memory_order_relaxed) - from < max) {
        return;
    }
    for (const struct rz_comm *comm = rz_comms_first(); comm; comm = comm->next) {
        if (!comm->revoked) {
            ask(comm);
        }
    }
}

void rz_revoke_comm_begun(struct rz_comm *comm)
{
    const struct rz_board *board = rz_engine.board;
    uint64_t count = atomic_load_explicit(&board->revocations, memory_order_acquire);
    if (count == 0 || comm->revoked || rz_engine.rollback) {
        return;
    }
    uint64_t max = board->revocations_max, number = revocation_of(comm);
    for (uint64_t i = 0; i < count && i < max; i++) {
        if (atomic_load_explicit(&board->revocation[i], memory_order_acquire) == number) {
            rz_comm_revoked(comm);
            return;
        }
    }
    if (atomic_load_explicit(&board->revocations, memory_order_relaxed) >= max) {
        ask(comm);
    }
}

static void on_revoked(void *arg, const struct rz_link_message *message, const int *fds,
                       unsigned n_fds)
{
    (void)arg;
    rz_engine_close_fds(fds, n_fds);
    if (!rz_engine.rollback) {
        revoked(message->revoked.revocation);
    }
}

void rz_revoke_open(void)
{
    seen = atomic_load_explicit(&rz_engine.board->revocations, memory_order_acquire);
    rz_link_handle(rz_engine.link, RZ_LINK_REVOKED, on_revoked, NULL);
}

/* ---- Revoking ---- */

static enum rz_revoke_way way_of_job(void)
{
    const char *way = getenv(RZ_REVOKE_ENVIRONMENT);
    return way && strcmp(way, "flat") == 0 ? RZ_REVOKE_FLAT : RZ_REVOKE_NODES;
}

enum rz_revoke_way rz_comm_revoke_way(const struct rz_comm *comm)
{
    unsigned value = rz_comm_hint(comm, RZ_HINT_REVOKE);
    return value == 0 ? way_of_job() : value == 1 ? RZ_REVOKE_NODES : RZ_REVOKE_FLAT;
}

int rz_comm_revoke(struct rz_comm *comm)
{
    if (comm->revoked) {
        return MPI_SUCCESS;
    }
    RZ_TRACE(REVOKE, comm->context, 0, 0);
    rz_comm_revoked(comm);
    rz_kill_here(RZ_KILL_REVOKED);
    bool single = comm->remote == comm->group && comm->group->size == 1;
    if (single || rz_engine.info->alone) {
        return MPI_SUCCESS; /* no other process has it */
    }
    if (rz_comm_revoke_way(comm) == RZ_REVOKE_FLAT || !rz_engine_fault_tolerant()) {
        return rz_agreement_context_revoke(comm);
    }
    tell_daemon(comm);
    return MPI_SUCCESS;
}

void rz_comm_look_at_range(struct rz_comm *comm)
{
    enum rz_error_range range = rz_comm_error_range(comm);
    bool concerned = (range == RZ_RANGE_UNIVERSE && rz_liveness.n_failed > 0) ||
                     (range == RZ_RANGE_GROUP && rz_comm_failed(comm) > 0);
    if (concerned && !comm->inter) {
        rz_comm_revoke(comm);
    }
}

/* A revocation ends requests, the last of which may hold the last reference to the communicator. */
void rz_comms_look_at_ranges(void)
{
    struct rz_comm *next;
    for (struct rz_comm *comm = rz_comms_first(); comm; comm = next) {
        rz_comm_retain(comm);
        rz_comm_look_at_range(comm);
        next = comm->next;
        rz_comm_release(comm);
    }
}

int rzm_comm_revoke(struct rz_comm *comm)
{
    int error = rz_engine_begin();
    return error != MPI_SUCCESS ? error : rz_comm_revoke(comm);
}
