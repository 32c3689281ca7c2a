/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the store share; no other file includes this. store.c keeps pieces and knows
 * where to get one; store_send.c sends; store_changes.c sends and receives the changed pages of a
 * piece; store_check.c verifies the checksum of a piece; store_room.c knows whether there is
 * memory for one; store_parity.c keeps parities for other daemons and sends blocks; store_rebuild.c
 * makes a lost piece from blocks; store_given_up.c says what can no longer be restored.
 */
#ifndef RZ_DAEMON_STORE_PRIVATE_H
#define RZ_DAEMON_STORE_PRIVATE_H

#include "daemon/store/store_config.h"
#include "daemon/store/store_files.h"

#include <event2/event.h>

#define RZ_STORE_CHUNK_BYTES (256u << 10)

struct rz_page_hash;
struct rz_pages_sum;

/* For an own piece: which pages are as they were in the piece of generation base. */
struct store_changes {
    uint64_t base, base_hash;
    rz_id kept_by; /* the daemon that keeps the piece of generation base */
    uint8_t bitmap[];
};

/* The checkpoint piece of one rank in one generation. */
struct piece {
    struct piece *next;
    uint32_t rank;
    uint64_t generation, bytes, hash;
    uint64_t have;                 /* bytes received so far; == bytes: the piece is complete */
    rz_id kept_by;                 /* the buddy that has acknowledged a copy, or RZ_ID_NONE */
    rz_id source;                  /* the node that sent it, for the record */
    bool wanted_by_us;             /* it is an answer to GET_PIECE */
    bool by_changes;               /* it is received as changes to an older one */
    struct store_changes *changes; /* NULL: its buddy needs all of it */
    uint8_t sent_again;            /* how often a keeper found a copy damaged */
    bool good;                     /* its checksum was verified in this epoch */
    /* The hashes of the first n_hashes pages, as they were read or received in this epoch. Those of
     * a verified copy are kept: the next one may be made from it. */
    struct rz_page_hash *hashes; /* NULL: they are not kept */
    size_t n_hashes;
    struct rz_pages_sum *sum; /* of these, while the piece is read; else NULL */
    int fd;
};

enum transfer_kind {
    TRANSFER_COPY,    /* the whole piece, to be kept */
    TRANSFER_CHANGES, /* the changed pages, to a daemon that keeps an older piece */
    TRANSFER_ANSWER,  /* the whole piece, as an answer */
    TRANSFER_SHARES,  /* the chunks of an own piece that belong to the parities of `to` */
    TRANSFER_BLOCK    /* our block of the stripe of a chunk of rank's piece */
};

/* Bytes that are being sent to another daemon. */
struct transfer {
    struct transfer *next;
    enum transfer_kind kind;
    uint32_t rank;
    uint64_t generation, offset;
    rz_id to;
    uint32_t chunk, attempt; /* BLOCK; SHARES: the chunk being sent */
};

/* What is to be done with a piece when it was verified. */
enum demand_kind {
    DEMAND_USE,     /* it was received for an own rank: protect it, give it to the process */
    DEMAND_RESTORE, /* it was here when the epoch rolled back to it: the same */
    DEMAND_ANSWER,  /* give it to the process of the rank */
    DEMAND_KEEP,    /* a copy for `to`: say that it is kept */
    DEMAND_COPY,    /* send it to `to`, which asked for it */
    DEMAND_SHARES,  /* send it to all its keepers */
    DEMAND_BLOCK    /* send our block, made from it, to `to` */
};

struct demand {
    struct demand *next;
    enum demand_kind kind;
    uint32_t rank; /* the piece to be verified */
    uint64_t generation;
    rz_id to;
    uint32_t block_rank, chunk, attempt; /* BLOCK: the chunk whose stripe the block belongs to */
};

/* A message of an epoch that this daemon has not entered yet; handled when it has. */
struct held {
    struct held *next;
    rz_id from;
    size_t bytes;
    uint8_t data[];
};

struct parity;
struct rebuild;

