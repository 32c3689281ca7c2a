/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short collective operations of few ranks, which go by cells: random operations on more
 * communicators than there are cells, made, used and freed in any order; results are checked, and
 * that cells were used. With `fails`, some rank is killed by RZ_KILL_AT: the others get
 * MPI_ERR_PROC_FAILED, and continue on a communicator without it.
 *
 * Arguments: SEED OPERATIONS [fails].
 */
#include "check.h"

#include <mpi-ext.h>
#include <string.h>

enum { COMMS = 24, RANKS_MAX = 9, LENGTH_MAX = 12, KINDS = 7 };

struct tested {
    MPI_Comm comm;
    unsigned state; /* of its random numbers, the same at all members */
    int rank, size;
};

static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1664525U + 1013904223U;
    return (*state >> 12) % below;
}

static int value(int rank, int i, unsigned salt)
{
    return (int)((unsigned)rank * 7919U + (unsigned)i * 31U + salt) % 100003;
}

static void check_sum(const struct tested *t, const int *in, int n, unsigned salt)
{
    for (int i = 0; i < n; i++) {
        int sum = 0;
        for (int j = 0; j < t->size; j++) {
            sum += value(j, i, salt);
        }
        CHECK(in[i] == sum);
    }
}

static int allreduce(const struct tested *t, int n, unsigned salt)
{
    int out[LENGTH_MAX], in[LENGTH_MAX];
    for (int i = 0; i < n; i++) {
        out[i] = in[i] = value(t->rank, i, salt);
    }
    int error = MPI_Allreduce(salt % 2 ? MPI_IN_PLACE : out, in, n, MPI_INT, MPI_SUM, t->comm);
    if (error == MPI_SUCCESS) {
        check_sum(t, in, n, salt);
    }
    return error;
}

/* Odd ranks have gaps between their elements. */
static int allgather(const struct tested *t, int n, unsigned salt)
{
    int out[2 * LENGTH_MAX] = {0}, in[RANKS_MAX * LENGTH_MAX], step = 1 + t->rank % 2;
    MPI_Datatype type;
    MPI_Type_create_resized(MPI_INT, 0, step * (MPI_Aint)sizeof(int), &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < n; i++) {
        out[step * i] = value(t->rank, i, salt);
    }
    int error = MPI_Allgather(out, n, type, in, n, MPI_INT, t->comm);
    for (int i = 0; i < n * t->size && error == MPI_SUCCESS; i++) {
        CHECK(in[i] == value(i / n, i % n, salt));
    }
    MPI_Type_free(&type);
    return error;
}

/* Lengths of different ranks, also 0. */
static int allgatherv(const struct tested *t, int n, unsigned salt)
{
    int out[LENGTH_MAX], in[RANKS_MAX * LENGTH_MAX], counts[RANKS_MAX], starts[RANKS_MAX];
    for (int i = 0; i < t->size; i++) {
        counts[i] = (n + i) % LENGTH_MAX;
        starts[i] = i * LENGTH_MAX;
    }
    for (int i = 0; i < counts[t->rank]; i++) {
        out[i] = value(t->rank, i, salt);
    }
    int error = MPI_Allgatherv(out, counts[t->rank], MPI_INT, in, counts, starts, MPI_INT, t->comm);
    for (int j = 0; j < t->size && error == MPI_SUCCESS; j++) {
        for (int i = 0; i < counts[j]; i++) {
            CHECK(in[starts[j] + i] == value(j, i, salt));
        }
    }
    return error;
}

static int alltoall(const struct tested *t, int n, unsigned salt)
{
    int out[RANKS_MAX * LENGTH_MAX], in[RANKS_MAX * LENGTH_MAX];
    for (int i = 0; i < n * t->size; i++) {
        out[i] = in[i] = value(t->rank, i, salt);
    }
    int error = MPI_Alltoall(salt % 2 ? MPI_IN_PLACE : out, n, MPI_INT, in, n, MPI_INT, t->comm);
    for (int i = 0; i < n * t->size && error == MPI_SUCCESS; i++) {
        CHECK(in[i] == value(i / n, t->rank * n + i % n, salt));
    }
    return error;
}

/* The root does not wait for the others. */
static int bcast(const struct tested *t, int n, unsigned salt)
{
    int buffer[LENGTH_MAX], root = (int)salt % t->size;
    for (int i = 0; i < n; i++) {
        buffer[i] = value(t->rank, i, salt);
    }
    int error = MPI_Bcast(buffer, n, MPI_INT, root, t->comm);
    for (int i = 0; i < n && error == MPI_SUCCESS; i++) {
        CHECK(buffer[i] == value(root, i, salt));
    }
    return error;
}

