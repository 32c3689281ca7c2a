/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations: each blocking, non-blocking and persistent. */
#include "kill_matrix.h"

static int counts[RANKS_MAX], displs[RANKS_MAX];
static MPI_Aint bytes_displs[RANKS_MAX];
static MPI_Datatype types[RANKS_MAX];

#define C scene.count
#define INT MPI_INT
#define ON scene.comm

/* Several starts of one persistent request; it is freed in any state. */
static int persistent(int error, MPI_Request *request)
{
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (int i = 0; i < 3 && error == MPI_SUCCESS; i++) {
        error = MPI_Start(request);
        error = error != MPI_SUCCESS ? error : ended(request, MPI_STATUS_IGNORE);
    }
    CHECK(MPI_Request_free(request) == MPI_SUCCESS);
    return error;
}

static int nonblocking(int error, MPI_Request *request)
{
    error = error != MPI_SUCCESS ? error : ended(request, MPI_STATUS_IGNORE);
    CHECK(error != MPI_SUCCESS || *request == MPI_REQUEST_NULL);
    return error;
}

static void prepare(void)
{
    for (int i = 0; i < RANKS_MAX; i++) {
        counts[i] = C;
        displs[i] = i * C;
        bytes_displs[i] = (MPI_Aint)displs[i] * (MPI_Aint)sizeof(int);
        types[i] = INT;
    }
    for (int i = 0; i < C; i++) {
        out[i] = scene.rank;
        in[i] = scene.rank == scene.root ? 4711 : -1;
    }
}