struct rz_store {
    struct rz_store_config config;
    const struct rz_own_node *own; /* copied from config */
    struct rz_store_files *files;  /* NULL: there are no checkpoint files */
    uint32_t epoch;                /* the epoch of the last RESTORE */
    uint64_t restoring;            /* its generation; 0: none */
    uint32_t unrestored_epoch;     /* the newest in which a process here could not be restored */
    uint64_t base;                 /* the first checkpoint of this epoch is generation base + 1 */
    struct piece *pieces;
    struct transfer *transfers, **last_transfer;
    struct held *held, **last_held;
    /* [n_ranks]: the epoch in which the process of rank waits for its piece; 0: it does not
     * wait. */
    uint32_t *wanting;
    uint8_t *getting; /* [n_ranks]: 1 while the piece is fetched, or made from blocks */
    uint8_t *tried;   /* [n_ranks]: how many holders were asked for the piece in this epoch */
    struct demand *demands;
    struct event *turn;   /* verifies pieces, a slice at a time */
    struct event *fenced; /* gives pieces that had to wait for processes of excluded nodes */
    struct parity *parities;
    struct rebuild *rebuilds;
    uint8_t chunk[RZ_STORE_CHUNK_BYTES];
};

static inline const struct rz_commit *store_commit(const struct rz_store *store)
{
    return store->config.commit->embedded.state;
}

static inline const struct rz_recover *store_recover(const struct rz_store *store)
{
    return store->config.recover->embedded.state;
}

static inline void store_stop(const struct rz_store *store, rz_status_t why, const char *words)
{
    store->config.stop(store->config.arg, why, words);
}

static inline bool store_in_groups(const struct rz_store *store)
{
    enum rz_scheme_kind kind = store->own->job.scheme.kind;
    return kind == RZ_SCHEME_XOR || kind == RZ_SCHEME_RS;
}

static inline bool store_whole(const struct piece *piece)
{
    return piece->have == piece->bytes;
}

/* ---- store_link.c ---- */

void store_handle_link(struct rz_store *store);

/* ---- store_send.c ---- */

/* Sends PIECE_KEPT, GET_PIECE or PIECE_GONE. */
void store_send_small(struct rz_store *store, rz_id to, enum rz_overlay_type type,
                      uint64_t generation, uint32_t rank);
/* Begins a copy of the transfer. A transfer to this daemon itself is carried out at once. */
void store_begin_transfer(struct rz_store *store, const struct transfer *transfer);
void store_send_piece(struct rz_store *store, const struct piece *piece, rz_id to,
                      enum transfer_kind kind);
void store_drop_transfers(struct rz_store *store);

/* ---- store.c ---- */

/*
 * STORE of a process of this node: its piece of the next generation is complete in fd (taken over).
 * Old epochs are ignored. False: the process has broken the protocol: it is not the next
 * generation, was stored already, or fd holds fewer bytes than the message says.
 */
bool store_piece(struct rz_store *store, uint32_t rank, const struct rz_link_store *told, int fd);

/* WANT_PIECE: PIECE answers it, at once or when the piece has arrived. */
void store_want(struct rz_store *store, uint32_t rank, uint32_t epoch);

/* The queue to a peer has room again: continues to send. */
void rz_store_writable(struct rz_store *store, rz_id peer);

struct piece *store_find(struct rz_store *store, uint32_t rank, uint64_t generation);
struct piece *store_add(struct rz_store *store, uint32_t rank, uint64_t generation, uint64_t bytes,
                        uint64_t hash, int fd);
void store_drop_piece(struct rz_store *store, struct piece *piece);
bool store_is_own(const struct rz_store *store, uint32_t rank);
void store_tell_commit(struct rz_store *store, enum rz_commit_call call, uint64_t generation,
                       uint32_t rank, rz_id keeper);

/* The piece of an own rank, of the generation to restore, is not here or is damaged: gets it from a
 * holder; a repeated call gets it from the next one. */
void store_get(struct rz_store *store, uint32_t rank);

/* Whether a failure is known that is not agreed on yet: what is lost now will be found again in the
 * next epoch. */
bool store_another_epoch_comes(const struct rz_store *store);

/* Carries out a demand: the piece is good. If it is damaged, it is dropped when this returns. */
void store_meet(struct rz_store *store, struct piece *piece, const struct demand *demand);
void store_fail(struct rz_store *store, const struct demand *demand);

/* ---- store_given_up.c ---- */

/* Whether what is missing of the generation to restore was overwritten, not damaged: all fall back
 * to the images before, and a process uses the memory of that image again as soon as the newest one
 * is committed (mpi/rewind/image_keep.c). */
bool store_was_reused(const struct rz_store *store);

