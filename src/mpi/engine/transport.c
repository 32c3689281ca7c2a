/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layer "transport": passes the events of the transports on to the epoch check and the peers,
 * follows processes that appear or are gone, and closes this process's ends of lanes in shared
 * memory whose owners are gone.
 */
#include "mpi/engine/transport.h"

#include "mpi/engine/control_message.h"
#include "mpi/engine/epoch_check.h"
#include "mpi/engine/paths.h"
#include "mpi/engine/peer.h"
#include "mpi/engine/unstarted.h"
#include "net/shm/shm.h"
#include "port/clock.h"

#include <stdlib.h>

/* ---- Lanes in shared memory whose owners are gone ---- */

/* At most as many as there are lanes. */
static struct rz_link_lane_over *lane_ends;
static uint32_t n_lane_ends, lane_ends_max;

static void on_lane_over(void *arg, const struct rz_link_message *message, const int *fds,
                         unsigned n_fds)
{
    (void)arg;
    rz_engine_close_fds(fds, n_fds);
    if (n_lane_ends == lane_ends_max) {
        uint32_t more = lane_ends_max == 0 ? 16 : 2 * lane_ends_max;
        struct rz_link_lane_over *bigger = realloc(lane_ends, more * sizeof(*lane_ends));
        if (!bigger) {
            return; /* never answered: the lane stays unused */
        }
        lane_ends = bigger;
        lane_ends_max = more;
    }
    lane_ends[n_lane_ends++] = message->lane_over;
    rz_work_set(RZ_WORK_LANES, true);
}

/*
 * The board has shown already that the owner is gone. But inside MPIX_Reinit only the roll-back
 * deals with a failure: until then operations with the failed process stay pending, and its lane
 * stays open with them.
 */
static bool owner_is_gone(const struct rz_link_lane_over *over)
{
    if (over->rank >= rz_engine.info->n_slots) {
        return true;
    }
    const struct rz_member *member = &rz_liveness.members[over->rank];
    uint32_t incarnation = rz_board_incarnation(member->word);
    return incarnation > over->incarnation || (incarnation == over->incarnation && member->failed);
}

static void close_lane(const struct rz_link_lane_over *over)
{
    struct rz_path *path = &rz_engine.paths[RZ_PATH_SHM];
    struct rz_identity identity = {
        .job = rz_engine.info->self.job, .rank = over->rank, .incarnation = over->incarnation};
    rz_status_t status = RZ_OK;
    if (path->net && path->ops == &rz_shm_ops) {
        status = rz_shm_lane_over(path->net, over->lane, identity);
    }
    if (status != RZ_OK) {
        return; /* a lane that cannot be given back must not be used again */
    }
    struct rz_link_message message = {
        .type = RZ_LINK_LANE_CLOSED,
        .lane_closed = {.lane = over->lane, .rank = over->rank, .incarnation = over->incarnation}};
    rz_engine_tell_daemon(&message);
}

/* Closes the lanes whose owners are gone for this process, too: their failures were dealt with, or
 * the job has rolled back. Tells the daemon, so that the lanes may serve other processes
 * (daemon/process/lanes.h). Not called from inside a callback of a transport. */
static unsigned look_at_lane_ends(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_lane_ends; i++) {
        struct rz_link_lane_over over = lane_ends[i];
        if (owner_is_gone(&over)) {
            close_lane(&over);
        } else {
            lane_ends[kept++] = over;
        }
    }
    n_lane_ends = kept;
    rz_work_set(RZ_WORK_LANES, n_lane_ends > 0);
    return 0;
}

static void lane_ends_open(void)
{
    rz_link_handle(rz_engine.link, RZ_LINK_LANE_OVER, on_lane_over, NULL);
}

static void lane_ends_close(void)
{
    free(lane_ends);
    lane_ends = NULL;
    n_lane_ends = lane_ends_max = 0;
    rz_work_set(RZ_WORK_LANES, false);
}

/* ---- The transports as a whole ---- */

/* A process to which we never sent sends to us: fetching from it, and its flow control, need a
 * connection to it. */
static void stranger(void *arg, struct rz_identity identity)
{
    (void)arg;
    if (identity.rank >= rz_engine.info->n_slots || rz_engine.rollback) {
        return;
    }
    uint32_t present = rz_board_incarnation(rz_liveness.members[identity.rank].word);
    if (identity.incarnation == present) {
        rz_peer_meet(rz_engine_number(identity.rank, identity.incarnation));
    } else if (identity.incarnation > present) {
        rz_unstarted_met(identity);
    }
}

rz_status_t rz_transport_open(void)
{
    static const struct rz_path_events events = {
        .arrived = rz_epoch_check_arrived, .broken = rz_peer_broken, .stranger = stranger};
    if (rz_engine.info->alone) {
        return RZ_OK;
    }
    rz_peers_open();
    lane_ends_open();
    return rz_paths_open(&events);
}

void rz_transport_close(void)
{
    lane_ends_close();
    rz_paths_close();
    rz_peers_forget();
}

/* The system ends the connections of a process that has exited. */
#define LAST_BYTES_NS (2 * RZ_SECOND)

/* A message that has arrived counts although its sender has failed since, so receive what lies here
 * while the epoch check still admits it. Of a process that has ended in order also what is still on
 * its way: the news of its end may be faster. */
static void leaving(uint32_t process, bool exited)
{
    uint32_t slot = rz_process_slot(process), incarnation = rz_process_incarnation(process);
    for (int i = 0; i < 64 && rz_paths_progress() > 0; i++) {
    }
    rz_time bound = rz_clock_now() + LAST_BYTES_NS;
    while (exited && rz_paths_hear(slot, incarnation) && rz_clock_now() < bound) {
        rz_paths_progress();
    }
    rz_peer_close(rz_process_slot(process), true, RZ_ERR_PROC_FAILED);
}

static void adopted(uint32_t slot)
{
    rz_unstarted_adopted(slot, rz_epoch_check_passed);
}

const struct rz_hooks rz_transport_hooks = {
    .is_sent = rz_control_messages_quiet,
    .work = {[RZ_WORK_LANES] = look_at_lane_ends},
    .check = rz_peers_overdue,
    .leaving = leaving,
    .adopted = adopted,
    .forget = rz_unstarted_close,
};
