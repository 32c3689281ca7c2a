/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of a communicator that are known to have failed, and those that the user has
 * acknowledged. All calls are local.
 */
#include "mpi/comm/comm.h"
#include "mpi/engine/waiting.h"

#include <stdlib.h>

/* The first n failed processes of comm in the order in which this process learnt of them, so that
 * an earlier answer is a prefix of a later one. */
static int failed_group(struct rz_comm *comm, uint32_t n, struct rz_group **group)
{
    uint32_t *ranks = malloc((rz_liveness.n_failed + 1) * sizeof(*ranks));
    if (!ranks) {
        return MPI_ERR_NO_MEM;
    }
    uint32_t found = 0;
    for (uint32_t i = 0; i < rz_liveness.n_failed && found < n; i++) {
        if (rz_comm_holds(comm, rz_liveness.failed[i])) {
            ranks[found++] = rz_liveness.failed[i];
        }
    }
    struct rz_group *made = rz_group_predefined(0x109);
    if (found > 0) {
        made = rz_group_new((int)found, ranks);
    } else if (made) {
        rz_group_retain(made);
    }
    free(ranks);
    *group = made;
    return made ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int rzm_comm_get_failed(struct rz_comm *comm, struct rz_group **group)
{
    rz_engine_progress_inquiry();
    return failed_group(comm, UINT32_MAX, group);
}

/* A window has the failed processes of its communicator. */
int rzm_win_get_failed(struct rz_win *win, struct rz_group **group)
{
    return rzm_comm_get_failed(rz_win_comm(win), group);
}

int rzm_file_get_failed(struct rz_file *fh, struct rz_group **group)
{
    return rzm_comm_get_failed(rz_file_comm(fh), group);
}

/* Reports the failures that were acknowledged on comm. */
static void tell_daemon(const struct rz_comm *comm)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < rz_liveness.n_failed && found < comm->acknowledged; i++) {
        if (rz_comm_holds(comm, rz_liveness.failed[i])) {
            found++;
            rz_failures_acknowledge(&rz_liveness.failed[i], 1);
        }
    }
}

int rzm_comm_ack_failed(struct rz_comm *comm, int num_to_ack, int *num_acked)
{
    rz_engine_progress_inquiry();
    int failed = rz_comm_failed(comm);
    int wanted = num_to_ack < failed ? num_to_ack : failed;
    if (wanted > (int)comm->acknowledged) {
        comm->acknowledged = (uint32_t)wanted;
        tell_daemon(comm);
    }
    *num_acked = (int)comm->acknowledged;
    return MPI_SUCCESS;
}

int rzm_comm_failure_ack(struct rz_comm *comm)
{
    int acked;
    return rzm_comm_ack_failed(comm, INT_MAX, &acked);
}

int rzm_comm_failure_get_acked(struct rz_comm *comm, struct rz_group **group)
{
    return failed_group(comm, comm->acknowledged, group);
}

int rzm_comm_is_revoked(struct rz_comm *comm, int *flag)
{
    rz_engine_progress_inquiry();
    *flag = comm->revoked;
    return MPI_SUCCESS;
}
