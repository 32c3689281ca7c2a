/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes bootstrap messages as setup messages and reads them, with checks of all counts.
 */
#include "mpi/ft/bootstrap.h"

#include "base/no_memory.h"
#include "mpi/engine/liveness.h"

#include "base/assert.h"
#include "port/kill_point.h"
#include "wire/cursor.h"

#include <stdlib.h>

enum { HEAD_BYTES = 8 + 4 * 4, MEMBER_BYTES = 8 };

static void write_bootstrap(const struct rz_bootstrap *bootstrap, void *buffer, size_t bytes)
{
    struct rz_wire_writer writer;
    rz_wire_writer_init(&writer, buffer, bytes);
    rz_wire_put_u64(&writer, bootstrap->context);
    rz_wire_put_u32(&writer, bootstrap->n);
    rz_wire_put_u32(&writer, bootstrap->index);
    rz_wire_put_u32(&writer, bootstrap->rows);
    rz_wire_put_u32(&writer, bootstrap->size);
    for (uint32_t i = 0; i < bootstrap->size; i++) {
        rz_wire_put_u32(&writer, bootstrap->process[i]);
        rz_wire_put_u32(&writer, bootstrap->is_new[i]);
    }
    rz_assert(!writer.overflow);
}

int rz_bootstrap_send(const struct rz_bootstrap *bootstrap)
{
    size_t bytes = HEAD_BYTES + (size_t)bootstrap->size * MEMBER_BYTES;
    void *buffer = malloc(bytes);
    if (!buffer) {
        return MPI_ERR_NO_MEM;
    }
    write_bootstrap(bootstrap, buffer, bytes);
    int error = MPI_SUCCESS;
    for (uint32_t i = 0; i < bootstrap->size && error == MPI_SUCCESS; i++) {
        uint32_t process = bootstrap->process[i];
        if (bootstrap->is_new[i] && process != rz_engine.self) {
            error = rz_setup_message_send(process, RZ_SETUP_BOOTSTRAP, 0, buffer, bytes);
            rz_kill_here(RZ_KILL_REPLACE_BOOTSTRAPPED);
        }
    }
    free(buffer);
    return error;
}

bool rz_bootstrap_read(struct rz_bootstrap *bootstrap, const struct rz_setup_message *word)
{
    struct rz_wire_reader reader;
    rz_wire_reader_init(&reader, word->data, word->bytes);
    *bootstrap = (struct rz_bootstrap){.context = rz_wire_get_u64(&reader)};
    bootstrap->n = rz_wire_get_u32(&reader);
    bootstrap->index = rz_wire_get_u32(&reader);
    bootstrap->rows = rz_wire_get_u32(&reader);
    bootstrap->size = rz_wire_get_u32(&reader);
    uint32_t size = bootstrap->size;
    if (reader.malformed || word->bytes != HEAD_BYTES + (size_t)size * MEMBER_BYTES ||
        bootstrap->index >= bootstrap->n || bootstrap->context % RZ_CONTEXT_OFFSET_ROOM != 0) {
        return false;
    }
    bootstrap->process = malloc((size + 1) * sizeof(*bootstrap->process));
    bootstrap->is_new = malloc((size + 1) * sizeof(*bootstrap->is_new));
    /* The old members wait for this process. */
    rz_need_memory(bootstrap->process && bootstrap->is_new, "to join a communicator");
    bool self = false;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t process = rz_wire_get_u32(&reader);
        bootstrap->process[i] = process;
        bootstrap->is_new[i] = rz_wire_get_u32(&reader) != 0;
        self = self || process == rz_engine.self;
        if (rz_process_slot(process) >= rz_engine.info->n_slots) {
            return false;
        }
    }
    return self && !reader.malformed;
}

bool rz_bootstrap_known(uint64_t context)
{
    for (struct rz_comm *comm = rz_comms_first(); comm; comm = comm->next) {
        if (comm->context == context) {
            return true;
        }
    }
    return rz_comm_has_ended(context);
}

void rz_bootstrap_free(struct rz_bootstrap *bootstrap)
{
    free(bootstrap->process);
    free(bootstrap->is_new);
    bootstrap->process = NULL;
    bootstrap->is_new = NULL;
}
