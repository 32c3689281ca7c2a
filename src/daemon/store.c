#include "daemon/store_private.h"

#include "base/assert.h"
#include "ckpt/piece.h"
#include "port/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES (256u << 10)

/* The checkpoint piece of one rank in one generation. */
struct piece {
    struct piece *next;
    uint32_t rank;
    uint64_t generation, bytes, hash;
    uint64_t have;     /* bytes that have come so far; == bytes: whole */
    rz_id kept_by;     /* the buddy that has acknowledged a copy, or RZ_ID_NONE */
    rz_id source;      /* the node it came from, for the record */
    bool wanted_by_us; /* it comes as an answer to GET_PIECE */
    int fd;
};

/* A piece on its way to another daemon. */
struct transfer {
    struct transfer *next;
    uint32_t rank;
    uint64_t generation, offset;
    rz_id to;
    bool answer;
};

/* A message about an epoch that we have not entered yet; dealt with when we have. */
struct held {
    struct held *next;
    rz_id from;
    size_t bytes;
    uint8_t data[];
};

struct rz_store {
    struct rz_recovery *recovery;
    uint32_t epoch;     /* whose RESTORE has come */
    uint64_t restoring; /* its generation, 0: none */
    uint64_t base;      /* the first checkpoint of this epoch is generation base + 1 */
    struct piece *pieces;
    struct transfer *transfers, **last_transfer;
    struct held *held, **last_held;
    uint32_t *wanting; /* [n_ranks]: epoch in which the process of rank waits for its piece, 0: it
                          does not */
    uint8_t chunk[CHUNK_BYTES];
};

static bool whole(const struct piece *piece)
{
    return piece->have == piece->bytes;
}

static struct piece *find(struct rz_store *store, uint32_t rank, uint64_t generation)
{
    for (struct piece *piece = store->pieces; piece; piece = piece->next)
        if (piece->rank == rank && piece->generation == generation)
            return piece;
    return NULL;
}

/* Which pieces to drop. */
struct unwanted {
    uint32_t rank;       /* of this rank, or of all (RZ_ID_NONE) */
    uint64_t below;      /* generations below this one */
    uint64_t same;       /* and this one */
    uint64_t other_than; /* not 0: all generations but this one, and all that are incomplete */
    bool everything;
};

static bool is_unwanted(const struct piece *piece, const struct unwanted *unwanted)
{
    if (unwanted->everything)
        return true;
    if (unwanted->rank != RZ_ID_NONE && piece->rank != unwanted->rank)
        return false;
    if (unwanted->other_than)
        return piece->generation != unwanted->other_than || !whole(piece);
    return piece->generation < unwanted->below || piece->generation == unwanted->same;
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
        close(piece->fd);
        free(piece);
    }
}

/*
 * A new piece takes the place of the one before the previous, but of none that a recovery may still
 * choose: one that is being agreed on may go back to a generation older than the newest committed
 * one.
 */
static struct piece *add(struct rz_store *store, uint32_t rank, uint64_t generation, uint64_t bytes,
                         uint64_t hash, int fd)
{
    uint64_t floor = rz_recover_generation_floor(store->recovery->recover.hosted.state);
    drop(store, (struct unwanted){.rank = rank,
                                  .below = floor < generation - 1 ? floor : generation - 1,
                                  .same = generation});
    struct piece *piece = calloc(1, sizeof *piece);
    rz_assert(piece != NULL);
    *piece = (struct piece){.next = store->pieces,
                            .rank = rank,
                            .generation = generation,
                            .bytes = bytes,
                            .hash = hash,
                            .kept_by = RZ_ID_NONE,
                            .source = store->recovery->daemon->job.node,
                            .fd = fd};
    store->pieces = piece;
    return piece;
}

/* ---- sending */

/* The next chunk of a transfer; false when it is finished or void. */
static bool send_chunk(struct rz_store *store, struct transfer *transfer)
{
    struct piece *piece = find(store, transfer->rank, transfer->generation);
    if (!piece || !whole(piece))
        return false;
    uint64_t rest = piece->bytes - transfer->offset;
    size_t n = rest < CHUNK_BYTES ? (size_t)rest : CHUNK_BYTES;
    if (n > 0 && pread(piece->fd, store->chunk, n, (off_t)transfer->offset) != (ssize_t)n)
        return false;
    struct rz_overlay_message message = {.type = RZ_OVERLAY_PIECE,
                                         .piece = {.epoch = store->epoch,
                                                   .generation = piece->generation,
                                                   .rank = piece->rank,
                                                   .total = piece->bytes,
                                                   .offset = transfer->offset,
                                                   .hash = piece->hash,
                                                   .answer = transfer->answer,
                                                   .data = store->chunk,
                                                   .data_length = (uint32_t)n}};
    rz_overlay_send(store->recovery->daemon->overlay, transfer->to, &message);
    transfer->offset += n;
    return transfer->offset < piece->bytes;
}

