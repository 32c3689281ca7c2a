/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each algorithm of each collective operation, chosen by the control variable RZ_COLL, with lengths
 * around those at which messages are cut. Values are small integers, so that each order of operands
 * gives the same sum. Blocking, non-blocking and in place.
 */
#include "check.h"

#include <string.h>

static const int lengths[] = {0, 1, 2, 7, 64, 1000, 8191, 8192, 8193, 30000};
enum { LONGEST = 30000, RANKS_MAX = 9, COLUMNS = 40 };

static double out[RANKS_MAX * LONGEST], in[RANKS_MAX * LONGEST];
static int rank, size;
static int nodes_have_leaders; /* several nodes, and one of them has several ranks */
static MPI_T_cvar_handle rules;

static double value(int of, int i)
{
    return (double)((of * 31 + i) % 97);
}

static double sum(int i)
{
    double total = 0;
    for (int j = 0; j < size; j++) {
        total += value(j, i);
    }
    return total;
}

static void fill(double *to, int of, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] = value(of, i);
    }
}

/* No rank leaves before all have entered. All run on one machine, whose clock they share. */
static void barrier(MPI_Comm comm, int n)
{
    double times[2], all[2 * RANKS_MAX];
    MPI_Request request;
    (void)n;
    for (int later = 0; later < 2; later++) {
        times[0] = MPI_Wtime();
        if (later) {
            MPI_Ibarrier(comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Barrier(comm);
        }
        times[1] = MPI_Wtime();
        MPI_Gather(times, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, comm);
        for (int i = 0; i < size * size && rank == 0; i++) {
            CHECK(all[2 * (i / size)] <= all[2 * (i % size) + 1]);
        }
    }
}

/* Odd ranks describe the message by a datatype with gaps. */
static void bcast(MPI_Comm comm, int n)
{
    MPI_Datatype every_second;
    int root = size - 1, gaps = rank % 2;
    MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * (MPI_Aint)sizeof(double), &every_second);
    MPI_Type_commit(&every_second);
    memset(in, 0, sizeof(in));
    for (int i = 0; i < n && rank == root; i++) {
        in[i * (1 + gaps)] = value(root, i);
    }
    MPI_Bcast(in, n, gaps ? every_second : MPI_DOUBLE, root, comm);
    for (int i = 0; i < n; i++) {
        CHECK(in[i * (1 + gaps)] == value(root, i));
        CHECK(!gaps || in[2 * i + 1] == 0);
    }
    MPI_Type_free(&every_second);
}

static void allgather(MPI_Comm comm, int n)
{
    MPI_Request request;
    for (int in_place = 0; in_place < 2; in_place++) {
        memset(in, 0, sizeof(in));
        fill(in_place ? in + (size_t)rank * n : out, rank, n);
        MPI_Iallgather(in_place ? MPI_IN_PLACE : out, n, MPI_DOUBLE, in, n, MPI_DOUBLE, comm,
                       &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < size * n; i++) {
            CHECK(in[i] == value(i / n, i % n));
        }
    }
}

static void alltoall(MPI_Comm comm, int n)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        double *from = in_place ? in : out;
        for (int i = 0; i < size * n; i++) {
            from[i] = value(rank + 7 * (i / n), i % n);
        }
        MPI_Alltoall(in_place ? MPI_IN_PLACE : out, n, MPI_DOUBLE, in, n, MPI_DOUBLE, comm);
        for (int i = 0; i < size * n; i++) {
            CHECK(in[i] == value(i / n + 7 * rank, i % n));
        }
    }
}

static void reduce(MPI_Comm comm, int n)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        int root = size / 2, here = in_place && rank == root;
        fill(here ? in : out, rank, n);
        MPI_Reduce(here ? MPI_IN_PLACE : out, in, n, MPI_DOUBLE, MPI_SUM, root, comm);
        for (int i = 0; i < n && rank == root; i++) {
            CHECK(in[i] == sum(i));
        }
    }
}

static void allreduce(MPI_Comm comm, int n)
{
    MPI_Request request;
    for (int in_place = 0; in_place < 2; in_place++) {
        fill(in_place ? in : out, rank, n);
        MPI_Iallreduce(in_place ? MPI_IN_PLACE : out, in, n, MPI_DOUBLE, MPI_SUM, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++) {
            CHECK(in[i] == sum(i));
        }
    }
}

static void reduce_scatter(MPI_Comm comm, int n)
{
    fill(out, rank, size * n);
    MPI_Reduce_scatter_block(out, in, n, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < n; i++) {
        CHECK(in[i] == sum(rank * n + i));
    }
}

static void add_columns(void *in_columns, void *inout_columns, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) {
        for (int row = 0; row < COLUMNS; row++) {
            int at = row * COLUMNS + i;
            ((double *)inout_columns)[at] += ((double *)in_columns)[at];
        }
    }
}