static int iallreduce(const struct tested *t, int n, unsigned salt)
{
    int out[LENGTH_MAX], in[LENGTH_MAX];
    MPI_Request request;
    for (int i = 0; i < n; i++) {
        out[i] = value(t->rank, i, salt);
    }
    MPI_Iallreduce(out, in, n, MPI_INT, MPI_SUM, t->comm, &request);
    int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS) {
        check_sum(t, in, n, salt);
    }
    return error;
}

static int operation(struct tested *t)
{
    unsigned kind = draw(&t->state, KINDS), salt = draw(&t->state, 65536);
    int n = 1 + (int)draw(&t->state, LENGTH_MAX);
    static int (*const operations[])(const struct tested *, int, unsigned) = {
        allreduce, allgather, allgatherv, alltoall, bcast, iallreduce};
    return kind < 6 ? operations[kind](t, n, salt) : MPI_Barrier(t->comm);
}

static void use(struct tested *t, MPI_Comm comm, unsigned seed)
{
    *t = (struct tested){.comm = comm, .state = seed};
    MPI_Comm_rank(comm, &t->rank);
    MPI_Comm_size(comm, &t->size);
}

/* A copy, one in reverse order, or that of the upper half of the ranks. */
static void make(struct tested *t, const struct tested *world, unsigned *state)
{
    MPI_Comm comm;
    unsigned way = draw(state, 3), seed = draw(state, 1U << 20);
    int colour = way == 2 && world->rank < world->size / 2 ? MPI_UNDEFINED : 0;
    if (way == 0) {
        MPI_Comm_dup(world->comm, &comm);
    } else {
        MPI_Comm_split(world->comm, colour, way == 1 ? -world->rank : world->rank, &comm);
    }
    t->comm = comm;
    if (comm != MPI_COMM_NULL) {
        use(t, comm, seed);
    }
}

static void run(struct tested *world, int operations, unsigned seed)
{
    struct tested all[COMMS];
    unsigned state = seed;
    int n = 0;
    for (int i = 0; i < operations; i++) {
        unsigned what = draw(&state, 40);
        if (what == 0 && n < COMMS) {
            make(&all[n++], world, &state);
            continue;
        }
        if (what == 1 && n > 0) {
            int gone = (int)draw(&state, (unsigned)n);
            if (all[gone].comm != MPI_COMM_NULL) {
                MPI_Comm_free(&all[gone].comm);
            }
            all[gone] = all[--n];
            continue;
        }
        struct tested *t = n > 0 && what % 4 ? &all[draw(&state, (unsigned)n)] : world;
        if (t->comm != MPI_COMM_NULL) {
            CHECK(operation(t) == MPI_SUCCESS);
        }
    }
    while (n-- > 0) {
        if (all[n].comm != MPI_COMM_NULL) {
            MPI_Comm_free(&all[n].comm);
        }
    }
}

static void survive(struct tested *world, int operations, unsigned seed)
{
    int error = MPI_SUCCESS;
    MPI_Comm less;
    MPI_Comm_set_errhandler(world->comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < operations && error == MPI_SUCCESS; i++) {
        error = operation(world);
    }
    CHECK(class_of(error) == MPI_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Barrier(world->comm)) == MPI_ERR_PROC_FAILED);
    CHECK(MPIX_Comm_shrink(world->comm, &less) == MPI_SUCCESS);
    struct tested rest;
    use(&rest, less, seed);
    CHECK(rest.size == world->size - 1);
    run(&rest, 200, seed);
    if (rest.rank == 0) {
        printf("%d ranks have continued\n", rest.size);
    }
    MPI_Comm_free(&less);
}

int main(int argc, char **argv)
{
    int provided, index, count;
    unsigned long long by_cells = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle counter;
    struct tested world;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    CHECK(MPI_T_pvar_get_index("rz_coll_cells", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle_alloc(session, index, NULL, &counter, &count);
    MPI_T_pvar_start(session, counter);
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    int operations = argc > 2 ? atoi(argv[2]) : 2000;
    use(&world, MPI_COMM_WORLD, seed);
    (argc > 3 ? survive : run)(&world, operations, seed);
    MPI_T_pvar_read(session, counter, &by_cells);
    CHECK(argc > 3 || world.size > 8 || (by_cells > 0) == (world.size > 1));
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
