/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives: a message along each edge of the topology. The edges that enter this
 * process and those that leave it are numbered from 0 each. All receives are posted before the
 * first send, and there is one wait for all, so that no cycle of neighbours waits for itself.
 */
#include "mpi/coll/coll_arguments.h"
#include "mpi/coll_plans.h"
#include "mpi/topo/cart.h"
#include "mpi/topo/graph.h"
#include "mpi/topo/topology.h"

/* ---- The edges, in each kind of topology ---- */

bool rz_comm_degrees(const struct rz_comm *comm, int *indegree, int *outdegree)
{
    const struct rz_dist_graph *dist_graph = comm->topology;
    const struct rz_cart *cart = comm->topology;
    switch (rz_topology_kind(comm)) {
    case MPI_CART:
        *indegree = *outdegree = 2 * cart->ndims;
        return true;
    case MPI_GRAPH:
        rz_graph_neighbours(comm->topology, rz_comm_rank(comm), indegree);
        *outdegree = *indegree;
        return true;
    case MPI_DIST_GRAPH:
        *indegree = dist_graph->indegree;
        *outdegree = dist_graph->outdegree;
        return true;
    default:
        return false;
    }
}

/* The neighbour in a grid or a graph, where the incoming edges are the outgoing ones. */
static int neighbour(const struct rz_comm *comm, int k)
{
    int n, rank = rz_comm_rank(comm);
    return rz_topology_kind(comm) == MPI_CART
               ? rz_cart_neighbour(comm->topology, rank, k / 2, k % 2 == 0 ? -1 : 1)
               : rz_graph_neighbours(comm->topology, rank, &n)[k];
}

/* The rank at the other end of incoming or outgoing edge k; MPI_PROC_NULL beyond the open end of a
 * grid. */
static int source_of(const struct rz_comm *comm, int k)
{
    const struct rz_dist_graph *dist_graph = comm->topology;
    return dist_graph->topology.kind == MPI_DIST_GRAPH ? dist_graph->sources[k]
                                                       : neighbour(comm, k);
}

static int destination_of(const struct rz_comm *comm, int k)
{
    const struct rz_dist_graph *dist_graph = comm->topology;
    return dist_graph->topology.kind == MPI_DIST_GRAPH ? dist_graph->destinations[k]
                                                       : neighbour(comm, k);
}

/*
 * The edge of the k-th send. Between two processes with several edges, the messages then arrive in
 * the order of the receiver's edges: in a grid one process's upward edge is the other's downward
 * edge, which matters when a ring has one or two members.
 */
static int send_order(const struct rz_comm *comm, int k)
{
    return rz_topology_kind(comm) == MPI_CART ? k ^ 1 : k;
}

/* ---- The plan ---- */

/* Sends part k of `out` along edge k out of this process, and receives part k of `in` along edge k
 * into it. The communicator has a topology. */
static struct rz_schedule *plan_neighbours(struct rz_schedule *schedule, const struct rz_parts *out,
                                           const struct rz_parts *in)
{
    const struct rz_comm *comm = rz_schedule_comm(schedule);
    int indegree = 0, outdegree = 0;
    rz_comm_degrees(comm, &indegree, &outdegree);
    for (int k = 0; k < indegree; k++) {
        struct rz_part part = rz_parts_at(in, k);
        int source = source_of(comm, k);
        if (source != MPI_PROC_NULL) {
            rz_schedule_recv_some(schedule, &part, source);
        }
    }
    for (int k = 0; k < outdegree; k++) {
        int edge = send_order(comm, k);
        struct rz_part part = rz_parts_at(out, edge);
        int dest = destination_of(comm, edge);
        if (dest != MPI_PROC_NULL) {
            rz_schedule_send_some(schedule, &part, dest);
        }
    }
    return schedule;
}

/* ---- The calls: their arguments, as the plan takes them ---- */

struct rz_schedule *rz_coll_neighbor_allgather(struct rz_schedule *schedule, const void *sendbuf,
                                               MPI_Count sendcount, struct rz_datatype *sendtype,
                                               void *recvbuf, MPI_Count recvcount,
                                               struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_regular(recvbuf, recvcount, recvtype);
    out.same = true;
    return plan_neighbours(schedule, &out, &in);
}

struct rz_schedule *rz_coll_neighbor_allgatherv(struct rz_schedule *schedule, const void *sendbuf,
                                                MPI_Count sendcount, struct rz_datatype *sendtype,
                                                void *recvbuf, struct rz_counts recvcounts,
                                                struct rz_counts displs,
                                                struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_listed(recvbuf, recvcounts, displs, recvtype);
    out.same = true;
    return plan_neighbours(schedule, &out, &in);
}

struct rz_schedule *rz_coll_neighbor_alltoall(struct rz_schedule *schedule, const void *sendbuf,
                                              MPI_Count sendcount, struct rz_datatype *sendtype,
                                              void *recvbuf, MPI_Count recvcount,
                                              struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_regular(sendbuf, sendcount, sendtype);
    struct rz_parts in = rz_parts_regular(recvbuf, recvcount, recvtype);
    return plan_neighbours(schedule, &out, &in);
}

struct rz_schedule *
rz_coll_neighbor_alltoallv(struct rz_schedule *schedule, const void *sendbuf,
                           struct rz_counts sendcounts, struct rz_counts sdispls,
                           struct rz_datatype *sendtype, void *recvbuf, struct rz_counts recvcounts,
                           struct rz_counts rdispls, struct rz_datatype *recvtype)
{
    struct rz_parts out = rz_parts_listed(sendbuf, sendcounts, sdispls, sendtype);
    struct rz_parts in = rz_parts_listed(recvbuf, recvcounts, rdispls, recvtype);
    return plan_neighbours(schedule, &out, &in);
}

struct rz_schedule *rz_coll_neighbor_alltoallw(
    struct rz_schedule *schedule, const void *sendbuf, struct rz_counts sendcounts,
    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
    struct rz_counts recvcounts, const MPI_Aint rdispls[], const MPI_Datatype recvtypes[])
{
    struct rz_parts out =
        rz_parts_typed(sendbuf, sendcounts, (struct rz_counts){.wide = sdispls}, sendtypes);
    struct rz_parts in =
        rz_parts_typed(recvbuf, recvcounts, (struct rz_counts){.wide = rdispls}, recvtypes);
    return plan_neighbours(schedule, &out, &in);
}
