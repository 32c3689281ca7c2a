/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether there is memory for pieces of other nodes; a process whose piece finds none ends. */
#include "daemon/store/store_private.h"
#include "port/control_group.h"

#include <stdio.h>

/* To look takes as long as to copy some 100 KiB: it is done for each 16 MiB of a piece, and not for
 * small ones. */
#define LOOK_EACH ((uint64_t)16 << 20)
#define SMALL_BYTES ((uint64_t)1 << 20)
/* Left to others: where memory is out the kernel ends any process, and that may be the daemon. */
#define MARGIN_BYTES ((uint64_t)32 << 20)

/* What pieces that have come in part will still take. */
static uint64_t still_coming(const struct rz_store *store)
{
    uint64_t bytes = 0;
    for (const struct piece *piece = store->pieces; piece; piece = piece->next) {
        bytes += piece->by_changes ? 0 : piece->bytes - piece->have;
    }
    return bytes;
}

bool store_has_room(const struct rz_store *store, uint64_t offset, uint64_t rest)
{
    uint64_t coming = still_coming(store);
    uint64_t needed = (coming > rest ? coming : rest) + MARGIN_BYTES;
    return offset % LOOK_EACH != 0 || rest <= SMALL_BYTES || rz_memory_left() >= needed;
}

void store_tell_no_room(struct rz_store *store, rz_id owner, uint64_t generation, uint32_t rank)
{
    const struct rz_overlay_message message = {
        .type = RZ_OVERLAY_PIECE_GONE,
        .piece_gone = {
            .epoch = store->epoch, .generation = generation, .rank = rank, .no_memory = true}};
    rz_overlay_send(store->config.overlay, owner, &message);
}

void store_refuse_piece(struct rz_store *store, rz_id from, const struct rz_overlay_piece *told)
{
    struct piece *piece = store_find(store, told->rank, told->generation);
    if (told->answer) {
        store_give_up(store, "no memory for a copy of a checkpoint piece");
        return;
    }
    if (piece) {
        store_drop_piece(store, piece);
    }
    store_tell_no_room(store, from, told->generation, told->rank);
}

void store_on_no_room(struct rz_store *store, rz_id keeper, const struct piece *piece)
{
    char words[160];
    if (piece->generation == store->restoring) {
        snprintf(words, sizeof(words), "cannot be copied: node %u has no memory for it", keeper);
        store_lost(store, piece->rank, piece->generation, words);
    } else {
        snprintf(words, sizeof(words),
                 "of %llu bytes cannot be copied: node %u has no memory for it",
                 (unsigned long long)piece->bytes, keeper);
        store_end_writer(store, piece->rank, piece->generation, words);
    }
}