static void find_last_transfer(struct rz_store *store)
{
    for (store->last_transfer = &store->transfers; *store->last_transfer;)
        store->last_transfer = &(*store->last_transfer)->next;
}

void rz_store_writable(struct rz_store *store, rz_id peer)
{
    struct transfer **link = &store->transfers;
    while (*link &&
           rz_overlay_queued(store->recovery->daemon->overlay, peer) < 2 * RZ_OVERLAY_QUEUE_LOW) {
        struct transfer *transfer = *link;
        if (transfer->to != peer || send_chunk(store, transfer)) {
            if (transfer->to != peer)
                link = &transfer->next;
            continue;
        }
        *link = transfer->next;
        free(transfer);
    }
    find_last_transfer(store);
}

static void begin_transfer(struct rz_store *store, const struct piece *piece, rz_id to, bool answer)
{
    struct transfer *transfer = calloc(1, sizeof *transfer);
    rz_assert(transfer != NULL);
    *transfer = (struct transfer){
        .rank = piece->rank, .generation = piece->generation, .to = to, .answer = answer};
    *store->last_transfer = transfer;
    store->last_transfer = &transfer->next;
    rz_store_writable(store, to);
}

static void drop_transfers(struct rz_store *store)
{
    while (store->transfers) {
        struct transfer *transfer = store->transfers;
        store->transfers = transfer->next;
        free(transfer);
    }
    store->last_transfer = &store->transfers;
}

static void send_small(struct rz_store *store, rz_id to, enum rz_overlay_type type,
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
    rz_overlay_send(store->recovery->daemon->overlay, to, &message);
}

/* ---- pieces of our own ranks */

static void tell_commit(struct rz_store *store, enum rz_commit_call call, uint64_t generation,
                        uint32_t rank)
{
    rz_core_call(&store->recovery->commit, call, store->epoch, generation, rank, NULL, 0);
}

/* An own rank's piece lies here, whole: make sure that its buddy has it, too. */
static void protect(struct rz_store *store, struct piece *piece)
{
    rz_id buddy = rz_commit_buddy_of(store->recovery->commit.hosted.state, piece->rank);
    tell_commit(store, RZ_COMMIT_STORED, piece->generation, piece->rank);
    if (buddy == RZ_ID_NONE)
        return;
    if (piece->kept_by == buddy)
        tell_commit(store, RZ_COMMIT_COPIED, piece->generation, piece->rank);
    else
        begin_transfer(store, piece, buddy, false);
}

static void answer_want(struct rz_store *store, uint32_t rank)
{
    struct rz_link_message message = {.type = RZ_LINK_PIECE,
                                      .piece = {.epoch = store->epoch, .base = store->base}};
    struct piece *piece = store->restoring ? find(store, rank, store->restoring) : NULL;
    if (store->wanting[rank] != store->epoch || (store->restoring && (!piece || !whole(piece))))
        return;
    store->wanting[rank] = 0;
    if (piece) {
        message.piece.generation = piece->generation;
        message.piece.bytes = piece->bytes;
        message.piece.hash = piece->hash;
        message.piece.source_node = piece->source;
    }
    rz_daemon_link_send(store->recovery->daemon, rank, &message, piece ? piece->fd : -1);
}

/* A process stores a generation once, and the next one only when all have committed it. */
static bool may_store(struct rz_store *store, uint32_t rank, uint64_t number)
{
    uint64_t next = rz_commit_next(store->recovery->commit.hosted.state);
    return next - store->base == number && !find(store, rank, next);
}

bool rz_store_piece(struct rz_recovery *recovery, uint32_t rank, const struct rz_link_store *told,
                    int fd)
{
    struct rz_store *store = recovery->store;
    if (told->epoch != store->epoch || told->epoch != recovery->epoch || recovery->ending) {
        close(fd);
        return true;
    }
    if (!may_store(store, rank, told->number) || !rz_memory_holds(fd, told->bytes)) {
        close(fd);
        return false;
    }
    struct piece *piece = add(store, rank, store->base + told->number, told->bytes, told->hash, fd);
    piece->have = piece->bytes;
    protect(store, piece);
    return true;
}

