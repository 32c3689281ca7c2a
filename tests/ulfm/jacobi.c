/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jacobi's iteration on a square whose rows are spread over the ranks. Rows are kept in memory by
 * their owner and its right neighbour; when ranks fail, the others share the rows again and
 * continue. The answer is that of one process, to the last bit.
 */
#define SUITE_FUNCTIONS
#include "suite.h"

enum { N = 64, ITERATIONS = 300, EVERY = 25, FAILURES = 3 };
enum { ALL_KNOW = -1 }; /* it did not succeed, and all know it */

typedef double grid_t[N + 2][N + 2];

static grid_t now, next, saved; /* saved: own rows and the left neighbour's, else 0 */
static int first, rows;         /* own ones: first .. first + rows - 1 */
static int saved_first, saved_rows, left_first, left_rows, saved_iteration = -1;
static int failures;

static void boundary(grid_t grid)
{
    memset(grid, 0, sizeof(grid_t));
    for (int i = 0; i < N + 2; i++) {
        grid[0][i] = 1.0;
        grid[i][0] = (double)i / N;
    }
}

static void sweep(grid_t from, grid_t to, int begin, int n)
{
    for (int i = begin; i < begin + n; i++) {
        for (int j = 1; j <= N; j++) {
            to[i][j] = 0.25 * (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]);
        }
    }
}

static void share_rows(MPI_Comm comm)
{
    int rank = rank_in(comm), size = size_of(comm);
    first = 1 + N * rank / size;
    rows = 1 + N * (rank + 1) / size - first;
}

static int exchange_halo(MPI_Comm comm)
{
    int rank = rank_in(comm), size = size_of(comm), last = first + rows - 1;
    int up = rank == 0 ? MPI_PROC_NULL : rank - 1,
        down = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
    int error = MPI_Sendrecv(now[first], N + 2, MPI_DOUBLE, up, 1, now[last + 1], N + 2, MPI_DOUBLE,
                             down, 1, comm, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS) {
        error = MPI_Sendrecv(now[last], N + 2, MPI_DOUBLE, down, 2, now[first - 1], N + 2,
                             MPI_DOUBLE, up, 2, comm, MPI_STATUS_IGNORE);
    }
    return error;
}

/* Own rows and a copy of the left neighbour's; at all or at none. */
static int save(MPI_Comm comm, int iteration)
{
    static grid_t coming;
    int rank = rank_in(comm), size = size_of(comm), left = (rank + size - 1) % size, error;
    int from = 1 + N * left / size, n = 1 + N * (left + 1) / size - from;
    error = MPI_Sendrecv(now[first], rows * (N + 2), MPI_DOUBLE, (rank + 1) % size, 3, coming[from],
                         n * (N + 2), MPI_DOUBLE, left, 3, comm, MPI_STATUS_IGNORE);
    if (!all_agree(comm, error == MPI_SUCCESS)) {
        return ALL_KNOW;
    }
    memset(saved, 0, sizeof(saved));
    memcpy(saved[first], now[first], (size_t)rows * sizeof(now[0]));
    memcpy(saved[from], coming[from], (size_t)n * sizeof(now[0]));
    saved_first = first;
    saved_rows = rows;
    left_first = from;
    left_rows = n;
    saved_iteration = iteration;
    return MPI_SUCCESS;
}

/* Every row from a process that has it: the owner, or else the neighbour. Returns where to
 * continue. */
static int restore(MPI_Comm comm)
{
    int owners[N + 2] = {0}, lowest[N + 2], rank = rank_in(comm), oldest;
    for (int i = 1; i <= N; i++) {
        int have = (i >= saved_first && i < saved_first + saved_rows) ||
                   (i >= left_first && i < left_first + left_rows);
        owners[i] = have && saved_iteration >= 0 ? rank : size_of(comm);
    }
    CHECK(MPI_Allreduce(owners, lowest, N + 2, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&saved_iteration, &oldest, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS);
    CHECK(oldest == saved_iteration);
    boundary(now);
    for (int i = 1; i <= N; i++) {
        if (lowest[i] == size_of(comm)) {
            return -1; /* owner and neighbour are both failed */
        }
        if (lowest[i] == rank) {
            memcpy(now[i], saved[i], sizeof(now[i]));
        }
        CHECK(MPI_Bcast(now[i], N + 2, MPI_DOUBLE, lowest[i], comm) == MPI_SUCCESS);
    }
    return oldest;
}

static int iterate(MPI_Comm comm, int *iteration, unsigned *seed)
{
    int error = MPI_SUCCESS, size = size_of(comm);
    while (*iteration < ITERATIONS && error == MPI_SUCCESS) {
        if (*iteration % EVERY == 0 && (error = save(comm, *iteration)) != MPI_SUCCESS) {
            break;
        }
        if (failures < FAILURES && *iteration == (failures + 1) * ITERATIONS / (FAILURES + 1)) {
            failures++;
            if (rank_in(comm) == draw(seed, size)) {
                crash();
            }
        }
        error = exchange_halo(comm);
        if (error == MPI_SUCCESS) {
            boundary(next);
            sweep(now, next, first, rows);
            memcpy(now[first], next[first], (size_t)rows * sizeof(now[0]));
            ++*iteration;
        }
    }
    return error;
}

static void is_the_answer_of_one(MPI_Comm comm)
{
    static grid_t all, one, other;
    boundary(all);
    for (int rank = 0, size = size_of(comm); rank < size; rank++) {
        int from = 1 + N * rank / size, n = 1 + N * (rank + 1) / size - from;
        if (rank == rank_in(comm)) {
            memcpy(all[from], now[from], (size_t)n * sizeof(now[0]));
        }
        CHECK(MPI_Bcast(all[from], n * (N + 2), MPI_DOUBLE, rank, comm) == MPI_SUCCESS);
    }
    boundary(one);
    for (int i = 0; i < ITERATIONS; i++) {
        boundary(other);
        sweep(one, other, 1, N);
        memcpy(one, other, sizeof(one));
    }
    CHECK(memcmp(one, all, sizeof(one)) == 0);
}

int main(int argc, char **argv)
{
    unsigned seed = 5;
    int iteration = 0, done = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm comm = copy_of_the_world();
    int size = size_of(comm);
    boundary(now);
    share_rows(comm);
    while (!done) {
        int error = iterate(comm, &iteration, &seed);
        if (error != MPI_SUCCESS && error != ALL_KNOW) {
            CHECK(class_of(error) == ERR_FAILED || class_of(error) == ERR_REVOKED);
            MPIX_Comm_revoke(comm);
        }
        done = error != ALL_KNOW && all_agree(comm, error == MPI_SUCCESS);
        if (!done) {
            comm = shrunk(&comm);
            MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, comm);
            seed = 5 + (unsigned)failures;
            share_rows(comm);
            iteration = restore(comm);
            if (iteration < 0) {
                iteration = 0;
                boundary(now);
            }
        }
    }
    CHECK(failures == FAILURES && size_of(comm) == size - FAILURES);
    is_the_answer_of_one(comm);
    MPI_Comm_free(&comm);
    return survived("jacobi");
}
