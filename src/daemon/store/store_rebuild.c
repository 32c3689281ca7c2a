/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rebuilds a lost piece from the blocks of its group: as many columns of each stripe as there are
 * chunks, folded together as they arrive. The result is verified like any piece. If it is wrong,
 * one of the blocks was wrong: other columns are used as long as there are any.
 */
#include "base/no_memory.h"
#include "base/status.h"
#include "ckpt/erasure.h"
#include "daemon/store/store_private.h"
#include "port/kill_point.h"
#include "port/memory.h"
#include "proto/commit/stripes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A block that is expected. */
struct wanted {
    uint32_t chunk, place; /* place: of its member in the group */
    uint8_t factor;
    bool done;
    uint64_t offset;
};

struct rebuild {
    struct rebuild *next;
    uint32_t rank;
    uint32_t attempt;  /* counted for each attempt, so that old blocks can be recognized */
    uint32_t left_out; /* the place + 1 of a member whose blocks are not used; 0: none */
    uint64_t generation;
    uint64_t gone; /* members that have no block, a bit for each place */
    rz_id members[RZ_COMMIT_MEMBERS_MAX];
    uint32_t n, parity, owner; /* of the group; owner: the place of the lost piece */
    bool begun;                /* the first block has arrived, which gives total and hash */
    uint64_t total, hash;
    int fd;
    uint8_t *at;
    uint32_t n_wanted;
    struct wanted *wanted;
};

static void let_go_rebuild(struct rebuild *rebuild)
{
    if (rebuild->begun && rebuild->at) {
        rz_memory_unmap(rebuild->at, rebuild->total);
    }
    if (rebuild->begun && rebuild->fd >= 0) {
        close(rebuild->fd);
    }
    free(rebuild->wanted);
    rebuild->at = NULL;
    rebuild->wanted = NULL;
    rebuild->fd = -1;
    rebuild->n_wanted = 0;
    rebuild->begun = false;
}

static void end(struct rz_store *store, struct rebuild *rebuild)
{
    struct rebuild **link = &store->rebuilds;
    while (*link != rebuild) {
        link = &(*link)->next;
    }
    *link = rebuild->next;
    let_go_rebuild(rebuild);
    free(rebuild);
}

void store_drop_rebuilds(struct rz_store *store)
{
    while (store->rebuilds) {
        end(store, store->rebuilds);
    }
}

static struct rebuild *find_rebuild(const struct rz_store *store, uint32_t rank)
{
    struct rebuild *rebuild = store->rebuilds;
    while (rebuild && rebuild->rank != rank) {
        rebuild = rebuild->next;
    }
    return rebuild;
}

/* ---- the choice of blocks ---- */

/* Whether the column is zero, because the member has no rank in the row: it is not fetched. */
static bool is_zero(const struct rz_store *store, const struct rebuild *rebuild, uint32_t place,
                    uint32_t column)
{
    const struct rz_commit *commit = store_commit(store);
    return column < rebuild->n - rebuild->parity &&
           rz_commit_rank_at(commit, RZ_COMMIT_HOME, rebuild->members[place],
                             rz_commit_row_of(commit, RZ_COMMIT_HOME, rebuild->rank)) == RZ_ID_NONE;
}

static bool may_ask(const struct rz_store *store, const struct rebuild *rebuild, uint32_t place)
{
    return place != rebuild->owner && !(rebuild->gone >> place & 1) &&
           rebuild->left_out != place + 1 &&
           !rz_membership_node_has_failed(&store->own->membership, rebuild->members[place]);
}

/* Chooses the columns from which a chunk is made. False: there are not enough. */
static bool choose(const struct rz_store *store, struct rebuild *rebuild, uint32_t chunk)
{
    uint32_t data = rebuild->n - rebuild->parity, n = 0;
    uint32_t have[RZ_COMMIT_MEMBERS_MAX], place_of[RZ_COMMIT_MEMBERS_MAX];
    uint8_t factors[RZ_COMMIT_MEMBERS_MAX];
    bool zero[RZ_COMMIT_MEMBERS_MAX];
    uint32_t stripe = rz_stripe_of(rebuild->n, rebuild->parity, rebuild->owner, chunk);
    for (int pass = 0; pass < 2; pass++) { /* columns that are zero first: they cost nothing */
        for (uint32_t place = 0; place < rebuild->n && n < data; place++) {
            uint32_t column = rz_stripe_column(rebuild->n, rebuild->parity, stripe, place);
            bool free_of_cost = place != rebuild->owner && is_zero(store, rebuild, place, column);
            if (pass == 0 ? !free_of_cost : free_of_cost || !may_ask(store, rebuild, place)) {
                continue;
            }
            zero[n] = free_of_cost;
            place_of[n] = place;
            have[n++] = column;
        }
    }
    if (n < data || !rz_erasure_recipe(data, rebuild->parity, chunk, have, factors)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!zero[i] && factors[i] != 0) {
            rebuild->wanted[rebuild->n_wanted++] =
                (struct wanted){.chunk = chunk, .place = place_of[i], .factor = factors[i]};
        }
    }
    return true;
}

