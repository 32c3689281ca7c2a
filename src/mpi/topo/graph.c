/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inquiries of graph topologies; graph_make.c makes communicators with them.
 */
#include "mpi/topo/graph.h"

#include <stdlib.h>

/* ---- The objects ---- */

static size_t ints(int n)
{
    return (size_t)n * sizeof(int);
}

struct rz_graph *rz_graph_new(int nnodes, int nedges)
{
    struct rz_graph *graph = calloc(1, sizeof(*graph) + ints(nnodes) + ints(nedges));
    if (graph) {
        graph->topology.kind = MPI_GRAPH;
        graph->nnodes = nnodes;
        graph->nedges = nedges;
        graph->index = (int *)(graph + 1);
        graph->edges = graph->index + nnodes;
    }
    return graph;
}

static void *graph_copy(const void *topology)
{
    const struct rz_graph *graph = topology;
    struct rz_graph *copy = rz_graph_new(graph->nnodes, graph->nedges);
    if (copy) {
        memcpy(copy->index, graph->index, ints(graph->nnodes) + ints(graph->nedges));
    }
    return copy;
}

void rz_graph_attach(struct rz_comm *comm, struct rz_graph *graph)
{
    comm->topology = graph;
    comm->topology_free = free;
    comm->topology_copy = graph_copy;
}

struct rz_dist_graph *rz_dist_graph_new(int indegree, int outdegree, bool weighted)
{
    struct rz_dist_graph *graph =
        calloc(1, sizeof(*graph) + 2 * (ints(indegree) + ints(outdegree)));
    if (graph) {
        graph->topology.kind = MPI_DIST_GRAPH;
        graph->indegree = indegree;
        graph->outdegree = outdegree;
        graph->weighted = weighted;
        graph->sources = (int *)(graph + 1);
        graph->sourceweights = graph->sources + indegree;
        graph->destinations = graph->sourceweights + indegree;
        graph->destweights = graph->destinations + outdegree;
    }
    return graph;
}

static void *dist_graph_copy(const void *topology)
{
    const struct rz_dist_graph *graph = topology;
    struct rz_dist_graph *copy =
        rz_dist_graph_new(graph->indegree, graph->outdegree, graph->weighted);
    if (copy) {
        memcpy(copy->sources, graph->sources, 2 * (ints(graph->indegree) + ints(graph->outdegree)));
    }
    return copy;
}

void rz_dist_graph_attach(struct rz_comm *comm, struct rz_dist_graph *graph)
{
    comm->topology = graph;
    comm->topology_free = free;
    comm->topology_copy = dist_graph_copy;
}

static const void *topology_of(const struct rz_comm *comm, int kind, const char *name, int *error)
{
    bool found = rz_topology_kind(comm) == kind;
    *error = found ? MPI_SUCCESS : rzm_error(MPI_ERR_TOPOLOGY, "comm has no %s topology", name);
    return found ? comm->topology : NULL;
}

const struct rz_graph *rz_graph_of(const struct rz_comm *comm, int *error)
{
    return topology_of(comm, MPI_GRAPH, "graph", error);
}

const struct rz_dist_graph *rz_dist_graph_of(const struct rz_comm *comm, int *error)
{
    return topology_of(comm, MPI_DIST_GRAPH, "distributed graph", error);
}

const int *rz_graph_neighbours(const struct rz_graph *graph, int rank, int *n)
{
    int begin = rank > 0 ? graph->index[rank - 1] : 0;
    *n = graph->index[rank] - begin;
    return graph->edges + begin;
}

/* ---- Inquiries of graphs ---- */

int rzm_graphdims_get(struct rz_comm *comm, int *nnodes, int *nedges)
{
    int error;
    const struct rz_graph *graph = rz_graph_of(comm, &error);
    if (graph) {
        *nnodes = graph->nnodes;
        *nedges = graph->nedges;
    }
    return error;
}

static int room_too_short(const char *name, int room, const char *what, int n)
{
    return n <= room ? MPI_SUCCESS
                     : rzm_error(MPI_ERR_ARG, "%s is %d, there are %d %s", name, room, n, what);
}

int rzm_graph_get(struct rz_comm *comm, int maxindex, int maxedges, int indx[], int edges[])
{
    int error;
    const struct rz_graph *graph = rz_graph_of(comm, &error);
    if (!graph ||
        (error = room_too_short("maxindex", maxindex, "nodes", graph->nnodes)) != MPI_SUCCESS ||
        (error = room_too_short("maxedges", maxedges, "edges", graph->nedges)) != MPI_SUCCESS) {
        return error;
    }
    memcpy(indx, graph->index, ints(graph->nnodes));
    if (graph->nedges > 0) {
        memcpy(edges, graph->edges, ints(graph->nedges));
    }
    return MPI_SUCCESS;
}

static const int *neighbours_of(const struct rz_comm *comm, int rank, int *n, int *error)
{
    const struct rz_graph *graph = rz_graph_of(comm, error);
    if (graph && (rank < 0 || rank >= graph->nnodes)) {
        *error = rzm_error(MPI_ERR_RANK, "rank is %d, not in 0..%d", rank, graph->nnodes - 1);
        return NULL;
    }
    return graph ? rz_graph_neighbours(graph, rank, n) : NULL;
}

int rzm_graph_neighbors_count(struct rz_comm *comm, int rank, int *nneighbors)
{
    int error, n;
    if (neighbours_of(comm, rank, &n, &error)) {
        *nneighbors = n;
    }
    return error;
}

int rzm_graph_neighbors(struct rz_comm *comm, int rank, int maxneighbors, int neighbors[])
{
    int error, n;
    const int *found = neighbours_of(comm, rank, &n, &error);
    if (!found ||
        (error = room_too_short("maxneighbors", maxneighbors, "neighbours", n)) != MPI_SUCCESS) {
        return error;
    }
    if (n > 0) {
        memcpy(neighbors, found, ints(n));
    }
    return MPI_SUCCESS;
}

/* ---- Inquiries of distributed graphs ---- */

int rzm_dist_graph_neighbors_count(struct rz_comm *comm, int *indegree, int *outdegree,
                                   int *weighted)
{
    int error;
    const struct rz_dist_graph *graph = rz_dist_graph_of(comm, &error);
    if (graph) {
        *indegree = graph->indegree;
        *outdegree = graph->outdegree;
        *weighted = graph->weighted;
    }
    return error;
}

/* The edges of one direction, in the graph or in the arrays of the user. */
struct edges {
    int n; /* or room for so many */
    int *ranks, *weights;
};

/* Returns the edges of one direction, as many as fit. */
static void tell(bool weighted, struct edges from, struct edges to)
{
    int n = from.n < to.n ? from.n : to.n;
    if (n > 0) {
        memcpy(to.ranks, from.ranks, ints(n));
    }
    if (n > 0 && weighted && to.weights != MPI_UNWEIGHTED) {
        memcpy(to.weights, from.weights, ints(n));
    }
}

int rzm_dist_graph_neighbors(struct rz_comm *comm, int maxindegree, int sources[],
                             int sourceweights[], int maxoutdegree, int destinations[],
                             int destweights[])
{
    int error;
    const struct rz_dist_graph *graph = rz_dist_graph_of(comm, &error);
    if (graph) {
        tell(graph->weighted, (struct edges){graph->indegree, graph->sources, graph->sourceweights},
             (struct edges){maxindegree, sources, sourceweights});
        tell(graph->weighted,
             (struct edges){graph->outdegree, graph->destinations, graph->destweights},
             (struct edges){maxoutdegree, destinations, destweights});
    }
    return error;
}
