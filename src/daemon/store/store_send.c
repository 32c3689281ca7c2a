/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends pieces and parts of them to other daemons, as fast as the connections take them. */
#include "base/assert.h"
#include "base/no_memory.h"
#include "daemon/store/store.h"
#include "daemon/store/store_private.h"
#include "port/kill_point.h"

#include <stdlib.h>
#include <unistd.h>

/* Sends the next chunk of a transfer. False: it is finished, or no longer valid. */
static bool send_chunk(struct rz_store *store, struct transfer *transfer)
{
    rz_kill_here(transfer->kind == TRANSFER_BLOCK ? RZ_KILL_BLOCK : RZ_KILL_PIECE_PART);
    if (transfer->kind == TRANSFER_SHARES) {
        return store_send_share(store, transfer);
    }
    if (transfer->kind == TRANSFER_BLOCK) {
        return store_send_block(store, transfer);
    }
    if (transfer->kind == TRANSFER_CHANGES) {
        return store_send_changes(store, transfer);
    }
    struct piece *piece = store_find(store, transfer->rank, transfer->generation);
    if (!piece || !store_whole(piece)) {
        return false;
    }
    uint64_t rest = piece->bytes - transfer->offset;
    size_t n = rest < RZ_STORE_CHUNK_BYTES ? (size_t)rest : RZ_STORE_CHUNK_BYTES;
    if (n > 0 && pread(piece->fd, store->chunk, n, (off_t)transfer->offset) != (ssize_t)n) {
        return false;
    }
    struct rz_overlay_message message = {.type = RZ_OVERLAY_PIECE,
                                         .piece = {.epoch = store->epoch,
                                                   .generation = piece->generation,
                                                   .rank = piece->rank,
                                                   .total = piece->bytes,
                                                   .offset = transfer->offset,
                                                   .hash = piece->hash,
                                                   .answer = transfer->kind == TRANSFER_ANSWER,
                                                   .data = store->chunk,
                                                   .data_length = (uint32_t)n}};
    rz_overlay_send(store->config.overlay, transfer->to, &message);
    transfer->offset += n;
    return transfer->offset < piece->bytes;
}

static void find_last_transfer(struct rz_store *store)
{
    for (store->last_transfer = &store->transfers; *store->last_transfer;) {
        store->last_transfer = &(*store->last_transfer)->next;
    }
}

void rz_store_writable(struct rz_store *store, rz_id peer)
{
    struct transfer **link = &store->transfers;
    while (*link && rz_overlay_queued(store->config.overlay, peer) < 2 * RZ_OVERLAY_QUEUE_LOW) {
        struct transfer *transfer = *link;
        if (transfer->to != peer || send_chunk(store, transfer)) {
            if (transfer->to != peer) {
                link = &transfer->next;
            }
            continue;
        }
        *link = transfer->next;
        free(transfer);
    }
    find_last_transfer(store);
}

void store_begin_transfer(struct rz_store *store, const struct transfer *wanted)
{
    struct transfer *transfer = malloc(sizeof(*transfer));
    rz_need_memory(transfer, "to send a checkpoint piece");
    *transfer = *wanted;
    if (transfer->to == store->own->job.node) {
        while (send_chunk(store, transfer)) {
            ;
        }
        free(transfer);
        return;
    }
    *store->last_transfer = transfer;
    store->last_transfer = &transfer->next;
    rz_store_writable(store, transfer->to);
}

void store_send_piece(struct rz_store *store, const struct piece *piece, rz_id to,
                      enum transfer_kind kind)
{
    store_begin_transfer(
        store, &(struct transfer){
                   .kind = kind, .rank = piece->rank, .generation = piece->generation, .to = to});
}

void store_drop_transfers(struct rz_store *store)
{
    while (store->transfers) {
        struct transfer *transfer = store->transfers;
        store->transfers = transfer->next;
        free(transfer);
    }
    store->last_transfer = &store->transfers;
}

void store_send_small(struct rz_store *store, rz_id to, enum rz_overlay_type type,
                      uint64_t generation, uint32_t rank)
{
    struct rz_overlay_message message = {.type = type};
    switch (type) {
    case RZ_OVERLAY_PIECE_KEPT:
        message.piece_kept = (struct rz_overlay_piece_kept){
            .epoch = store->epoch, .generation = generation, .rank = rank};
        break;
    case RZ_OVERLAY_GET_PIECE:
        message.get_piece = (struct rz_overlay_get_piece){
            .epoch = store->epoch, .generation = generation, .rank = rank};
        break;
    default:
        rz_assert(type == RZ_OVERLAY_PIECE_GONE);
        message.piece_gone = (struct rz_overlay_piece_gone){
            .epoch = store->epoch, .generation = generation, .rank = rank};
    }
    rz_overlay_send(store->config.overlay, to, &message);
}

void rz_store_node_failed(void *arg, rz_id peer, bool proof, bool first)
{
    struct rz_store *store = arg;
    (void)proof, (void)first;
    for (struct transfer **link = &store->transfers; *link;) {
        struct transfer *transfer = *link;
        if (transfer->to != peer) {
            link = &transfer->next;
            continue;
        }
        *link = transfer->next;
        free(transfer);
    }
    find_last_transfer(store);
}