static bool choose_all(const struct rz_store *store, struct rebuild *rebuild)
{
    uint32_t data = rebuild->n - rebuild->parity;
    rebuild->wanted = calloc((size_t)data * data, sizeof(*rebuild->wanted));
    rz_need_memory(rebuild->wanted, "to rebuild a checkpoint piece");
    for (uint32_t chunk = 0; chunk < data; chunk++) {
        if (!choose(store, rebuild, chunk)) {
            return false;
        }
    }
    return rebuild->n_wanted > 0; /* at least one member must know how many bytes there are */
}

static void ask(struct rz_store *store, const struct rebuild *rebuild)
{
    uint32_t rank = rebuild->rank, attempt = rebuild->attempt;
    for (uint32_t i = 0; rebuild && rebuild->attempt == attempt && i < rebuild->n_wanted; i++) {
        const struct wanted *wanted = &rebuild->wanted[i];
        rz_id member = rebuild->members[wanted->place];
        struct rz_overlay_message message = {.type = RZ_OVERLAY_GET_BLOCK,
                                             .get_block = {.epoch = store->epoch,
                                                           .generation = rebuild->generation,
                                                           .rank = rank,
                                                           .chunk = wanted->chunk,
                                                           .attempt = attempt}};
        if (member == store->own->job.node) {
            store_on_get_block(store, member, &message.get_block);
        } else {
            rz_overlay_send(store->config.overlay, member, &message);
        }
        /* The answer of this daemon may have ended the rebuild. */
        rebuild = find_rebuild(store, rank);
    }
}

/* Begins an attempt without the member left out or, if that is not possible, without the next
 * one. */
static void try_on(struct rz_store *store, struct rebuild *rebuild)
{
    uint32_t rank = rebuild->rank;
    rebuild->attempt++;
    for (; rebuild->left_out <= rebuild->n; rebuild->left_out++) {
        let_go_rebuild(rebuild);
        if (rebuild->left_out != rebuild->owner + 1 && choose_all(store, rebuild)) {
            ask(store, rebuild);
            return;
        }
    }
    end(store, rebuild);
    if (!store_another_epoch_comes(store)) {
        store_lost(store, rank, store->restoring,
                   store_was_reused(store)
                       ? "was overwritten by a newer one, as those of more nodes than its group "
                         "tolerates"
                       : "is damaged, or lost with more nodes than its group tolerates");
    }
}

void store_rebuild(struct rz_store *store, uint32_t rank)
{
    const struct rz_commit *commit = store_commit(store);
    struct rz_commit_group group;
    struct rebuild *rebuild = find_rebuild(store, rank);
    if (rebuild) { /* the result was wrong */
        rebuild->left_out++;
        try_on(store, rebuild);
        return;
    }
    rz_id owner = rz_commit_owner_of(commit, RZ_COMMIT_HOME, rank);
    if (!rz_commit_group(commit, RZ_COMMIT_HOME, owner, &group)) {
        store_lost(store, rank, store->restoring, "has no group that could rebuild it");
        return;
    }
    rebuild = calloc(1, sizeof(*rebuild));
    rz_need_memory(rebuild, "to rebuild a checkpoint piece");
    *rebuild = (struct rebuild){.next = store->rebuilds,
                                .rank = rank,
                                .generation = store->restoring,
                                .n = group.n,
                                .parity = group.parity,
                                .owner = group.place,
                                .fd = -1};
    memcpy(rebuild->members, group.members, group.n * sizeof(*group.members));
    store->rebuilds = rebuild;
    try_on(store, rebuild);
}

void store_rebuilt(struct rz_store *store, uint32_t rank)
{
    struct rebuild *rebuild = find_rebuild(store, rank);
    if (rebuild) {
        end(store, rebuild);
    }
}

/* ---- blocks ---- */

#define NO_MEMORY_TO_REBUILD "no memory to make a checkpoint piece from its parities"

static bool begin_with(struct rz_store *store, struct rebuild *rebuild,
                       const struct rz_overlay_block *told)
{
    void *at = NULL;
    size_t bytes = told->total ? told->total : 1;
    rebuild->begun = true;
    rebuild->total = told->total;
    rebuild->hash = told->hash;
    if (rz_memory_create("rz-piece", bytes, &rebuild->fd) != RZ_OK ||
        (told->total > 0 && rz_memory_map(rebuild->fd, bytes, true, &at, NULL) != RZ_OK)) {
        store_give_up(store, NO_MEMORY_TO_REBUILD);
        return false;
    }
    rebuild->at = at;
    return true;
}

