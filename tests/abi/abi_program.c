/* SPDX-License-Identifier: BSD-3-Clause */
/* A program as it comes from elsewhere: it exchanges data of its own types, reads statuses, and is
 * called back, through nothing but the ABI. */
#include "abi_check.h"

#include <string.h>

struct particle {
    double position[3];
    int kind;
    char name[5];
};

static int rank, size;

static void point_to_point(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    double out[4] = {rank, 1, 2, 3}, in[8] = {0};
    MPI_Status status, all[2];
    MPI_Request requests[2];
    int count = -1, flag = -1;
    memset(&status, 0x55, sizeof(status));
    GOOD(MPI_Sendrecv(out, 4, MPI_DOUBLE, next, 17, in, 8, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                      MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == before && status.MPI_TAG == 17);
    GOOD(MPI_Get_count(&status, MPI_DOUBLE, &count));
    CHECK(count == 4 && in[0] == before && in[3] == 3);
    GOOD(MPI_Test_cancelled(&status, &flag));
    CHECK(flag == 0);

    GOOD(MPI_Irecv(in, 8, MPI_DOUBLE, before, 18, MPI_COMM_WORLD, &requests[0]));
    GOOD(MPI_Isend(out, 3, MPI_DOUBLE, next, 18, MPI_COMM_WORLD, &requests[1]));
    CHECK((uintptr_t)requests[0] >= 0x1000 && (uintptr_t)requests[1] >= 0x1000);
    GOOD(MPI_Waitall(2, requests, all));
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    CHECK(all[0].MPI_SOURCE == before && all[0].MPI_TAG == 18);
    GOOD(MPI_Get_count(&all[0], MPI_DOUBLE, &count));
    CHECK(count == 3);
    GOOD(MPI_Recv(in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

static void types(void)
{
    int lengths[3] = {3, 1, 5};
    MPI_Aint places[3] = {offsetof(struct particle, position), offsetof(struct particle, kind),
                          offsetof(struct particle, name)};
    MPI_Datatype parts[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, type, whole;
    struct particle ours[2] = {{{1, 2, 3}, 4, "ab"}, {{5, 6, 7}, 8, "cd"}}, all[2];
    memset(all, 0, sizeof(all));
    GOOD(MPI_Type_create_struct(3, lengths, places, parts, &type));
    GOOD(MPI_Type_create_resized(type, 0, sizeof(struct particle), &whole));
    GOOD(MPI_Type_commit(&whole));
    if (rank == 0) {
        memcpy(all, ours, sizeof(all));
    }
    GOOD(MPI_Bcast_c(all, 2, whole, 0, MPI_COMM_WORLD));
    CHECK(all[1].position[2] == 7 && all[1].kind == 8 && strcmp(all[1].name, "cd") == 0);
    GOOD(MPI_Type_free(&type));
    GOOD(MPI_Type_free(&whole));
    CHECK(type == MPI_DATATYPE_NULL);
}

/* ---- callbacks, in the types of the ABI ---- */

static int errors_seen, copies, deletions;

static void largest(void *in, void *inout, int *n, MPI_Datatype *type)
{
    CHECK(*type == MPI_LONG);
    for (int i = 0; i < *n; i++) {
        if (((long *)in)[i] > ((long *)inout)[i]) {
            ((long *)inout)[i] = ((long *)in)[i];
        }
    }
}

static void handle_error(MPI_Comm *comm, int *error, ...)
{
    CHECK((uintptr_t)*comm >= 0x1000);
    CHECK(class_of(*error) == MPI_ERR_RANK);
    errors_seen++;
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key;
    CHECK(extra == &copies);
    *(void **)out = in;
    copies++;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_it(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    CHECK(value == &size);
    deletions++;
    return MPI_SUCCESS;
}

static void callbacks(void)
{
    MPI_Op op;
    MPI_Comm comm, other;
    MPI_Errhandler handler;
    long mine[2] = {rank, -rank}, all[2];
    int key, flag = 0;
    void *value = NULL;
    GOOD(MPI_Op_create(largest, 1, &op));
    GOOD(MPI_Allreduce(mine, all, 2, MPI_LONG, op, MPI_COMM_WORLD));
    CHECK(all[0] == size - 1 && all[1] == 0);
    GOOD(MPI_Allreduce(MPI_IN_PLACE, mine, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(mine[0] == (long)size * (size - 1) / 2);
    GOOD(MPI_Op_free(&op));

    GOOD(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    GOOD(MPI_Comm_create_errhandler(handle_error, &handler));
    GOOD(MPI_Comm_set_errhandler(comm, handler));
    REFUSED(MPI_Send(mine, 1, MPI_LONG, size, 0, comm), MPI_ERR_RANK);
    CHECK(errors_seen == 1);
    GOOD(MPI_Errhandler_free(&handler));

    GOOD(MPI_Comm_create_keyval(copy, delete_it, &key, &copies));
    GOOD(MPI_Comm_set_attr(comm, key, &size));
    GOOD(MPI_Comm_dup(comm, &other));
    GOOD(MPI_Comm_get_attr(other, key, &value, &flag));
    CHECK(flag && value == &size && copies == 1);
    GOOD(MPI_Comm_free(&other));
    GOOD(MPI_Comm_free(&comm));
    CHECK(deletions == 2);
    GOOD(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
    GOOD(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *(int *)value >= 32767);
}

static void communicators(void)
{
    MPI_Comm half, none;
    int my_rank = -1, my_size = -1, result = -1;
    GOOD(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
    GOOD(MPI_Comm_rank(half, &my_rank));
    GOOD(MPI_Comm_size(half, &my_size));
    CHECK(my_size == (size + 1 - rank % 2) / 2 && my_rank == my_size - 1 - rank / 2);
    GOOD(MPI_Comm_compare(half, MPI_COMM_WORLD, &result));
    CHECK(size < 2 || result == MPI_UNEQUAL);
    GOOD(MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &none));
    CHECK(none == MPI_COMM_NULL);
    GOOD(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    int provided = -1;
    GOOD(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided));
    CHECK(provided >= MPI_THREAD_FUNNELED);
    GOOD(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    GOOD(MPI_Comm_size(MPI_COMM_WORLD, &size));
    point_to_point();
    types();
    callbacks();
    communicators();
    GOOD(MPI_Finalize());
    return abi_faults != 0;
}