void rz_store_want(struct rz_recovery *recovery, uint32_t rank, uint32_t epoch)
{
    struct rz_store *store = recovery->store;
    store->wanting[rank] = epoch;
    if (epoch == store->epoch)
        answer_want(store, rank);
}

/* ---- pieces from other daemons */

static bool intact(const struct piece *piece)
{
    void *at;
    if (piece->bytes == 0)
        return true;
    if (rz_memory_map(piece->fd, piece->bytes, false, &at, NULL) != RZ_OK)
        return false;
    bool same = rz_piece_hash(at, piece->bytes) == piece->hash;
    rz_memory_unmap(at, piece->bytes);
    return same;
}

/* A node that cannot keep what the others rely on is worth less than none: they go on without it.
 */
static void give_up(struct rz_store *store, const char *words)
{
    store->recovery->hooks->stop(store->recovery->daemon, RZ_ERR_NO_MEMORY, words);
}

static void finished(struct rz_store *store, struct piece *piece, rz_id from)
{
    if (!intact(piece)) {
        give_up(store, "a checkpoint piece arrived damaged");
        return;
    }
    if (piece->wanted_by_us) {
        protect(store, piece);
        answer_want(store, piece->rank);
    } else {
        send_small(store, from, RZ_OVERLAY_PIECE_KEPT, piece->generation, piece->rank);
    }
}

static void on_piece(struct rz_store *store, rz_id from, const struct rz_overlay_piece *told)
{
    struct piece *piece = find(store, told->rank, told->generation);
    if (told->generation > 1)
        tell_commit(store, RZ_COMMIT_PROOF, told->generation - 1, told->rank);
    if (piece && whole(piece) && told->offset == 0 && piece->hash == told->hash &&
        piece->bytes == told->total) {
        send_small(store, from, RZ_OVERLAY_PIECE_KEPT, piece->generation,
                   piece->rank); /* we have it already */
        return;
    }
    if (!piece && told->offset != 0)
        return; /* the rest of one that we could not keep */
    if (!piece || (told->offset == 0 && !piece->wanted_by_us)) {
        int fd = -1;
        size_t bytes = told->total ? told->total : 1;
        if (rz_memory_create("rz-piece", bytes, &fd) != RZ_OK ||
            rz_memory_reserve(fd, 0, bytes) != RZ_OK) {
            if (fd >= 0)
                close(fd);
            give_up(store, "no memory for a copy of a checkpoint piece");
            return;
        }
        piece = add(store, told->rank, told->generation, told->total, told->hash, fd);
        piece->source = from;
        piece->wanted_by_us = told->answer;
    }
    if (whole(piece) || told->total != piece->bytes || told->offset != piece->have ||
        told->data_length > piece->bytes - piece->have)
        return;
    if (pwrite(piece->fd, told->data, told->data_length, (off_t)told->offset) !=
        (ssize_t)told->data_length)
        return;
    piece->have += told->data_length;
    if (whole(piece))
        finished(store, piece, from);
}

static void on_get(struct rz_store *store, rz_id from, const struct rz_overlay_get_piece *told)
{
    struct piece *piece = find(store, told->rank, told->generation);
    if (piece && whole(piece))
        begin_transfer(store, piece, from, true);
    else
        send_small(store, from, RZ_OVERLAY_PIECE_GONE, told->generation, told->rank);
}

static void on_kept(struct rz_store *store, rz_id from, const struct rz_overlay_piece_kept *told)
{
    struct piece *piece = find(store, told->rank, told->generation);
    if (!piece || !whole(piece))
        return;
    piece->kept_by = from;
    if (rz_commit_buddy_of(store->recovery->commit.hosted.state, told->rank) == from)
        tell_commit(store, RZ_COMMIT_COPIED, told->generation, told->rank);
}

/* The rules of commit say that this cannot be; better to end than to wait for ever. */
static void missing(struct rz_store *store)
{
    store->recovery->hooks->stop(
        store->recovery->daemon, RZ_ERR_JOB_ENDED,
        "a checkpoint piece that should exist is gone; this is a defect of Rhizome");
}

static void on_gone(struct rz_store *store, rz_id from)
{
    if (!rz_recovery_node_dead(store->recovery, from))
        missing(store);
}

