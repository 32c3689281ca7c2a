/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends the messages of protocol cores as control messages, and queues those that arrive until the
 * layer reads them.
 */
#include "mpi/agree/protocol_message.h"

#include "base/no_memory.h"
#include "mpi/engine/epoch_check.h"
#include "mpi/engine/control_message.h"
#include "mpi/engine/hooks.h"
#include "port/kill_point.h"
#include "wire/protocol_encoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No message of a core is longer: a few words, every member of a job and as many items. */
#define PROTOCOL_MESSAGE_BYTES_MAX ((size_t)4 << 20)

static struct rz_protocol_message *unread, **unread_last = &unread;

/* Other processes wait for this message, and no result can be guaranteed without it. */
static _Noreturn void out_of_memory(void)
{
    rz_no_memory("for a message of the repair protocols");
}

/* ---- Sending ---- */

void rz_protocol_message_send(uint32_t process, uint64_t context, const struct rz_message *message,
                              const uint64_t *items)
{
    size_t bytes = rz_protocol_message_bytes(message->n_items);
    struct rz_control_message *note = rz_control_message_new(bytes);
    if (!note) {
        out_of_memory();
    }
    rz_protocol_message_encode(message, items, note->bytes, bytes);
    note->envelope.kind = RZ_ENVELOPE_PROTOCOL;
    note->envelope.context = context;
    rz_engine.counters.protocol_messages++;
    rz_kill_here(RZ_KILL_PROTOCOL_MESSAGE);
    rz_control_message_send(process, note);
}

/* ---- Arriving ---- */

void rz_protocol_message_put(struct rz_protocol_message *protocol_message)
{
    protocol_message->next = NULL;
    *unread_last = protocol_message;
    unread_last = &protocol_message->next;
    rz_work_set(RZ_WORK_PROTOCOL_MESSAGES, true);
}

static void put_down(const struct rz_envelope *envelope, const void *data, size_t bytes)
{
    if (bytes < RZ_PROTOCOL_HEADER_BYTES) {
        rz_engine.counters.foreign++;
        return;
    }
    uint32_t room = (uint32_t)((bytes - RZ_PROTOCOL_HEADER_BYTES) / sizeof(uint64_t));
    struct rz_protocol_message *protocol_message =
        malloc(sizeof(*protocol_message) + room * sizeof(uint64_t));
    if (!protocol_message) {
        out_of_memory();
    }
    protocol_message->context = envelope->context;
    protocol_message->process = rz_message_from(envelope);
    protocol_message->next = NULL;
    if (rz_protocol_message_decode(&protocol_message->message, protocol_message->items, room, data,
                                   bytes) != RZ_OK) {
        rz_engine.counters.foreign++;
        free(protocol_message);
        return;
    }
    rz_protocol_message_put(protocol_message);
}

void rz_protocol_message_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                                 const void *data, size_t bytes, rz_net_token_t token)
{
    static const struct rz_control_message_kind kind = {PROTOCOL_MESSAGE_BYTES_MAX, put_down};
    rz_control_message_arrived(path, envelope, data, bytes, token, &kind);
}

/* ---- Reading ---- */

struct rz_protocol_message *rz_protocol_message_take(void)
{
    struct rz_protocol_message *protocol_message = unread;
    if (!protocol_message) {
        return NULL;
    }
    unread = protocol_message->next;
    if (!unread) {
        unread_last = &unread;
        rz_work_set(RZ_WORK_PROTOCOL_MESSAGES, false);
    }
    return protocol_message;
}

void rz_protocol_messages_close(void)
{
    struct rz_protocol_message *protocol_message;
    while ((protocol_message = rz_protocol_message_take()) != NULL) {
        free(protocol_message);
    }
}
