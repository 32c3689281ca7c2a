/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes bootstrap messages as setup messages and reads them, with checks of all counts. Asks all
 * processes, after a wait of a second, whether they may still send one, answers such questions, and
 * ends a process that gets one after it has left.
 */
#include "mpi/ft/bootstrap.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "mpi/engine/liveness.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "wire/cursor.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Messages ---- */

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

/* ---- Waiting for one ---- */

/*
 * A bootstrap message usually comes within milliseconds, so no process is asked before. A wait
 * without a possible sender must last as long before it ends: messages of failed processes may
 * still be on their way.
 */
#define ASK_AFTER RZ_SECOND

/* The `about` of such a message. */
enum { I_WAIT = 1, INVITE_NONE, MAY_INVITE };

/* This process sends no bootstrap message now: it waits for one itself, or has left. */
static bool waits, left;

static void tell(uint32_t process, uint64_t about)
{
    if (rz_setup_message_send(process, RZ_SETUP_WAITS, about, NULL, 0) != MPI_SUCCESS) {
        rz_engine_exit(RZ_ERR_NO_MEMORY); /* that process would wait for ever */
    }
}

static bool lives(uint32_t slot)
{
    return slot != rz_engine.info->self.rank && !rz_liveness.members[slot].failed;
}

static void tell_all(uint64_t about)
{
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        if (lives(slot)) {
            tell(rz_liveness.members[slot].process, about);
        }
    }
}

void rz_bootstrap_peers_begin(struct rz_bootstrap_peers *bootstrap_peers)
{
    *bootstrap_peers = (struct rz_bootstrap_peers){.begun = 0};
}

bool rz_bootstrap_peers_gone(struct rz_bootstrap_peers *bootstrap_peers)
{
    rz_time now = rz_clock_now();
    bootstrap_peers->begun = bootstrap_peers->begun != 0 ? bootstrap_peers->begun : now;
    if (now - bootstrap_peers->begun < ASK_AFTER) {
        return false;
    }
    if (!bootstrap_peers->asked) {
        bootstrap_peers->asked = waits = true;
        tell_all(I_WAIT);
    }
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        const struct rz_member *member = &rz_liveness.members[slot];
        if (lives(slot) && member->invites_none != member->process) {
            bootstrap_peers->hopeless_since = 0;
            return false;
        }
    }
    bootstrap_peers->hopeless_since =
        bootstrap_peers->hopeless_since != 0 ? bootstrap_peers->hopeless_since : now;
    return now - bootstrap_peers->hopeless_since >= ASK_AFTER;
}

void rz_bootstrap_peers_joined(struct rz_bootstrap_peers *bootstrap_peers)
{
    *bootstrap_peers = (struct rz_bootstrap_peers){.begun = 0};
    if (waits) {
        waits = false;
        tell_all(MAY_INVITE);
    }
}

/* ---- Leaving, and answers ---- */

enum bootstrapped { NOT_BOOTSTRAPPED, BOOTSTRAPPED, BOOTSTRAPPED_AGAIN };

static enum bootstrapped look_at(const struct rz_setup_message *word)
{
    if (word->kind != RZ_SETUP_BOOTSTRAP) {
        return NOT_BOOTSTRAPPED;
    }
    struct rz_bootstrap bootstrap;
    bool of_use = rz_bootstrap_read(&bootstrap, word);
    bool again = of_use && rz_bootstrap_known(bootstrap.context);
    rz_bootstrap_free(&bootstrap);
    return again ? BOOTSTRAPPED_AGAIN : of_use ? BOOTSTRAPPED : NOT_BOOTSTRAPPED;
}

static _Noreturn void end_for_another(void)
{
    fprintf(stderr,
            "rhizome: rank %u ends: others repair a communicator to which it belongs "
            "(RZ_Comm_replace), but it is in MPI_Finalize\n",
            rz_engine.info->self.rank);
    _exit(EXIT_FAILURE);
}

/* Answers the processes that have asked before. */
void rz_bootstrap_peers_leave(void)
{
    left = true;
    for (const struct rz_setup_message *word = rz_setup_message_next(RZ_SETUP_BOOTSTRAP, NULL);
         word; word = rz_setup_message_next(RZ_SETUP_BOOTSTRAP, word)) {
        if (look_at(word) == BOOTSTRAPPED) {
            end_for_another();
        }
    }
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        const struct rz_member *member = &rz_liveness.members[slot];
        if (lives(slot) && member->awaits_bootstrap == member->process) {
            tell(member->process, INVITE_NONE);
        }
    }
}

bool rz_bootstrap_peers_answer(const struct rz_setup_message *word)
{
    struct rz_member *member = rz_member_of(word->process);
    if (word->kind != RZ_SETUP_WAITS) {
        enum bootstrapped bootstrapped = look_at(word);
        if (bootstrapped == BOOTSTRAPPED && left) {
            end_for_another();
        }
        return bootstrapped == BOOTSTRAPPED_AGAIN;
    }
    if (word->about == I_WAIT) {
        member->awaits_bootstrap = word->process;
        member->invites_none = word->process;
    } else {
        member->invites_none = word->about == INVITE_NONE ? word->process : 0;
    }
    if (word->about == I_WAIT && (waits || left) && !rz_process_failed(word->process)) {
        tell(word->process, INVITE_NONE);
    }
    return true;
}

void rz_bootstrap_peers_close(void)
{
    waits = left = false;
}
