/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives: a message along each edge of the topology. All receives are posted
 * before the first send, and there is one wait for all, so that no cycle of neighbours waits for
 * itself.
 */
#include "mpi/topo/coll_neighbour.h"

struct rz_schedule *rz_plan_neighbours(struct rz_schedule *schedule, const struct rz_parts *out,
                                       const struct rz_parts *in)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int indegree = 0, outdegree = 0;
    rz_comm_degrees(comm, &indegree, &outdegree);
    for (int k = 0; k < indegree; k++) {
        struct rz_part part = rz_parts_at(in, k);
        int source = rz_neighbours_source(comm, k);
        if (source != MPI_PROC_NULL) {
            rz_schedule_recv_some(schedule, &part, source);
        }
    }
    for (int k = 0; k < outdegree; k++) {
        int edge = rz_neighbours_send_order(comm, k);
        struct rz_part part = rz_parts_at(out, edge);
        int dest = rz_neighbours_destination(comm, edge);
        if (dest != MPI_PROC_NULL) {
            rz_schedule_send_some(schedule, &part, dest);
        }
    }
    return schedule;
}
