/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accumulates on memory of the user, while its owner, rank 0, is inside MPI, computes, or changes
 * it itself: numbers are drawn once each, and sums are exact. The argument says which rank fails on
 * the way (RZ_KILL_AT names the place), or "none". Run with --on-failure continue.
 */
#include "ulfm.h"

#include <mpi-ext.h>
#include <stdint.h>
#include <string.h>

enum { TICKETS, SWAPPED, SMALL, LARGEST, CELLS, ROUNDS = 20000, BOUND_S = 300 };

static int rank, size;
static int64_t cells[CELLS];
static int64_t drawn, last_ticket = -1;
static MPI_Win win;

static int first(int error, int other)
{
    return error != MPI_SUCCESS ? error : other;
}

/* A number that is drawn once; numbers grow. */
static int draw(void)
{
    int64_t one = 1, ticket = -1;
    int error = MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, TICKETS, MPI_SUM, win);
    error = first(error, MPI_Win_flush(0, win));
    if (error == MPI_SUCCESS) {
        CHECK(ticket > last_ticket);
        last_ticket = ticket;
        drawn++;
    }
    return error;
}

/* One more, by compare-and-swap. */
static int swap(void)
{
    int64_t expected = 0, found = 0, next;
    int error;
    do {
        expected = found;
        next = expected + 1;
        error = MPI_Compare_and_swap(&next, &expected, &found, MPI_INT64_T, 0, SWAPPED, win);
        error = first(error, MPI_Win_flush(0, win));
    } while (error == MPI_SUCCESS && found != expected);
    return error;
}

/* Elements of 2 and 8 bytes, without and with a result. */
static int others(void)
{
    int16_t one = 1;
    int64_t mine = drawn, before;
    int error = MPI_Accumulate(&one, 1, MPI_INT16_T, 0, SMALL, 1, MPI_INT16_T, MPI_SUM, win);
    error = first(error, MPI_Get_accumulate(&mine, 1, MPI_INT64_T, &before, 1, MPI_INT64_T, 0,
                                            LARGEST, 1, MPI_INT64_T, MPI_MAX, win));
    return first(error, MPI_Win_flush(0, win));
}

/* What rank 0 does otherwise: it is inside MPI, or computes. */
static void be_elsewhere(int round)
{
    int flag;
    for (int i = 0; i < 20 && round % 3 != 0; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    for (volatile int i = 0; i < 500 && round % 3 == 0; i++) {
    }
}

/* fails: a rank that fails on the way; without one, so many rounds. */
static int work(int fails)
{
    double end = MPI_Wtime() + BOUND_S;
    int error = MPI_SUCCESS;
    for (int i = 0; error == MPI_SUCCESS && (fails == 0 || i < ROUNDS) && MPI_Wtime() < end; i++) {
        error = draw();
        error = first(error, swap());
        error = first(error, others());
        if (rank == 0) {
            be_elsewhere(i);
        }
    }
    return error;
}

/* Of those that live; the rank that failed may have done up to so many more. */
static void compare(int failed)
{
    MPI_Comm comm;
    int64_t all, largest;
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    MPI_Allreduce(&drawn, &all, 1, MPI_INT64_T, MPI_SUM, comm);
    MPI_Allreduce(&drawn, &largest, 1, MPI_INT64_T, MPI_MAX, comm);
    if (rank == 0) {
        int64_t more = failed > 0 ? ROUNDS : 0;
        int16_t small;
        memcpy(&small, &cells[SMALL], sizeof(small));
        CHECK(cells[TICKETS] >= all && cells[TICKETS] <= all + more);
        CHECK(cells[SWAPPED] >= all && cells[SWAPPED] <= all + more);
        CHECK(failed > 0 || small == (int16_t)all);
        CHECK(cells[LARGEST] >= largest && cells[LARGEST] <= largest + more);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int failed = argc > 1 && strcmp(argv[1], "none") != 0 ? atoi(argv[1]) : -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_create(cells, sizeof(cells), sizeof(*cells), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    int error = work(failed);
    CHECK(failed == 0 ? error == MPI_ERR_PROC_FAILED : error == MPI_SUCCESS);
    MPI_Win_unlock_all(win);
    int freed = MPI_Win_free(&win);
    CHECK(freed == MPI_SUCCESS && win == MPI_WIN_NULL);
    compare(failed);
    if (rank == size - 1) {
        printf("windows: correct\n");
    }
    MPI_Finalize();
    return 0;
}
