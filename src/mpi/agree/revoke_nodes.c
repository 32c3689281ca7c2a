/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Revocations by way of the daemons: reads the log of revocations on the board, and asks the daemon
 * about communicators whose entries may have been overwritten.
 */
#include "mpi/agree/revoke_nodes.h"

#include "base/random.h"
#include "mpi/comm/comm.h"
#include "mpi/engine/waiting.h"
#include "port/kill_point.h"

#include <stdlib.h>
#include <string.h>

static uint64_t seen; /* how many entries of the board's log were read */

enum rz_revoke_way rz_revoke_of_job(void)
{
    const char *way = getenv(RZ_REVOKE_ENVIRONMENT);
    return way && strcmp(way, "flat") == 0 ? RZ_REVOKE_FLAT : RZ_REVOKE_NODES;
}

uint64_t rz_revoke_number(const struct rz_comm *comm)
{
    uint32_t here = comm->group->process[0], there = comm->remote->process[0];
    return rz_comm_number(comm->context, here < there ? here : there);
}

void rz_revoke_tell(const struct rz_comm *comm)
{
    struct rz_link_message message = {.type = RZ_LINK_REVOKE,
                                      .revoke = {.revocation = rz_revoke_number(comm)}};
    rz_engine_tell_daemon(&message);
    rz_kill_here(RZ_KILL_REVOKE_TOLD);
}

static void ask(const struct rz_comm *comm)
{
    struct rz_link_message message = {.type = RZ_LINK_REVOKED_ASK,
                                      .revoked_ask = {.revocation = rz_revoke_number(comm)}};
    rz_engine_tell_daemon(&message);
}

/* The end of one communicator may free others: searches the list from its start again after
 * each. */
static void revoked(uint64_t revocation)
{
    struct rz_comm *comm = rz_comms_first();
    while (comm) {
        if (!comm->revoked && rz_revoke_number(comm) == revocation) {
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
    uint64_t max = board->revocations_max, number = rz_revoke_number(comm);
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
