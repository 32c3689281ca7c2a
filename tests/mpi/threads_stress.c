/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of each rank do all that MPI lets them do at once (MPI_THREAD_MULTIPLE): messages with
 * wildcards, probes and cancels, collectives, every way of waiting, and the making and freeing of
 * everything that has a handle. Made for the thread sanitizer, and a test without it.
 *
 * Thread t of a rank works with thread t of the other ranks, on a communicator of theirs and on
 * MPI_COMM_WORLD with tags of theirs; all of them draw the same deeds.
 *
 * Arguments: [SEED [ROUNDS]]; replay a failure with the seed it was run with.
 */
#include "check.h"
#include "threads_stress.h"

#include <stdlib.h>
#include <string.h>

enum { LONG = 60000 };

static MPI_Request shared[THREADS][SLOTS]; /* one array; each thread has its slots */
static unsigned seed = 1;

/* ---- Messages ---- */

static void send_and_receive_any(struct worker *me)
{
    static const int lengths[] = {0, 1, 500, LONG};
    int count = lengths[below(me, 4)], tag = below(me, 50), got;
    MPI_Request request;
    MPI_Status status;
    for (int i = 0; i < count; i++) {
        me->out[i] = me->rank + i;
    }
    MPI_Isend(me->out, count, MPI_INT, me->right, tag, me->comm, &request);
    MPI_Recv(me->in, LONG, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, me->comm, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(status.MPI_SOURCE == me->left && status.MPI_TAG == tag && got == count);
    CHECK(count == 0 || me->in[count - 1] == me->left + count - 1);
}

/* Every thread of every rank, in one communicator. */
static void exchange_on_world(struct worker *me)
{
    int out[2] = {me->rank, me->thread}, in[2];
    MPI_Request request;
    MPI_Status status;
    if (below(me, 2)) {
        MPI_Issend(out, 2, MPI_INT, me->right, me->thread, MPI_COMM_WORLD, &request);
        MPI_Recv(in, 2, MPI_INT, MPI_ANY_SOURCE, me->thread, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Sendrecv(out, 2, MPI_INT, me->right, me->thread, in, 2, MPI_INT, me->left, me->thread,
                     MPI_COMM_WORLD, &status);
    }
    CHECK(in[0] == me->left && in[1] == me->thread && status.MPI_SOURCE == me->left);
}

static void probe(struct worker *me)
{
    int out = me->rank, in = -1, flag = 0, way = below(me, 3);
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    MPI_Isend(&out, 1, MPI_INT, me->right, 7, me->comm, &request);
    if (way == 0) {
        MPI_Probe(MPI_ANY_SOURCE, 7, me->comm, &status);
        MPI_Recv(&in, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, me->comm, &status);
    } else if (way == 1) {
        MPI_Mprobe(me->left, MPI_ANY_TAG, me->comm, &message, &status);
        MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
    } else {
        while (!flag) {
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, me->comm, &flag, &message, &status);
        }
        MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
    }
    CHECK(in == me->left);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void cancel(struct worker *me)
{
    int in, cancelled;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 99, me->comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled);
}

/* ---- Waiting, for a part of an array that all threads use ---- */

static void finish(struct worker *me, MPI_Request *requests)
{
    MPI_Status statuses[SLOTS];
    int flag = 0, n, indices[SLOTS];
    switch (below(me, 4)) {
    case 0:
        MPI_Waitall(SLOTS, requests, statuses);
        return;
    case 1:
        for (int i = 0; i < SLOTS; i++) {
            MPI_Waitany(SLOTS, requests, &n, statuses);
        }
        return;
    case 2:
        for (int i = 0; i < SLOTS; i += n) {
            MPI_Waitsome(SLOTS, requests, &n, indices, statuses);
        }
        return;
    default:
        MPI_Test(&requests[0], &flag, statuses);
        MPI_Testsome(SLOTS, requests, &n, indices, statuses);
        for (flag = 0; !flag;) {
            MPI_Testall(SLOTS, requests, &flag, MPI_STATUSES_IGNORE);
        }
    }
}

static void many_requests(struct worker *me)
{
    MPI_Request *requests = shared[me->thread];
    int values[SLOTS];
    for (int i = 0; i < SLOTS; i += 2) {
        values[i] = me->rank * SLOTS + i;
        MPI_Irecv(&values[i + 1], 1, MPI_INT, me->left, i, me->comm, &requests[i]);
        MPI_Isend(&values[i], 1, MPI_INT, me->right, i, me->comm, &requests[i + 1]);
    }
    finish(me, requests);
    for (int i = 0; i < SLOTS; i += 2) {
        CHECK(values[i + 1] == me->left * SLOTS + i);
        CHECK(requests[i] == MPI_REQUEST_NULL && requests[i + 1] == MPI_REQUEST_NULL);
    }
}

/* ---- Collectives ---- */

static void sum_up(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int bytes;
    MPI_Type_size(*type, &bytes);
    CHECK(bytes == sizeof(int));
    for (int i = 0; i < *n; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

static void collectives_at_once(struct worker *me)
{
    int out = me->rank + 1, sum = 0, all[RANKS_MAX], word = me->rank == 0 ? 4711 : 0;
    MPI_Request requests[4];
    MPI_Op op;
    MPI_Op_create(sum_up, 1, &op);
    MPI_Iallreduce(&out, &sum, 1, MPI_INT, op, me->comm, &requests[0]);
    MPI_Ibcast(&word, 1, MPI_INT, 0, me->comm, &requests[1]);
    MPI_Iallgather(&me->rank, 1, MPI_INT, all, 1, MPI_INT, me->comm, &requests[2]);
    MPI_Ibarrier(me->comm, &requests[3]);
    MPI_Op_free(&op);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    CHECK(sum == me->size * (me->size + 1) / 2 && word == 4711 &&
          all[me->size - 1] == me->size - 1);
}

static void persistent_collective(struct worker *me)
{
    int out = 0, most = 0;
    MPI_Request request;
    MPI_Allreduce_init(&out, &most, 1, MPI_INT, MPI_MAX, me->comm, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; i++) {
        out = me->rank * 10 + i;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(most == (me->size - 1) * 10 + i);
    }
    MPI_Request_free(&request);
}

/* ---- Requests of the user, completed by a thread that does nothing else ---- */

static void user_request(struct worker *me)
{
    MPI_Status status;
    MPI_Request request = grequest_hand_over();
    int flag = 0, count;
    if (below(me, 2)) {
        while (!flag) {
            MPI_Test(&request, &flag, &status);
        }
    } else {
        MPI_Wait(&request, &status);
    }
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3 && request == MPI_REQUEST_NULL);
}

/* ---- All of it ---- */

static void (*const deeds[])(struct worker *me) = {
    send_and_receive_any,
    exchange_on_world,
    probe,
    cancel,
    many_requests,
    collectives_at_once,
    user_request,
    use_comms,
    use_types,
    use_errhandlers,
    use_info,
    use_tools,
    use_attributes,
    use_groups,
    persistent_collective,
};
enum { DEEDS = sizeof(deeds) / sizeof(deeds[0]) };

static int rounds = 100;

static void *work(void *arg)
{
    struct worker *me = arg;
    me->out = malloc(LONG * sizeof(int));
    me->in = malloc(LONG * sizeof(int));
    CHECK(me->out && me->in);
    for (int i = 0; i < rounds; i++) {
        deeds[below(me, DEEDS)](me);
    }
    free(me->out);
    free(me->in);
    return NULL;
}

/* What MPI allows at any time it allows to threads at any time. */
static void *work_outside(void *arg)
{
    for (int i = 0; i < 20; i++) {
        use_info_alone(arg);
    }
    return NULL;
}

static void outside(void)
{
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.thread = i};
        CHECK(pthread_create(&workers[i].id, NULL, work_outside, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].id, NULL);
    }
}

int main(int argc, char **argv)
{
    int provided;
    struct worker workers[THREADS];
    outside();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : seed;
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    objects_begin();
    for (int i = 0; i < THREADS; i++) {
        struct worker *me = &workers[i];
        *me = (struct worker){.thread = i, .state = seed * 1000 + (unsigned)i};
        MPI_Comm_dup(MPI_COMM_WORLD, &me->comm);
        MPI_Comm_rank(me->comm, &me->rank);
        MPI_Comm_size(me->comm, &me->size);
        CHECK(me->size <= RANKS_MAX);
        me->left = (me->rank + me->size - 1) % me->size;
        me->right = (me->rank + 1) % me->size;
        CHECK(pthread_create(&me->id, NULL, work, me) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].id, NULL);
        MPI_Comm_free(&workers[i].comm);
    }
    objects_end();
    MPI_Finalize();
    outside();
    return 0;
}
