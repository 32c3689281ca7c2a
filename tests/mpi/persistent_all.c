/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collective operations with random roots, counts and communicators, in place or not:
 * several at once, started three times with new data and in another order at each rank, give what
 * the blocking ones give, to the last bit.
 *
 * Arguments: [SEED [ROUNDS]]; replay a failure with the seed it was run with.
 */
#include "check.h"
#include "coll_random.h"

#include <string.h>

enum {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    KINDS
};
enum { RANKS_MAX = 16, STARTS = 3, BATCH = 4 };

/* One operation: its arguments, and its buffers twice, for the persistent call and the other. */
struct task {
    int kind, root, in_place, n, own_op;
    int counts[RANKS_MAX], displs[RANKS_MAX], bytes[RANKS_MAX];
    MPI_Datatype type, types[RANKS_MAX];
    MPI_Op op;
    size_t room; /* in doubles */
    double *out, *in, *in_again;
    MPI_Request request;
};

static MPI_Comm comm;
static int rank, size;

static void add_up(void *left, void *right, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++) {
        ((double *)right)[i] += ((double *)left)[i];
    }
}

static void task_draw(struct task *task)
{
    static const int most[] = {1, 5, 300, 3000};
    int next = 0, all = most[draw(4)];
    task->kind = draw(KINDS);
    task->root = draw(64) % size;
    task->in_place = draw(2);
    task->own_op = draw(2);
    task->n = draw(all + 1);
    for (int i = 0; i < size; i++) {
        task->counts[i] = draw(all + 1);
    }
    if (task->kind == ALLTOALLV || task->kind == ALLTOALLW) {
        int drawn[RANKS_MAX]; /* the same both ways between two ranks */
        memcpy(drawn, task->counts, sizeof(drawn));
        for (int i = 0; i < size; i++) {
            task->counts[i] = drawn[(i + rank) % size];
        }
    }
    MPI_Type_dup(MPI_DOUBLE, &task->type);
    for (int i = 0; i < size; i++) {
        task->types[i] = i % 2 ? MPI_DOUBLE : task->type;
        next += i % 3;
        task->displs[i] = next;
        task->bytes[i] = next * (int)sizeof(double);
        next += task->counts[i];
    }
    int regular = task->n * size;
    task->room = (size_t)(next > regular ? next : regular) + 1;
    task->out = malloc(task->room * sizeof(double));
    task->in = malloc(task->room * sizeof(double));
    task->in_again = malloc(task->room * sizeof(double));
    task->op = MPI_SUM;
    if (task->own_op) {
        MPI_Op_create(add_up, 0, &task->op);
    }
}

static void task_end(struct task *task)
{
    MPI_Type_free(&task->type);
    if (task->own_op) {
        MPI_Op_free(&task->op);
    }
    free(task->out);
    free(task->in);
    free(task->in_again);
}

static void task_fill(struct task *task, int start)
{
    for (size_t i = 0; i < task->room; i++) {
        uint64_t drawn = mix((uint64_t)rank << 40 ^ (uint64_t)start << 32 ^ i ^ random_state);
        task->out[i] = (double)(drawn % 1000003) / 7;
        task->in[i] = task->in_again[i] = (double)(drawn >> 40) / 3;
    }
}

#define CALL(name, ...)                                                                            \
    (init ? MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &t->request)                       \
          : MPI_##name(__VA_ARGS__, comm))

static void move_to_or_from_one(struct task *t, double *in, int init)
{
    const void *from = t->in_place && rank == t->root ? MPI_IN_PLACE : t->out;
    void *to = t->in_place && rank == t->root ? MPI_IN_PLACE : in;
    MPI_Datatype type = t->type;
    if (t->kind == BARRIER) {
        init ? MPI_Barrier_init(comm, MPI_INFO_NULL, &t->request) : MPI_Barrier(comm);
    } else if (t->kind == BCAST) {
        CALL(Bcast, in, t->n, type, t->root);
    } else if (t->kind == GATHER) {
        CALL(Gather, from, t->n, type, in, t->n, MPI_DOUBLE, t->root);
    } else if (t->kind == GATHERV) {
        CALL(Gatherv, from, t->counts[rank], type, in, t->counts, t->displs, MPI_DOUBLE, t->root);
    } else if (t->kind == SCATTER) {
        CALL(Scatter, t->out, t->n, MPI_DOUBLE, to, t->n, type, t->root);
    } else {
        CALL(Scatterv, t->out, t->counts, t->displs, MPI_DOUBLE, to, t->counts[rank], type,
             t->root);
    }
}

static void move_from_all_to_all(struct task *t, double *in, int init)
{
    const void *from = t->in_place ? MPI_IN_PLACE : t->out;
    MPI_Datatype type = t->type;
    if (t->kind == ALLGATHER) {
        CALL(Allgather, from, t->n, MPI_DOUBLE, in, t->n, type);
    } else if (t->kind == ALLGATHERV) {
        CALL(Allgatherv, from, t->counts[rank], type, in, t->counts, t->displs, MPI_DOUBLE);
    } else if (t->kind == ALLTOALL) {
        CALL(Alltoall, from, t->n, MPI_DOUBLE, in, t->n, type);
    } else if (t->kind == ALLTOALLV) {
        CALL(Alltoallv, from, t->counts, t->displs, type, in, t->counts, t->displs, MPI_DOUBLE);
    } else {
        CALL(Alltoallw, from, t->counts, t->bytes, t->types, in, t->counts, t->bytes, t->types);
    }
}

