/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies the engine's counts of messages into the memory that the daemon reads. */
#include "mpi/p2p/under_way.h"

#include "mpi/engine/liveness.h"
#include "mpi/p2p/p2p.h"

static rz_time shown_at; /* of a restored process perhaps by another machine's clock */

/* A message whose payload is being fetched has not arrived. */
static void leave_out_fetches(uint64_t by)
{
    for (const struct rz_request *request = rz_engine.active; request; request = request->next) {
        if (request->class == &rz_p2p_class && request->flags & RZ_REQUEST_NETWORK &&
            !(request->flags & RZ_REQUEST_SEND)) {
            rz_member_of(rz_comm_process(request->comm, request->status.MPI_SOURCE))->taken += by;
        }
    }
}

void rz_under_way_show(rz_time now)
{
    struct rz_waits *waits = rz_engine.info->waits;
    if (!waits || (now >= shown_at && now - shown_at < RZ_WAIT_SHOWN_EVERY)) {
        return;
    }
    shown_at = now;
    leave_out_fetches(UINT64_MAX);
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        const struct rz_member *member = &rz_liveness.members[slot];
        rz_pair_counts_set(&waits->pairs[slot], member->handed, member->taken,
                           &waits->pairs_changed, now);
    }
    leave_out_fetches(1);
}
