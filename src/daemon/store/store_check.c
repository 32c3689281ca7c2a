/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks whether pieces are what they were, a few MiB in each turn of the loop, before anybody is
 * given them. */
#include "base/assert.h"
#include "ckpt/pages.h"
#include "daemon/state/loop.h"
#include "daemon/store/store_private.h"
#include "port/memory.h"

#include <stdlib.h>

#define SLICE_PAGES ((size_t)2048) /* 8 MiB */

/* A slice begins where a page of the machine does, for it is mapped. */
_Static_assert(SLICE_PAGES *RZ_PAGE_BYTES % (64 << 10) == 0, "whole pages of any machine");

/* False: its memory cannot be looked at. */
static bool look_at_slice(struct piece *piece)
{
    size_t pages = rz_pages_of(piece->bytes), n = pages - piece->n_checked;
    void *at;
    if (n > SLICE_PAGES) {
        n = SLICE_PAGES;
    }
    size_t offset = piece->n_checked * RZ_PAGE_BYTES, bytes = n * RZ_PAGE_BYTES;
    if (offset + bytes > piece->bytes) {
        bytes = piece->bytes - offset;
    }
    if (n > 0 && rz_memory_map_range(piece->fd, offset, bytes, false, &at) != RZ_OK) {
        return false;
    }
    for (size_t page = 0; page < n; page++) {
        size_t from = page * RZ_PAGE_BYTES, rest = bytes - from;
        piece->checked[piece->n_checked + page] =
            rz_page_hash((const char *)at + from, rest < RZ_PAGE_BYTES ? rest : RZ_PAGE_BYTES);
    }
    if (n > 0) {
        rz_memory_unmap(at, bytes);
    }
    piece->n_checked += n;
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

/* Meeting one demand may end the epoch's business or the piece: it is looked up again each time. */
static void settle(struct rz_store *store, uint32_t rank, uint64_t generation, bool good)
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

/* The newest demand stands first; the oldest is met first. */
static const struct demand *oldest(const struct rz_store *store)
{
    const struct demand *demand = store->demands;
    while (demand && demand->next) {
        demand = demand->next;
    }
    return demand;
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
    if (piece && !piece->checked && !piece->good) {
        piece->n_checked = 0;
        piece->checked = malloc((rz_pages_of(piece->bytes) + 1) * sizeof(*piece->checked));
        rz_assert(piece->checked != NULL);
    }
    bool readable = piece && (piece->good || look_at_slice(piece));
    if (!readable || piece->good || piece->n_checked == rz_pages_of(piece->bytes)) {
        if (readable && !piece->good) {
            piece->good = rz_pages_hash(piece->checked, piece->bytes) == piece->hash;
        }
        if (piece) {
            free(piece->checked);
            piece->checked = NULL;
        }
        settle(store, rank, generation, readable && piece->good);
    }
    if (store->demands) {
        rz_loop_soon(store->turn);
    }
}

void store_demand(struct rz_store *store, const struct demand *wanted)
{
    struct piece *piece = store_find(store, wanted->rank, wanted->generation);
    if (piece && piece->good) {
        store_meet(store, piece, wanted);
        return;
    }
    struct demand *demand = malloc(sizeof(*demand));
    rz_assert(demand != NULL);
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
