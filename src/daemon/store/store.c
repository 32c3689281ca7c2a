/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the pieces: takes those of this node's processes and those of other daemons, has them
 * protected, gives them back, and finds a piece that is missing here. */
#include "daemon/store/store.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "ckpt/piece.h"
#include "daemon/store/store_private.h"
#include "daemon/state/loop.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/memory.h"
#include "port/prompt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct piece *store_find(struct rz_store *store, uint32_t rank, uint64_t generation)
{
    for (struct piece *piece = store->pieces; piece; piece = piece->next) {
        if (piece->rank == rank && piece->generation == generation) {
            return piece;
        }
    }
    return NULL;
}

/* Describes pieces to be dropped. */
struct unwanted {
    uint32_t rank;  /* of this rank, or of all (RZ_ID_NONE) */
    uint64_t below; /* generations below this one */
    uint64_t same;  /* and this generation */
    /* Not 0: all generations but this one and the one before it, and all incomplete pieces. */
    uint64_t other_than;
    bool everything;
};

static bool is_unwanted(const struct piece *piece, const struct unwanted *unwanted)
{
    if (unwanted->everything) {
        return true;
    }
    if (unwanted->rank != RZ_ID_NONE && piece->rank != unwanted->rank) {
        return false;
    }
    if (unwanted->other_than) {
        return !store_whole(piece) || (piece->generation != unwanted->other_than &&
                                       piece->generation + 1 != unwanted->other_than);
    }
    return piece->generation < unwanted->below || piece->generation == unwanted->same;
}

static void free_piece(struct piece *piece)
{
    rz_prompt_close(piece->fd);
    store_forget_hashes(piece);
    free(piece->changes);
    free(piece);
}

static void drop(struct rz_store *store, struct unwanted unwanted)
{
    for (struct piece **link = &store->pieces; *link;) {
        struct piece *piece = *link;
        if (!is_unwanted(piece, &unwanted)) {
            link = &piece->next;
            continue;
        }
        *link = piece->next;
        free_piece(piece);
    }
}

void store_drop_piece(struct rz_store *store, struct piece *piece)
{
    struct piece **link = &store->pieces;
    while (*link != piece) {
        link = &(*link)->next;
    }
    *link = piece->next;
    free_piece(piece);
}

/*
 * Adds a piece. It takes the place of the one before the previous, but never of one that a recovery
 * may still choose: a recovery that is being agreed on may roll back to a generation older than the
 * newest committed one.
 */
struct piece *store_add(struct rz_store *store, uint32_t rank, uint64_t generation, uint64_t bytes,
                        uint64_t hash, int fd)
{
    uint64_t floor = rz_recover_generation_floor(store_recover(store));
    drop(store, (struct unwanted){.rank = rank,
                                  .below = floor < generation - 1 ? floor : generation - 1,
                                  .same = generation});
    struct piece *piece = calloc(1, sizeof(*piece));
    rz_need_memory(piece, "for a checkpoint piece");
    *piece = (struct piece){.next = store->pieces,
                            .rank = rank,
                            .generation = generation,
                            .bytes = bytes,
                            .hash = hash,
                            .kept_by = RZ_ID_NONE,
                            .source = store->own->job.node,
                            .fd = fd};
    store->pieces = piece;
    return piece;
}

/* ---- pieces of our own ranks ---- */

void store_tell_commit(struct rz_store *store, enum rz_commit_call call, uint64_t generation,
                       uint32_t rank, rz_id keeper)
{
    rz_core_step(store->config.commit,
                 &(struct rz_event){.kind = RZ_EVENT_CALL,
                                    .call = call,
                                    .arg = {store->epoch, generation, rank, keeper}});
}

bool store_is_own(const struct rz_store *store, uint32_t rank)
{
    return rz_recover_daemon_of(store_recover(store), rank) == store->own->job.node;
}

static void copy_to_buddy(struct rz_store *store, struct piece *piece)
{
    rz_id keepers[RZ_COMMIT_MEMBERS_MAX];
    if (rz_commit_keepers(store_commit(store), piece->rank, keepers) == 0) {
        return;
    }
    if (piece->kept_by == keepers[0]) {
        store_tell_commit(store, RZ_COMMIT_COPIED, piece->generation, piece->rank, keepers[0]);
    } else {
        store_send_piece(store, piece, keepers[0],
                         store_changes_serve(piece, keepers[0]) ? TRANSFER_CHANGES : TRANSFER_COPY);
    }
}

