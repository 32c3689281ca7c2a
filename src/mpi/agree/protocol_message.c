/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends the messages of protocol cores as control messages, and queues those that arrive until
 * their layer reads them.
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

struct rz_protocol_queue rz_agree_unread = {.work = RZ_WORK_PROTOCOL_MESSAGES};

/* Other processes wait for this message, and no result can be guaranteed without it. */
static _Noreturn void out_of_memory(void)
{
    rz_no_memory("for a message of the repair protocols");
}

/* ---- A queue ---- */

void rz_protocol_queue_put(struct rz_protocol_queue *queue, struct rz_protocol_message *message)
{
    message->next = NULL;
    *(queue->first ? queue->last : &queue->first) = message;
    queue->last = &message->next;
    rz_work_set(queue->work, true);
}

struct rz_protocol_message *rz_protocol_queue_take(struct rz_protocol_queue *queue)
{
    struct rz_protocol_message *message = queue->first;
    if (message) {
        queue->first = message->next;
        rz_work_set(queue->work, queue->first != NULL);
    }
    return message;
}

void rz_protocol_queue_close(struct rz_protocol_queue *queue)
{
    struct rz_protocol_message *message;
    while ((message = rz_protocol_queue_take(queue)) != NULL) {
        free(message);
    }
}

/* ---- Sending ---- */

struct rz_control_message *rz_protocol_message_pack(const struct rz_message *message,
                                                    const uint64_t *items)
{
    size_t bytes = rz_protocol_message_bytes(message->n_items);
    struct rz_control_message *note = rz_control_message_new(bytes);
    if (!note) {
        out_of_memory();
    }
    rz_protocol_message_encode(message, items, note->bytes, bytes);
    return note;
}

void rz_protocol_message_send(uint32_t process, uint64_t context, const struct rz_message *message,
                              const uint64_t *items)
{
    struct rz_control_message *note = rz_protocol_message_pack(message, items);
    note->envelope.kind = RZ_ENVELOPE_PROTOCOL;
    note->envelope.context = context;
    rz_engine.counters.protocol_messages++;
    rz_kill_here(RZ_KILL_PROTOCOL_MESSAGE);
    rz_control_message_send(process, note);
}

/* ---- Arriving ---- */

struct rz_protocol_message *rz_protocol_message_unpack(const struct rz_envelope *envelope,
                                                       const void *data, size_t bytes)
{
    if (bytes < RZ_PROTOCOL_HEADER_BYTES) {
        rz_engine.counters.foreign++;
        return NULL;
    }
    uint32_t room = (uint32_t)((bytes - RZ_PROTOCOL_HEADER_BYTES) / sizeof(uint64_t));
    struct rz_protocol_message *protocol_message =
        malloc(sizeof(*protocol_message) + room * sizeof(uint64_t));
    if (!protocol_message) {
        out_of_memory();
    }
    protocol_message->context = envelope->context;
    protocol_message->process = rz_message_from(envelope);
    if (rz_protocol_message_decode(&protocol_message->message, protocol_message->items, room, data,
                                   bytes) != RZ_OK) {
        rz_engine.counters.foreign++;
        free(protocol_message);
        return NULL;
    }
    return protocol_message;
}

static void put_down(const struct rz_envelope *envelope, const void *data, size_t bytes)
{
    struct rz_protocol_message *message = rz_protocol_message_unpack(envelope, data, bytes);
    if (message) {
        rz_protocol_queue_put(&rz_agree_unread, message);
    }
}

void rz_protocol_message_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                                 const void *data, size_t bytes, rz_net_token_t token)
{
    static const struct rz_control_message_kind kind = {PROTOCOL_MESSAGE_BYTES_MAX, put_down};
    rz_control_message_arrived(path, envelope, data, bytes, token, &kind);
}
