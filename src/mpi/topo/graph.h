/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Graph topologies: the whole graph at every member; of a distributed graph only the edges of this
 * process. Both are immutable and one block of memory.
 */
#ifndef RZ_MPI_GRAPH_H
#define RZ_MPI_GRAPH_H

#include "mpi/topo/topology.h"

struct rz_graph {
    struct rz_topology topology;
    int nnodes, nedges;
    int *index; /* [nnodes]: where the edges of each node end in `edges` */
    int *edges; /* [nedges] */
};

struct rz_dist_graph {
    struct rz_topology topology;
    int indegree, outdegree;
    bool weighted;
    int *sources, *sourceweights;    /* [indegree] */
    int *destinations, *destweights; /* [outdegree] */
};

/* The ends of the n edges of a rank. */
const int *rz_graph_neighbours(const struct rz_graph *graph, int rank, int *n);

/* The topology of comm, or NULL with *error set to MPI_ERR_TOPOLOGY. */
const struct rz_graph *rz_graph_of(const struct rz_comm *comm, int *error);
const struct rz_dist_graph *rz_dist_graph_of(const struct rz_comm *comm, int *error);

/* The arrays are zero, to be filled in. NULL: no memory. */
struct rz_graph *rz_graph_new(int nnodes, int nedges);
struct rz_dist_graph *rz_dist_graph_new(int indegree, int outdegree, bool weighted);

/* Gives comm the topology, which comm then owns. */
void rz_graph_attach(struct rz_comm *comm, struct rz_graph *graph);
void rz_dist_graph_attach(struct rz_comm *comm, struct rz_dist_graph *graph);

#endif
