/* SPDX-License-Identifier: BSD-3-Clause */
/* Cartesian grids: neighbours, slices and duplicates agree with arithmetic on coordinates; balanced
 * dimensions. */
#include "check.h"

#include <string.h>

static int error_class(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

static void expect_dims(int nodes, int ndims, const int *given, const int *expected)
{
    int dims[4];
    memcpy(dims, given, sizeof(dims));
    CHECK(MPI_Dims_create(nodes, ndims, dims) == MPI_SUCCESS);
    CHECK(memcmp(dims, expected, (size_t)ndims * sizeof(int)) == 0);
}

static void dimensions_are_balanced(void)
{
    expect_dims(6, 2, (int[4]){0, 0}, (int[4]){3, 2});
    expect_dims(7, 2, (int[4]){0, 0}, (int[4]){7, 1});
    expect_dims(6, 3, (int[4]){0, 3, 0}, (int[4]){2, 3, 1});
    expect_dims(64, 3, (int[4]){0, 0, 0}, (int[4]){4, 4, 4});
    expect_dims(24, 4, (int[4]){0, 0, 0, 0}, (int[4]){3, 2, 2, 2});
    expect_dims(36, 2, (int[4]){0, 0}, (int[4]){6, 6});
    expect_dims(30, 2, (int[4]){5, 6}, (int[4]){5, 6});
    expect_dims(2147483647, 3, (int[4]){0, 0, 0}, (int[4]){2147483647, 1, 1});
    expect_dims(1396755360, 3, (int[4]){0, 0, 0}, (int[4]){1140, 1122, 1092});
    expect_dims(871080, 3, (int[4]){0, 0, 0}, (int[4]){122, 85, 84});
    int dims[2] = {4, 0};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(error_class(MPI_Dims_create(6, 2, dims)) == MPI_ERR_DIMS);
    CHECK(error_class(MPI_Cartdim_get(MPI_COMM_WORLD, dims)) == MPI_ERR_TOPOLOGY);
}

/* A message to each neighbour and back identifies them. */
static void neighbours_agree(MPI_Comm grid, int ndims, const int *periods)
{
    int rank, dims[3], wrapped[3], mine[3];
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_get(grid, ndims, dims, wrapped, mine);
    for (int d = 0; d < ndims; d++) {
        CHECK(!wrapped[d] == !periods[d]);
        for (int step = -3; step <= 3; step++) {
            int source, dest, got = -1, coords[3], back;
            MPI_Cart_shift(grid, d, step, &source, &dest);
            MPI_Sendrecv(&rank, 1, MPI_INT, dest, d, &got, 1, MPI_INT, source, d, grid,
                         MPI_STATUS_IGNORE);
            CHECK(got == (source == MPI_PROC_NULL ? -1 : source));
            memcpy(coords, mine, sizeof(coords));
            coords[d] += step;
            int inside = coords[d] >= 0 && coords[d] < dims[d];
            CHECK(inside || periods[d] || dest == MPI_PROC_NULL);
            if (inside || periods[d]) {
                MPI_Cart_rank(grid, coords, &back);
                CHECK(back == dest);
            }
        }
    }
}

/* Each row has the ranks with the same other coordinates, in order. */
static void slices_are_rows(MPI_Comm grid, int ndims)
{
    int rank, mine[3];
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, ndims, mine);
    for (int keep = 0; keep < 1 << ndims; keep++) {
        MPI_Comm sub;
        int remain[3], dims[3], periods[3], at[3], n, sum = 0, expected = 0, size, number;
        for (int d = 0; d < ndims; d++) {
            remain[d] = keep >> d & 1;
        }
        MPI_Cart_sub(grid, remain, &sub);
        MPI_Cartdim_get(sub, &n);
        MPI_Cart_get(sub, n, dims, periods, at);
        for (int d = 0, k = 0; d < ndims; d++) {
            CHECK(!remain[d] || at[k] == mine[d]);
            k += remain[d];
        }
        MPI_Comm_size(sub, &size);
        MPI_Comm_rank(sub, &number);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, sub);
        int all;
        MPI_Comm_size(grid, &all);
        for (int r = 0; r < all; r++) {
            int coords[3], same = 1;
            MPI_Cart_coords(grid, r, ndims, coords);
            for (int d = 0; d < ndims; d++) {
                same = same && (remain[d] || coords[d] == mine[d]);
            }
            expected += same ? r : 0;
            size -= same;
        }
        CHECK(sum == expected && size == 0);
        MPI_Comm_free(&sub);
    }
}

int main(int argc, char **argv)
{
    int size, rank, status, dims[3] = {0, 0, 0}, periods[3] = {1, 0, 1};
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    dimensions_are_balanced();
    for (int ndims = 1; ndims <= 3; ndims++) {
        MPI_Comm grid, copy, none;
        int place;
        memset(dims, 0, sizeof(dims));
        MPI_Dims_create(size, ndims, dims);
        CHECK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 1, &grid) == MPI_SUCCESS);
        neighbours_agree(grid, ndims, periods);
        slices_are_rows(grid, ndims);
        MPI_Cart_map(grid, ndims, dims, periods, &place);
        CHECK(place == rank);
        MPI_Comm_dup(grid, &copy);
        MPI_Comm_free(&grid);
        MPI_Topo_test(copy, &status);
        CHECK(status == MPI_CART);
        neighbours_agree(copy, ndims, periods);
        MPI_Comm_free(&copy);
        /* A process that is not in the grid gets no communicator. */
        memset(dims, 0, sizeof(dims));
        dims[0] = size > 1 ? size - 1 : 1;
        MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &none);
        CHECK((none == MPI_COMM_NULL) == (rank >= dims[0]));
        if (none != MPI_COMM_NULL) {
            MPI_Barrier(none);
            MPI_Comm_free(&none);
        }
    }
    MPI_Topo_test(MPI_COMM_WORLD, &status);
    CHECK(status == MPI_UNDEFINED);
    dims[0] = size + 1;
    MPI_Comm grid;
    CHECK(error_class(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid)) ==
          MPI_ERR_TOPOLOGY);
    MPI_Finalize();
    return 0;
}
