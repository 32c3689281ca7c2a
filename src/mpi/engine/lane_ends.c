/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the list of lanes whose owners are gone, closes this process's end of each when it may,
 * and reports that to the daemon.
 */
#include "mpi/engine/lane_ends.h"

#include "mpi/engine/hooks.h"
#include "mpi/engine/liveness.h"
#include "net/shm/shm.h"

#include <stdlib.h>

/* At most as many as there are lanes. */
static struct rz_link_lane_over *ends;
static uint32_t n_ends, ends_max;

static void on_lane_over(void *arg, const struct rz_link_message *message, const int *fds,
                         unsigned n_fds)
{
    (void)arg;
    rz_engine_close_fds(fds, n_fds);
    if (n_ends == ends_max) {
        uint32_t more = ends_max == 0 ? 16 : 2 * ends_max;
        struct rz_link_lane_over *bigger = realloc(ends, more * sizeof(*ends));
        if (!bigger) {
            return; /* never answered: the lane stays unused */
        }
        ends = bigger;
        ends_max = more;
    }
    ends[n_ends++] = message->lane_over;
    rz_work_set(RZ_WORK_LANES, true);
}

/*
 * The board has shown already that the owner is gone. But inside MPIX_Reinit only the roll-back
 * deals with a failure: until then operations with the failed process stay pending, and its lane
 * stays open with them.
 */
static bool is_gone(const struct rz_link_lane_over *over)
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

unsigned rz_lane_ends_look(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_ends; i++) {
        struct rz_link_lane_over over = ends[i];
        if (is_gone(&over)) {
            close_lane(&over);
        } else {
            ends[kept++] = over;
        }
    }
    n_ends = kept;
    rz_work_set(RZ_WORK_LANES, n_ends > 0);
    return 0;
}

void rz_lane_ends_open(void)
{
    rz_link_handle(rz_engine.link, RZ_LINK_LANE_OVER, on_lane_over, NULL);
}

void rz_lane_ends_close(void)
{
    free(ends);
    ends = NULL;
    n_ends = ends_max = 0;
    rz_work_set(RZ_WORK_LANES, false);
}