/* A complete piece of an own rank is here: makes sure that its keepers have it, too. */
static void protect(struct rz_store *store, struct piece *piece)
{
    bool restored = piece->generation == store->restoring;
    store_tell_commit(store, RZ_COMMIT_STORED, piece->generation, piece->rank, RZ_ID_NONE);
    rz_store_files_keep(store->files, piece->rank, piece->generation, piece->fd, piece->bytes,
                        piece->hash);
    if (store->own->job.scheme.kind == RZ_SCHEME_BUDDY) {
        copy_to_buddy(store, piece);
    } else if (store_in_groups(store) &&
               (!restored || rz_commit_needs_copy(store_commit(store), piece->rank))) {
        store_demand(store, &(struct demand){.kind = DEMAND_SHARES,
                                             .rank = piece->rank,
                                             .generation = piece->generation});
    }
}

/* Gives the piece to its process, if the process has asked and the piece was verified. */
static void give(struct rz_store *store, uint32_t rank, const struct piece *piece)
{
    const struct rz_store_files *files = store->files;
    struct rz_link_message message = {
        .type = RZ_LINK_PIECE,
        .piece = {.epoch = store->epoch, .base = rz_store_files_number(files, store->base)}};
    if (store->wanting[rank] != store->epoch) {
        return;
    }
    store->wanting[rank] = 0;
    if (piece) {
        message.piece.generation = rz_store_files_number(files, piece->generation);
        message.piece.bytes = piece->bytes;
        message.piece.hash = piece->hash;
        message.piece.source_node = piece->source;
    }
    struct rz_child *p = rz_child_of(store->config.children, rank);
    if (p) {
        p->piece_source = message.piece.source_node;
        p->restoring = piece && store->own->job.flags & RZ_JOB_REWIND;
    }
    rz_link_router_send_to(store->config.children, rank, &message, piece ? piece->fd : -1);
}

/* Processes of a node that was excluded may still write to files that are restored. */
static bool waits_for_fence(const struct rz_store *store)
{
    rz_time now = rz_clock_now(), until = store->own->membership.fenced_at;
    if (now < until) {
        rz_loop_arm_every(store->fenced, until - now);
    }
    return now < until;
}

static void answer_want(struct rz_store *store, uint32_t rank)
{
    bool restores = store->restoring || rz_store_files_begins(store->files);
    struct piece *piece = restores ? store_find(store, rank, store->restoring) : NULL;
    if (store->wanting[rank] != store->epoch || (restores && (!piece || !store_whole(piece))) ||
        waits_for_fence(store)) {
        return;
    }
    if (piece) {
        store_demand(
            store,
            &(struct demand){.kind = DEMAND_ANSWER, .rank = rank, .generation = piece->generation});
    } else {
        give(store, rank, NULL);
    }
}

static void store_on_fenced(evutil_socket_t fd, short what, void *arg)
{
    struct rz_store *store = arg;
    (void)fd, (void)what;
    event_del(store->fenced);
    for (uint32_t rank = 0; store->epoch != 0 && rank < store->own->job.n_ranks; rank++) {
        answer_want(store, rank);
    }
}

/* A process stores each generation once, and the next one only when all have committed it. */
static bool may_store(struct rz_store *store, uint32_t rank, uint64_t number)
{
    uint64_t next = rz_commit_next(store_commit(store));
    return next - store->base == number && !store_find(store, rank, next);
}

bool store_piece(struct rz_store *store, uint32_t rank, const struct rz_link_store *told, int fd)
{
    const struct rz_membership *membership = &store->own->membership;
    if (told->epoch != store->epoch || told->epoch != membership->epoch || membership->ending) {
        rz_prompt_close(fd);
        return true;
    }
    if (!may_store(store, rank, told->number) || !rz_memory_holds(fd, told->bytes)) {
        rz_prompt_close(fd);
        return false;
    }
    rz_kill_here(RZ_KILL_PIECE_CAME);
    struct store_changes *changes = store_changes_of(store, rank, told, fd);
    struct piece *piece =
        store_add(store, rank, store->base + told->number, told->bytes, told->hash, fd);
    piece->have = piece->bytes;
    piece->changes = changes;
    protect(store, piece);
    return true;
}

