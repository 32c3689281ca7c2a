/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Abort: ends the processes of a communicator, or the job.
 */
#include "mpi/comm/comm.h"
#include "base/trace.h"
#include "mpi/engine/waiting.h"
#include "port/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The daemon ends this process as well; if it does not within this time, the process ends by
 * itself. */
#define ABORT_MAX (2 * RZ_SECOND)

/* So many fit into one message of the link. */
enum { PAIRS_MAX = 4096 };

static bool is_world_of_the_job(const struct rz_comm *comm)
{
    return comm->object.predefined == 0x101 &&
           rz_process_slot(rz_engine.self) < rz_engine.info->n_ranks;
}

/* Whether the job ends with comm: true also for the MPI_COMM_WORLD of rzrun's ranks, whatever they
 * have spawned, and without fault tolerance, where the first failure ends the job. */
static bool is_all(const struct rz_comm *comm)
{
    if (!comm || is_world_of_the_job(comm) || !rz_engine_fault_tolerant()) {
        return true;
    }
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        const struct rz_member *member = &rz_liveness.members[slot];
        bool lives = rz_board_incarnation(member->word) > 0 && !member->failed;
        if (lives && !rz_comm_holds(comm, member->process)) {
            return false;
        }
    }
    return true;
}

static void tell(const struct rz_link_process *processes, uint32_t n, uint8_t *bytes, int code)
{
    rz_link_put_pairs(bytes, processes, n);
    struct rz_link_message message = {.type = RZ_LINK_ABORT,
                                      .abort = {.code = (uint32_t)code,
                                                .reason = "MPI_Abort",
                                                .processes = bytes,
                                                .processes_length = n * RZ_LINK_PAIR_BYTES}};
    rz_link_send(rz_engine.link, &message, -1);
}

/* Names to the daemon the processes of group that have not failed, except this one, which comes
 * last, since its daemon ends it at once. */
static void tell_of(const struct rz_group *group, int code)
{
    static struct rz_link_process pairs[PAIRS_MAX];
    static uint8_t bytes[PAIRS_MAX * RZ_LINK_PAIR_BYTES];
    uint32_t n = 0;
    for (int i = 0; i < group->size; i++) {
        uint32_t process = group->process[i], slot = rz_process_slot(process);
        const struct rz_member *member = &rz_liveness.members[slot];
        if (process == rz_engine.self ||
            (rz_process_failed(process) && rz_process_known(process))) {
            continue;
        }
        /* The process may have been spawned and not be on our board yet. */
        uint32_t ahead = (process - member->process) >> RZ_SLOT_BITS;
        pairs[n++] = (struct rz_link_process){
            .slot = slot, .incarnation = rz_board_incarnation(member->word) + ahead};
        if (n == PAIRS_MAX) {
            tell(pairs, n, bytes, code);
            n = 0;
        }
    }
    if (n > 0) {
        tell(pairs, n, bytes, code);
    }
}

static void tell_daemon(const struct rz_comm *comm, int code)
{
    if (is_all(comm)) {
        struct rz_link_message message = {.type = RZ_LINK_ABORT,
                                          .abort = {.code = (uint32_t)code, .reason = "MPI_Abort"}};
        rz_link_send(rz_engine.link, &message, -1);
        return;
    }
    struct rz_link_process self = {.slot = rz_engine.info->self.rank,
                                   .incarnation = rz_engine.info->self.incarnation};
    uint8_t bytes[RZ_LINK_PAIR_BYTES];
    tell_of(comm->group, code);
    if (comm->remote != comm->group) {
        tell_of(comm->remote, code);
    }
    tell(&self, 1, bytes, code);
}

int rzm_abort(struct rz_comm *comm, int errorcode)
{
    int code = errorcode & 0xFF;
    code = code != 0 ? code : EXIT_FAILURE;
    RZ_TRACE(ABORT, code, 0, 0);
    if (ftrylockfile(stdout) == 0) {
        fflush_unlocked(stdout);
        funlockfile(stdout);
    }
    if (!rz_engine.info->alone) {
        tell_daemon(comm, code);
        /* Another launcher shows the exit status of the first process that ends: this one, unless
         * the cause is the failure of another. */
        bool first = rz_engine.info->elsewhere && rz_liveness.n_failed == 0;
        rz_time deadline = rz_clock_now() + (first ? 0 : ABORT_MAX);
        while (atomic_load_explicit(&rz_engine.board->stop, memory_order_acquire) == 0 &&
               rz_clock_now() < deadline) {
            usleep(1000);
        }
        if (rz_engine.info->elsewhere && !first) {
            rz_engine_exit(RZ_ERR_JOB_ENDED);
        }
    }
    _exit(code);
}
