/*
 * The attached buffer is a licence, not a place: payloads are copied to memory of their own, and
 * the size of the buffer says how much may be on its way at a time. So nothing of the library's
 * bookkeeping lies in the user's memory.
 *
 * A send counts against the buffer of its communicator, else of the communicator's session, else of
 * the process.
 */
#include "mpi/p2p/buffered.h"

#include "mpi/p2p/p2p.h"
#include "mpi/comm/sessions.h"

#include <stdlib.h>

enum owner_kind { OWNER_PROCESS, OWNER_COMM, OWNER_SESSION };

struct buffer {
    enum owner_kind kind;
    uint64_t owner; /* context id or session id; both are never used again */
    void *address;
    MPI_Count size, used;
    unsigned references; /* of the list while attached, of each MPI_Buffer_iflush */
    struct buffer *next;
};

static struct buffer *attached;
static struct buffer *starting; /* of the send that has no request yet */

static struct buffer **find(enum owner_kind kind, uint64_t owner)
{
    struct buffer **at = &attached;
    while (*at != NULL && ((*at)->kind != kind || (*at)->owner != owner)) {
        at = &(*at)->next;
    }
    return at;
}

static void release(struct buffer *buffer)
{
    if (--buffer->references == 0) {
        free(buffer);
    }
}

static void unlink_buffer(struct buffer **at)
{
    struct buffer *buffer = *at;
    *at = buffer->next;
    release(buffer);
}

static MPI_Count share(const struct rz_request *request)
{
    return (MPI_Count)request->bytes + MPI_BSEND_OVERHEAD;
}

void rz_buffered_ended(struct rz_request *request)
{
    struct buffer *buffer = request->state != NULL ? request->state : starting;
    buffer->used -= share(request);
}

void rz_buffered_session_ends(uint64_t session)
{
    struct buffer **at = find(OWNER_SESSION, session);
    if (*at != NULL) {
        unlink_buffer(at);
    }
}

void rz_buffered_close(void)
{
    while (attached != NULL) {
        unlink_buffer(&attached);
    }
}

/* The buffer that sends on comm count against, NULL: there is none. */
static struct buffer *choose(const struct rz_comm *comm)
{
    struct buffer *buffer = attached == NULL ? NULL : *find(OWNER_COMM, comm->context);
    if (buffer == NULL && comm->group->session != 0) {
        buffer = *find(OWNER_SESSION, comm->group->session);
    }
    return buffer != NULL ? buffer : *find(OWNER_PROCESS, 0);
}

