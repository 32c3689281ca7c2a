#include "mpi/ft/invitation.h"

#include "base/assert.h"
#include "port/kill_point.h"
#include "wire/cursor.h"

#include <stdlib.h>

enum { HEAD_BYTES = 8 + 4 * 4, MEMBER_BYTES = 8 };

static void write(const struct rz_invitation *invitation, void *buffer, size_t bytes)
{
    struct rz_wire_writer writer;
    rz_wire_writer_init(&writer, buffer, bytes);
    rz_wire_put_u64(&writer, invitation->context);
    rz_wire_put_u32(&writer, invitation->n);
    rz_wire_put_u32(&writer, invitation->index);
    rz_wire_put_u32(&writer, invitation->rows);
    rz_wire_put_u32(&writer, invitation->size);
    for (uint32_t i = 0; i < invitation->size; i++) {
        rz_wire_put_u32(&writer, invitation->process[i]);
        rz_wire_put_u32(&writer, invitation->is_new[i]);
    }
    rz_assert(!writer.overflow);
}

int rz_invitation_send(const struct rz_invitation *invitation)
{
    size_t bytes = HEAD_BYTES + (size_t)invitation->size * MEMBER_BYTES;
    void *buffer = malloc(bytes);
    if (buffer == NULL) {
        return MPI_ERR_NO_MEM;
    }
    write(invitation, buffer, bytes);
    int error = MPI_SUCCESS;
    for (uint32_t i = 0; i < invitation->size && error == MPI_SUCCESS; i++) {
        uint32_t process = invitation->process[i];
        if (invitation->is_new[i] && process != rz_engine.self) {
            error = rz_word_send(process, RZ_WORD_INVITE, 0, buffer, bytes);
            rz_kill_here(RZ_KILL_REPLACE_INVITED);
        }
    }
    free(buffer);
    return error;
}

bool rz_invitation_read(struct rz_invitation *invitation, const struct rz_word *word)
{
    struct rz_wire_reader reader;
    rz_wire_reader_init(&reader, word->data, word->bytes);
    *invitation = (struct rz_invitation){.context = rz_wire_get_u64(&reader)};
    invitation->n = rz_wire_get_u32(&reader);
    invitation->index = rz_wire_get_u32(&reader);
    invitation->rows = rz_wire_get_u32(&reader);
    invitation->size = rz_wire_get_u32(&reader);
    uint32_t size = invitation->size;
    if (reader.malformed || word->bytes != HEAD_BYTES + (size_t)size * MEMBER_BYTES ||
        invitation->index >= invitation->n || invitation->context % RZ_PLANE_COUNT != 0) {
        return false;
    }
    invitation->process = malloc((size + 1) * sizeof(*invitation->process));
    invitation->is_new = malloc((size + 1) * sizeof(*invitation->is_new));
    if (invitation->process == NULL || invitation->is_new == NULL) {
        return false;
    }
    bool self = false;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t process = rz_wire_get_u32(&reader);
        invitation->process[i] = process;
        invitation->is_new[i] = rz_wire_get_u32(&reader) != 0;
        self = self || process == rz_engine.self;
        if (rz_process_slot(process) >= rz_engine.info->n_slots) {
            return false;
        }
    }
    return self && !reader.malformed;
}

bool rz_invitation_known(uint64_t context)
{
    for (struct rz_comm *comm = rz_comms_first(); comm != NULL; comm = comm->next) {
        if (comm->context == context) {
            return true;
        }
    }
    return rz_comm_has_ended(context);
}

void rz_invitation_free(struct rz_invitation *invitation)
{
    free(invitation->process);
    free(invitation->is_new);
    invitation->process = NULL;
    invitation->is_new = NULL;
}