static void tell_made(struct rz_store *store, const struct rebuild *rebuild)
{
    char from[256] = "";
    uint64_t told = 0;
    size_t n = 0;
    for (uint32_t i = 0; i < rebuild->n_wanted; i++) {
        uint32_t place = rebuild->wanted[i].place;
        if (!(told >> place & 1) && n < sizeof(from) - 16) {
            n += (size_t)snprintf(from + n, sizeof(from) - n, "%s%u", n ? ", " : "",
                                  rebuild->members[place]);
        }
        told |= UINT64_C(1) << place;
    }
    rz_report_log(&store->own->report, 1,
                  "the piece of rank %u, generation %llu, was made from the blocks of nodes %s",
                  rebuild->rank,
                  (unsigned long long)rz_store_files_number(store->files, rebuild->generation),
                  from);
}

static void look_if_done(struct rz_store *store, struct rebuild *rebuild)
{
    for (uint32_t i = 0; i < rebuild->n_wanted; i++) {
        if (!rebuild->wanted[i].done) {
            return;
        }
    }
    rz_kill_here(RZ_KILL_REBUILT);
    tell_made(store, rebuild);
    if (rebuild->at) {
        rz_memory_unmap(rebuild->at, rebuild->total);
    }
    rebuild->at = NULL;
    struct piece *piece = store_add(store, rebuild->rank, rebuild->generation, rebuild->total,
                                    rebuild->hash, rebuild->fd);
    rebuild->fd = -1;
    piece->have = piece->bytes;
    piece->source = RZ_STORE_FROM_PARITIES;
    store_demand(store, &(struct demand){.kind = DEMAND_USE,
                                         .rank = rebuild->rank,
                                         .generation = rebuild->generation});
}

static struct wanted *find_wanted(struct rebuild *rebuild, rz_id from, uint32_t chunk)
{
    for (uint32_t i = 0; i < rebuild->n_wanted; i++) {
        if (rebuild->wanted[i].chunk == chunk &&
            rebuild->members[rebuild->wanted[i].place] == from) {
            return &rebuild->wanted[i];
        }
    }
    return NULL;
}

/* Memory is allocated as blocks arrive, as in store.c. */
static bool fold_block(struct rz_store *store, const struct rebuild *rebuild,
                       const struct wanted *wanted, const struct rz_overlay_block *told)
{
    uint32_t data = rebuild->n - rebuild->parity;
    uint64_t length = store_chunk_length(rebuild->total, data, wanted->chunk);
    uint64_t begin = store_chunk_bytes(rebuild->total, data) * wanted->chunk;
    if (told->offset >= length) {
        return true; /* other members' chunks are longer; their sum is zero here */
    }
    uint64_t n = length - told->offset;
    if (n > told->data_length) {
        n = told->data_length;
    }
    if (n > 0 && rz_memory_reserve(rebuild->fd, begin + told->offset, n) != RZ_OK) {
        store_give_up(store, NO_MEMORY_TO_REBUILD);
        return false;
    }
    rz_erasure_fold(wanted->factor, rebuild->at + begin + told->offset, told->data, n);
    return true;
}

void store_on_block(struct rz_store *store, rz_id from, const struct rz_overlay_block *told)
{
    struct rebuild *rebuild = find_rebuild(store, told->rank);
    struct wanted *wanted =
        rebuild && rebuild->attempt == told->attempt && rebuild->generation == told->generation
            ? find_wanted(rebuild, from, told->chunk)
            : NULL;
    if (!wanted || wanted->done || told->offset != wanted->offset || told->bytes < told->offset ||
        told->data_length > told->bytes - told->offset) {
        return;
    }
    if (!rebuild->begun && !begin_with(store, rebuild, told)) {
        return;
    }
    if (told->total != rebuild->total || told->hash != rebuild->hash) {
        store_rebuild(store, told->rank); /* the members' blocks belong to different pieces */
        return;
    }
    if (!fold_block(store, rebuild, wanted, told)) {
        return;
    }
    wanted->offset += told->data_length;
    if (wanted->offset < told->bytes) {
        return;
    }
    wanted->done = true;
    look_if_done(store, rebuild);
}

void store_on_block_gone(struct rz_store *store, rz_id from,
                         const struct rz_overlay_block_gone *told)
{
    struct rebuild *rebuild = find_rebuild(store, told->rank);
    if (!rebuild || rebuild->attempt != told->attempt || rebuild->generation != told->generation) {
        return;
    }
    for (uint32_t place = 0; place < rebuild->n; place++) {
        if (rebuild->members[place] == from) {
            rebuild->gone |= UINT64_C(1) << place;
        }
    }
    rebuild->left_out = 0;
    try_on(store, rebuild);
}