void store_want(struct rz_store *store, uint32_t rank, uint32_t epoch)
{
    store->wanting[rank] = epoch;
    if (epoch == store->epoch) {
        answer_want(store, rank);
    }
}

/* ---- pieces from other daemons ---- */

static void finished(struct rz_store *store, struct piece *piece, rz_id from)
{
    store_demand(store, &(struct demand){.kind = piece->wanted_by_us ? DEMAND_USE : DEMAND_KEEP,
                                         .rank = piece->rank,
                                         .generation = piece->generation,
                                         .to = from});
}

/* The memory of a piece is allocated as its parts arrive: to reserve it at once takes longer for a
 * large piece than the other daemons wait for a heartbeat. */
static void on_piece(struct rz_store *store, rz_id from, const struct rz_overlay_piece *told)
{
    struct piece *piece = store_find(store, told->rank, told->generation);
    if (told->generation > 1) {
        store_tell_commit(store, RZ_COMMIT_PROOF, told->generation - 1, told->rank, RZ_ID_NONE);
    }
    if (piece && store_whole(piece) && told->offset == 0 && piece->hash == told->hash &&
        piece->bytes == told->total) {
        store_demand(store, &(struct demand){.kind = DEMAND_KEEP, /* it is here already */
                                             .rank = piece->rank,
                                             .generation = piece->generation,
                                             .to = from});
        return;
    }
    if (!piece && told->offset != 0) {
        return; /* the rest of a piece that could not be kept */
    }
    if (!piece || (told->offset == 0 && !piece->wanted_by_us)) {
        int fd;
        if (rz_memory_create("rz-piece", told->total ? told->total : 1, &fd) != RZ_OK) {
            store_refuse_piece(store, from, told);
            return;
        }
        piece = store_add(store, told->rank, told->generation, told->total, told->hash, fd);
        piece->source = from;
        piece->wanted_by_us = told->answer;
    }
    if (store_whole(piece) || told->total != piece->bytes || told->offset != piece->have ||
        told->data_length > piece->bytes - piece->have) {
        return;
    }
    if (!store_has_room(store, told->offset, piece->bytes - piece->have) ||
        pwrite(piece->fd, told->data, told->data_length, (off_t)told->offset) !=
            (ssize_t)told->data_length) {
        store_refuse_piece(store, from, told);
        return;
    }
    piece->have += told->data_length;
    if (store_whole(piece)) {
        finished(store, piece, from);
    }
}

static void on_get_piece(struct rz_store *store, rz_id from,
                         const struct rz_overlay_get_piece *told)
{
    struct piece *piece = store_find(store, told->rank, told->generation);
    struct demand demand = {
        .kind = DEMAND_COPY, .rank = told->rank, .generation = told->generation, .to = from};
    if (piece && store_whole(piece)) {
        store_demand(store, &demand);
    } else {
        store_fail(store, &demand);
    }
}

static void on_kept(struct rz_store *store, rz_id from, const struct rz_overlay_piece_kept *told)
{
    struct piece *piece = store_find(store, told->rank, told->generation);
    if (!piece || !store_whole(piece) || !store_is_own(store, told->rank)) {
        return;
    }
    rz_kill_here(RZ_KILL_PIECE_ACK);
    piece->kept_by = from;
    store_tell_commit(store, RZ_COMMIT_COPIED, told->generation, told->rank, from);
}

/* PIECE_GONE from a daemon that we asked for the piece: the next holder may have it. From one that
 * should keep a copy: what arrived there was damaged, and so our piece is probably damaged, too. */
static void on_gone(struct rz_store *store, rz_id from, const struct rz_overlay_piece_gone *told)
{
    struct piece *piece = store_find(store, told->rank, told->generation);
    if (rz_membership_node_has_failed(&store->own->membership, from) ||
        told->rank >= store->own->job.n_ranks || !store_is_own(store, told->rank)) {
        return;
    }
    if (piece && told->no_memory) {
        store_on_no_room(store, from, piece);
    } else if (!piece && told->generation == store->restoring) {
        store_get(store, told->rank);
    } else if (piece && store_whole(piece) && !piece->wanted_by_us && piece->sent_again++ < 2) {
        piece->good = false;
        store_demand(store, &(struct demand){.kind = DEMAND_USE,
                                             .rank = told->rank,
                                             .generation = told->generation});
    } else if (told->generation == store->restoring) {
        store_lost(store, told->rank, told->generation, "cannot be copied whole to another node");
    } else {
        store_end_writer(store, told->rank, told->generation,
                         "cannot be copied whole to another node");
    }
}