static uint32_t epoch_of(const struct rz_overlay_message *message)
{
    switch (message->type) {
    case RZ_OVERLAY_PIECE:
        return message->piece.epoch;
    case RZ_OVERLAY_PIECE_KEPT:
        return message->piece_kept.epoch;
    case RZ_OVERLAY_GET_PIECE:
        return message->get_piece.epoch;
    default:
        return message->piece_gone.epoch;
    }
}

static void hold(struct rz_store *store, rz_id from, const struct rz_overlay_message *message)
{
    size_t max = 256 + (message->type == RZ_OVERLAY_PIECE ? message->piece.data_length : 0);
    struct held *held = malloc(sizeof *held + max);
    rz_assert(held != NULL);
    *held = (struct held){.from = from};
    held->bytes = rz_overlay_encode(message, held->data, max);
    rz_assert(held->bytes > 0);
    *store->last_held = held;
    store->last_held = &held->next;
}

void rz_store_message(struct rz_store *store, rz_id from, const struct rz_overlay_message *message)
{
    uint32_t epoch = epoch_of(message);
    if (epoch > store->epoch) {
        hold(store, from, message);
        return;
    }
    if (epoch < store->epoch || epoch == 0)
        return;
    switch (message->type) {
    case RZ_OVERLAY_PIECE:
        if (message->piece.rank < store->recovery->daemon->job.n_ranks &&
            message->piece.generation > 0)
            on_piece(store, from, &message->piece);
        break;
    case RZ_OVERLAY_PIECE_KEPT:
        on_kept(store, from, &message->piece_kept);
        break;
    case RZ_OVERLAY_GET_PIECE:
        on_get(store, from, &message->get_piece);
        break;
    default:
        on_gone(store, from);
    }
}

/* ---- epochs */

static void release_held(struct rz_store *store)
{
    struct held *held = store->held;
    store->held = NULL;
    store->last_held = &store->held;
    while (held) {
        struct held *next = held->next;
        struct rz_overlay_message message;
        if (rz_overlay_decode(&message, held->data, held->bytes) == RZ_OK)
            rz_store_message(store, held->from, &message);
        free(held);
        held = next;
    }
}

void rz_store_restore(struct rz_store *store, uint32_t epoch, uint64_t generation)
{
    struct rz_recovery *recovery = store->recovery;
    struct rz_daemon *daemon = recovery->daemon;
    store->epoch = epoch;
    store->restoring = generation;
    store->base = rz_commit_next(recovery->commit.hosted.state) - 1;
    drop_transfers(store);
    drop(store, generation ? (struct unwanted){.rank = RZ_ID_NONE, .other_than = generation}
                           : (struct unwanted){.everything = true});
    for (uint32_t rank = 0; rank < daemon->job.n_ranks && generation > 0; rank++) {
        if (rz_recover_daemon_of(recovery->recover.hosted.state, rank) != daemon->job.node)
            continue;
        struct piece *piece = find(store, rank, generation);
        rz_id holder = rz_commit_holder_of(recovery->commit.hosted.state, rank);
        if (piece)
            protect(store, piece);
        else if (holder != RZ_ID_NONE && holder != daemon->job.node)
            send_small(store, holder, RZ_OVERLAY_GET_PIECE, generation, rank);
        else
            missing(store);
    }
    for (uint32_t rank = 0; rank < daemon->job.n_ranks; rank++)
        answer_want(store, rank);
    release_held(store);
}

uint64_t rz_store_base(const struct rz_store *store)
{
    return store->base;
}

void rz_store_peer_died(struct rz_store *store, rz_id peer)
{
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

rz_status_t rz_store_open(struct rz_store **result, struct rz_recovery *recovery)
{
    struct rz_store *store = calloc(1, sizeof *store);
    if (!store)
        return RZ_ERR_NO_MEMORY;
    store->recovery = recovery;
    store->last_transfer = &store->transfers;
    store->last_held = &store->held;
    store->wanting = calloc(recovery->daemon->job.n_ranks, sizeof *store->wanting);
    if (!store->wanting) {
        free(store);
        return RZ_ERR_NO_MEMORY;
    }
    *result = store;
    return RZ_OK;
}

void rz_store_close(struct rz_store *store)
{
    drop_transfers(store);
    drop(store, (struct unwanted){.everything = true});
    while (store->held) {
        struct held *held = store->held;
        store->held = held->next;
        free(held);
    }
    free(store->wanting);
    free(store);
}
