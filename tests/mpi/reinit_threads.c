/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Reinit in a program with MPI_THREAD_MULTIPLE: threads communicate all the time; when a rank
 * fails, their calls return an error first, whatever they wait for, and only then is the restart
 * point entered again. A thread that does not know of it yet gets the error at its next call.
 *
 * Arguments: [DEATHS].
 */
#include "reinit.h"

#include <mpi-ext.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { THREADS = 3, ROUNDS = 30 };

static int failures_wanted, passes;

struct worker {
    pthread_t thread;
    int number, rank, size, rounds; /* rounds -1: waits for a message that is never sent */
    MPI_Comm comm;
    int error; /* how it ended */
};

static atomic_int n_workers; /* of this process, between their first call and their last one */
static struct worker workers[THREADS], idler;
static atomic_int idler_has_called, idler_may_call;

static void *work(void *arg)
{
    struct worker *worker = arg;
    int to = (worker->rank + 1) % worker->size;
    int from = (worker->rank + worker->size - 1) % worker->size, size;
    CHECK(MPI_Comm_size(worker->comm, &size) == MPI_SUCCESS);
    atomic_fetch_add(&n_workers, 1);
    worker->error = MPI_SUCCESS;
    for (int i = 0; worker->error == MPI_SUCCESS && i != worker->rounds; i++) {
        int out = i, in = -1;
        int tag = worker->rounds < 0 ? 1000 : worker->number;
        worker->error = worker->rounds < 0
                            ? MPI_Recv(&in, 1, MPI_INT, from, tag, worker->comm, MPI_STATUS_IGNORE)
                            : MPI_Sendrecv(&out, 1, MPI_INT, to, tag, &in, 1, MPI_INT, from, tag,
                                           worker->comm, MPI_STATUS_IGNORE);
        CHECK(worker->error != MPI_SUCCESS || in == i);
    }
    atomic_fetch_sub(&n_workers, 1);
    return NULL;
}

/* Calls once in the first round, and again after the roll-back: gets the error. */
static void *idle(void *arg)
{
    struct worker *worker = arg;
    int size;
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS && size == worker->size);
    atomic_store(&idler_has_called, 1);
    while (!atomic_load(&idler_may_call)) {
        sched_yield();
    }
    worker->error = MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS); /* once */
    return NULL;
}

static int to_join; /* workers run, or have ended */

static void join_all(void)
{
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK(workers[i].error == MPI_SUCCESS || class_of(workers[i].error) == MPI_ERR_PROC_FAILED);
    }
    CHECK(workers[THREADS - 1].error !=
          MPI_SUCCESS); /* it waited for a message that is never sent */
    to_join = 0;
}

/* In every second round; else when the restart point is entered again: no call is left then. */
static void clean_up(MPIX_Reinit_state_t state, void *arg)
{
    (void)state;
    (void)arg;
    if (passes % 2) {
        join_all();
    }
}

static void begin_worker(int i, int rank, int size, MPI_Comm comm)
{
    workers[i] =
        (struct worker){.number = i, .rank = rank, .size = size, .rounds = ROUNDS, .comm = comm};
    workers[i].rounds = i == THREADS - 1 ? -1 : 1000000;
    CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    int rank, size;
    MPI_Comm comm;
    (void)argc;
    (void)argv;
    (void)state;
    if (to_join) {
        join_all();
    }
    passes++;
    CHECK(atomic_load(&n_workers) == 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int failure = failures_so_far(passes);
    if (passes == 1) {
        idler = (struct worker){.size = size};
        CHECK(pthread_create(&idler.thread, NULL, idle, &idler) == 0);
    }
    while (!atomic_load(&idler_has_called)) { /* its first call belongs to the first round */
        sched_yield();
    }
    if (failure == failures_wanted) {
        atomic_store(&idler_may_call, 1);
        pthread_join(idler.thread, NULL);
        CHECK(passes == 1 || class_of(idler.error) == MPI_ERR_PROC_FAILED);
        return 0;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < THREADS; i++) {
        begin_worker(i, rank, size, comm);
    }
    while (atomic_load(&n_workers) < THREADS) { /* a thread that never called MPI gets no error */
        sched_yield();
    }
    to_join = 1;
    MPIX_Reinit_cleanup_push(clean_up, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == failure % size) {
        raise(SIGKILL);
    }
    for (;;) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    failures_wanted = argc > 1 ? atoi(argv[1]) : 1;
    CHECK(MPIX_Reinit(argc, argv, point) == 0);
    MPI_Finalize();
    return 0;
}
