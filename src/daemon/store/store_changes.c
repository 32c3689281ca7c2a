/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of pieces by their changes. A process says with its piece which pages are as they were in
 * an older generation (wire/link_messages.h, STORE). If the buddy keeps that generation, it gets
 * only the other pages and writes them over the older piece, as the process wrote its new piece
 * over the older one. If the older copy was verified in this epoch, the hashes of its pages are
 * known, and the checksum of the new copy follows from them and from those of the pages that came;
 * else all of it is read (store_check.c). If there is nothing to write over, or the result is
 * wrong, the buddy says so (PIECE_GONE) and gets the whole piece.
 */
#include "base/assert.h"
#include "ckpt/pages.h"
#include "daemon/store/store_private.h"
#include "port/descriptor.h"

#include <stdlib.h>
#include <unistd.h>

enum { FIRST = 1, LAST = 2 };

/* ---- the owner of the piece ---- */

struct store_changes *store_changes_of(struct rz_store *store, uint32_t rank,
                                       const struct rz_link_store *told, int fd)
{
    uint64_t generation = store->base + told->number;
    size_t room = rz_pages_bitmap_bytes(rz_pages_of(told->bytes));
    off_t at = (off_t)((told->bytes + 7) / 8 * 8);
    if (told->back == 0 || told->back >= generation) {
        return NULL;
    }
    const struct piece *base = store_find(store, rank, generation - told->back);
    if (!base || base->bytes != told->bytes || base->kept_by == RZ_ID_NONE) {
        return NULL;
    }
    struct store_changes *changes = malloc(sizeof(*changes) + room);
    if (!changes || pread(fd, changes->bitmap, room, at) != (ssize_t)room) {
        free(changes);
        return NULL;
    }
    changes->base = base->generation;
    changes->base_hash = base->hash;
    changes->kept_by = base->kept_by;
    return changes;
}

bool store_changes_serve(const struct piece *piece, rz_id keeper)
{
    return piece->changes && piece->changes->kept_by == keeper && piece->sent_again == 0;
}

bool store_send_changes(struct rz_store *store, struct transfer *transfer)
{
    struct piece *piece = store_find(store, transfer->rank, transfer->generation);
    if (!piece || !piece->changes) {
        return false;
    }
    size_t pages = rz_pages_of(piece->bytes), page = transfer->offset / RZ_PAGE_BYTES, n = 0;
    bool any = rz_pages_next_run(piece->changes->bitmap, pages, &page, &n);
    uint64_t offset = any ? page * RZ_PAGE_BYTES : 0;
    size_t bytes = n * RZ_PAGE_BYTES;
    if (bytes > piece->bytes - offset) {
        bytes = piece->bytes - offset;
    }
    if (bytes > RZ_STORE_CHUNK_BYTES) {
        bytes = RZ_STORE_CHUNK_BYTES;
    }
    if (bytes > 0 && pread(piece->fd, store->chunk, bytes, (off_t)offset) != (ssize_t)bytes) {
        return false;
    }
    page += rz_pages_of(bytes);
    bool last = !any || !rz_pages_next_run(piece->changes->bitmap, pages, &page, &n);
    struct rz_overlay_message message = {
        .type = RZ_OVERLAY_CHANGES,
        .changes = {.epoch = store->epoch,
                    .generation = piece->generation,
                    .rank = piece->rank,
                    .total = piece->bytes,
                    .hash = piece->hash,
                    .base = piece->changes->base,
                    .base_hash = piece->changes->base_hash,
                    .part = (transfer->offset == 0 ? FIRST : 0u) | (last ? LAST : 0u),
                    .offset = offset,
                    .data = store->chunk,
                    .data_length = (uint32_t)bytes}};
    rz_overlay_send(store->config.overlay, transfer->to, &message);
    transfer->offset = page * RZ_PAGE_BYTES;
    return !last;
}

/* ---- the keeper of a copy ---- */

/* Turns the older piece into the new one, which is not complete yet. NULL: there is none that may
 * be written over now. */
