/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What graph topologies answer, and which arguments they refuse: a ring and a star of all ranks as
 * graph, distributed graph by its neighbours, and distributed graph given by rank 0 alone.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 64 };

static int rank, size;
/* MPI_UNWEIGHTED and the other where the compiler does not see that they are no arrays. */
static int *volatile unweighted;
static int *volatile weights_empty;

static void expect_refusal(int error, int class, const char *text)
{
    char string[MPI_MAX_ERROR_STRING];
    int length;
    CHECK(class_of(error) == class);
    MPI_Error_string(error, string, &length);
    if (!strstr(string, text)) {
        fprintf(stderr, "'%s' does not say '%s'\n", string, text);
    }
    CHECK(strstr(string, text) != NULL);
}

static void ring(int *index, int *edges)
{
    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
}

static void graphs_tell_their_edges(void)
{
    int index[RANKS_MAX], edges[2 * RANKS_MAX], got_index[RANKS_MAX], got_edges[2 * RANKS_MAX];
    int nodes, n, place, status, neighbours[2];
    MPI_Comm graph, copy, small;
    ring(index, edges);
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    MPI_Comm_dup(graph, &copy);
    MPI_Comm_free(&graph);
    MPI_Topo_test(copy, &status);
    CHECK(status == MPI_GRAPH);
    MPI_Graphdims_get(copy, &nodes, &n);
    CHECK(nodes == size && n == 2 * size);
    MPI_Graph_get(copy, nodes, n, got_index, got_edges);
    CHECK(memcmp(index, got_index, (size_t)size * sizeof(int)) == 0);
    CHECK(memcmp(edges, got_edges, (size_t)n * sizeof(int)) == 0);
    for (int i = 0; i < size; i++) {
        MPI_Graph_neighbors_count(copy, i, &n);
        MPI_Graph_neighbors(copy, i, 2, neighbours);
        CHECK(n == 2 && memcmp(neighbours, edges + 2 * i, sizeof(neighbours)) == 0);
    }
    MPI_Graph_map(copy, size, index, edges, &place);
    CHECK(place == rank || place == MPI_UNDEFINED);
    MPI_Comm_free(&copy);
    /* Of a smaller graph the others are not. */
    int one = 1, zero = 0;
    MPI_Graph_create(MPI_COMM_WORLD, 1, &one, &zero, 0, &small);
    CHECK((small == MPI_COMM_NULL) == (rank > 0));
    if (small != MPI_COMM_NULL) {
        MPI_Comm_free(&small);
    }
    MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &small);
    CHECK(small == MPI_COMM_NULL);
}

static void expect_star(MPI_Comm star, int weighted)
{
    int n_in, n_out, has_weights, status, sources[RANKS_MAX], destinations[RANKS_MAX];
    int in_weights[RANKS_MAX], out_weights[RANKS_MAX];
    MPI_Topo_test(star, &status);
    CHECK(status == MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(star, &n_in, &n_out, &has_weights);
    CHECK(!has_weights == !weighted);
    CHECK(n_in == (rank == 0 ? 0 : 1) && n_out == (rank == 0 ? size - 1 : 0));
    MPI_Dist_graph_neighbors(star, RANKS_MAX, sources, weighted ? in_weights : unweighted,
                             RANKS_MAX, destinations, weighted ? out_weights : unweighted);
    for (int i = 0; i < n_out; i++) {
        CHECK(destinations[i] == i + 1 && (!weighted || out_weights[i] == 10 * (i + 1)));
    }
    for (int i = 0; i < n_in; i++) {
        CHECK(sources[i] == 0 && (!weighted || in_weights[i] == 10 * rank));
    }
    /* Only as many as fit. */
    destinations[1] = -5;
    MPI_Dist_graph_neighbors(star, 0, NULL, NULL, 1, destinations, out_weights);
    CHECK(destinations[1] == -5);
    /* The root sends a message to each of them. */
    int told[RANKS_MAX], heard = -1;
    for (int i = 0; i < RANKS_MAX; i++) {
        told[i] = 100 + i;
    }
    MPI_Neighbor_alltoall(told, 1, MPI_INT, &heard, 1, MPI_INT, star);
    CHECK(heard == (rank == 0 ? -1 : 100 + rank - 1));
}

static void distributed_graphs_tell_their_edges(void)
{
    int all[RANKS_MAX], weights[RANKS_MAX], zero = 0, degree = size - 1, mine = 10 * rank;
    MPI_Comm star, copy;
    for (int i = 0; i < size; i++) {
        all[i] = i + 1;
        weights[i] = 10 * (i + 1);
    }
    for (int weighted = 0; weighted < 2; weighted++) {
        const int *in = weighted && rank > 0 ? &mine : weighted ? weights_empty : unweighted;
        const int *out = weighted ? weights : unweighted;
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank > 0, &zero, in, rank == 0 ? degree : 0,
                                       all, out, MPI_INFO_NULL, 0, &star);
        MPI_Comm_dup(star, &copy);
        MPI_Comm_free(&star);
        expect_star(copy, weighted);
        MPI_Comm_free(&copy);
        MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0, &zero, &degree, all,
                              rank == 0 || !weighted ? out : weights_empty, MPI_INFO_NULL, 0,
                              &star);
        expect_star(star, weighted);
        MPI_Comm_free(&star);
    }
}

