/* MPIX_Comm_revoke: marked first, told to the others then (ULFM). */
#include "mpi/ft/comm_revoke.h"

#include "mpi/comm/comm.h"
#include "mpi/ft/comm_uniform.h"
#include "mpi/ft/agreement_context.h"
#include "mpi/ft/revoke_nodes.h"
#include "mpi/p2p/message.h"
#include "mpi/p2p/p2p.h"
#include "port/kill_point.h"

bool rz_comms_unshut;

/* Messages for it are dropped from now on, and those that came before, so that their senders end,
 * too. */
static void shut(struct rz_comm *comm)
{
    static const enum rz_context_offset context_offsets[] = {
        RZ_CONTEXT_OFFSET_POINT, RZ_CONTEXT_OFFSET_COLLECTIVE, RZ_CONTEXT_OFFSET_CREATE};
    if (comm->unshut) {
        comm->unshut = false;
        for (size_t i = 0; i < sizeof(context_offsets) / sizeof(context_offsets[0]); i++) {
            rz_message_close_context(rz_comm_context(comm, context_offsets[i]));
        }
    }
}

void rz_comms_shut(void)
{
    rz_comms_unshut = false;
    for (struct rz_comm *comm = rz_comms_first(); comm != NULL; comm = comm->next) {
        shut(comm);
        if (comm->local != NULL) {
            shut(comm->local);
        }
    }
}

static void end_everything(struct rz_comm *comm)
{
    comm->revoked = comm->unshut = rz_comms_unshut = true;
    rz_matched_revoked(comm);
    rz_p2p_revoked(comm);
}

void rz_comm_revoked(struct rz_comm *comm)
{
    if (comm->revoked) {
        return;
    }
    rz_comm_retain(comm); /* the last request that ends may hold the last reference */
    end_everything(comm);
    if (comm->local != NULL) {
        end_everything(comm->local);
    }
    rz_uniform_results_look(comm);
    rz_engine.completions++; /* news to whoever waits */
    rz_comm_release(comm);
}

int rz_comm_revoke(struct rz_comm *comm)
{
    if (comm->revoked) {
        return MPI_SUCCESS;
    }
    rz_comm_revoked(comm);
    rz_kill_here(RZ_KILL_REVOKED);
    bool single = comm->remote == comm->group && comm->group->size == 1;
    if (single || rz_engine.info->alone) {
        return MPI_SUCCESS; /* nobody else has it */
    }
    if (rz_comm_revoke_way(comm) == RZ_REVOKE_FLAT || !rz_engine_fault_tolerant()) {
        return rz_agreement_context_revoke(comm);
    }
    rz_revoke_tell(comm);
    return MPI_SUCCESS;
}

int rzm_comm_revoke(struct rz_comm *comm)
{
    int error = rz_engine_begin();
    return error != MPI_SUCCESS ? error : rz_comm_revoke(comm);
}
