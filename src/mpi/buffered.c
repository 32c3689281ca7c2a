/*
 * The attached buffer is a licence, not a place: payloads are copied to memory of their own, and
 * the size of the buffer says how much may be on its way at a time. So nothing of the library's
 * bookkeeping lies in the user's memory.
 */
#include "mpi/buffered.h"

#include "mpi/p2p.h"

static struct {
    void *address;
    MPI_Count size, used;
    bool attached;
} buffer;

static MPI_Count share(const struct rz_request *request)
{
    return (MPI_Count)request->bytes + MPI_BSEND_OVERHEAD;
}

void rz_buffered_ended(struct rz_request *request)
{
    buffer.used -= share(request);
}

void rz_buffered_close(void)
{
    buffer.attached = false;
    buffer.used = 0;
}

static int reserve(MPI_Count bytes)
{
    bool automatic = buffer.attached && buffer.address == MPI_BUFFER_AUTOMATIC;
    if (!automatic && (!buffer.attached || bytes > buffer.size - buffer.used)) {
        return rzm_error(MPI_ERR_BUFFER,
                         "%lld bytes do not fit into the attached buffer: %lld of %lld are in use",
                         (long long)bytes, (long long)buffer.used, (long long)buffer.size);
    }
    buffer.used += bytes;
    return MPI_SUCCESS;
}

int rzm_ibsend(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
               struct rz_comm *comm, struct rz_request **request)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    rz_engine_progress(); /* what has gone meanwhile makes room */
    MPI_Count bytes = rz_datatype_bytes(datatype, count) + MPI_BSEND_OVERHEAD;
    if (dest != MPI_PROC_NULL && (error = reserve(bytes)) != MPI_SUCCESS) {
        return error;
    }
    struct rz_request *send;
    uint32_t flags = dest != MPI_PROC_NULL ? RZ_REQUEST_BSEND | RZ_REQUEST_COPY : 0;
    error = rz_p2p_start_send(buf, count, datatype, dest, tag, comm, RZ_PLANE_POINT, flags, &send);
    if (error != MPI_SUCCESS) {
        buffer.used -= flags != 0 ? bytes : 0;
        return error;
    }
    /* The message goes by itself; the user's request is complete at once, with what is known by
     * now. */
    error = send->complete ? send->error : MPI_SUCCESS;
    rz_request_detach(send);
    return error != MPI_SUCCESS ? error : rz_request_new_complete(comm, request);
}

int rzm_bsend(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
              struct rz_comm *comm)
{
    struct rz_request *request = NULL;
    int error = rzm_ibsend(buf, count, datatype, dest, tag, comm, &request);
    if (error == MPI_SUCCESS) {
        rz_request_destroy(request);
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

static void bsend_destroy(struct rz_request *request)
{
    rz_datatype_release(request->datatype);
}

static const struct rz_request_class bsend_class = {
    .name = "buffered send", .start = bsend_start, .destroy = bsend_destroy};

int rzm_bsend_init(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest,
                   int tag, struct rz_comm *comm, struct rz_request **request)
{
    struct rz_request *made = rz_request_new(&bsend_class, comm);
    if (made == NULL) {
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

int rzm_buffer_attach(void *address, MPI_Count size)
{
    if (buffer.attached) {
        return rzm_error(MPI_ERR_BUFFER, "a buffer is attached already");
    }
    buffer.address = address;
    buffer.size = size;
    buffer.attached = true;
    return MPI_SUCCESS;
}

static bool all_gone(void *arg)
{
    (void)arg;
    return buffer.used == 0;
}

int rzm_buffer_flush(void)
{
    struct rz_blocked blocked = {
        .call = "MPI_Buffer_flush", .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    int error = rz_engine_begin();
    return error != MPI_SUCCESS ? error : rz_engine_wait(&blocked, all_gone, NULL);
}

int rzm_buffer_detach(void *buffer_addr, MPI_Count *size)
{
    if (!buffer.attached) {
        return rzm_error(MPI_ERR_BUFFER, "no buffer is attached");
    }
    int error = rzm_buffer_flush();
    if (error == MPI_SUCCESS) {
        *(void **)buffer_addr = buffer.address;
        *size = buffer.size;
        buffer.attached = false;
    }
    return error;
}