/* The elements are columns of a matrix, each of which lies between others. */
static void allreduce_columns(MPI_Comm comm)
{
    MPI_Datatype strided, column;
    MPI_Op op;
    MPI_Type_vector(COLUMNS, 1, COLUMNS, MPI_DOUBLE, &strided);
    MPI_Type_create_resized(strided, 0, sizeof(double), &column);
    MPI_Type_commit(&column);
    MPI_Op_create(add_columns, 1, &op);
    fill(out, rank, COLUMNS * COLUMNS);
    MPI_Allreduce(out, in, COLUMNS, column, op, comm);
    for (int i = 0; i < COLUMNS * COLUMNS; i++) {
        CHECK(in[i] == sum(i));
    }
    MPI_Reduce(out, in, COLUMNS, column, op, 0, comm);
    for (int i = 0; i < COLUMNS * COLUMNS && rank == 0; i++) {
        CHECK(in[i] == sum(i));
    }
    MPI_Op_free(&op);
    MPI_Type_free(&strided);
    MPI_Type_free(&column);
}

static const struct {
    const char *name;
    void (*program)(MPI_Comm comm, int n);
    const char *algorithms[8];
} operations[] = {
    {"barrier", barrier, {"tree", "flat", "dissemination", "leaders"}},
    {"bcast", bcast, {"tree", "flat", "chain", "scatter", "leaders"}},
    {"allgather", allgather, {"tree", "flat", "direct", "ring", "bruck", "leaders"}},
    {"alltoall", alltoall, {"direct", "flat", "bruck", "leaders"}},
    {"reduce", reduce, {"tree", "flat", "direct", "leaders"}},
    {"allreduce", allreduce, {"tree", "flat", "doubling", "direct", "halving", "ring", "leaders"}},
    {"reduce_scatter", reduce_scatter, {"tree", "direct"}},
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

/* Written alike at all ranks, between operations. */
static void choose(const char *operation, const char *algorithm)
{
    char text[64], again[256];
    snprintf(text, sizeof(text), "%s=%s", operation, algorithm);
    CHECK(MPI_T_cvar_write(rules, text) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_read(rules, again) == MPI_SUCCESS && strcmp(text, again) == 0);
}

static int look_for_nodes(void)
{
    MPI_Comm node;
    int here, largest;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    MPI_Allreduce(&here, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return largest > 1 && largest < size;
}

static MPI_T_pvar_session session;

/* Counts from now on how often the algorithm is chosen here. */
static MPI_T_pvar_handle count_of(const char *algorithm)
{
    MPI_T_pvar_handle handle;
    char name[64];
    int index, count;
    snprintf(name, sizeof(name), "rz_coll_%s", algorithm);
    CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
    return handle;
}

static void check_chosen(MPI_T_pvar_handle handle, const char *algorithm)
{
    unsigned long long times;
    int usable = size > 1 && ((size & (size - 1)) == 0 || strcmp(algorithm, "halving") != 0) &&
                 (nodes_have_leaders || strcmp(algorithm, "leaders") != 0);
    CHECK(MPI_T_pvar_read(session, handle, &times) == MPI_SUCCESS);
    CHECK(times > 0 || !usable);
    CHECK(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int provided, index, count;
    MPI_Comm loose;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= RANKS_MAX);
    nodes_have_leaders = look_for_nodes();
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_get_index("RZ_COLL", &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_alloc(index, NULL, &rules, &count) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_write(rules, "allreduce=oak") == MPI_T_ERR_INVALID);
    MPI_Info_create(&info);
    MPI_Info_set(info, "rz_reproducible", "false");
    MPI_Comm_dup(MPI_COMM_WORLD, &loose);
    CHECK(MPI_Comm_set_info(loose, info) == MPI_SUCCESS);
    MPI_Info_set(info, "rz_reproducible", "perhaps");
    MPI_Comm_set_errhandler(loose, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_set_info(loose, info)) == MPI_ERR_INFO_VALUE);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    for (int i = 0; i < OPERATIONS; i++) {
        for (int j = 0; operations[i].algorithms[j]; j++) {
            const char *algorithm = operations[i].algorithms[j];
            choose(operations[i].name, algorithm);
            MPI_T_pvar_handle times = count_of(algorithm);
            for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
                operations[i].program(MPI_COMM_WORLD, lengths[k]);
                operations[i].program(loose, lengths[k]);
            }
            check_chosen(times, algorithm);
            allreduce_columns(loose);
        }
    }
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
    MPI_Comm_free(&loose);
    MPI_Info_free(&info);
    CHECK(MPI_T_cvar_handle_free(&rules) == MPI_SUCCESS);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    if (rank == 0) {
        puts("algorithms: correct");
    }
    MPI_Finalize();
    return 0;
}
