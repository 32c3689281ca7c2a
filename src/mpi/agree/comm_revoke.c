/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Comm_revoke (ULFM): marks the communicator first, then tells the other members.
 */
#include "mpi/agree/comm_revoke.h"

#include "base/trace.h"
#include "mpi/comm/comm_hints.h"
#include "mpi/agree/agreement_context.h"
#include "port/kill_point.h"

enum rz_revoke_way rz_comm_revoke_way(const struct rz_comm *comm)
{
    unsigned value = rz_comm_hint(comm, RZ_HINT_REVOKE);
    return value == 0 ? rz_revoke_of_job() : value == 1 ? RZ_REVOKE_NODES : RZ_REVOKE_FLAT;
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
    rz_revoke_tell(comm);
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
