/* SPDX-License-Identifier: BSD-3-Clause */
/* Verifies the checksums of pieces before they are given away, a few MiB in each turn of the
 * loop. */
#include "base/no_memory.h"
#include "ckpt/pages.h"
#include "daemon/state/loop.h"
#include "daemon/store/store_private.h"
#include "port/memory.h"

#include <stdlib.h>

#define SLICE_PAGES ((size_t)2048) /* 8 MiB */

/* A slice is mapped, so it must begin at a page of the machine. */
_Static_assert(SLICE_PAGES *RZ_PAGE_BYTES % (64 << 10) == 0, "whole pages of any machine");

/* Hashes the next slice. False: its memory cannot be mapped. */
static bool look_at_slice(struct piece *piece)
{
    size_t pages = rz_pages_of(piece->bytes), n = pages - piece->n_hashes;
    void *at;
    if (n > SLICE_PAGES) {
        n = SLICE_PAGES;
    }
    size_t offset = piece->n_hashes * RZ_PAGE_BYTES, bytes = n * RZ_PAGE_BYTES;
    if (offset + bytes > piece->bytes) {
        bytes = piece->bytes - offset;
    }
    if (n > 0 && rz_memory_map_range(piece->fd, offset, bytes, false, &at) != RZ_OK) {
        return false;
    }
    for (size_t page = 0; page < n; page++) {
        size_t from = page * RZ_PAGE_BYTES, rest = bytes - from;
        struct rz_page_hash hash =
            rz_page_hash((const char *)at + from, rest < RZ_PAGE_BYTES ? rest : RZ_PAGE_BYTES);
        rz_pages_sum_add(piece->sum, &hash, 1);
        if (piece->hashes) {
            piece->hashes[piece->n_hashes + page] = hash;
        }
    }
    if (n > 0) {
        rz_memory_unmap(at, bytes);
    }
    piece->n_hashes += n;
    return true;
}

static struct demand *take_demand(struct rz_store *store, uint32_t rank, uint64_t generation)
{
    for (struct demand **link = &store->demands; *link; link = &(*link)->next) {
        struct demand *demand = *link;
        if (demand->rank == rank && demand->generation == generation) {
            *link = demand->next;
            return demand;
        }
    }
    return NULL;
}

/* Carries out the demands for a verified piece. One demand may end the epoch or drop the piece, so
 * the demands are searched again each time. */
static void settle_demands(struct rz_store *store, uint32_t rank, uint64_t generation, bool good)
{
    struct demand *demand;
    struct piece *piece = store_find(store, rank, generation);
    if (piece && !good) {
        store_drop_piece(store, piece);
    }
    while ((demand = take_demand(store, rank, generation))) {
        piece = good ? store_find(store, rank, generation) : NULL;
        if (piece) {
            store_meet(store, piece, demand);
        } else {
            store_fail(store, demand);
        }
        free(demand);
    }
}

/* The newest demand is the first of the list; the oldest is carried out first. */
static const struct demand *oldest(const struct rz_store *store)
{
    const struct demand *demand = store->demands;
    while (demand && demand->next) {
        demand = demand->next;
    }
    return demand;
}

/* All of the piece is to be read. The hashes of a copy are kept, for the next one, if there is
 * memory. */
static void begin_check(const struct rz_store *store, struct piece *piece)
{
    store_forget_hashes(piece);
    piece->sum = rz_pages_sum_begin(piece->bytes);
    rz_need_memory(piece->sum, "to check a checkpoint piece");
    if (!store_is_own(store, piece->rank)) {
        piece->hashes = malloc((rz_pages_of(piece->bytes) + 1) * sizeof(*piece->hashes));
    }
}

static bool end_check(struct piece *piece)
{
    struct rz_pages_sum *sum = piece->sum;
    piece->sum = NULL;
    return rz_pages_sum_end(sum) == piece->hash;
}

void store_turn(evutil_socket_t fd, short what, void *arg)
{
    struct rz_store *store = arg;
    const struct demand *demand = oldest(store);
    (void)fd, (void)what;
    if (!demand || store->own->membership.ending) {
        return;
    }
    uint32_t rank = demand->rank;
    uint64_t generation = demand->generation;
    struct piece *piece = store_find(store, rank, generation);
    if (piece && !piece->sum && !piece->good) {
        begin_check(store, piece);
    }
    bool readable = piece && (piece->good || look_at_slice(piece));
    if (!readable || piece->good || piece->n_hashes == rz_pages_of(piece->bytes)) {
        if (readable && !piece->good) {
            piece->good = end_check(piece);
        }
        if (piece && store_is_own(store, rank)) {
            store_forget_hashes(piece);
        }
        settle_demands(store, rank, generation, readable && piece->good);
    }
    if (store->demands) {
        rz_loop_soon(store->turn);
    }
}

void store_forget_hashes(struct piece *piece)
{
    free(piece->hashes);
    rz_pages_sum_free(piece->sum);
    piece->hashes = NULL;
    piece->sum = NULL;
    piece->n_hashes = 0;
}

void store_demand(struct rz_store *store, const struct demand *wanted)
{
    struct piece *piece = store_find(store, wanted->rank, wanted->generation);
    if (piece && piece->good) {
        store_meet(store, piece, wanted);
        return;
    }
    struct demand *demand = malloc(sizeof(*demand));
    rz_need_memory(demand, "to check a checkpoint piece");
    *demand = *wanted;
    demand->next = store->demands;
    store->demands = demand;
    rz_loop_soon(store->turn);
}

void store_drop_demands(struct rz_store *store)
{
    while (store->demands) {
        struct demand *demand = store->demands;
        store->demands = demand->next;
        free(demand);
    }
}
