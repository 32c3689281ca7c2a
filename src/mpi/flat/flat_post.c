/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of the ring's datagrams, and the thread's reports to the daemon.
 */
#include "mpi/flat/flat_state.h"

#include "base/no_memory.h"
#include "port/channel.h"

#include <stdlib.h>
#include <string.h>

/* If the daemon does not read, further reports are dropped; the lease ends this process then. */
#define REPORTS_MAX 4096u

bool rz_flat_address(const void *arg, rz_id rank, struct rz_address *address)
{
    const struct rz_flat *flat = arg;
    const struct rz_board *board = flat->info->board;
    uint64_t word = atomic_load_explicit(&board->rank[board->n_slots + rank], memory_order_acquire);
    if (word == 0 || rz_board_ring_node(word) >= board->n_nodes) {
        return false;
    }
    const uint8_t *ip = (const uint8_t *)board + rz_board_node_ip(board, rz_board_ring_node(word));
    return rz_address_take(address, ip, RZ_IP_BYTES, rz_board_ring_port(word));
}

/* Writes to the socket itself: rz_link_send may only be called with the engine lock held. A message
 * is written completely or not at all, so two threads may write. */
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
        rz_need_memory(flat->reports, "for a failure report");
    }
    flat->reports[flat->n_reports++] = *report;
    rz_flat_flush(flat);
}
