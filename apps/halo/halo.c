/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat in a square plate, in blocks: each process puts the border of its block into the halos of
 * its neighbours, and a fence ends the exchange. When processes or nodes fail, all go back to the
 * newest checkpoint, of which the window is a part.
 *
 *     halo [ROWS [COLUMNS [ITERATIONS]]]          points of each block (64 x 64), iterations (200)
 */
#include <mpi-ext.h>
#include <mpi.h>
#include <rhizome/checkpoint.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKPOINT_EVERY = 5 };

static int rows = 64, columns = 64, iterations = 200; /* of a block, without its halo */

/* The window of a process has two plates, each with a halo of one point around it. An iteration
 * reads one of them and computes the other, so one fence per iteration is enough. */
struct block {
    MPI_Win win;
    double *plates;
    MPI_Datatype column;
    int side[4]; /* the neighbours: above, below, left, right; MPI_PROC_NULL at the edge */
    int row, column_first;
};

static size_t at(int plate, int i, int j) /* rows and columns from 1 on; 0 and the last are halo */
{
    size_t width = (size_t)columns + 2, height = (size_t)rows + 2;
    return ((size_t)plate * height + (size_t)i) * width + (size_t)j;
}

static void block_open(struct block *block)
{
    int rank, size, grid[2] = {0, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, grid);
    int i = rank / grid[1], j = rank % grid[1];
    block->side[0] = i > 0 ? rank - grid[1] : MPI_PROC_NULL;
    block->side[1] = i < grid[0] - 1 ? rank + grid[1] : MPI_PROC_NULL;
    block->side[2] = j > 0 ? rank - 1 : MPI_PROC_NULL;
    block->side[3] = j < grid[1] - 1 ? rank + 1 : MPI_PROC_NULL;
    block->row = i * rows;
    block->column_first = j * columns;
    MPI_Win_allocate((MPI_Aint)(at(2, 0, 0) * sizeof(double)), sizeof(double), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &block->plates, &block->win);
    MPI_Type_vector(rows, 1, columns + 2, MPI_DOUBLE, &block->column);
    MPI_Type_commit(&block->column);
}

/* The edge of the plate is cold, but for a hot spot in its upper edge. */
static void block_begin(struct block *block)
{
    memset(block->plates, 0, at(2, 0, 0) * sizeof(double));
    for (int plate = 0; plate < 2 && block->side[0] == MPI_PROC_NULL; plate++) {
        for (int j = 1; j <= columns; j++) {
            int from_left = block->column_first + j;
            block->plates[at(plate, 0, j)] = from_left > 10 && from_left < 30 ? 100.0 : 0.0;
        }
    }
}

/* The borders of this block go into the opposite halos of the neighbours. */
static void exchange(const struct block *block, int plate)
{
    const double *from = block->plates;
    MPI_Win win = block->win;
    MPI_Put(from + at(plate, 1, 1), columns, MPI_DOUBLE, block->side[0],
            (MPI_Aint)at(plate, rows + 1, 1), columns, MPI_DOUBLE, win);
    MPI_Put(from + at(plate, rows, 1), columns, MPI_DOUBLE, block->side[1],
            (MPI_Aint)at(plate, 0, 1), columns, MPI_DOUBLE, win);
    MPI_Put(from + at(plate, 1, 1), 1, block->column, block->side[2],
            (MPI_Aint)at(plate, 1, columns + 1), 1, block->column, win);
    MPI_Put(from + at(plate, 1, columns), 1, block->column, block->side[3],
            (MPI_Aint)at(plate, 1, 0), 1, block->column, win);
    MPI_Win_fence(0, win);
}

static void relax(double *plates, int from, int to)
{
    for (int i = 1; i <= rows; i++) {
        for (int j = 1; j <= columns; j++) {
            plates[at(to, i, j)] = 0.25 * (plates[at(from, i - 1, j)] + plates[at(from, i + 1, j)] +
                                           plates[at(from, i, j - 1)] + plates[at(from, i, j + 1)]);
        }
    }
}

static void print_result(const struct block *block, int plate)
{
    int rank;
    double heat = 0.0, all;
    uint64_t bits = 0, mixed;
    for (int i = 1; i <= rows; i++) {
        for (int j = 1; j <= columns; j++) {
            double value = block->plates[at(plate, i, j)];
            uint64_t word;
            memcpy(&word, &value, sizeof(word));
            heat += value;
            bits = bits * 31 + word; /* any difference in any bit shows */
        }
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bits *= 2 * (uint64_t)rank + 1;
    MPI_Reduce(&heat, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&bits, &mixed, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("iterations %d\nheat %.17g\nbits %016llx\n", iterations, all,
               (unsigned long long)mixed);
    }
}

/* The restart point: entered at the start, and again after each failure. */
static int run(int argc, char **argv, MPIX_Reinit_state_t state)
{
    static int iteration;
    struct block block;
    uint64_t generation;
    (void)argc, (void)argv, (void)state;
    block_open(&block);
    RZ_Checkpoint_protect(0, &iteration, sizeof(iteration));
    RZ_Checkpoint_protect_win(1, block.win);
    RZ_Restore(&generation);
    if (generation == 0) { /* there is no checkpoint yet */
        iteration = 0;
        block_begin(&block);
    }
    MPI_Win_fence(MPI_MODE_NOPRECEDE, block.win);
    while (iteration < iterations) {
        RZ_Progress_mark((uint64_t)iteration);
        exchange(&block, iteration % 2);
        relax(block.plates, iteration % 2, (iteration + 1) % 2);
        iteration++;
        if (iteration % CHECKPOINT_EVERY == 0) {
            RZ_Checkpoint(NULL);
        }
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, block.win);
    print_result(&block, iteration % 2);
    MPI_Win_free(&block.win);
    MPI_Type_free(&block.column);
    return 0;
}

int main(int argc, char **argv)
{
    int *const values[3] = {&rows, &columns, &iterations};
    for (int i = 1; i < argc; i++) {
        char *end;
        long value = strtol(argv[i], &end, 10);
        if (i > 3 || *end != '\0' || value < 1 || value > 10000) {
            fprintf(stderr,
                    "halo: '%s' is no number from 1 to 10000, or one too many\n"
                    "usage: halo [ROWS [COLUMNS [ITERATIONS]]]\n",
                    argv[i]);
            return 2;
        }
        *values[i - 1] = (int)value;
    }
    MPI_Init(&argc, &argv);
    MPIX_Reinit(argc, argv, run);
    MPI_Finalize();
    return 0;
}
