/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of attached buffers, with the bytes that messages on their way count towards each.
 */
#include "mpi/p2p/send_buffer.h"

#include <stdlib.h>

static struct rz_send_buffer *attached;
struct rz_send_buffer *rz_send_buffer_starting;

struct rz_send_buffer **rz_send_buffer_find(enum rz_buffer_owner kind, uint64_t owner)
{
    struct rz_send_buffer **at = &attached;
    while (*at && ((*at)->kind != kind || (*at)->owner != owner)) {
        at = &(*at)->next;
    }
    return at;
}

void rz_send_buffer_release(struct rz_send_buffer *buffer)
{
    if (--buffer->references == 0) {
        free(buffer);
    }
}

void rz_send_buffer_detach(struct rz_send_buffer **at)
{
    struct rz_send_buffer *buffer = *at;
    *at = buffer->next;
    rz_send_buffer_release(buffer);
}

static MPI_Count share(const struct rz_request *request)
{
    return (MPI_Count)request->bytes + MPI_BSEND_OVERHEAD;
}

void rz_send_buffer_ended(struct rz_request *request)
{
    struct rz_send_buffer *buffer = request->state ? request->state : rz_send_buffer_starting;
    buffer->used -= share(request);
}

void rz_send_buffer_owner_ends(enum rz_buffer_owner kind, uint64_t owner)
{
    struct rz_send_buffer **at = rz_send_buffer_find(kind, owner);
    if (*at && (*at)->used == 0) {
        rz_send_buffer_detach(at);
    }
}

void rz_send_buffers_close(void)
{
    while (attached) {
        rz_send_buffer_detach(&attached);
    }
}

struct rz_send_buffer *rz_send_buffer_for(const struct rz_comm *comm)
{
    struct rz_send_buffer *buffer =
        !attached ? NULL : *rz_send_buffer_find(RZ_BUFFER_OF_COMM, comm->context);
    if (!buffer && comm->group->session != 0) {
        buffer = *rz_send_buffer_find(RZ_BUFFER_OF_SESSION, comm->group->session);
    }
    return buffer ? buffer : *rz_send_buffer_find(RZ_BUFFER_OF_PROCESS, 0);
}

int rz_send_buffer_reserve(struct rz_send_buffer *buffer, MPI_Count bytes)
{
    if (!buffer) {
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

int rz_send_buffer_attach(enum rz_buffer_owner kind, uint64_t owner, void *address, MPI_Count size)
{
    if (*rz_send_buffer_find(kind, owner)) {
        return rzm_error(MPI_ERR_BUFFER, "a buffer is attached already");
    }
    if (!address && size > 0) {
        return rzm_error(MPI_ERR_BUFFER, "buffer is a null pointer while size is %lld",
                         (long long)size);
    }
    struct rz_send_buffer *buffer = malloc(sizeof(*buffer));
    if (!buffer) {
        return MPI_ERR_NO_MEM;
    }
    *buffer = (struct rz_send_buffer){.kind = kind,
                                      .owner = owner,
                                      .address = address,
                                      .size = address != MPI_BUFFER_AUTOMATIC ? size : 0,
                                      .references = 1,
                                      .next = attached};
    attached = buffer;
    return MPI_SUCCESS;
}
