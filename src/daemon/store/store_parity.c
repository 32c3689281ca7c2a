/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parities, with groups. The chunks of the other members' pieces are folded into the parities as
 * they arrive, each once and in order. Blocks from which a lost piece is rebuilt are sent
 * (proto/commit/stripes.h).
 */
#include "base/no_memory.h"
#include "ckpt/erasure.h"
#include "daemon/store/store_private.h"
#include "port/kill_point.h"
#include "proto/commit/stripes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_ALIGNMENT 64

/* What has arrived of one piece. */
struct share {
    struct share *next;
    uint32_t rank, chunk; /* the chunk expected next; data: all have arrived */
    uint64_t total, hash, offset;
};

/* Our parities of one row of one generation: parity q of the stripe place - q. */
struct parity {
    struct parity *next;
    uint32_t layout, row, n_blocks;
    uint64_t generation;
    struct share *shares;
    struct {
        uint8_t *at;
        uint64_t bytes; /* the length of the longest chunk so far */
        uint64_t used;  /* so many bytes were folded into: they have memory */
    } block[];
};

uint64_t store_chunk_bytes(uint64_t bytes, uint32_t data)
{
    uint64_t each = bytes / data + (bytes % data != 0);
    return (each + CHUNK_ALIGNMENT - 1) / CHUNK_ALIGNMENT * CHUNK_ALIGNMENT;
}

uint64_t store_chunk_length(uint64_t bytes, uint32_t data, uint32_t chunk)
{
    uint64_t each = store_chunk_bytes(bytes, data), begin = each * chunk;
    if (begin >= bytes) {
        return 0;
    }
    return bytes - begin < each ? bytes - begin : each;
}

/* The first chunk, from `chunk` on, that belongs to a parity of the member at `keeper`; *q: which
 * parity. data: there is none. */
static uint32_t next_kept(const struct rz_commit_group *group, uint32_t owner, uint32_t keeper,
                          uint32_t chunk, uint32_t *q)
{
    uint32_t data = group->n - group->parity;
    for (; chunk < data; chunk++) {
        uint32_t stripe = rz_stripe_of(group->n, group->parity, owner, chunk);
        uint32_t column = rz_stripe_column(group->n, group->parity, stripe, keeper);
        if (column >= data) {
            *q = column - data;
            break;
        }
    }
    return chunk;
}

static uint32_t place_of(const struct rz_commit_group *group, rz_id daemon)
{
    uint32_t place = 0;
    while (place < group->n && group->members[place] != daemon) {
        place++;
    }
    return place;
}

/* ---- giving shares ---- */

bool store_send_share(struct rz_store *store, struct transfer *transfer)
{
    struct piece *piece = store_find(store, transfer->rank, transfer->generation);
    struct rz_commit_group group;
    rz_id self = store->own->job.node;
    uint32_t q;
    if (!piece || !rz_commit_group(store_commit(store), RZ_COMMIT_NOW, self, &group)) {
        return false;
    }
    uint32_t data = group.n - group.parity, keeper = place_of(&group, transfer->to);
    if (keeper == group.n) {
        return false;
    }
    transfer->chunk = next_kept(&group, group.place, keeper, transfer->chunk, &q);
    if (transfer->chunk == data) {
        return false;
    }
    uint64_t length = store_chunk_length(piece->bytes, data, transfer->chunk);
    uint64_t rest = length - transfer->offset;
    size_t n = rest < RZ_STORE_CHUNK_BYTES ? (size_t)rest : RZ_STORE_CHUNK_BYTES;
    uint64_t from = store_chunk_bytes(piece->bytes, data) * transfer->chunk + transfer->offset;
    if (n > 0 && pread(piece->fd, store->chunk, n, (off_t)from) != (ssize_t)n) {
        return false;
    }
    rz_overlay_send(store->config.overlay, transfer->to,
                    &(struct rz_overlay_message){.type = RZ_OVERLAY_SHARE,
                                                 .share = {.epoch = store->epoch,
                                                           .generation = piece->generation,
                                                           .rank = piece->rank,
                                                           .total = piece->bytes,
                                                           .hash = piece->hash,
                                                           .chunk = transfer->chunk,
                                                           .offset = transfer->offset,
                                                           .data = store->chunk,
                                                           .data_length = (uint32_t)n}});
    transfer->offset += n;
    if (transfer->offset < length) {
        return true;
    }
    transfer->offset = 0;
    transfer->chunk++;
    return next_kept(&group, group.place, keeper, transfer->chunk, &q) < data;
}