static struct piece *take_over(struct rz_store *store, rz_id from,
                               const struct rz_overlay_changes *told)
{
    uint64_t floor = rz_recover_generation_floor(store_recover(store));
    struct piece *base = store_find(store, told->rank, told->base);
    bool fits = base && base->have == base->bytes && base->hash == told->base_hash &&
                base->bytes == told->total && base->generation + 1 < told->generation &&
                base->generation < floor && !store_is_own(store, told->rank);
    int fd;
    if (!fits || rz_descriptor_copy(base->fd, &fd) != RZ_OK) {
        return NULL;
    }
    struct rz_page_hash *hashes = NULL;
    if (base->good && base->hashes && base->n_hashes == rz_pages_of(base->bytes)) {
        hashes = base->hashes;
        base->hashes = NULL;
    }
    struct piece *piece =
        store_add(store, told->rank, told->generation, told->total, told->hash, fd);
    rz_assert(!store_find(store, told->rank, told->base)); /* the older piece is gone */
    piece->source = from;
    piece->by_changes = true;
    piece->hashes = hashes;
    piece->n_hashes = hashes ? rz_pages_of(piece->bytes) : 0;
    return piece;
}

/* Writes what came over the older piece. False: it does not fit, or there is no memory. */
static bool write_over(struct piece *piece, const struct rz_overlay_changes *told)
{
    uint64_t rest = piece->bytes - told->offset;
    bool fits = told->offset <= piece->bytes && told->data_length <= rest &&
                told->offset % RZ_PAGE_BYTES == 0 &&
                (told->data_length % RZ_PAGE_BYTES == 0 || told->data_length == rest);
    if (!fits || pwrite(piece->fd, told->data, told->data_length, (off_t)told->offset) !=
                     (ssize_t)told->data_length) {
        return false;
    }
    for (size_t at = 0; piece->hashes && at < told->data_length; at += RZ_PAGE_BYTES) {
        size_t left = told->data_length - at;
        piece->hashes[(told->offset + at) / RZ_PAGE_BYTES] =
            rz_page_hash(told->data + at, left < RZ_PAGE_BYTES ? left : RZ_PAGE_BYTES);
    }
    return true;
}

/* All changes are here. */
static void complete(struct piece *piece)
{
    piece->have = piece->bytes;
    piece->good = piece->hashes && rz_pages_hash(piece->hashes, piece->bytes) == piece->hash;
    if (!piece->good) {
        store_forget_hashes(piece);
    }
}

static void refuse_changes(struct rz_store *store, rz_id from,
                           const struct rz_overlay_changes *told)
{
    store_send_small(store, from, RZ_OVERLAY_PIECE_GONE, told->generation, told->rank);
}

static void keep(struct rz_store *store, const struct piece *piece, rz_id owner)
{
    store_demand(store, &(struct demand){.kind = DEMAND_KEEP,
                                         .rank = piece->rank,
                                         .generation = piece->generation,
                                         .to = owner});
}

void store_on_changes(struct rz_store *store, rz_id from, const struct rz_overlay_changes *told)
{
    if (told->rank >= store->own->job.n_ranks || told->generation == 0) {
        return;
    }
    if (told->generation > 1) {
        store_tell_commit(store, RZ_COMMIT_PROOF, told->generation - 1, told->rank, RZ_ID_NONE);
    }
    struct piece *piece = store_find(store, told->rank, told->generation);
    if (told->part & FIRST && !piece) {
        piece = take_over(store, from, told);
        if (!piece) {
            refuse_changes(store, from, told);
        }
    }
    if (piece && piece->have == piece->bytes && told->part & FIRST && piece->hash == told->hash) {
        keep(store, piece, from); /* it is here already */
        return;
    }
    if (!piece || !piece->by_changes || piece->have == piece->bytes || piece->source != from) {
        return; /* the rest of a piece that was refused, or is here already */
    }
    if (!write_over(piece, told)) {
        store_drop_piece(store, piece);
        refuse_changes(store, from, told);
        return;
    }
    if (!(told->part & LAST)) {
        return;
    }
    complete(piece);
    keep(store, piece, from);
}
