/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue of tasks without a master: the number of the next task is a word in the window of one
 * process, which the others increase by MPI_Fetch_and_op. Any process may fail, also that one: the
 * survivors shrink the communicator, tell each other the results that they have, and share the rest
 * of the tasks by a new window. Processes are not replaced.
 *
 *     queue [TASKS]                         (1000)
 */
#include <mpi-ext.h>
#include <mpi.h>
#include <rhizome/checkpoint.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 500, UNKNOWN = -1 };

static int tasks = 1000;
static int64_t *results; /* of each task, as far as this process knows it */
static int *open_tasks;  /* those that no process has a result of, the same list at all */
static int n_open;

/* A task: the longest chain of Collatz that begins at one of some numbers. */
static int64_t compute(int task)
{
    int64_t longest = 0;
    for (int64_t number = 1; number <= NUMBERS; number++) {
        int64_t length = 0;
        for (int64_t n = (int64_t)task * NUMBERS + number; n > 1; length++) {
            n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        }
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* After it all processes know the results that one of them had. */
static int share(MPI_Comm comm)
{
    int64_t *all = malloc((size_t)tasks * sizeof(*all));
    int error =
        all ? MPI_Allreduce(results, all, tasks, MPI_INT64_T, MPI_MAX, comm) : MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS) {
        memcpy(results, all, (size_t)tasks * sizeof(*all));
    }
    free(all);
    n_open = 0;
    for (int task = 0; task < tasks; task++) {
        if (results[task] == UNKNOWN) {
            open_tasks[n_open++] = task;
        }
    }
    return error;
}

/* Takes tasks from the queue until it is empty. An error: the process with the queue has failed. */
static int work(MPI_Win win)
{
    static uint64_t done;
    const int64_t one = 1;
    int64_t next;
    int error = MPI_Win_lock_all(0, win);
    while (error == MPI_SUCCESS) {
        error = MPI_Fetch_and_op(&one, &next, MPI_INT64_T, 0, 0, MPI_SUM, win);
        error = error != MPI_SUCCESS ? error : MPI_Win_flush(0, win);
        if (error != MPI_SUCCESS || next >= n_open) {
            break;
        }
        RZ_Progress_mark(done++);
        results[open_tasks[next]] = compute(open_tasks[next]);
    }
    int end = MPI_Win_unlock_all(win);
    return error != MPI_SUCCESS ? error : end;
}

/* *win stays MPI_WIN_NULL if this process could not make it. */
static int queue_open(MPI_Comm comm, MPI_Win *win)
{
    int rank;
    int64_t *next;
    MPI_Comm_rank(comm, &rank);
    int error = MPI_Win_allocate(rank == 0 ? sizeof(*next) : 0, sizeof(*next), MPI_INFO_NULL, comm,
                                 &next, win);
    if (error != MPI_SUCCESS) {
        *win = MPI_WIN_NULL;
        return error;
    }
    MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN);
    if (rank == 0) {
        *next = 0;
    }
    return MPI_Barrier(comm);
}

/* One attempt to do all open tasks; true at all processes or at none. */
static int attempt(MPI_Comm comm)
{
    MPI_Win win = MPI_WIN_NULL;
    int error = share(comm);
    error = error != MPI_SUCCESS ? error : queue_open(comm, &win);
    error = error != MPI_SUCCESS ? error : work(win);
    error = error != MPI_SUCCESS ? error : share(comm);
    if (error != MPI_SUCCESS) {
        MPIX_Comm_revoke(comm); /* no process waits for this one in vain */
    }
    /* All take part in this agreement, whatever happened to them before. */
    int fine = error == MPI_SUCCESS;
    error = MPIX_Comm_agree(comm, &fine);
    if (win != MPI_WIN_NULL) {
        MPI_Win_free(&win); /* works although members have failed */
    }
    return fine && error == MPI_SUCCESS;
}

static void repair(MPI_Comm *comm)
{
    MPI_Comm living;
    MPIX_Comm_revoke(*comm);
    MPIX_Comm_shrink(*comm, &living);
    MPI_Comm_free(comm);
    *comm = living;
}

static void print_result(MPI_Comm comm)
{
    int rank;
    int64_t longest = 0, sum = 0;
    MPI_Comm_rank(comm, &rank);
    for (int task = 0; task < tasks; task++) {
        longest = results[task] > longest ? results[task] : longest;
        sum += results[task] * (task + 1);
    }
    if (rank == 0) {
        printf("tasks %d\nlongest %lld\nsum %lld\n", tasks, (long long)longest, (long long)sum);
    }
}

static void read_arguments(int argc, char **argv)
{
    char *end = "";
    long value = argc > 1 ? strtol(argv[1], &end, 10) : tasks;
    if (argc > 2 || *end != '\0' || value < 1 || value > 1000000) {
        fprintf(stderr,
                "queue: '%s' is no number from 1 to 1000000, or there are more arguments\n"
                "usage: queue [TASKS]\n",
                argv[1]);
        exit(2);
    }
    tasks = (int)value;
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    read_arguments(argc, argv);
    results = malloc((size_t)tasks * sizeof(*results));
    open_tasks = malloc((size_t)tasks * sizeof(*open_tasks));
    if (!results || !open_tasks) {
        fprintf(stderr, "queue: no memory for %d tasks\n", tasks);
        return 1;
    }
    for (int task = 0; task < tasks; task++) {
        results[task] = UNKNOWN;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* those made of it inherit it */
    int error = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (error != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    while (!attempt(comm)) {
        repair(&comm);
    }
    print_result(comm);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    free(results);
    free(open_tasks);
    return 0;
}
