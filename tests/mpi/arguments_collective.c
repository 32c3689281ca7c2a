/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations: what may be reduced, MPI_IN_PLACE, one buffer for both sides, two groups.
 */
#include "arguments.h"

#include "check.h"

static int a[8], b[8];

static void rows_operations(void)
{
    const struct {
        MPI_Op op;
        MPI_Datatype datatype;
    } wrong[] = {{MPI_SUM, MPI_BYTE},   {MPI_LAND, MPI_DOUBLE},          {MPI_BXOR, MPI_FLOAT},
                 {MPI_MAXLOC, MPI_INT}, {MPI_MIN, MPI_C_DOUBLE_COMPLEX}, {MPI_SUM, good.datatype},
                 {MPI_NO_OP, MPI_INT},  {MPI_REPLACE, MPI_INT}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        MPI_Op op = wrong[i].op;
        MPI_Datatype type = wrong[i].datatype;
        bool for_windows = op == MPI_NO_OP || op == MPI_REPLACE;
        if (!for_windows) {
            ROW(MPI_ERR_OP, "MPI_Reduce_local", "op", MPI_Reduce_local(a, b, 1, type, op));
        }
        ROW(MPI_ERR_OP, "MPI_Reduce", "op", MPI_Reduce(a, b, 1, type, op, 0, good.comm));
        ROW(MPI_ERR_OP, "MPI_Allreduce", "op", MPI_Allreduce(a, b, 1, type, op, good.comm));
        ROW(MPI_ERR_OP, "MPI_Scan", "op", MPI_Scan(a, b, 1, type, op, good.comm));
        ROW(MPI_ERR_OP, "MPI_Exscan", "op", MPI_Exscan(a, b, 1, type, op, good.comm));
        ROW(MPI_ERR_OP, "MPI_Reduce_scatter", "op",
            MPI_Reduce_scatter(a, b, good.ones, type, op, good.comm));
        ROW(MPI_ERR_OP, "MPI_Reduce_scatter_block", "op",
            MPI_Reduce_scatter_block(a, b, 1, type, op, good.comm));
        ROW(MPI_ERR_OP, "MPI_Ireduce", "op",
            MPI_Ireduce(a, b, 1, type, op, 0, good.comm, &out.request));
        ROW(MPI_ERR_OP, "MPI_Iallreduce", "op",
            MPI_Iallreduce(a, b, 1, type, op, good.comm, &out.request));
        ROW(MPI_ERR_OP, "MPI_Iscan", "op", MPI_Iscan(a, b, 1, type, op, good.comm, &out.request));
        ROW(MPI_ERR_OP, "MPI_Iexscan", "op",
            MPI_Iexscan(a, b, 1, type, op, good.comm, &out.request));
        ROW(MPI_ERR_OP, "MPI_Ireduce_scatter", "op",
            MPI_Ireduce_scatter(a, b, good.ones, type, op, good.comm, &out.request));
        ROW(MPI_ERR_OP, "MPI_Allreduce_init", "op",
            MPI_Allreduce_init(a, b, 1, type, op, good.comm, MPI_INFO_NULL, &out.request));
        ROW(MPI_ERR_OP, "MPI_Reduce_init", "op",
            MPI_Reduce_init(a, b, 1, type, op, 0, good.comm, MPI_INFO_NULL, &out.request));
    }
}

static void rows_in_place(void)
{
    ROW(MPI_ERR_BUFFER, "MPI_Allgather", "recvbuf",
        MPI_Allgather(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Alltoall", "recvbuf",
        MPI_Alltoall(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Allreduce", "recvbuf",
        MPI_Allreduce(a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Scan", "recvbuf",
        MPI_Scan(a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Reduce", "recvbuf",
        MPI_Reduce(a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, 0, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Gather", "recvbuf",
        MPI_Gather(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Scatter", "sendbuf",
        MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, a, 1, MPI_INT, 0, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Reduce_local", "inbuf",
        MPI_Reduce_local(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM));
    ROW(MPI_ERR_BUFFER, "MPI_Neighbor_allgather", "sendbuf",
        MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, a, 1, MPI_INT, good.cart));
    /* At others than the root. */
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        ROW(MPI_ERR_BUFFER, "MPI_Gather", "sendbuf",
            MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, a, 1, MPI_INT, 0, MPI_COMM_WORLD));
        ROW(MPI_ERR_BUFFER, "MPI_Reduce", "sendbuf",
            MPI_Reduce(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
        ROW(MPI_ERR_BUFFER, "MPI_Scatter", "recvbuf",
            MPI_Scatter(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
}

static void rows_one_buffer(void)
{
    ROW(MPI_ERR_BUFFER, "MPI_Allreduce", "recvbuf",
        MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Reduce", "recvbuf",
        MPI_Reduce(a, a, 1, MPI_INT, MPI_SUM, 0, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Scan", "recvbuf", MPI_Scan(a, a, 1, MPI_INT, MPI_SUM, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Exscan", "recvbuf", MPI_Exscan(a, a, 1, MPI_INT, MPI_SUM, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Iallreduce", "recvbuf",
        MPI_Iallreduce(a, a, 1, MPI_INT, MPI_SUM, good.comm, &out.request));
    ROW(MPI_ERR_BUFFER, "MPI_Reduce_scatter_block", "recvbuf",
        MPI_Reduce_scatter_block(a, a, 1, MPI_INT, MPI_SUM, good.comm));
    CHECK(MPI_Allreduce(a, a, 0, MPI_INT, MPI_SUM, good.comm) == MPI_SUCCESS);
}

static void rows_two_groups(void)
{
    ROW(MPI_ERR_COMM, "MPI_Scan", "comm", MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, good.inter));
    ROW(MPI_ERR_COMM, "MPI_Exscan", "comm", MPI_Exscan(a, b, 1, MPI_INT, MPI_SUM, good.inter));
    ROW(MPI_ERR_COMM, "MPI_Iscan", "comm",
        MPI_Iscan(a, b, 1, MPI_INT, MPI_SUM, good.inter, &out.request));
    ROW(MPI_ERR_ROOT, "MPI_Bcast", "root", MPI_Bcast(a, 1, MPI_INT, -9, good.inter));
    ROW(MPI_ERR_ROOT, "MPI_Bcast", "root", MPI_Bcast(a, 1, MPI_INT, 1, good.inter));
    ROW(MPI_ERR_BUFFER, "MPI_Allreduce", "sendbuf",
        MPI_Allreduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, good.inter));
    ROW(MPI_ERR_BUFFER, "MPI_Allgather", "sendbuf",
        MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, good.inter));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Neighbor_allgather", "comm",
        MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, good.comm));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Neighbor_alltoall", "comm",
        MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, good.inter));
    ROW(MPI_ERR_TOPOLOGY, "MPI_Ineighbor_allgather", "comm",
        MPI_Ineighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, good.comm, &out.request));
}

void rows_collective(void)
{
    rows_operations();
    rows_in_place();
    rows_one_buffer();
    rows_two_groups();
}