/* The texts and some of the classes are ours. */
#ifndef OPEN_MPI
static void bad_graphs_are_refused(void)
{
    int index[2] = {1, 0}, edges[2] = {0, 5}, n, status;
    MPI_Comm comm;
    expect_refusal(MPI_Graph_create(MPI_COMM_WORLD, size + 1, index, edges, 0, &comm),
                   MPI_ERR_TOPOLOGY, "nnodes is");
    expect_refusal(MPI_Graph_create(MPI_COMM_WORLD, -1, index, edges, 0, &comm), MPI_ERR_ARG,
                   "nnodes is -1");
    index[0] = 2;
    expect_refusal(MPI_Graph_create(MPI_COMM_WORLD, 1, index, edges, 0, &comm), MPI_ERR_ARG,
                   "edges[1] is 5");
    expect_refusal(MPI_Graph_create(MPI_COMM_WORLD, 1, NULL, edges, 0, &comm), MPI_ERR_ARG,
                   "indx is a null");
    if (size > 1) {
        expect_refusal(MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, 0, &comm), MPI_ERR_ARG,
                       "indx[1] is 0");
    }
    expect_refusal(MPI_Graphdims_get(MPI_COMM_WORLD, &n, &status), MPI_ERR_TOPOLOGY,
                   "no graph topology");
    index[0] = 0;
    MPI_Graph_create(MPI_COMM_SELF, 1, index, NULL, 0, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    expect_refusal(MPI_Graph_neighbors_count(comm, 1, &n), MPI_ERR_RANK, "rank is 1");
    expect_refusal(MPI_Graph_get(comm, 0, 0, index, edges), MPI_ERR_ARG, "maxindex is 0");
    expect_refusal(MPI_Cartdim_get(comm, &n), MPI_ERR_TOPOLOGY, "no Cartesian");
    MPI_Comm_free(&comm);
}

static void bad_distributed_graphs_are_refused(void)
{
    int one = 1, zero = 0, far = size, less = -1;
    MPI_Comm comm, world = MPI_COMM_WORLD;
    MPI_Info none = MPI_INFO_NULL;
    expect_refusal(MPI_Dist_graph_create_adjacent(world, 1, &far, unweighted, 0, NULL, unweighted,
                                                  none, 0, &comm),
                   MPI_ERR_RANK, "sources[0] is");
    expect_refusal(
        MPI_Dist_graph_create_adjacent(world, 0, NULL, unweighted, 1, &zero, &less, none, 0, &comm),
        MPI_ERR_ARG, "destweights[0] is -1");
    expect_refusal(
        MPI_Dist_graph_create_adjacent(world, 1, &zero, unweighted, 1, &zero, &one, none, 0, &comm),
        MPI_ERR_ARG, "MPI_UNWEIGHTED");
    expect_refusal(MPI_Dist_graph_create_adjacent(world, -1, NULL, unweighted, 0, NULL, unweighted,
                                                  none, 0, &comm),
                   MPI_ERR_ARG, "indegree is -1");
    expect_refusal(MPI_Dist_graph_create(world, 1, &zero, &less, &zero, unweighted, none, 0, &comm),
                   MPI_ERR_ARG, "degrees[0] is -1");
    /* An error of one rank is returned at all. */
    int error = MPI_Dist_graph_create(world, 1, &zero, &one, rank == size - 1 ? &far : &zero,
                                      unweighted, none, 0, &comm);
    int error_class = class_of(error);
    CHECK(error_class == (rank == size - 1 ? MPI_ERR_RANK : MPI_ERR_TOPOLOGY));
    if (size > 1) {
        error = MPI_Dist_graph_create(world, 1, &zero, &one, &zero, rank == 0 ? &one : unweighted,
                                      none, 0, &comm);
        expect_refusal(error, MPI_ERR_TOPOLOGY, "MPI_UNWEIGHTED");
    }
}

static void bad_neighbourhoods_are_refused(void)
{
    int dims[1] = {1}, periods[1] = {1}, out[2] = {1, 2}, in[2], counts[2] = {1, -1};
    int displs[2] = {0, 1};
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &grid);
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
    expect_refusal(MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD),
                   MPI_ERR_TOPOLOGY, "no topology");
    expect_refusal(MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, in, 1, MPI_INT, grid),
                   MPI_ERR_BUFFER, "sendbuf may not be MPI_IN_PLACE");
    expect_refusal(MPI_Neighbor_alltoall(out, -1, MPI_INT, in, 1, MPI_INT, grid), MPI_ERR_COUNT,
                   "sendcount is -1");
    expect_refusal(MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, counts, displs, MPI_INT, grid),
                   MPI_ERR_COUNT, "recvcounts[1] is -1");
    expect_refusal(
        MPI_Neighbor_alltoallv(out, displs, NULL, MPI_INT, in, displs, displs, MPI_INT, grid),
        MPI_ERR_ARG, "sdispls is a null");
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid);
    CHECK(in[0] == 2 && in[1] == 1);
    MPI_Comm_free(&grid);
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unweighted = MPI_UNWEIGHTED;
    weights_empty = MPI_WEIGHTS_EMPTY;
    graphs_tell_their_edges();
    distributed_graphs_tell_their_edges();
#ifndef OPEN_MPI
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    bad_graphs_are_refused();
    bad_distributed_graphs_are_refused();
    bad_neighbourhoods_are_refused();
#endif
    MPI_Finalize();
    return 0;
}