/* ARGUMENTS without communicator and request, in parentheses. */
#define WITH(...) __VA_ARGS__
#define THREE(name, Upper, Lower, arguments)                                                       \
    static int name(void)                                                                          \
    {                                                                                              \
        prepare();                                                                                 \
        return MPI_##Upper(WITH arguments ON);                                                     \
    }                                                                                              \
    static int name##_i(void)                                                                      \
    {                                                                                              \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        prepare();                                                                                 \
        return nonblocking(MPI_I##Lower(WITH arguments ON, &request), &request);                   \
    }                                                                                              \
    static int name##_p(void)                                                                      \
    {                                                                                              \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        prepare();                                                                                 \
        return persistent(MPI_##Upper##_init(WITH arguments ON, MPI_INFO_NULL, &request),          \
                          &request);                                                               \
    }

THREE(barrier, Barrier, barrier, ())
THREE(bcast, Bcast, bcast, (in, C, INT, scene.root, ))
THREE(gather, Gather, gather, (out, C, INT, in, C, INT, scene.root, ))
THREE(gatherv, Gatherv, gatherv, (out, C, INT, in, counts, displs, INT, scene.root, ))
THREE(scatter, Scatter, scatter, (out, C, INT, in, C, INT, scene.root, ))
THREE(scatterv, Scatterv, scatterv, (out, counts, displs, INT, in, C, INT, scene.root, ))
THREE(allgather, Allgather, allgather, (out, C, INT, in, C, INT, ))
THREE(allgatherv, Allgatherv, allgatherv, (out, C, INT, in, counts, displs, INT, ))
THREE(alltoall, Alltoall, alltoall, (out, C, INT, in, C, INT, ))
THREE(alltoallv, Alltoallv, alltoallv, (out, counts, displs, INT, in, counts, displs, INT, ))
THREE(reduce, Reduce, reduce, (out, in, C, INT, MPI_SUM, scene.root, ))
THREE(allreduce, Allreduce, allreduce, (out, in, C, INT, MPI_SUM, ))
THREE(reduce_scatter, Reduce_scatter, reduce_scatter, (out, in, counts, INT, MPI_MAX, ))
THREE(reduce_scatter_block, Reduce_scatter_block, reduce_scatter_block,
      (out, in, C, INT, MPI_MIN, ))
THREE(scan, Scan, scan, (out, in, C, INT, MPI_SUM, ))
THREE(exscan, Exscan, exscan, (out, in, C, INT, MPI_SUM, ))

/* Displacements of MPI_Alltoallw are in bytes, as ints. */
static int byte_displs[RANKS_MAX];
static void prepare_w(void)
{
    prepare();
    for (int i = 0; i < RANKS_MAX; i++) {
        byte_displs[i] = (int)bytes_displs[i];
    }
}

static int alltoallw(void)
{
    prepare_w();
    return MPI_Alltoallw(out, counts, byte_displs, types, in, counts, byte_displs, types, ON);
}

static int alltoallw_i(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    prepare_w();
    return nonblocking(MPI_Ialltoallw(out, counts, byte_displs, types, in, counts, byte_displs,
                                      types, ON, &request),
                       &request);
}

/* A received value is the right one. */
static int bcast_value(void)
{
    prepare();
    int error = MPI_Bcast(in, C, INT, scene.root, ON);
    CHECK(error != MPI_SUCCESS || C == 0 || (in[0] == 4711 && in[C - 1] == 4711));
    return error;
}

static int allreduce_value(void)
{
    prepare();
    int error = MPI_Allreduce(out, in, C, INT, MPI_SUM, ON),
        sum = scene.size * (scene.size - 1) / 2;
    CHECK(error != MPI_SUCCESS || C == 0 || (in[0] == sum && in[C - 1] == sum));
    return error;
}

/* Several at a time: all end. */
static int many_at_a_time(void)
{
    MPI_Request requests[4];
    int error = MPI_SUCCESS, n = 0;
    prepare();
    for (; n < 4 && error == MPI_SUCCESS; n++) {
        requests[n] = MPI_REQUEST_NULL;
        error = n % 2 ? MPI_Iallreduce(out, in + n * C, C, INT, MPI_SUM, ON, &requests[n])
                      : MPI_Ibarrier(ON, &requests[n]);
    }
    if (error == MPI_SUCCESS) {
        MPI_Status statuses[4];
        error = MPI_Waitall(4, requests, statuses);
        CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_IN_STATUS);
        for (int i = 0; i < 4 && class_of(error) == MPI_ERR_IN_STATUS; i++) {
            int class = class_of(statuses[i].MPI_ERROR);
            CHECK((class == MPI_ERR_PENDING) == (requests[i] != MPI_REQUEST_NULL));
            error =
                class != MPI_SUCCESS && class != MPI_ERR_PENDING ? statuses[i].MPI_ERROR : error;
        }
        CHECK(class_of(error) != MPI_ERR_IN_STATUS);
    }
    for (int i = 0; i < n; i++) {
        int class = class_of(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        CHECK(class == MPI_SUCCESS || class == MPI_ERR_PROC_FAILED || class == MPI_ERR_REVOKED);
    }
    return error;
}

/* ---- Neighbours: a ring, and all ranks ---- */

static void make_ring(void)
{
    int dims[1] = {scene.size}, periods[1] = {1};
    CHECK(MPI_Cart_create(scene.comm, 1, dims, periods, 0, &scene.other) == MPI_SUCCESS);
}

static void make_graph(void)
{
    int all[RANKS_MAX];
    for (int i = 0; i < scene.size; i++) {
        all[i] = i;
    }
    CHECK(MPI_Dist_graph_create_adjacent(scene.comm, scene.size, all, MPI_UNWEIGHTED, scene.size,
                                         all, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                         &scene.other) == MPI_SUCCESS);
}

#undef ON
#define ON scene.other
THREE(n_allgather, Neighbor_allgather, neighbor_allgather, (out, C, INT, in, C, INT, ))
THREE(n_allgatherv, Neighbor_allgatherv, neighbor_allgatherv,
      (out, C, INT, in, counts, displs, INT, ))
THREE(n_alltoall, Neighbor_alltoall, neighbor_alltoall, (out, C, INT, in, C, INT, ))
THREE(n_alltoallv, Neighbor_alltoallv, neighbor_alltoallv,
      (out, counts, displs, INT, in, counts, displs, INT, ))
THREE(n_alltoallw, Neighbor_alltoallw, neighbor_alltoallw,
      (out, counts, bytes_displs, types, in, counts, bytes_displs, types, ))

/* ---- Between two groups ---- */

static void make_inter(void)
{
    MPI_Comm half;
    bool second = scene.rank >= scene.size / 2;
    CHECK(MPI_Comm_split(scene.comm, second, scene.rank, &half) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(half, 0, scene.comm, second ? 0 : scene.size / 2, 5, &scene.other) ==
          MPI_SUCCESS);
    MPI_Comm_free(&half);
}

THREE(x_barrier, Barrier, barrier, ())
THREE(x_allreduce, Allreduce, allreduce, (out, in, C, INT, MPI_SUM, ))
THREE(x_allgather, Allgather, allgather, (out, C, INT, in, C, INT, ))
THREE(x_alltoall, Alltoall, alltoall, (out, C, INT, in, C, INT, ))

static int x_agree(void)
{
    bool second = scene.rank >= scene.size / 2;
    int flag = second ? 12 : 10;
    int error = MPIX_Comm_agree(scene.other, &flag);
    /* Of the other side, if it has any members. */
    bool alone = scene.size == 3 && scene.victim == 0;
    CHECK(flag == (second ? 10 : 12) || (second && alone && flag == -1));
    return error;
}

static int x_shrink(void)
{
    MPI_Comm left;
    int error = MPIX_Comm_shrink(scene.other, &left);
    if (error == MPI_SUCCESS && left != MPI_COMM_NULL) {
        MPI_Comm_free(&left);
    }
    return error;
}

static int x_merge(void)
{
    MPI_Comm merged;
    int error = MPI_Intercomm_merge(scene.other, scene.rank >= scene.size / 2, &merged);
    if (error == MPI_SUCCESS) {
        MPI_Comm_free(&merged);
    }
    return error;
}

#define ROWS(text, name, setup)                                                                    \
    {text, name, setup, ROW_FAILS | ROW_COLL}, {"i" text, name##_i, setup, ROW_FAILS | ROW_COLL},  \
    {                                                                                              \
        text "_init", name##_p, setup, ROW_FAILS | ROW_COLL                                        \
    }

const struct kill_row kill_coll_rows[] = {
    ROWS("barrier", barrier, NULL),
    ROWS("bcast", bcast, NULL),
    ROWS("gather", gather, NULL),
    ROWS("gatherv", gatherv, NULL),
    ROWS("scatter", scatter, NULL),
    ROWS("scatterv", scatterv, NULL),
    ROWS("allgather", allgather, NULL),
    ROWS("allgatherv", allgatherv, NULL),
    ROWS("alltoall", alltoall, NULL),
    ROWS("alltoallv", alltoallv, NULL),
    ROWS("reduce", reduce, NULL),
    ROWS("allreduce", allreduce, NULL),
    ROWS("reduce_scatter", reduce_scatter, NULL),
    ROWS("reduce_scatter_block", reduce_scatter_block, NULL),
    ROWS("scan", scan, NULL),
    ROWS("exscan", exscan, NULL),
    {"alltoallw", alltoallw, NULL, ROW_FAILS | ROW_COLL},
    {"ialltoallw", alltoallw_i, NULL, ROW_FAILS | ROW_COLL},
    {"bcast_value", bcast_value, NULL, ROW_FAILS | ROW_COLL},
    {"allreduce_value", allreduce_value, NULL, ROW_FAILS | ROW_COLL},
    {"icollectives", many_at_a_time, NULL, ROW_FAILS | ROW_COLL},
    ROWS("neighbor_allgather", n_allgather, make_ring),
    ROWS("neighbor_allgatherv", n_allgatherv, make_ring),
    ROWS("neighbor_alltoall", n_alltoall, make_ring),
    ROWS("neighbor_alltoallv", n_alltoallv, make_graph),
    ROWS("neighbor_alltoallw", n_alltoallw, make_graph),
    ROWS("inter_barrier", x_barrier, make_inter),
    ROWS("inter_allreduce", x_allreduce, make_inter),
    ROWS("inter_allgather", x_allgather, make_inter),
    ROWS("inter_alltoall", x_alltoall, make_inter),
    {"inter_agree", x_agree, make_inter, ROW_FAILS | ROW_REPAIR},
    {"inter_shrink", x_shrink, make_inter, ROW_REPAIR},
    {"inter_merge", x_merge, make_inter, ROW_FAILS | ROW_CREATES},
    {NULL, NULL, NULL, 0},
};