/* ---- keeping parities ---- */

static void free_parity(struct parity *parity)
{
    while (parity->shares) {
        struct share *share = parity->shares;
        parity->shares = share->next;
        free(share);
    }
    for (uint32_t q = 0; q < parity->n_blocks; q++) {
        free(parity->block[q].at);
    }
    free(parity);
}

static void drop_old_parities(struct rz_store *store, uint64_t below)
{
    for (struct parity **link = &store->parities; *link;) {
        struct parity *parity = *link;
        if (parity->generation >= below) {
            link = &parity->next;
            continue;
        }
        *link = parity->next;
        free_parity(parity);
    }
}

void store_keep_parities(struct rz_store *store, uint32_t layout, uint64_t generation)
{
    for (struct parity **link = &store->parities; *link;) {
        struct parity *parity = *link;
        if (parity->layout == layout && (generation == 0 || parity->generation == generation ||
                                         parity->generation + 1 == generation)) {
            link = &parity->next;
            continue;
        }
        *link = parity->next;
        free_parity(parity);
    }
}

void store_drop_parities(struct rz_store *store)
{
    drop_old_parities(store, UINT64_MAX);
}

static struct parity *find_parity(const struct rz_store *store, uint32_t layout,
                                  uint64_t generation, uint32_t row)
{
    struct parity *parity = store->parities;
    while (parity &&
           (parity->layout != layout || parity->generation != generation || parity->row != row)) {
        parity = parity->next;
    }
    return parity;
}

static struct share *find_share(const struct parity *parity, uint32_t rank)
{
    struct share *share = parity ? parity->shares : NULL;
    while (share && share->rank != rank) {
        share = share->next;
    }
    return share;
}

/* Adds parities. They take the place of those before the previous generation, as pieces do. */
static struct parity *add_parity(struct rz_store *store, uint32_t layout, uint64_t generation,
                                 uint32_t row, uint32_t n_blocks)
{
    uint64_t floor = rz_recover_generation_floor(store_recover(store));
    drop_old_parities(store, floor < generation - 1 ? floor : generation - 1);
    struct parity *parity = calloc(1, sizeof(*parity) + n_blocks * sizeof(parity->block[0]));
    rz_need_memory(parity, "for the parity of checkpoint pieces");
    parity->layout = layout;
    parity->generation = generation;
    parity->row = row;
    parity->n_blocks = n_blocks;
    parity->next = store->parities;
    store->parities = parity;
    return parity;
}

static struct share *add_share(struct parity *parity, const struct rz_overlay_share *told,
                               uint32_t first)
{
    struct share *share = calloc(1, sizeof(*share));
    rz_need_memory(share, "for the parity of checkpoint pieces");
    *share = (struct share){.next = parity->shares,
                            .rank = told->rank,
                            .chunk = first,
                            .total = told->total,
                            .hash = told->hash};
    parity->shares = share;
    return share;
}

static bool make_room_for_block(const struct rz_store *store, struct parity *parity, uint32_t q,
                                uint64_t bytes, uint64_t offset)
{
    if (offset >= parity->block[q].used && !store_has_room(store, offset, bytes - offset)) {
        return false;
    }
    if (parity->block[q].bytes >= bytes) {
        return true;
    }
    /* Pages of new memory are zero before they are touched; touching all at once would take too
     * long. */
    uint64_t had = parity->block[q].bytes;
    uint8_t *at = had > 0 ? realloc(parity->block[q].at, bytes) : calloc(1, bytes);
    if (!at) {
        return false;
    }
    if (had > 0) {
        memset(at + had, 0, bytes - had);
        parity->block[q].used = bytes;
    }
    parity->block[q].at = at;
    parity->block[q].bytes = bytes;
    return true;
}