static void reduce(struct task *t, double *in, int init)
{
    int placed = t->in_place && (t->kind != REDUCE || rank == t->root);
    const void *from = placed ? MPI_IN_PLACE : t->out;
    MPI_Datatype type = t->own_op ? t->type : MPI_DOUBLE;
    if (t->kind == REDUCE) {
        CALL(Reduce, from, in, t->n, type, t->op, t->root);
    } else if (t->kind == ALLREDUCE) {
        CALL(Allreduce, from, in, t->n, type, t->op);
    } else if (t->kind == REDUCE_SCATTER) {
        CALL(Reduce_scatter, from, in, t->counts, type, t->op);
    } else if (t->kind == REDUCE_SCATTER_BLOCK) {
        CALL(Reduce_scatter_block, from, in, t->n, type, t->op);
    } else if (t->kind == SCAN) {
        CALL(Scan, from, in, t->n, type, t->op);
    } else {
        CALL(Exscan, from, in, t->n, type, t->op);
    }
}

static void call(struct task *task, double *in, int init)
{
    if (task->kind <= SCATTERV) {
        move_to_or_from_one(task, in, init);
    } else if (task->kind <= ALLTOALLW) {
        move_from_all_to_all(task, in, init);
    } else {
        reduce(task, in, init);
    }
}

/* All of them begin, in an order of this rank's own, and end. */
static void run(struct task *tasks, int n, int way)
{
    MPI_Request requests[BATCH];
    for (int k = 0; k < n; k++) {
        requests[k] = tasks[(k + rank) % n].request;
    }
    if (way == 0) {
        MPI_Startall(n, requests);
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        return;
    }
    for (int k = 0; k < n; k++) {
        MPI_Start(&requests[k]);
    }
    for (int k = 0; k < n; k++) {
        int done = way == 1;
        if (done) {
            MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        }
        while (!done) {
            MPI_Test(&requests[k], &done, MPI_STATUS_IGNORE);
        }
        CHECK(requests[k] != MPI_REQUEST_NULL);
    }
}

/* Handles that the user has freed live on in the requests. */
static void free_handles(struct task *task)
{
    MPI_Type_free(&task->type);
    MPI_Type_dup(MPI_DOUBLE, &task->type);
    for (int i = 0; i < size; i++) {
        task->types[i] = i % 2 ? MPI_DOUBLE : task->type;
    }
    if (task->own_op) {
        MPI_Op_free(&task->op);
        MPI_Op_create(add_up, 0, &task->op);
    }
}

static void batch(void)
{
    struct task tasks[BATCH];
    int n = 1 + draw(BATCH), way = draw(3);
    for (int k = 0; k < n; k++) {
        task_draw(&tasks[k]);
        call(&tasks[k], tasks[k].in, 1);
        free_handles(&tasks[k]);
    }
    for (int start = 0; start < STARTS; start++) {
        for (int k = 0; k < n; k++) {
            task_fill(&tasks[k], start);
        }
        run(tasks, n, way);
        for (int k = 0; k < n; k++) {
            call(&tasks[k], tasks[k].in_again, 0);
            CHECK(memcmp(tasks[k].in, tasks[k].in_again, tasks[k].room * sizeof(double)) == 0);
        }
    }
    for (int k = 0; k < n; k++) {
        MPI_Request_free(&tasks[k].request);
        CHECK(tasks[k].request == MPI_REQUEST_NULL);
        task_end(&tasks[k]);
    }
}

/* A request freed while it runs does its work to the end; a started one does not start again. */
static void freed_in_the_middle(void)
{
    static double data[5000];
    MPI_Request request;
    int error, class;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < 5000; i++) {
        data[i] = rank == 0 ? i : -1;
    }
    MPI_Bcast_init(data, 5000, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    error = MPI_Start(&request);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_REQUEST);
    if (rank == 0) {
        MPI_Request_free(&request);
        CHECK(request == MPI_REQUEST_NULL);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < 5000; i++) {
        CHECK(data[i] == i);
    }
    MPI_Barrier_init(comm, MPI_INFO_NULL, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* nothing to wait for */
    MPI_Request_free(&request);
    /* An operation that is not for the type: no request. */
    error = MPI_Allreduce_init(MPI_IN_PLACE, data, 1, MPI_DOUBLE, MPI_BAND, comm, MPI_INFO_NULL,
                               &request);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_OP && request == MPI_REQUEST_NULL);
}

/* Between two groups of ranks: each gets the sum of the other. */
static void between_groups(void)
{
    MPI_Comm half, inter;
    MPI_Request request;
    int odd = rank % 2, mine, sum;
    MPI_Comm_split(comm, odd, rank, &half);
    MPI_Intercomm_create(half, 0, comm, 1 - odd, 5, &inter);
    MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &request);
    for (int start = 0; start < STARTS; start++) {
        int expected = 0;
        for (int i = 1 - odd; i < size; i += 2) {
            expected += i + start;
        }
        mine = rank + start;
        sum = -1;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(sum == expected);
    }
    MPI_Request_free(&request);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rounds = arguments(argc, argv, 12);
    for (int i = 0; i < rounds; i++) {
        uint64_t before = random_state;
        comm = draw_comm();
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        for (int k = 0; k < 8; k++) {
            batch();
        }
        freed_in_the_middle();
        if (size > 1) {
            between_groups();
        }
        MPI_Comm_free(&comm);
        /* Parts of unequal size drew differently often. */
        random_state = before + UINT64_C(0x5851f42d4c957f2d);
    }
    MPI_Finalize();
    return 0;
}
