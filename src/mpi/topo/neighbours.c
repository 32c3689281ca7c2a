/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbours of a process in each kind of topology, and the order of sends.
 */
#include "mpi/topo/neighbours.h"

#include "mpi/topo/cart.h"
#include "mpi/topo/graph.h"
#include "mpi/topo/topology.h"

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

int rz_neighbours_source(const struct rz_comm *comm, int k)
{
    const struct rz_dist_graph *dist_graph = comm->topology;
    return dist_graph->topology.kind == MPI_DIST_GRAPH ? dist_graph->sources[k]
                                                       : neighbour(comm, k);
}

int rz_neighbours_destination(const struct rz_comm *comm, int k)
{
    const struct rz_dist_graph *dist_graph = comm->topology;
    return dist_graph->topology.kind == MPI_DIST_GRAPH ? dist_graph->destinations[k]
                                                       : neighbour(comm, k);
}

int rz_neighbours_send_order(const struct rz_comm *comm, int k)
{
    return rz_topology_kind(comm) == MPI_CART ? k ^ 1 : k;
}