bool store_another_epoch_comes(const struct rz_store *store)
{
    const struct rz_recover *recover = store_recover(store);
    for (rz_id node = 0; node < store->own->job.n_nodes; node++) {
        if (rz_recover_daemon_failed(recover, node) &&
            !rz_recover_daemon_agreed_failed(recover, node)) {
            return true;
        }
    }
    return false;
}

void store_get(struct rz_store *store, uint32_t rank)
{
    rz_id holders[2] = {RZ_ID_NONE}, self = store->own->job.node;
    store->getting[rank] = 1;
    uint32_t n = rz_commit_holders(store_commit(store), rank, holders);
    while (store->tried[rank] < n) {
        rz_id holder = holders[store->tried[rank]++];
        if (holder != self) {
            store_send_small(store, holder, RZ_OVERLAY_GET_PIECE, store->restoring, rank);
            return;
        }
    }
    if (store_in_groups(store)) {
        store_rebuild(store, rank);
    } else if (store->files) {
        rz_store_files_fetch(store->files, rank, store->restoring);
    } else if (!store_another_epoch_comes(store)) {
        store_lost(store, rank, store->restoring,
                   store_was_reused(store)
                       ? "was overwritten by a newer one, and there is no other copy"
                       : "is damaged, and there is no other copy");
    }
}

/* ---- demands of verified pieces ---- */

/* An own piece was damaged and is dropped. For further demands of the same piece it is being
 * fetched. */
static void own_damaged(struct rz_store *store, uint32_t rank, uint64_t generation)
{
    if (store_find(store, rank, generation) || store->getting[rank]) {
        return;
    }
    bool reused = store_was_reused(store) && generation == store->restoring;
    rz_report_log(&store->own->report, reused ? 1 : 0,
                  "the checkpoint piece of rank %u, generation %llu, %s", rank,
                  (unsigned long long)rz_store_number(store, generation),
                  reused ? "was overwritten here by a newer one" : "is damaged here");
    if (generation != store->restoring || generation == 0) {
        store_end_writer(
            store, rank, generation,
            "does not match its checksum: it has changed since the process wrote it, or "
            "another thread wrote to protected memory while RZ_Checkpoint ran");
    } else {
        store_get(store, rank);
    }
}

void store_meet(struct rz_store *store, struct piece *piece, const struct demand *demand)
{
    rz_id keepers[RZ_COMMIT_MEMBERS_MAX];
    switch (demand->kind) {
    case DEMAND_USE:
        rz_kill_here(RZ_KILL_PIECE_BACK);
        store->getting[demand->rank] = 0;
        store_rebuilt(store, demand->rank);
        protect(store, piece);
        answer_want(store, demand->rank);
        break;
    case DEMAND_RESTORE:
        protect(store, piece);
        answer_want(store, demand->rank);
        break;
    case DEMAND_ANSWER:
        give(store, demand->rank, piece);
        break;
    case DEMAND_KEEP:
        rz_kill_here(RZ_KILL_PIECE_KEPT);
        store_send_small(store, demand->to, RZ_OVERLAY_PIECE_KEPT, piece->generation, piece->rank);
        break;
    case DEMAND_COPY:
        store_send_piece(store, piece, demand->to, TRANSFER_ANSWER);
        break;
    case DEMAND_SHARES:
        for (uint32_t n = rz_commit_keepers(store_commit(store), piece->rank, keepers), i = 0;
             i < n; i++) {
            store_send_piece(store, piece, keepers[i], TRANSFER_SHARES);
        }
        break;
    case DEMAND_BLOCK:
        store_begin_transfer(store, &(struct transfer){.kind = TRANSFER_BLOCK,
                                                       .rank = demand->block_rank,
                                                       .generation = demand->generation,
                                                       .to = demand->to,
                                                       .chunk = demand->chunk,
                                                       .attempt = demand->attempt});
        break;
    }
}