/* Folds in one part of a chunk, the next one of its piece. */
static void fold_share(struct rz_store *store, const struct rz_commit_group *group, uint32_t owner,
                       struct parity *parity, struct share *share,
                       const struct rz_overlay_share *told)
{
    uint32_t data = group->n - group->parity, q = 0;
    uint64_t length = store_chunk_length(told->total, data, told->chunk);
    if (next_kept(group, owner, group->place, told->chunk, &q) != told->chunk ||
        told->data_length > length - told->offset) {
        return;
    }
    if (!make_room_for_block(store, parity, q, length, told->offset)) {
        store_tell_no_room(store, group->members[owner], told->generation, told->rank);
        return;
    }
    rz_kill_here(RZ_KILL_SHARE);
    if (told->data_length > 0) {
        rz_erasure_fold(rz_erasure_factor(data, group->parity, q, told->chunk),
                        parity->block[q].at + told->offset, told->data, told->data_length);
    }
    share->offset += told->data_length;
    if (share->offset > parity->block[q].used) {
        parity->block[q].used = share->offset;
    }
    if (share->offset < length) {
        return;
    }
    share->offset = 0;
    share->chunk = next_kept(group, owner, group->place, told->chunk + 1, &q);
}

void store_on_share(struct rz_store *store, rz_id from, const struct rz_overlay_share *told)
{
    const struct rz_commit *commit = store_commit(store);
    struct rz_commit_group group;
    uint32_t layout = rz_commit_layout(commit, RZ_COMMIT_NOW), q;
    if (!store_in_groups(store) || told->rank >= store->own->job.n_ranks || told->generation == 0 ||
        rz_commit_epoch(commit) != store->epoch ||
        rz_commit_owner_of(commit, RZ_COMMIT_NOW, told->rank) != from ||
        !rz_commit_group(commit, RZ_COMMIT_NOW, store->own->job.node, &group)) {
        return;
    }
    uint32_t row = rz_commit_row_of(commit, RZ_COMMIT_NOW, told->rank);
    uint32_t owner = place_of(&group, from), data = group.n - group.parity;
    if (owner == group.n || owner == group.place) {
        return;
    }
    if (told->generation > 1) {
        store_tell_commit(store, RZ_COMMIT_PROOF, told->generation - 1, told->rank, RZ_ID_NONE);
    }
    struct parity *parity = find_parity(store, layout, told->generation, row);
    if (!parity) {
        parity = add_parity(store, layout, told->generation, row, group.parity);
    }
    struct share *share = find_share(parity, told->rank);
    if (!share) {
        share = add_share(parity, told, next_kept(&group, owner, group.place, 0, &q));
    }
    if (told->total != share->total || told->hash != share->hash || share->chunk == data ||
        told->chunk != share->chunk || told->offset != share->offset) {
        return;
    }
    fold_share(store, &group, owner, parity, share, told);
    if (share->chunk < data) {
        return;
    }
    rz_kill_here(RZ_KILL_PIECE_KEPT);
    store_send_small(store, from, RZ_OVERLAY_PIECE_KEPT, told->generation, told->rank);
}

/* ---- giving blocks ---- */

/* Our column in the stripe of a chunk of rank's piece, in the layout that is restored from. */
static bool column_here(const struct rz_store *store, uint32_t rank, uint32_t chunk,
                        struct rz_commit_group *group, uint32_t *column)
{
    const struct rz_commit *commit = store_commit(store);
    if (!store_in_groups(store) || rank >= store->own->job.n_ranks ||
        rz_commit_epoch(commit) != store->epoch ||
        !rz_commit_group(commit, RZ_COMMIT_HOME, store->own->job.node, group)) {
        return false;
    }
    uint32_t owner = place_of(group, rz_commit_owner_of(commit, RZ_COMMIT_HOME, rank));
    if (owner == group->n || chunk >= group->n - group->parity) {
        return false;
    }
    uint32_t stripe = rz_stripe_of(group->n, group->parity, owner, chunk);
    *column = rz_stripe_column(group->n, group->parity, stripe, group->place);
    return true;
}

static struct parity *parity_of(const struct rz_store *store, uint32_t rank, uint64_t generation)
{
    const struct rz_commit *commit = store_commit(store);
    return find_parity(store, rz_commit_layout(commit, RZ_COMMIT_HOME), generation,
                       rz_commit_row_of(commit, RZ_COMMIT_HOME, rank));
}