/* No holder has the piece: the job cannot go on, and says why. */
void store_lost(struct rz_store *store, uint32_t rank, uint64_t generation, const char *what);
/* A new piece of an own rank cannot be kept: the process that wrote it ends, and the others roll
 * back to the generation before. Without that process, which has failed then, they do anyway. */
void store_end_writer(struct rz_store *store, uint32_t rank, uint64_t generation, const char *what);

/* This node cannot keep what the others rely on: it stops, and the others go on without it. */
void store_give_up(struct rz_store *store, const char *words);

/* What an epoch no longer restores. */
struct store_given_up {
    bool damaged; /* the newest generation, or all: a piece of it is of no use */
    bool lost;    /* all of them, now, for whatever reason */
};

/* What the epoch gives up that restores `generation` and continues with base + 1; before it has
 * begun. */
struct store_given_up store_given_up_by(const struct rz_store *store, uint64_t generation,
                                        uint64_t base);

/* The same when it has begun: one daemon tells the users, each writes its record. */
void store_report_given_up(const struct rz_store *store, const struct store_given_up *what);

/* ---- store_check.c ---- */

/* Carries out the demand at once if its piece is known to be good, else when the piece was
 * verified. */
void store_demand(struct rz_store *store, const struct demand *demand);

/* Forgets the hashes of the pages: all of the piece is to be read. */
void store_forget_hashes(struct piece *piece);
void store_drop_demands(struct rz_store *store);
void store_turn(evutil_socket_t fd, short what, void *arg);

/* ---- store_room.c ---- */

/* Whether there is memory for the rest of a piece, of which `offset` bytes are here. */
bool store_has_room(const struct rz_store *store, uint64_t offset, uint64_t rest);

/* This node has no memory for the piece that `owner` sends: the process that has made it ends. */
void store_tell_no_room(struct rz_store *store, rz_id owner, uint64_t generation, uint32_t rank);
/* There is none for a piece that comes: one that this node is to restore must have it; of another
 * one the process is to blame. */
void store_refuse_piece(struct rz_store *store, rz_id from, const struct rz_overlay_piece *told);
/* `keeper` says so of a piece of an own rank. */
void store_on_no_room(struct rz_store *store, rz_id keeper, const struct piece *piece);

/* ---- store_changes.c ---- */

/* What a STORE says of pages that are as in an older piece. NULL: nothing, or no daemon keeps that
 * piece. To be called before store_add, which drops the older piece. */
struct store_changes *store_changes_of(struct rz_store *store, uint32_t rank,
                                       const struct rz_link_store *told, int fd);

/* Whether the keeper can be sent changes instead of the whole piece. */
bool store_changes_serve(const struct piece *piece, rz_id keeper);

/* Sends the next part. False: the transfer is finished, or no longer valid. */
bool store_send_changes(struct rz_store *store, struct transfer *transfer);
void store_on_changes(struct rz_store *store, rz_id from, const struct rz_overlay_changes *told);

/* ---- store_parity.c: with groups ---- */

/* Sends the next part of a transfer of shares or of a block. False: it is finished, or no longer
 * valid. */
bool store_send_share(struct rz_store *store, struct transfer *transfer);
bool store_send_block(struct rz_store *store, struct transfer *transfer);

void store_on_share(struct rz_store *store, rz_id from, const struct rz_overlay_share *told);
void store_on_get_block(struct rz_store *store, rz_id from,
                        const struct rz_overlay_get_block *told);

/* Keeps only the parities of this layout and of this generation and the one before it; 0: of any
 * generation. */
void store_keep_parities(struct rz_store *store, uint32_t layout, uint64_t generation);
void store_drop_parities(struct rz_store *store);

/* The length of the chunks into which a piece of `bytes` bytes is cut, `data` of them; the last
 * ones may be shorter. */
uint64_t store_chunk_bytes(uint64_t bytes, uint32_t data);
uint64_t store_chunk_length(uint64_t bytes, uint32_t data, uint32_t chunk);

/* ---- store_rebuild.c ---- */

/* The first call for a rank begins to rebuild its piece; a further call says that the result is
 * wrong. */
void store_rebuild(struct rz_store *store, uint32_t rank);
/* The rebuilt piece is right. */
void store_rebuilt(struct rz_store *store, uint32_t rank);
void store_on_block(struct rz_store *store, rz_id from, const struct rz_overlay_block *told);
void store_on_block_gone(struct rz_store *store, rz_id from,
                         const struct rz_overlay_block_gone *told);
void store_drop_rebuilds(struct rz_store *store);

#endif
