/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point messages, their buffers, packing. */
#include "arguments.h"

#include "check.h"

#include <stdint.h>

static int big[8], small[2];

/* A message of four for which there is room for two. */
static MPI_Request send_four(int tag)
{
    MPI_Request request;
    CHECK(MPI_Isend(big, 4, MPI_INT, 0, tag, good.comm, &request) == MPI_SUCCESS);
    return request;
}

static void end(MPI_Request *request)
{
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void rows_truncated(void)
{
    MPI_Request send = send_four(1), receive;
    MPI_Message message;
    ROW(MPI_ERR_TRUNCATE, "MPI_Recv", "",
        MPI_Recv(small, 2, MPI_INT, 0, 1, good.comm, MPI_STATUS_IGNORE));
    end(&send);
    send = send_four(2);
    CHECK(MPI_Irecv(small, 2, MPI_INT, 0, 2, good.comm, &receive) == MPI_SUCCESS);
    ROW(MPI_ERR_TRUNCATE, "MPI_Wait", "", MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK(receive == MPI_REQUEST_NULL);
    end(&send);
    send = send_four(3);
    CHECK(MPI_Mprobe(0, 3, good.comm, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    ROW(MPI_ERR_TRUNCATE, "MPI_Mrecv", "",
        MPI_Mrecv(small, 2, MPI_INT, &message, MPI_STATUS_IGNORE));
    end(&send);
    ROW(MPI_ERR_TRUNCATE, "MPI_Sendrecv", "",
        MPI_Sendrecv(big, 4, MPI_INT, 0, 4, small, 2, MPI_INT, 0, 4, good.comm, MPI_STATUS_IGNORE));
}

static void rows_buffers(void)
{
    static char room[4096];
    ROW(MPI_ERR_BUFFER, "MPI_Bsend", "buffer", MPI_Bsend(big, 8, MPI_INT, 0, 1, good.comm));
    ROW(MPI_ERR_BUFFER, "MPI_Ibsend", "buffer",
        MPI_Ibsend(big, 8, MPI_INT, 0, 1, good.comm, &out.request));
    ROW(MPI_ERR_BUFFER, "MPI_Buffer_detach", "buffer",
        MPI_Buffer_detach(&out.pointer, &out.number));
    ROW(MPI_ERR_BUFFER, "MPI_Comm_detach_buffer", "buffer",
        MPI_Comm_detach_buffer(good.comm, &out.pointer, &out.number));
    ROW(MPI_ERR_BUFFER, "MPI_Session_detach_buffer", "buffer",
        MPI_Session_detach_buffer(good.session, &out.pointer, &out.number));
    ROW(MPI_ERR_BUFFER, "MPI_Buffer_attach", "buffer", MPI_Buffer_attach(NULL, 64));
    ROW(MPI_ERR_BUFFER, "MPI_Comm_attach_buffer", "buffer",
        MPI_Comm_attach_buffer(good.comm, NULL, 64));
    ROW(MPI_ERR_BUFFER, "MPI_Session_attach_buffer", "buffer",
        MPI_Session_attach_buffer(good.session, NULL, 64));
    CHECK(MPI_Comm_attach_buffer(good.comm, room, 16) == MPI_SUCCESS);
    ROW(MPI_ERR_BUFFER, "MPI_Comm_attach_buffer", "buffer",
        MPI_Comm_attach_buffer(good.comm, room, 16));
    ROW(MPI_ERR_BUFFER, "MPI_Bsend", "buffer", MPI_Bsend(big, 8, MPI_INT, 0, 1, good.comm));
    void *address;
    int size;
    CHECK(MPI_Comm_detach_buffer(good.comm, &address, &size) == MPI_SUCCESS && address == room);
}

static void rows_packing(void)
{
    int position = 0;
    char packed[8] = {0};
    ROW(MPI_ERR_TRUNCATE, "MPI_Pack", "position",
        MPI_Pack(big, 4, MPI_INT, packed, 8, &position, good.comm));
    ROW(MPI_ERR_TRUNCATE, "MPI_Unpack", "position",
        MPI_Unpack(packed, 8, &position, out.buffer, 4, MPI_INT, good.comm));
    ROW(MPI_ERR_TRUNCATE, "MPI_Pack_external", "position",
        MPI_Pack_external("external32", big, 4, MPI_INT, packed, 8, &(MPI_Aint){0}));
    ROW(MPI_ERR_TRUNCATE, "MPI_Unpack_external", "position",
        MPI_Unpack_external("external32", packed, 8, &(MPI_Aint){0}, out.buffer, 4, MPI_INT));
    CHECK(position == 0);
    position = -4;
    ROW(MPI_ERR_TRUNCATE, "MPI_Pack", "position",
        MPI_Pack(big, 1, MPI_INT, packed, 8, &position, good.comm));
    ROW(MPI_ERR_TRUNCATE, "MPI_Unpack", "position",
        MPI_Unpack(packed, 8, &position, out.buffer, 1, MPI_INT, good.comm));
    position = 9;
    ROW(MPI_ERR_TRUNCATE, "MPI_Pack", "position",
        MPI_Pack(big, 1, MPI_INT, packed, 8, &position, good.comm));
    ROW(MPI_ERR_ARG, "MPI_Pack_external", "datarep",
        MPI_Pack_external("native", big, 1, MPI_INT, packed, 8, &(MPI_Aint){0}));
    ROW(MPI_ERR_ARG, "MPI_Pack_external_size", "datarep",
        MPI_Pack_external_size("native", 1, MPI_INT, &out.aint));
    ROW(MPI_ERR_ARG, "MPI_Unpack_external", "datarep",
        MPI_Unpack_external("", packed, 8, &(MPI_Aint){0}, out.buffer, 1, MPI_INT));
}

static void rows_memory(void)
{
    ROW(MPI_ERR_ARG, "MPI_Alloc_mem", "size", MPI_Alloc_mem(-1, MPI_INFO_NULL, &out.pointer));
    ROW(MPI_ERR_NO_MEM, "MPI_Alloc_mem", "size",
        MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &out.pointer));
}

/* More bytes than there are numbers for; also by an int of a huge datatype. */
static void rows_too_many(void)
{
    MPI_Datatype huge;
    ROW(MPI_ERR_COUNT, "MPI_Send_c", "count", MPI_Send_c(big, INT64_MAX, MPI_INT, 0, 1, good.comm));
    ROW(MPI_ERR_COUNT, "MPI_Irecv_c", "count",
        MPI_Irecv_c(out.buffer, INT64_MAX / 2, MPI_INT, 0, 1, good.comm, &out.request));
    ROW(MPI_ERR_COUNT, "MPI_Bcast_c", "count",
        MPI_Bcast_c(out.buffer, INT64_MAX / 3, MPI_INT, 0, good.comm));
    ROW(MPI_ERR_COUNT, "MPI_Allreduce_c", "count",
        MPI_Allreduce_c(big, out.buffer, INT64_MAX, MPI_INT, MPI_SUM, good.comm));
    CHECK(MPI_Type_contiguous_c((MPI_Count)1 << 40, MPI_INT, &huge) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&huge) == MPI_SUCCESS);
    ROW(MPI_ERR_COUNT, "MPI_Send", "count", MPI_Send(big, 2147483647, huge, 0, 1, good.comm));
    ROW(MPI_ERR_COUNT, "MPI_Recv_init", "count",
        MPI_Recv_init(out.buffer, 1 << 21, huge, 0, 1, good.comm, &out.request));
    CHECK(MPI_Send(big, 0, huge, MPI_PROC_NULL, 1, good.comm) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&huge) == MPI_SUCCESS);
}

void rows_point(void)
{
    rows_too_many();
    rows_truncated();
    rows_buffers();
    rows_packing();
    rows_memory();
}
