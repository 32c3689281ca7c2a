/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of a node that was excluded because it was silent may run on. In a job that rewinds
 * they would write to files that other processes restore: so they are ended first, or waited for.
 */
#include "daemon/recovery/recovery_private.h"

#include "port/clock.h"
#include "port/process.h"

/* Timeouts after which a living node has ended its processes, whether it is stopped, slow, or cut
 * off: their lease has run out (state/board_writer.c), or it has found no quorum. */
#define FENCE_TIMEOUTS 4

void rz_recovery_fence(struct rz_recovery *recovery, rz_id node)
{
    struct rz_membership *membership = &recovery->own->membership;
    const struct rz_daemon_job *job = &recovery->own->job;
    if (!(job->flags & RZ_JOB_REWIND) || node == job->node ||
        membership->nodes[node] & (RZ_NODE_PROVED | RZ_NODE_FENCED)) {
        return;
    }
    membership->nodes[node] |= RZ_NODE_FENCED;
    if (job->peers[node].pid <= 0 || !rz_process_end_twin(job->peers[node].pid)) {
        membership->fenced_at = rz_clock_now() + FENCE_TIMEOUTS * job->hb_timeout_ns;
    }
}
