/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank 0 hands out tasks and takes results from any source; workers fail with a task in hand, and
 * it is returned to the bag. No process shrinks: failures are acknowledged, and the work continues.
 */
#define SUITE_FUNCTIONS
#include "suite.h"

enum { TASKS = 400, END = -1, WORK = 1, RESULT = 2, MAX = 64 };

static MPI_Comm comm;
static int size;

struct bag {
    int waiting[TASKS], n_waiting;
    int task_of[MAX]; /* the worker that has it, or END */
    char is_failed[MAX], is_done[TASKS];
    int n_done;
    long sum;
};

static long result_of(int task)
{
    return (long)task * task + 7;
}

/* A worker gets the next task; one that cannot be sent stays in the bag. */
static void hand_out(struct bag *bag, int worker)
{
    if (bag->is_failed[worker] || bag->task_of[worker] != END || bag->n_waiting == 0) {
        return;
    }
    int task = bag->waiting[bag->n_waiting - 1];
    int error = MPI_Send(&task, 1, MPI_INT, worker, WORK, comm);
    CHECK(error == MPI_SUCCESS || class_of(error) == ERR_FAILED);
    if (error == MPI_SUCCESS) {
        bag->task_of[worker] = task;
        bag->n_waiting--;
    }
}

static void take_back(struct bag *bag)
{
    int failed[MAX], n = failed_ranks(comm, failed, MAX);
    for (int i = 0; i < n; i++) {
        int task = bag->task_of[failed[i]];
        if (!bag->is_failed[failed[i]] && task != END) {
            bag->waiting[bag->n_waiting++] = task;
            bag->task_of[failed[i]] = END;
        }
        bag->is_failed[failed[i]] = 1;
    }
}

static void take(struct bag *bag, int worker, long result)
{
    int task = bag->task_of[worker];
    CHECK(task != END && result == result_of(task));
    bag->task_of[worker] = END;
    CHECK(!bag->is_done[task]);
    bag->is_done[task] = 1;
    bag->sum += result;
    bag->n_done++;
}

static void master(void)
{
    static struct bag bag;
    long result;
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < TASKS; i++) {
        bag.waiting[bag.n_waiting++] = i;
    }
    for (int worker = 0; worker < size; worker++) {
        bag.task_of[worker] = END;
    }
    while (bag.n_done < TASKS) {
        for (int worker = 1; worker < size; worker++) {
            hand_out(&bag, worker);
        }
        if (request == MPI_REQUEST_NULL) {
            MPI_Irecv(&result, 1, MPI_LONG, MPI_ANY_SOURCE, RESULT, comm, &request);
        }
        int error = MPI_Wait(&request, &status);
        if (error == MPI_SUCCESS) {
            take(&bag, status.MPI_SOURCE, result);
        } else {
            CHECK(class_of(error) == ERR_PENDING && request != MPI_REQUEST_NULL);
            take_back(&bag);
        }
    }
    long wanted = 0;
    int n_failed_workers = 0, end = END;
    for (int i = 0; i < TASKS; i++) {
        wanted += result_of(i);
    }
    CHECK(bag.sum == wanted);
    for (int worker = 1; worker < size; worker++) {
        n_failed_workers += bag.is_failed[worker];
        if (!bag.is_failed[worker]) {
            CHECK(MPI_Send(&end, 1, MPI_INT, worker, WORK, comm) == MPI_SUCCESS);
        }
    }
    CHECK(n_failed_workers == (size - 1) / 2);
}

/* Every second worker fails with its first task in hand, which it does get: no worker gets a second
 * one before all first ones were returned. */
static void worker(int rank)
{
    for (;;) {
        int task;
        CHECK(MPI_Recv(&task, 1, MPI_INT, 0, WORK, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        if (task == END) {
            return;
        }
        if (rank % 2 == 0) {
            crash();
        }
        long result = result_of(task);
        CHECK(MPI_Send(&result, 1, MPI_LONG, 0, RESULT, comm) == MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    comm = copy_of_the_world();
    size = size_of(comm);
    CHECK(size <= MAX && size % 2 == 1);
    if (rank_in(comm) == 0) {
        master();
    } else {
        worker(rank_in(comm));
    }
    return survived("bag_of_tasks");
}
