/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies: grids, graphs, and communicators without them. */
#include "arguments.h"

static int zero[] = {0, 0}, one[] = {1, 1}, nine[] = {9, 9}, below[] = {-1, -1};

static void rows_grids(void)
{
    ROW(MPI_ERR_DIMS, "MPI_Cart_create", "dims",
        MPI_Cart_create(good.comm, 2, zero, one, 0, &out.comm));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Cart_create", "dims",
        MPI_Cart_create(good.comm, 2, nine, one, 0, &out.comm));
    ROW(MPI_ERR_DIMS, "MPI_Cart_map", "dims", MPI_Cart_map(good.comm, 2, below, one, &out.number));
    ROW(MPI_ERR_COMM, "MPI_Cart_create", "comm",
        MPI_Cart_create(good.inter, 1, one, one, 0, &out.comm));
    ROW(MPI_ERR_RANK, "MPI_Cart_coords", "rank", MPI_Cart_coords(good.cart, 1, 2, out.numbers));
    ROW(MPI_ERR_ARG, "MPI_Cart_coords", "maxdims", MPI_Cart_coords(good.cart, 0, 1, out.numbers));
    ROW(MPI_ERR_ARG, "MPI_Cart_get", "maxdims",
        MPI_Cart_get(good.cart, 1, out.numbers, out.numbers2, out.numbers3));
    ROW(MPI_ERR_DIMS, "MPI_Cart_shift", "direction",
        MPI_Cart_shift(good.cart, 2, 1, &out.number, &out.number2));
    MPI_Comm line;
    MPI_Cart_create(good.comm, 1, one, zero, 0, &line);
    ROW(MPI_ERR_ARG, "MPI_Cart_rank", "coords", MPI_Cart_rank(line, one, &out.number));
    ROW(MPI_ERR_ARG, "MPI_Cart_rank", "coords", MPI_Cart_rank(line, below, &out.number));
    MPI_Comm_free(&line);
    int fixed[] = {4, 0}, full[] = {2, 2};
    ROW(MPI_ERR_DIMS, "MPI_Dims_create", "dims", MPI_Dims_create(6, 2, fixed));
    ROW(MPI_ERR_DIMS, "MPI_Dims_create", "dims", MPI_Dims_create(6, 2, full));
    ROW(MPI_ERR_DIMS, "MPI_Dims_create", "dims", MPI_Dims_create(6, 2, below));
    ROW(MPI_ERR_DIMS, "MPI_Dims_create", "nnodes", MPI_Dims_create(0, 2, zero));
}

static void rows_without(void)
{
    ROW(MPI_ERR_TOPOLOGY, "MPI_Cartdim_get", "comm", MPI_Cartdim_get(good.comm, &out.number));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Cart_get", "comm",
        MPI_Cart_get(good.graph, 2, out.numbers, out.numbers2, out.numbers3));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Cart_rank", "comm", MPI_Cart_rank(good.comm, zero, &out.number));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Cart_coords", "comm", MPI_Cart_coords(good.comm, 0, 2, out.numbers));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Cart_shift", "comm",
        MPI_Cart_shift(good.comm, 0, 1, &out.number, &out.number2));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Cart_sub", "comm", MPI_Cart_sub(good.comm, one, &out.comm));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Graphdims_get", "comm",
        MPI_Graphdims_get(good.cart, &out.number, &out.number2));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Graph_get", "comm",
        MPI_Graph_get(good.comm, 1, 1, out.numbers, out.numbers2));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Graph_neighbors", "comm",
        MPI_Graph_neighbors(good.comm, 0, 1, out.numbers));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Graph_neighbors_count", "comm",
        MPI_Graph_neighbors_count(good.comm, 0, &out.number));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Dist_graph_neighbors", "comm",
        MPI_Dist_graph_neighbors(good.graph, 1, out.numbers, out.numbers2, 1, out.numbers3,
                                 out.numbers));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Dist_graph_neighbors_count", "comm",
        MPI_Dist_graph_neighbors_count(good.comm, &out.number, &out.number2, &out.flag));
}

static void rows_graphs(void)
{
    int falling[] = {1, 0}, edges[] = {0, 0, 0};
    ROW(MPI_ERR_TOPOLOGY, "MPI_Graph_create", "nnodes",
        MPI_Graph_create(good.comm, 2, one, edges, 0, &out.comm));
    ROW(MPI_ERR_ARG, "MPI_Graph_create", "indx",
        MPI_Graph_create(MPI_COMM_WORLD, 2, falling, edges, 0, &out.comm));
    ROW(MPI_ERR_ARG, "MPI_Graph_create", "edges",
        MPI_Graph_create(good.comm, 1, one, nine, 0, &out.comm));
    ROW(MPI_ERR_ARG, "MPI_Graph_map", "edges",
        MPI_Graph_map(good.comm, 1, one, below, &out.number));
    ROW(MPI_ERR_COMM, "MPI_Graph_create", "comm",
        MPI_Graph_create(good.inter, 1, one, edges, 0, &out.comm));
    ROW(MPI_ERR_ARG, "MPI_Graph_get", "maxedges",
        MPI_Graph_get(good.graph, 1, 0, out.numbers, out.numbers2));
    ROW(MPI_ERR_ARG, "MPI_Graph_neighbors", "maxneighbors",
        MPI_Graph_neighbors(good.graph, 0, 0, out.numbers));
    ROW(MPI_ERR_RANK, "MPI_Dist_graph_create_adjacent", "sources",
        MPI_Dist_graph_create_adjacent(good.comm, 1, nine, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &out.comm));
    ROW(MPI_ERR_RANK, "MPI_Dist_graph_create_adjacent", "destinations",
        MPI_Dist_graph_create_adjacent(good.comm, 0, NULL, MPI_UNWEIGHTED, 1, below, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &out.comm));
    ROW(MPI_ERR_ARG, "MPI_Dist_graph_create_adjacent", "sourceweights",
        MPI_Dist_graph_create_adjacent(good.comm, 1, zero, below, 0, NULL, MPI_WEIGHTS_EMPTY,
                                       MPI_INFO_NULL, 0, &out.comm));
    ROW(MPI_ERR_ARG, "MPI_Dist_graph_create_adjacent", "destweights",
        MPI_Dist_graph_create_adjacent(good.comm, 1, zero, one, 1, zero, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &out.comm));
    ROW(MPI_ERR_RANK, "MPI_Dist_graph_create", "sources",
        MPI_Dist_graph_create(good.comm, 1, nine, one, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                              &out.comm));
    ROW(MPI_ERR_RANK, "MPI_Dist_graph_create", "destinations",
        MPI_Dist_graph_create(good.comm, 1, zero, one, nine, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                              &out.comm));
    ROW(MPI_ERR_ARG, "MPI_Dist_graph_create", "degrees",
        MPI_Dist_graph_create(good.comm, 1, zero, below, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                              &out.comm));
    ROW(MPI_ERR_ARG, "MPI_Dist_graph_create", "weights",
        MPI_Dist_graph_create(good.comm, 1, zero, one, zero, below, MPI_INFO_NULL, 0, &out.comm));
}

void rows_topology(void)
{
    rows_grids();
    rows_without();
    rows_graphs();
}