void store_fail(struct rz_store *store, const struct demand *demand)
{
    struct rz_overlay_block_gone gone = {.epoch = store->epoch,
                                         .generation = demand->generation,
                                         .rank = demand->block_rank,
                                         .chunk = demand->chunk,
                                         .attempt = demand->attempt};
    switch (demand->kind) {
    case DEMAND_USE: /* the received piece is damaged, too */
        store->getting[demand->rank] = 0;
        own_damaged(store, demand->rank, demand->generation);
        break;
    case DEMAND_RESTORE:
    case DEMAND_ANSWER:
    case DEMAND_SHARES:
        own_damaged(store, demand->rank, demand->generation);
        break;
    case DEMAND_KEEP:
    case DEMAND_COPY:
        store_send_small(store, demand->to, RZ_OVERLAY_PIECE_GONE, demand->generation,
                         demand->rank);
        if (store_is_own(store, demand->rank)) {
            own_damaged(store, demand->rank, demand->generation);
        }
        break;
    case DEMAND_BLOCK:
        if (demand->to == store->own->job.node) {
            store_on_block_gone(store, demand->to, &gone);
        } else {
            rz_overlay_send(
                store->config.overlay, demand->to,
                &(struct rz_overlay_message){.type = RZ_OVERLAY_BLOCK_GONE, .block_gone = gone});
        }
        if (demand->rank != RZ_ID_NONE && store_is_own(store, demand->rank)) {
            own_damaged(store, demand->rank, demand->generation);
        }
        break;
    }
}

/* The epoch is the first field of all these messages. */
static uint32_t epoch_of(const struct rz_overlay_message *message)
{
    switch (message->type) {
    case RZ_OVERLAY_PIECE:
        return message->piece.epoch;
    case RZ_OVERLAY_PIECE_KEPT:
        return message->piece_kept.epoch;
    case RZ_OVERLAY_GET_PIECE:
        return message->get_piece.epoch;
    case RZ_OVERLAY_CHANGES:
        return message->changes.epoch;
    case RZ_OVERLAY_SHARE:
        return message->share.epoch;
    case RZ_OVERLAY_GET_BLOCK:
        return message->get_block.epoch;
    case RZ_OVERLAY_BLOCK:
        return message->block.epoch;
    case RZ_OVERLAY_BLOCK_GONE:
        return message->block_gone.epoch;
    default:
        return message->piece_gone.epoch;
    }
}

static size_t data_of(const struct rz_overlay_message *message)
{
    return message->type == RZ_OVERLAY_PIECE     ? message->piece.data_length
           : message->type == RZ_OVERLAY_CHANGES ? message->changes.data_length
           : message->type == RZ_OVERLAY_SHARE   ? message->share.data_length
           : message->type == RZ_OVERLAY_BLOCK   ? message->block.data_length
                                                 : 0;
}

static void hold(struct rz_store *store, rz_id from, const struct rz_overlay_message *message)
{
    size_t max = 256 + data_of(message);
    struct held *held = malloc(sizeof(*held) + max);
    rz_need_memory(held, "for a message about checkpoint pieces");
    *held = (struct held){.from = from};
    held->bytes = rz_overlay_encode(message, held->data, max);
    rz_assert(held->bytes > 0);
    *store->last_held = held;
    store->last_held = &held->next;
}

static void on_store_message(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_store *store = arg;
    uint32_t epoch = epoch_of(message);
    if (epoch > store->epoch) {
        hold(store, from, message);
        return;
    }
    if (epoch < store->epoch || epoch == 0) {
        return;
    }
    switch (message->type) {
    case RZ_OVERLAY_PIECE:
        if (message->piece.rank < store->own->job.n_ranks && message->piece.generation > 0) {
            on_piece(store, from, &message->piece);
        }
        break;
    case RZ_OVERLAY_PIECE_KEPT:
        on_kept(store, from, &message->piece_kept);
        break;
    case RZ_OVERLAY_GET_PIECE:
        on_get_piece(store, from, &message->get_piece);
        break;
    case RZ_OVERLAY_CHANGES:
        store_on_changes(store, from, &message->changes);
        break;
    case RZ_OVERLAY_SHARE:
        store_on_share(store, from, &message->share);
        break;
    case RZ_OVERLAY_GET_BLOCK:
        store_on_get_block(store, from, &message->get_block);
        break;
    case RZ_OVERLAY_BLOCK:
        store_on_block(store, from, &message->block);
        break;
    case RZ_OVERLAY_BLOCK_GONE:
        store_on_block_gone(store, from, &message->block_gone);
        break;
    default:
        on_gone(store, from, &message->piece_gone);
    }
}

