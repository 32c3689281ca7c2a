/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The epoch check: compares job token, epoch and incarnation of each arrived message with the
 * present ones, and counts what it drops.
 */
#include "mpi/engine/epoch_check.h"

#include "mpi/engine/hooks.h"
#include "mpi/engine/paths.h"
#include "mpi/engine/peer.h"
#include "mpi/engine/unstarted.h"
#include "port/kill_point.h"

enum admission { DROPPED, ADMITTED, WAITS };

/*
 * A message that is not of this job and this epoch, or whose sender is not the present incarnation
 * of its slot, is dropped before anything else of it is read. Closing connections does not keep
 * such messages out; this check does.
 */
static enum admission admission_of(const struct rz_envelope *envelope)
{
    struct rz_engine_counters *counters = &rz_engine.counters;
    const struct rz_link_info *info = rz_engine.info;
    if (envelope->job_token != info->job_token || envelope->slot >= info->n_slots) {
        counters->foreign++;
        return DROPPED;
    }
    if (envelope->epoch != rz_engine.epoch || rz_engine.rollback) {
        /* No process enters a later epoch before we have reported that we are at its start: such a
         * message is a bug of its sender. */
        *(envelope->epoch > rz_engine.epoch ? &counters->future_epoch : &counters->old_epoch) += 1;
        return DROPPED;
    }
    const struct rz_member *member = &rz_liveness.members[envelope->slot];
    uint32_t present = rz_board_incarnation(member->word);
    if (envelope->incarnation > present) {
        return WAITS;
    }
    if (member->failed || envelope->incarnation < present) {
        counters->old_incarnation++;
        return DROPPED;
    }
    return ADMITTED;
}

void rz_epoch_check_passed(struct rz_path *path, const struct rz_envelope *envelope,
                           const void *data, size_t bytes, rz_net_token_t token)
{
    rz_kill_here(RZ_KILL_ARRIVED);
    struct rz_member *member = &rz_liveness.members[envelope->slot];
    member->taken++;
    if (!member->peer && path == &rz_engine.paths[RZ_PATH_SHM]) {
        /* Flow control needs a connection back to the sender; the transport's own call (stranger)
         * may have come in an earlier epoch. */
        rz_peer_meet(rz_message_from(envelope));
    }
    rz_hooks_arrived[envelope->kind](path, envelope, data, bytes, token);
}

void rz_epoch_check_arrived(void *at, const void *header, uint32_t header_bytes, const void *data,
                            size_t bytes, rz_net_token_t token)
{
    struct rz_path *path = at;
    struct rz_envelope envelope;
    if (!rz_envelope_decode(&envelope, header, header_bytes)) {
        rz_engine.counters.foreign++;
        rz_path_drop(path, token);
        return;
    }
    enum admission admission = admission_of(&envelope);
    if (admission == ADMITTED) {
        rz_epoch_check_passed(path, &envelope, data, bytes, token);
    } else if (admission == WAITS) {
        rz_unstarted_keep(path, &envelope, data, bytes, token);
    } else {
        rz_path_drop(path, token);
    }
}