/* The rank whose chunk is in our column; RZ_ID_NONE: there is none, and the column is zero. */
static uint32_t rank_in_row(const struct rz_store *store, uint32_t rank)
{
    const struct rz_commit *commit = store_commit(store);
    return rz_commit_rank_at(commit, RZ_COMMIT_HOME, store->own->job.node,
                             rz_commit_row_of(commit, RZ_COMMIT_HOME, rank));
}

bool store_send_block(struct rz_store *store, struct transfer *transfer)
{
    struct rz_commit_group group;
    uint32_t column, data;
    if (!column_here(store, transfer->rank, transfer->chunk, &group, &column)) {
        return false;
    }
    data = group.n - group.parity;
    struct parity *parity = parity_of(store, transfer->rank, transfer->generation);
    const struct share *share = find_share(parity, transfer->rank);
    uint32_t own = column < data ? rank_in_row(store, transfer->rank) : RZ_ID_NONE;
    struct piece *piece = own == RZ_ID_NONE ? NULL : store_find(store, own, transfer->generation);
    if (!share || (own != RZ_ID_NONE && !piece)) {
        return false;
    }
    uint64_t bytes = column >= data ? parity->block[column - data].bytes
                     : piece        ? store_chunk_length(piece->bytes, data, column)
                                    : 0;
    uint64_t rest = bytes - transfer->offset;
    size_t n = rest < RZ_STORE_CHUNK_BYTES ? (size_t)rest : RZ_STORE_CHUNK_BYTES;
    const uint8_t *from = store->chunk;
    if (column >= data) {
        from = n > 0 ? parity->block[column - data].at + transfer->offset : from;
    } else if (piece && n > 0 &&
               pread(piece->fd, store->chunk, n,
                     (off_t)(store_chunk_bytes(piece->bytes, data) * column + transfer->offset)) !=
                   (ssize_t)n) {
        return false;
    }
    struct rz_overlay_message message = {.type = RZ_OVERLAY_BLOCK,
                                         .block = {.epoch = store->epoch,
                                                   .generation = transfer->generation,
                                                   .rank = transfer->rank,
                                                   .chunk = transfer->chunk,
                                                   .attempt = transfer->attempt,
                                                   .total = share->total,
                                                   .hash = share->hash,
                                                   .bytes = bytes,
                                                   .offset = transfer->offset,
                                                   .data = from,
                                                   .data_length = (uint32_t)n}};
    transfer->offset += n;
    bool more = transfer->offset < bytes;
    if (transfer->to == store->own->job.node) {
        store_on_block(store, transfer->to, &message.block);
    } else {
        rz_overlay_send(store->config.overlay, transfer->to, &message);
    }
    return more;
}

/* Whether everything that our parities of the row contain has arrived. */
static bool is_whole(const struct rz_store *store, const struct parity *parity,
                     const struct rz_commit_group *group, uint32_t row)
{
    for (uint32_t place = 0; place < group->n; place++) {
        uint32_t rank = place == group->place
                            ? RZ_ID_NONE
                            : rz_commit_rank_at(store_commit(store), RZ_COMMIT_HOME,
                                                group->members[place], row);
        const struct share *share = find_share(parity, rank);
        if (rank != RZ_ID_NONE && (!share || share->chunk != group->n - group->parity)) {
            return false;
        }
    }
    return true;
}

void store_on_get_block(struct rz_store *store, rz_id from, const struct rz_overlay_get_block *told)
{
    struct rz_commit_group group;
    uint32_t column = 0;
    struct demand demand = {.kind = DEMAND_BLOCK,
                            .rank = RZ_ID_NONE,
                            .generation = told->generation,
                            .to = from,
                            .block_rank = told->rank,
                            .chunk = told->chunk,
                            .attempt = told->attempt};
    bool mine = column_here(store, told->rank, told->chunk, &group, &column);
    struct parity *parity = mine ? parity_of(store, told->rank, told->generation) : NULL;
    if (!parity || !find_share(parity, told->rank) ||
        !is_whole(store, parity, &group,
                  rz_commit_row_of(store_commit(store), RZ_COMMIT_HOME, told->rank))) {
        store_fail(store, &demand);
        return;
    }
    if (column < group.n - group.parity) {
        demand.rank = rank_in_row(store, told->rank);
    }
    if (demand.rank == RZ_ID_NONE) {
        store_meet(store, NULL, &demand); /* a parity, or a column without a chunk */
    } else {
        store_demand(store, &demand);
    }
}