/* ---- epochs ---- */

static void release_held(struct rz_store *store)
{
    struct held *held = store->held;
    store->held = NULL;
    store->last_held = &store->held;
    while (held) {
        struct held *next = held->next;
        struct rz_overlay_message message;
        if (rz_overlay_decode(&message, held->data, held->bytes) == RZ_OK) {
            on_store_message(store, held->from, &message);
        }
        free(held);
        held = next;
    }
}

/* Nothing in memory is left to roll back to. Files may hold more, but only rzrun can tell which
 * generation is complete, while no process writes. */
static void begin_from_files(struct rz_store *store)
{
    const struct rz_daemon_job *job = &store->own->job;
    if (store->files && store->base > 0) {
        store_stop(store, RZ_ERR_CHECKPOINT_LOST,
                   "the checkpoints in memory are lost with the nodes that held them");
        return;
    }
    for (uint32_t rank = 0; rank < job->n_ranks; rank++) {
        if (rz_store_files_begins(store->files) &&
            rz_recover_daemon_of(store_recover(store), rank) == job->node) {
            rz_store_files_fetch(store->files, rank, 0);
        }
    }
}

static void file_came(void *arg, uint32_t rank, uint64_t generation, int fd, uint64_t bytes,
                      uint64_t hash)
{
    struct rz_store *store = arg;
    struct piece *piece = store_add(store, rank, generation, bytes, hash, fd);
    piece->have = bytes;
    piece->source = RZ_ID_NONE;
    piece->good = true; /* verified when it was read */
    store->getting[rank] = 0;
    if (generation > 0) {
        protect(store, piece);
    }
    answer_want(store, rank);
}

/* Drops what was in progress in the epoch before. */
static void forget_epoch(struct rz_store *store)
{
    uint32_t n_ranks = store->own->job.n_ranks;
    store_drop_transfers(store);
    store_drop_demands(store);
    store_drop_rebuilds(store);
    memset(store->tried, 0, n_ranks);
    memset(store->getting, 0, n_ranks);
    for (struct piece *piece = store->pieces; piece; piece = piece->next) {
        store_forget_hashes(piece);
        piece->good = false;
        piece->sent_again = 0;
    }
}

void rz_store_opened(struct rz_store *store)
{
    const struct rz_commit *commit = store_commit(store);
    memset(store->tried, 0, store->own->job.n_ranks);
    if (store->restoring > 0) {
        /* Otherwise the pieces of generation 0 may be from files. */
        drop(store, (struct unwanted){.rank = RZ_ID_NONE, .below = store->restoring});
    }
    store_keep_parities(store, rz_commit_layout(commit, RZ_COMMIT_NOW), 0);
}

void rz_store_restore(struct rz_store *store, uint32_t epoch, uint64_t generation)
{
    const struct rz_own_node *own = store->own;
    uint64_t base = rz_commit_next(store_commit(store)) - 1;
    const struct store_given_up what = store_given_up_by(store, generation, base);
    store->epoch = epoch;
    store->restoring = generation;
    store->base = base;
    rz_store_files_epoch(store->files, epoch, generation);
    forget_epoch(store);
    drop(store, generation ? (struct unwanted){.rank = RZ_ID_NONE, .other_than = generation}
                           : (struct unwanted){.everything = true});
    store_keep_parities(store, rz_commit_layout(store_commit(store), RZ_COMMIT_HOME),
                        generation ? generation : UINT64_MAX);
    for (uint32_t rank = 0; rank < own->job.n_ranks && generation > 0; rank++) {
        if (!store_is_own(store, rank)) {
            continue;
        }
        struct piece *piece = store_find(store, rank, generation);
        if (piece) {
            store_demand(
                store,
                &(struct demand){.kind = DEMAND_RESTORE, .rank = rank, .generation = generation});
        } else {
            store_get(store, rank);
        }
    }
    store_report_given_up(store, &what);
    bool images = own->job.flags & RZ_JOB_REWIND;
    if (generation == 0 && what.damaged && !images) {
        store_stop(store, RZ_ERR_CHECKPOINT_LOST,
                   "a piece of the newest checkpoint is damaged, and the one before it is lost");
    } else if (generation == 0) {
        begin_from_files(store);
    }
    for (uint32_t rank = 0; rank < own->job.n_ranks; rank++) {
        answer_want(store, rank);
    }
    release_held(store);
}