static int reserve(struct buffer *buffer, MPI_Count bytes)
{
    if (buffer == NULL) {
        return rzm_error(MPI_ERR_BUFFER, "no buffer is attached");
    }
    if (buffer->address != MPI_BUFFER_AUTOMATIC && bytes > buffer->size - buffer->used) {
        return rzm_error(MPI_ERR_BUFFER,
                         "%lld bytes do not fit into the attached buffer: %lld of %lld are in use",
                         (long long)bytes, (long long)buffer->used, (long long)buffer->size);
    }
    buffer->used += bytes;
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
    struct buffer *buffer = dest != MPI_PROC_NULL ? choose(comm) : NULL;
    if (dest != MPI_PROC_NULL && (error = reserve(buffer, bytes)) != MPI_SUCCESS) {
        return error;
    }
    struct rz_request *send;
    uint32_t flags = dest != MPI_PROC_NULL ? RZ_REQUEST_BSEND | RZ_REQUEST_COPY : 0;
    starting = buffer;
    error = rz_p2p_start_send(buf, count, datatype, dest, tag, comm, RZ_CONTEXT_OFFSET_POINT, flags,
                              &send);
    if (error != MPI_SUCCESS) {
        if (buffer != NULL) {
            buffer->used -= bytes;
        }
        return error;
    }
    send->state = buffer;
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

/* ---- Attaching, detaching, flushing ---- */

static int attach(enum owner_kind kind, uint64_t owner, void *address, MPI_Count size)
{
    if (*find(kind, owner) != NULL) {
        return rzm_error(MPI_ERR_BUFFER, "a buffer is attached already");
    }
    if (address == NULL && size > 0) {
        return rzm_error(MPI_ERR_BUFFER, "buffer is a null pointer while size is %lld",
                         (long long)size);
    }
    struct buffer *buffer = malloc(sizeof(*buffer));
    if (buffer == NULL) {
        return MPI_ERR_NO_MEM;
    }
    *buffer = (struct buffer){.kind = kind,
                              .owner = owner,
                              .address = address,
                              .size = address != MPI_BUFFER_AUTOMATIC ? size : 0,
                              .references = 1,
                              .next = attached};
    attached = buffer;
    return MPI_SUCCESS;
}

static bool all_gone(void *arg)
{
    return ((const struct buffer *)arg)->used == 0;
}

/* Whether a buffer is attached or not: nothing is on its way where there is none. */
static int flush(enum owner_kind kind, uint64_t owner, const char *call)
{
    struct rz_blocked blocked = {.call = call, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    struct buffer *buffer = *find(kind, owner);
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS || buffer == NULL) {
        return error;
    }
    buffer->references++; /* another thread may detach it meanwhile */
    error = rz_engine_wait(&blocked, all_gone, buffer);
    release(buffer);
    return error;
}

static int detach(enum owner_kind kind, uint64_t owner, const char *call, void *address,
                  MPI_Count *size)
{
    int error = flush(kind, owner, call);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct buffer **at = find(kind, owner);
    if (*at == NULL) {
        return rzm_error(MPI_ERR_BUFFER, "no buffer is attached");
    }
    *(void **)address = (*at)->address;
    *size = (*at)->size;
    unlink_buffer(at);
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
    release(request->state);
}

static const struct rz_request_class iflush_class = {
    .name = "flush of a buffer", .poll = iflush_poll, .destroy = iflush_destroy};

static int iflush(enum owner_kind kind, uint64_t owner, struct rz_request **request)
{
    struct buffer *buffer = *find(kind, owner);
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS || buffer == NULL) {
        return error != MPI_SUCCESS ? error : rz_request_new_complete(NULL, request);
    }
    struct rz_request *made = rz_request_new(&iflush_class, NULL);
    if (made == NULL) {
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
    return attach(OWNER_PROCESS, 0, address, size);
}

int rzm_buffer_detach(void *buffer_addr, MPI_Count *size)
{
    return detach(OWNER_PROCESS, 0, "MPI_Buffer_detach", buffer_addr, size);
}

int rzm_buffer_flush(void)
{
    return flush(OWNER_PROCESS, 0, "MPI_Buffer_flush");
}

int rzm_buffer_iflush(struct rz_request **request)
{
    return iflush(OWNER_PROCESS, 0, request);
}

int rzm_comm_attach_buffer(struct rz_comm *comm, void *buffer, MPI_Count size)
{
    return attach(OWNER_COMM, comm->context, buffer, size);
}

int rzm_comm_detach_buffer(struct rz_comm *comm, void *buffer_addr, MPI_Count *size)
{
    return detach(OWNER_COMM, comm->context, "MPI_Comm_detach_buffer", buffer_addr, size);
}

int rzm_comm_flush_buffer(struct rz_comm *comm)
{
    return flush(OWNER_COMM, comm->context, "MPI_Comm_flush_buffer");
}

int rzm_comm_iflush_buffer(struct rz_comm *comm, struct rz_request **request)
{
    return iflush(OWNER_COMM, comm->context, request);
}

int rzm_session_attach_buffer(struct rz_session *session, void *buffer, MPI_Count size)
{
    return attach(OWNER_SESSION, session->id, buffer, size);
}

int rzm_session_detach_buffer(struct rz_session *session, void *buffer_addr, MPI_Count *size)
{
    return detach(OWNER_SESSION, session->id, "MPI_Session_detach_buffer", buffer_addr, size);
}

int rzm_session_flush_buffer(struct rz_session *session)
{
    return flush(OWNER_SESSION, session->id, "MPI_Session_flush_buffer");
}

int rzm_session_iflush_buffer(struct rz_session *session, struct rz_request **request)
{
    return iflush(OWNER_SESSION, session->id, request);
}
