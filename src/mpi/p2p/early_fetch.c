/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetches the payloads of messages that no receive has met, and renews their envelopes. */
#include "mpi/p2p/early_fetch.h"

#include "base/linked_list.h"
#include "base/no_memory.h"
#include "mpi/engine/peer.h"
#include "mpi/p2p/p2p.h"
#include "mpi/p2p/probe.h"

#include <stdlib.h>

/* A payload on its way. Its message stays where it is, so that the order of messages does. */
struct early_fetch {
    struct early_fetch *next, **back;
    struct rz_send_desc send_desc;
    struct rz_early *message; /* NULL: it was dropped */
    uint32_t process;
    uint64_t context;
    void *payload;
};

static struct early_fetch *fetches;
static size_t bytes_to_come;

/* The payload was copied, or goes with the fetch. */
static void fetch_free(struct early_fetch *fetch)
{
    bytes_to_come -= fetch->send_desc.bytes;
    rz_list_remove(fetch);
    free(fetch->payload);
    free(fetch);
}

/* Its sender is gone, and all processes go back soon, and this message with them; or the sender has
 * heard that the communicator was revoked, and this process soon does. */
static void message_lost(struct rz_early *message, rz_status_t status)
{
    message->fetched_for = &rz_early_lost;
    if (message->receive) {
        rz_p2p_lose(message->receive, message, status);
    }
}

static void fetched(struct rz_net_op *op, rz_status_t status)
{
    struct early_fetch *fetch =
        (struct early_fetch *)(void *)((char *)op - offsetof(struct early_fetch, send_desc.op));
    struct rz_early *message = fetch->message;
    if (message && status == RZ_OK) {
        message->fetched_for = NULL;
        message->fetched = fetch->payload;
        fetch->payload = NULL;
    }
    fetch_free(fetch);
    if (message && status != RZ_OK) {
        message_lost(message, status);
    } else if (message && message->receive) {
        rz_p2p_meet(message->receive, message);
    }
}

static void fetch_early(struct rz_early *message)
{
    struct early_fetch *fetch = calloc(1, sizeof(*fetch));
    rz_need_memory(fetch, "to fetch a message before a snapshot");
    fetch->payload = malloc(message->bytes);
    rz_need_memory(fetch->payload, "to fetch a message before a snapshot");
    fetch->message = message;
    fetch->process = rz_message_from(&message->envelope);
    fetch->context = message->envelope.context;
    rz_list_push(&fetches, fetch);
    rz_send_desc_init(&fetch->send_desc, fetched);
    fetch->send_desc.token = message->token;
    fetch->send_desc.data = fetch->payload;
    fetch->send_desc.bytes = message->bytes;
    message->token = NULL;
    message->fetched_for = &fetch->message;
    bytes_to_come += message->bytes;
    rz_status_t status = rz_peer_fetch(fetch->process, message->path, &fetch->send_desc);
    if (status != RZ_IN_PROGRESS) {
        fetched(&fetch->send_desc.op, status);
    }
}

static void bring_one(struct rz_early *message, void *arg)
{
    (void)arg;
    if (message->token) {
        fetch_early(message);
    }
}

size_t rz_early_fetch_all(void)
{
    rz_messages_each(bring_one, NULL);
    rz_matched_each(bring_one, NULL);
    return bytes_to_come;
}

/* A receive that has met the message ends with the other requests of the communicator, and must not
 * be found by the fetch later. */
static void fetch_leave_receive(struct early_fetch *fetch)
{
    struct rz_early *message = fetch->message;
    if (message && message->receive) {
        message->receive = NULL;
        rz_message_free(message); /* no matcher has it */
    }
}

void rz_early_revoked(const struct rz_comm *comm)
{
    struct early_fetch *next;
    for (struct early_fetch *fetch = fetches; fetch; fetch = next) {
        next = fetch->next;
        if (fetch->context - comm->context >= RZ_CONTEXT_OFFSET_ROOM ||
            fetch->context == rz_comm_context(comm, RZ_CONTEXT_OFFSET_REPAIR)) {
            continue;
        }
        fetch_leave_receive(fetch);
        if (rz_peer_withdraw(fetch->process, &fetch->send_desc)) {
            struct rz_early *message = fetch->message;
            fetch_free(fetch);
            if (message) {
                message_lost(message, RZ_ERR_CANCELLED);
            }
        }
    }
}

static void renew(struct rz_early *message, void *arg)
{
    (void)arg;
    rz_message_renew(&message->envelope);
}

void rz_early_into_epoch(void)
{
    rz_messages_each(renew, NULL);
    rz_matched_each(renew, NULL);
    rz_messages_renew_dropped();
}