uint64_t rz_store_base(const struct rz_store *store)
{
    return store->base;
}

void rz_store_committed(struct rz_store *store, uint64_t generation)
{
    rz_store_files_committed(store->files, generation);
}

void rz_store_save(struct rz_store *store)
{
    rz_store_files_save(store->files);
}

uint64_t rz_store_bound(const struct rz_store *store, uint64_t upto)
{
    return rz_store_files_bound(store->files, upto);
}

uint64_t rz_store_bytes(const struct rz_store *store, uint64_t generation)
{
    uint64_t bytes = 0;
    for (const struct piece *piece = store->pieces; piece; piece = piece->next) {
        bool counts = piece->generation == generation && store_is_own(store, piece->rank);
        bytes += counts ? piece->bytes : 0;
    }
    return bytes;
}

uint64_t rz_store_number(const struct rz_store *store, uint64_t generation)
{
    return rz_store_files_number(store->files, generation);
}

/* ---- open and close ---- */

static rz_status_t open_store_parts(struct rz_store *store)
{
    uint32_t n_ranks = store->own->job.n_ranks;
    const struct rz_store_files_host host = {.arg = store, .came = file_came};
    store->wanting = calloc(n_ranks, sizeof(*store->wanting));
    store->tried = calloc(n_ranks, sizeof(*store->tried));
    store->getting = calloc(n_ranks, sizeof(*store->getting));
    if (!store->wanting || !store->tried || !store->getting) {
        return RZ_ERR_NO_MEMORY;
    }
    rz_status_t status = rz_loop_timer(store->own->base, &store->turn, store_turn, store);
    if (status == RZ_OK) {
        status = rz_loop_timer(store->own->base, &store->fenced, store_on_fenced, store);
    }
    return status == RZ_OK ? rz_store_files_open(&store->files, &store->config, &host) : status;
}

rz_status_t rz_store_open(struct rz_store **result, const struct rz_store_config *config)
{
    static const enum rz_overlay_type handled[] = {
        RZ_OVERLAY_PIECE,     RZ_OVERLAY_CHANGES,    RZ_OVERLAY_PIECE_KEPT,
        RZ_OVERLAY_GET_PIECE, RZ_OVERLAY_PIECE_GONE, RZ_OVERLAY_SHARE,
        RZ_OVERLAY_GET_BLOCK, RZ_OVERLAY_BLOCK,      RZ_OVERLAY_BLOCK_GONE};
    struct rz_store *store = calloc(1, sizeof(*store));
    if (!store) {
        return RZ_ERR_NO_MEMORY;
    }
    store->config = *config;
    store->own = config->own;
    store->last_transfer = &store->transfers;
    store->last_held = &store->held;
    rz_status_t status = open_store_parts(store);
    if (status != RZ_OK) {
        rz_store_close(store);
        return status;
    }
    for (size_t i = 0; i < sizeof(handled) / sizeof(*handled); i++) {
        rz_overlay_router_handle(config->overlay_router, handled[i], on_store_message, store);
    }
    store_handle_link(store);
    *result = store;
    return RZ_OK;
}

void rz_store_close(struct rz_store *store)
{
    if (!store) {
        return;
    }
    rz_store_files_close(store->files);
    store_drop_transfers(store);
    store_drop_demands(store);
    store_drop_rebuilds(store);
    store_drop_parities(store);
    rz_loop_free(store->turn);
    rz_loop_free(store->fenced);
    drop(store, (struct unwanted){.everything = true});
    while (store->held) {
        struct held *held = store->held;
        store->held = held->next;
        free(held);
    }
    free(store->wanting);
    free(store->tried);
    free(store->getting);
    free(store);
}
