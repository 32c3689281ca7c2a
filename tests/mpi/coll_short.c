/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Bcast and MPI_Reduce of few bytes, which need no schedule, beside the same ones that need
 * one, since a member uses a datatype with gaps, or the operation is a function of the program:
 * random lengths, roots and operations, with non-blocking ones of the same communicator under way.
 * Both have the same results, those of reductions to the last bit. With `fails`, some rank is
 * killed by RZ_KILL_AT: the others get MPI_ERR_PROC_FAILED, and continue on a communicator without
 * it.
 *
 * Arguments: [SEED [ROUNDS [fails]]].
 */
#include "check.h"
#include "coll_random.h"

#include <mpi-ext.h>
#include <stdbool.h>
#include <string.h>

enum { ELEMENTS_MAX = 600 };

static int rank, size;

/* What rank r has at element i in the round with this number. */
static double value(int r, int i, int round)
{
    return 1.0 / (1 + (double)(mix((uint64_t)r * 1000003U + (uint64_t)i * 1009U + (uint64_t)round) %
                               1000003U));
}

static void fill(double *of, int n, int r, int round)
{
    for (int i = 0; i < n; i++) {
        of[i] = value(r, i, round);
    }
}

static void check_values(const double *of, int n, int step, int r, int round)
{
    for (int i = 0; i < n; i++) {
        CHECK(of[step * i] == value(r, i, round));
    }
}

/* Members of which the bit in `gaps` is set have gaps between their elements. */
static int bcast(MPI_Comm comm, int n, int root, int round, unsigned gaps)
{
    double data[2 * ELEMENTS_MAX];
    int step = gaps >> (rank % 8) & 1 ? 2 : 1;
    MPI_Datatype type = MPI_DOUBLE;
    if (step == 2) {
        MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * (MPI_Aint)sizeof(double), &type);
        MPI_Type_commit(&type);
    }
    for (int i = 0; i < 2 * n; i++) {
        data[i] = rank == root && i % step == 0 ? value(root, i / step, round) : -1;
    }
    int error = MPI_Bcast(data, n, type, root, comm);
    if (error == MPI_SUCCESS) {
        check_values(data, n, step, root, round);
    }
    if (step == 2) {
        MPI_Type_free(&type);
    }
    return error;
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) {
        ((double *)inout)[i] += ((double *)in)[i];
    }
}

static MPI_Op own_sum;

static int reduce_by(MPI_Comm comm, double *result, int n, int root, int round, MPI_Op op,
                     bool in_place)
{
    double data[ELEMENTS_MAX];
    fill(data, n, rank, round);
    in_place = in_place && rank == root;
    memcpy(result, data, (size_t)n * sizeof(double));
    return MPI_Reduce(in_place ? MPI_IN_PLACE : data, rank == root ? result : NULL, n, MPI_DOUBLE,
                      op, root, comm);
}

static int reduce(MPI_Comm comm, int n, int root, int round, bool in_place)
{
    double by_library[ELEMENTS_MAX], by_program[ELEMENTS_MAX];
    int error = reduce_by(comm, by_library, n, root, round, MPI_SUM, in_place);
    if (error == MPI_SUCCESS) {
        error = reduce_by(comm, by_program, n, root, round, own_sum, in_place);
    }
    if (error == MPI_SUCCESS && rank == root) {
        CHECK(memcmp(by_library, by_program, (size_t)n * sizeof(double)) == 0);
    }
    return error;
}

/* Integers, whose order does not matter. */
static int reduce_largest(MPI_Comm comm, int n, int root, int round)
{
    short data[ELEMENTS_MAX] = {0}, result[ELEMENTS_MAX];
    for (int i = 0; i < n; i++) {
        data[i] = (short)(mix((uint64_t)(rank + i + round)) % 9999);
    }
    int error = MPI_Reduce(data, result, n, MPI_SHORT, MPI_MAX, root, comm);
    for (int i = 0; i < n && rank == root && error == MPI_SUCCESS; i++) {
        int most = 0;
        for (int r = 0; r < size; r++) {
            int other = (int)(mix((uint64_t)(r + i + round)) % 9999);
            most = other > most ? other : most;
        }
        CHECK(result[i] == most);
    }
    return error;
}

static int length(void)
{
    return draw(3) ? draw(18) : draw(ELEMENTS_MAX);
}

/* One operation; the draws are the same at all members. */
static int operation(MPI_Comm comm, int round)
{
    int n = length(), root = draw(size), kind = draw(4);
    unsigned gaps = draw(2) ? 0 : (unsigned)draw(256);
    bool in_place = draw(2);
    return kind < 2    ? bcast(comm, n, root, round, gaps)
           : kind == 2 ? reduce(comm, n, root, round, in_place)
                       : reduce_largest(comm, n, root, round);
}

/* Some operations, with two non-blocking ones around them. */
static int under_way(MPI_Comm comm, int round)
{
    double sent[ELEMENTS_MAX], got[ELEMENTS_MAX], sum[ELEMENTS_MAX];
    int n = length(), root = draw(size), inside = draw(4), ends;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    fill(got, n, rank, round);
    fill(sent, n, rank, round);
    int error = MPI_Ibcast(got, n, MPI_DOUBLE, root, comm, &requests[0]);
    if (error == MPI_SUCCESS) {
        error = MPI_Ireduce(sent, sum, n, MPI_DOUBLE, MPI_SUM, root, comm, &requests[1]);
    }
    for (int i = 0; i < inside && error == MPI_SUCCESS; i++) {
        error = operation(comm, round + i);
    }
    for (int i = 0; i < 2; i++) {
        ends = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        error = error == MPI_SUCCESS ? ends : error;
    }
    if (error == MPI_SUCCESS) {
        check_values(got, n, 1, root, round);
    }
    return error;
}

static int any(MPI_Comm comm, int round)
{
    return draw(4) == 0 ? under_way(comm, round) : operation(comm, round);
}

static void use(MPI_Comm comm)
{
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
}

static void run(MPI_Comm comm, int rounds)
{
    use(comm);
    for (int i = 0; i < rounds; i++) {
        CHECK(any(comm, i) == MPI_SUCCESS);
    }
}

/* On communicators in other orders, and of some of the ranks. */
static void run_on_several(int rounds)
{
    for (int done = 0; done < rounds; done += 50) {
        MPI_Comm comm = draw_comm();
        run(comm, 50);
        /* members of parts have drawn differently */
        MPI_Bcast(&random_state, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        MPI_Comm_free(&comm);
    }
}

static void survive(int rounds)
{
    int error = MPI_SUCCESS;
    MPI_Comm less;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    use(MPI_COMM_WORLD);
    for (int i = 0; i < rounds && error == MPI_SUCCESS; i++) {
        error = any(MPI_COMM_WORLD, i);
    }
    /* a root that does not wait for the others may have completed all rounds */
    CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Barrier(MPI_COMM_WORLD)) == MPI_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Bcast(&error, 1, MPI_INT, 0, MPI_COMM_WORLD)) == MPI_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Reduce(&rank, &error, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD)) ==
          MPI_ERR_PROC_FAILED);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &less) == MPI_SUCCESS);
    random_state = 1;
    run(less, 100);
    if (rank == 0) {
        printf("%d ranks have continued\n", size);
    }
    MPI_Comm_free(&less);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rounds = arguments(argc, argv, 500);
    MPI_Op_create(add, 1, &own_sum);
    if (argc > 3) {
        survive(rounds);
    } else {
        run_on_several(rounds);
    }
    MPI_Op_free(&own_sum);
    MPI_Finalize();
    return 0;
}
