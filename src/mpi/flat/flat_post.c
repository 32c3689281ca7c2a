/* What the thread of the ring among processes sends and receives. */
#include "mpi/flat/flat_state.h"

#include "base/assert.h"
#include "port/channel.h"
#include "port/socket.h"
#include "wire/protocol_message.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(RZ_FLAT_ITEMS_MAX * sizeof(uint64_t) + RZ_PROTOCOL_HEADER_BYTES <=
                   RZ_DATAGRAM_PAYLOAD_MAX,
               "a message with so many items fits");

/* Reports that the daemon does not read are the daemon's loss; its lease ends us, not this. */
#define REPORTS_MAX 4096u

/* Where rank's newest process is reached. */
static bool address_of(const struct rz_flat *flat, rz_id rank, struct rz_address *address)
{
    const struct rz_board *board = flat->info->board;
    uint64_t word = atomic_load_explicit(&board->rank[board->n_slots + rank], memory_order_acquire);
    *address = (struct rz_address){.ip = (uint32_t)word, .port = rz_board_ring_port(word)};
    return word != 0;
}

static void send_one(struct rz_flat *flat, rz_id to, const struct rz_message *message,
                     const uint64_t *items)
{
    struct rz_address address;
    uint8_t payload[RZ_DATAGRAM_PAYLOAD_MAX], packet[RZ_DATAGRAM_MAX];
    if (!address_of(flat, to, &address)) {
        return;
    }
    size_t n = rz_protocol_message_encode(message, items, payload, sizeof(payload));
    rz_assert(n > 0);
    n = rz_datagram_seal(flat->datagrams, to, payload, n, packet);
    rz_socket_send_to(flat->info->ring_fd, packet, n, &address); /* or it is lost, as any may be */
}

void rz_flat_send(struct rz_flat *flat, rz_id to, const struct rz_message *message,
                  const uint64_t *items)
{
    struct rz_message part = *message;
    uint32_t sent = 0;
    do {
        uint32_t left = message->n_items - sent;
        part.n_items = left < RZ_FLAT_ITEMS_MAX ? left : RZ_FLAT_ITEMS_MAX;
        send_one(flat, to, &part, items + sent);
        sent += part.n_items;
    } while (sent < message->n_items);
}

bool rz_flat_receive(struct rz_flat *flat, struct rz_message *message, uint64_t *items)
{
    uint8_t packet[RZ_DATAGRAM_MAX];
    size_t n;
    for (;;) {
        rz_status_t status =
            rz_socket_receive_from(flat->info->ring_fd, packet, sizeof(packet), &n, NULL);
        if (status == RZ_ERR_TRUNCATE || status == RZ_ERR_CLOSED) {
            continue; /* a stranger's; or one that we sent to somebody who is gone */
        }
        if (status != RZ_OK) {
            return false;
        }
        rz_id from;
        const uint8_t *payload;
        size_t bytes;
        if (flat->epoch > 0 &&
            rz_datagram_unseal(flat->datagrams, packet, n, &from, &payload, &bytes) == RZ_OK &&
            rz_protocol_message_decode(message, items, RZ_FLAT_ITEMS_MAX, payload, bytes) ==
                RZ_OK &&
            message->from == from) {
            return true;
        }
    }
}

/* By hand and not by rz_link_send, which belongs to who holds the engine's lock. A message is
 * written whole or not at all, so two threads may write. */
static rz_status_t send_report(struct rz_flat *flat, const struct rz_flat_report *report)
{
    uint8_t bytes[256];
    struct rz_link_message message = {.type = RZ_LINK_HEARD,
                                      .heard = {.epoch = report->epoch,
                                                .rank = report->find.rank,
                                                .incarnation = report->find.incarnation,
                                                .at_ns = report->at}};
    if (report->find.what == RZ_FLAT_SUSPECT) {
        message = (struct rz_link_message){.type = RZ_LINK_SILENT,
                                           .silent = {.epoch = report->epoch,
                                                      .rank = report->find.rank,
                                                      .incarnation = report->find.incarnation}};
    }
    size_t n = rz_link_encode(&message, bytes, sizeof(bytes));
    return rz_channel_send(flat->info->fd, bytes, n, NULL, 0);
}

void rz_flat_flush(struct rz_flat *flat)
{
    uint32_t sent = 0;
    if (flat->n_reports == 0) {
        return;
    }
    while (sent < flat->n_reports && send_report(flat, &flat->reports[sent]) == RZ_OK) {
        sent++;
    }
    flat->n_reports -= sent;
    memmove(flat->reports, flat->reports + sent, flat->n_reports * sizeof(*flat->reports));
}

void rz_flat_report(struct rz_flat *flat, const struct rz_flat_report *report)
{
    if (flat->n_reports == REPORTS_MAX) {
        return;
    }
    if (flat->n_reports == flat->reports_max) {
        flat->reports_max = flat->reports_max > 0 ? 2 * flat->reports_max : 16;
        flat->reports = realloc(flat->reports, flat->reports_max * sizeof(*flat->reports));
        rz_assert(flat->reports != NULL);
    }
    flat->reports[flat->n_reports++] = *report;
    rz_flat_flush(flat);
}
