/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffered sends: MPI_Bsend, and attaching, detaching and flushing buffers. */
#include "mpi/p2p/p2p.h"
#include "mpi/p2p/send_buffer.h"

#include <stdlib.h>

int rzm_bsend(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
              struct rz_comm *comm)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    rz_engine_progress(); /* messages that have left meanwhile free their share of the buffer */
    MPI_Count bytes = rz_datatype_bytes(datatype, count) + MPI_BSEND_OVERHEAD;
    struct rz_send_buffer *buffer = dest != MPI_PROC_NULL ? rz_send_buffer_for(comm) : NULL;
    if (dest != MPI_PROC_NULL && (error = rz_send_buffer_reserve(buffer, bytes)) != MPI_SUCCESS) {
        return error;
    }
    struct rz_request *send;
    const struct rz_p2p_message message = {
        .buffer = (void *)(uintptr_t)buf,
        .count = count,
        .datatype = datatype,
        .peer = dest,
        .tag = tag,
        .comm = comm,
        .context_offset = RZ_CONTEXT_OFFSET_POINT,
        .flags = dest != MPI_PROC_NULL ? RZ_REQUEST_BSEND | RZ_REQUEST_COPY : 0};
    rz_send_buffer_starting = buffer;
    error = rz_p2p_start_send(&message, &send);
    if (error != MPI_SUCCESS) {
        if (buffer) {
            buffer->used -= bytes;
        }
        return error;
    }
    send->state = buffer;
    /* The library completes the message; the call ends at once, with the result known so far. */
    error = send->complete ? send->error : MPI_SUCCESS;
    rz_request_detach(send);
    return error;
}

int rzm_ibsend(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
               struct rz_comm *comm, struct rz_request **request)
{
    int error = rzm_bsend(buf, count, datatype, dest, tag, comm);
    if (error == MPI_SUCCESS) {
        *request = &rz_request_done;
    }
    return error;
}

/* A persistent buffered send: each start is an MPI_Ibsend. */
static int bsend_start(struct rz_request *request)
{
    int error = rzm_bsend(request->buffer, request->count, request->datatype, request->peer,
                          request->tag, request->comm);
    if (error == MPI_SUCCESS) {
        rz_request_complete(request, MPI_SUCCESS);
    }
    return error;
}

static const struct rz_request_class bsend_class = {.name = "buffered send", .start = bsend_start};

int rzm_bsend_init(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest,
                   int tag, struct rz_comm *comm, struct rz_request **request)
{
    struct rz_request *made = rz_request_new(&bsend_class, comm);
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    rz_datatype_retain(datatype);
    made->flags = RZ_REQUEST_PERSISTENT;
    made->buffer = (void *)(uintptr_t)buf;
    made->count = count;
    made->datatype = datatype;
    made->peer = dest;
    made->tag = tag;
    *request = made;
    return MPI_SUCCESS;
}

/* ---- Attaching, detaching, flushing ---- */

static bool all_gone(void *arg)
{
    return ((const struct rz_send_buffer *)arg)->used == 0;
}

/* Also where no buffer is attached: then no message is on its way. */
int rz_buffered_flush(enum rz_buffer_owner kind, uint64_t owner, const char *call)
{
    struct rz_blocked blocked = {.call = call, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    struct rz_send_buffer *buffer = *rz_send_buffer_find(kind, owner);
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS || !buffer) {
        return error;
    }
    buffer->references++; /* another thread may detach it meanwhile */
    error = rz_engine_wait(&blocked, all_gone, buffer);
    rz_send_buffer_release(buffer);
    return error;
}

int rz_buffered_detach(enum rz_buffer_owner kind, uint64_t owner, const char *call, void *address,
                       MPI_Count *size)
{
    int error = rz_buffered_flush(kind, owner, call);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_send_buffer **at = rz_send_buffer_find(kind, owner);
    if (!*at) {
        return rzm_error(MPI_ERR_BUFFER, "no buffer is attached");
    }
    *(void **)address = (*at)->address;
    *size = (*at)->size;
    rz_send_buffer_detach(at);
    return MPI_SUCCESS;
}

static void iflush_poll(struct rz_request *request)
{
    if (all_gone(request->state)) {
        rz_request_complete(request, MPI_SUCCESS);
    }
}

static void iflush_destroy(struct rz_request *request)
{
    rz_send_buffer_release(request->state);
}

static const struct rz_request_class iflush_class = {
    .name = "flush of a buffer", .poll = iflush_poll, .destroy = iflush_destroy};

int rz_buffered_iflush(enum rz_buffer_owner kind, uint64_t owner, struct rz_request **request)
{
    struct rz_send_buffer *buffer = *rz_send_buffer_find(kind, owner);
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (!buffer) {
        *request = &rz_request_done;
        return MPI_SUCCESS;
    }
    struct rz_request *made = rz_request_new(&iflush_class, NULL);
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    buffer->references++;
    made->state = buffer;
    rz_request_activate(made);
    *request = made;
    return MPI_SUCCESS;
}

int rzm_buffer_attach(void *address, MPI_Count size)
{
    return rz_send_buffer_attach(RZ_BUFFER_OF_PROCESS, 0, address, size);
}

int rzm_buffer_detach(void *buffer_addr, MPI_Count *size)
{
    return rz_buffered_detach(RZ_BUFFER_OF_PROCESS, 0, "MPI_Buffer_detach", buffer_addr, size);
}

int rzm_buffer_flush(void)
{
    return rz_buffered_flush(RZ_BUFFER_OF_PROCESS, 0, "MPI_Buffer_flush");
}

int rzm_buffer_iflush(struct rz_request **request)
{
    return rz_buffered_iflush(RZ_BUFFER_OF_PROCESS, 0, request);
}

int rzm_comm_attach_buffer(struct rz_comm *comm, void *buffer, MPI_Count size)
{
    return rz_send_buffer_attach(RZ_BUFFER_OF_COMM, comm->context, buffer, size);
}

int rzm_comm_detach_buffer(struct rz_comm *comm, void *buffer_addr, MPI_Count *size)
{
    return rz_buffered_detach(RZ_BUFFER_OF_COMM, comm->context, "MPI_Comm_detach_buffer",
                              buffer_addr, size);
}

int rzm_comm_flush_buffer(struct rz_comm *comm)
{
    return rz_buffered_flush(RZ_BUFFER_OF_COMM, comm->context, "MPI_Comm_flush_buffer");
}

int rzm_comm_iflush_buffer(struct rz_comm *comm, struct rz_request **request)
{
    return rz_buffered_iflush(RZ_BUFFER_OF_COMM, comm->context, request);
}
