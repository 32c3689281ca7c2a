/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetches the payloads of messages that no receive has met, and renews their envelopes. */
#include "mpi/p2p/early_fetch.h"

#include "base/no_memory.h"
#include "mpi/engine/peer.h"
#include "mpi/p2p/p2p.h"
#include "mpi/p2p/probe.h"

#include <stdlib.h>

/* A payload on its way. Its message stays where it is, so that the order of messages does. */
struct early_fetch {
    struct rz_send_desc send_desc;
    struct rz_early *message; /* NULL: it was dropped */
    void *payload;
};

static size_t bytes_to_come;

static void brought(struct rz_net_op *op, rz_status_t status)
{
    struct early_fetch *fetch =
        (struct early_fetch *)(void *)((char *)op - offsetof(struct early_fetch, send_desc.op));
    struct rz_early *message = fetch->message;
    bytes_to_come -= fetch->send_desc.bytes;
    if (message) {
        message->fetched_for = NULL;
        message->brought = fetch->payload;
        /* Its sender is gone: all processes go back soon, and this message with them. */
        message->bytes = status == RZ_OK ? message->bytes : 0;
    } else {
        free(fetch->payload);
    }
    free(fetch);
    if (message && message->receive) {
        rz_p2p_meet(message->receive, message);
    }
}

static void bring(struct rz_early *message)
{
    struct early_fetch *fetch = calloc(1, sizeof(*fetch));
    rz_need_memory(fetch, "to fetch a message before a snapshot");
    fetch->payload = malloc(message->bytes);
    rz_need_memory(fetch->payload, "to fetch a message before a snapshot");
    fetch->message = message;
    rz_send_desc_init(&fetch->send_desc, brought);
    fetch->send_desc.token = message->token;
    fetch->send_desc.data = fetch->payload;
    fetch->send_desc.bytes = message->bytes;
    message->token = NULL;
    message->fetched_for = &fetch->message;
    bytes_to_come += message->bytes;
    rz_status_t status =
        rz_peer_fetch(rz_message_from(&message->envelope), message->path, &fetch->send_desc);
    if (status != RZ_IN_PROGRESS) {
        brought(&fetch->send_desc.op, status);
    }
}

static void bring_one(struct rz_early *message, void *arg)
{
    (void)arg;
    if (message->token) {
        bring(message);
    }
}

size_t rz_early_fetch_all(void)
{
    rz_messages_each(bring_one, NULL);
    rz_matched_each(bring_one, NULL);
    return bytes_to_come;
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
