/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends a core's message in one or more datagrams, and takes authentic ones from the socket.
 */
#include "net/datagram/datagram_post.h"

#include "base/assert.h"
#include "wire/protocol_encoding.h"

_Static_assert(RZ_POST_ITEMS_MAX * sizeof(uint64_t) + RZ_PROTOCOL_HEADER_BYTES <=
                   RZ_DATAGRAM_PAYLOAD_MAX,
               "a message with so many items fits");

static void send_one(struct rz_post *post, rz_id to, const struct rz_address *address,
                     const struct rz_message *message, const uint64_t *items)
{
    uint8_t payload[RZ_DATAGRAM_PAYLOAD_MAX], packet[RZ_DATAGRAM_MAX];
    size_t n = rz_protocol_message_encode(message, items, payload, sizeof(payload));
    rz_assert(n > 0);
    n = rz_datagram_seal(post->datagrams, to, payload, n, packet);
    /* a failed send loses it, as the network may */
    rz_socket_send_to(post->fd, packet, n, address);
}

uint32_t rz_post_send(struct rz_post *post, rz_id to, const struct rz_message *message,
                      const uint64_t *items)
{
    struct rz_message part = *message;
    struct rz_address address;
    uint32_t sent = 0, datagrams = 0;
    if (!post->address(post->arg, to, &address)) {
        return 0;
    }
    do {
        uint32_t left = message->n_items - sent;
        part.n_items = left < RZ_POST_ITEMS_MAX ? left : RZ_POST_ITEMS_MAX;
        send_one(post, to, &address, &part, items + sent);
        sent += part.n_items;
        datagrams++;
    } while (sent < message->n_items);
    return datagrams;
}

bool rz_post_receive(struct rz_post *post, struct rz_message *message, uint64_t *items)
{
    uint8_t packet[RZ_DATAGRAM_MAX];
    size_t n;
    for (;;) {
        rz_status_t status = rz_socket_receive_from(post->fd, packet, sizeof(packet), &n, NULL);
        if (status == RZ_ERR_TRUNCATE || status == RZ_ERR_CLOSED) {
            continue; /* not from a member; or one of ours, returned by an address that no longer
                         exists */
        }
        if (status != RZ_OK) {
            return false;
        }
        rz_id from;
        const uint8_t *payload;
        size_t bytes;
        if (post->datagrams &&
            rz_datagram_unseal(post->datagrams, packet, n, &from, &payload, &bytes) == RZ_OK &&
            rz_protocol_message_decode(message, items, RZ_POST_ITEMS_MAX, payload, bytes) ==
                RZ_OK &&
            message->from == from) {
            return true;
        }
    }
}
