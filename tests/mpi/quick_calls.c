/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that end at once make progress: rank 0 makes no other ones until rank 1 has done its part,
 * which needs rank 0.
 *
 *   quick_calls CALLS WHAT
 *
 * CALLS: get, lock, fetch, swap (on a window), self (a message to itself), alone (a barrier of one
 * process), dup (of MPI_COMM_SELF).
 * WHAT: send, rank 1 sends a message synchronously; large, a long one: rank 0 has posted the
 * receives. dies, rank 2 kills itself, and rank 1, in a barrier of all, is to get
 * MPI_ERR_PROC_FAILED although rank 0 is in none.
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

enum { LARGE = 1 << 20, OVER = 1 };

static MPI_Win win;
static int rank, size, *memory, value, zero, one = 1;

static void get(void)
{
    MPI_Get(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
}

static void lock(void)
{
    MPI_Win_unlock(0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
}

static void fetch(void)
{
    MPI_Fetch_and_op(&zero, &value, MPI_INT, 0, 1, MPI_SUM, win);
    MPI_Win_flush(0, win);
}

static void swap(void)
{
    MPI_Compare_and_swap(&one, &zero, &value, MPI_INT, 0, 1, win);
    MPI_Win_flush(0, win);
}

static void self(void)
{
    MPI_Sendrecv(&one, 1, MPI_INT, 0, 1, &value, 1, MPI_INT, 0, 1, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
}

static void alone(void)
{
    MPI_Barrier(MPI_COMM_SELF);
}

static void duplicate(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_free(&copy);
}

static void (*find(const char *name))(void)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } all[] = {{"get", get},   {"lock", lock},   {"fetch", fetch},  {"swap", swap},
               {"self", self}, {"alone", alone}, {"dup", duplicate}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        if (strcmp(all[i].name, name) == 0) {
            return all[i].call;
        }
    }
    return NULL;
}

/* Rank 1 writes OVER there when it has done its part. */
static bool is_over(void)
{
    return __atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) == OVER;
}

static void say_over(void)
{
    int *there;
    MPI_Aint bytes;
    int unit;
    MPI_Win_shared_query(win, 0, &bytes, &unit, &there);
    __atomic_store_n(there, OVER, __ATOMIC_RELEASE);
}

static void receive(void (*call)(void), int *data)
{
    MPI_Request request;
    MPI_Irecv(data, LARGE, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    while (!is_over()) {
        call();
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void fails(void (*call)(void))
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 2) {
        raise(SIGKILL);
    } else if (rank == 1) {
        CHECK(class_of(MPI_Barrier(MPI_COMM_WORLD)) == MPIX_ERR_PROC_FAILED);
        say_over();
    } else {
        while (!is_over()) {
            call();
        }
        printf("told\n");
    }
    int known;
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &known);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    void (*call)(void) = argc == 3 ? find(argv[1]) : NULL;
    CHECK(call && size >= 2);
    bool dies = strcmp(argv[2], "dies") == 0;
    int n = strcmp(argv[2], "large") == 0 ? LARGE : 1;
    int *data = calloc(LARGE, sizeof(int));
    MPI_Win_allocate_shared(rank == 0 ? 2 * sizeof(int) : 0, sizeof(int), MPI_INFO_NULL,
                            MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank == 0) {
        memory[0] = memory[1] = 0;
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    }
    if (dies) {
        fails(call);
    } else if (rank == 0) {
        receive(call, data);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            MPI_Ssend(data, n, MPI_INT, 0, 1, MPI_COMM_WORLD);
            say_over();
        }
    }
    if (rank == 0) {
        MPI_Win_unlock(0, win);
    }
    free(data);
    if (!dies) {
        MPI_Win_free(&win);
    }
    MPI_Finalize();
    return 0;
}
