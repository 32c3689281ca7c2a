/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An inbox as its owner and its senders share it:
 *
 *   page 0        the doorbell: single atomic words that many write
 *   heads         one cache line per lane, written by the owner: how far it has read
 *   lane 0, 1 ..  each: one page and a ring, written by the one process that sends through this
 * lane
 *
 * A ring holds records in whole cache lines. head and tail count bytes and never wrap. The first
 * word of a record is written last, by a release store: what is not 0 is the head of a whole
 * record, and behind the last record there is always a 0. So a reader that waits for a record gets
 * it with the cache line that it looks at, and a ring is never filled to its last line.
 *
 * A writer uses the first part of a ring alone, and skips the rest, until its records are long or
 * the reader is slow; then it uses all of it (shm_out.c).
 */
#ifndef RZ_NET_SHM_LAYOUT_H
#define RZ_NET_SHM_LAYOUT_H

#include "net/net.h"
#include "port/memory.h"

#include <rhizome/types.h>

#include <stdatomic.h>

enum {
    SHM_RING = 256 * 1024,      /* whole pages, also with the largest page size */
    SHM_RING_FIRST = 64 * 1024, /* so much of it is used and backed by pages at first */
    SHM_RING_LEAST = 40 * 1024, /* so much of it is enough: more than a reader leaves untold */
    SHM_GROWN_PEERS_MAX = 8,    /* rings of a process of which all is used */
    SHM_LINE = 64,
    SHM_USABLE = SHM_RING - SHM_LINE, /* bytes of records; the rest is for the 0 behind them */
    SHM_SLOTS = 64, /* payloads that one process can copy from another at a time: bits of a word */
    SHM_SLOTS_KEPT = 4,  /* of them, for payloads that were offered without one, then requested */
    SHM_PARKED = 0xffff, /* in place of a slot: the payload is on offer without one */
    SHM_EAGER_MAX = 8 * 1024,
    SHM_PIECE_MAX = 8 * 1024,
    SHM_EARLY_MAX = 4 * SHM_PIECE_MAX, /* of an offered payload, behind its offer */
    SHM_SHARE_MIN = 128 * 1024, /* fewer bytes are copied by the receiver alone (shm_share.c) */
    SHM_SHARE_PIECE = 128 * 1024,
    SHM_HEADER_USUAL = 48, /* bytes of the header that most messages have; others work as well */
};

struct shm_head {
    _Alignas(SHM_LINE) _Atomic uint64_t read;
};

/* An identity at a known place in a process's own memory, for another process that is about to copy
 * from it. */
struct shm_identity {
    uint64_t job;
    uint32_t job_token, rank, incarnation, zero;
};

struct shm_cell {
    _Alignas(SHM_LINE) _Atomic uint64_t stamp; /* written last */
    uint64_t bytes;
    unsigned char data[RZ_NET_CELL_BYTES];
};

struct shm_lane_page {
    _Alignas(SHM_LINE) _Atomic uint64_t tail;        /* for the writer alone, after a roll-back */
    _Alignas(SHM_LINE) _Atomic uint32_t waiting;     /* the sender sleeps until there is space */
    _Alignas(SHM_LINE) struct shm_identity identity; /* of the writer; valid once `opened` is set */
    _Atomic uint64_t identity_at; /* address of the same identity in its own memory */
    _Atomic uint32_t opened;
    _Alignas(SHM_LINE) _Atomic uint64_t
        offered[SHM_SLOTS]; /* the id of the payload on offer; 0: withdrawn */
    struct shm_cell cells[RZ_NET_CELLS];

    /* A payload that both sides copy (shm_share.c). Of its receiver, in the lane to the sender: */
    _Alignas(
        SHM_LINE) _Atomic uint64_t shared; /* its id, while the sender may begin to help; or 0 */
    _Atomic uint64_t low;                  /* the receiver has taken so many of the first pieces */
    /* Of its sender, in the lane to the receiver: */
    _Alignas(SHM_LINE) _Atomic uint64_t
        helping;             /* its id, while the sender may write to the receiver's memory; or 0 */
    _Atomic uint64_t helped; /* id of the last payload that `high` and `refused` are about */
    _Atomic uint64_t high;   /* the sender has taken the pieces from this one on */
    _Atomic uint64_t refused; /* not 0: it could not write one of them */
};

enum shm_kind {
    SHM_EAGER = 1, /* header, payload */
    SHM_OFFER, /* header, struct shm_offer: the payload stays in the sender's memory until DONE */
    SHM_DONE,  /* struct shm_reply: the payload was copied, or is not needed */
    SHM_ASK,   /* struct shm_reply: send the first `bytes` of the payload in pieces; this ends the
                  offer; or, if `slots` is set, give the payload a slot */
    SHM_SLOT,  /* struct shm_reply: the payload has this slot now */
    SHM_PIECE, /* struct shm_piece, bytes of the payload, in order */
    SHM_EARLY, /* the same, of the payload that was offered last, which stays on offer */
    SHM_HELP,  /* struct shm_help: the receiver copies the payload; the sender may help */
    SHM_SKIP,  /* nothing: the next record is at the begin of the ring */
};

/* The head of a record, one word; then follow the user's header and the body. */
struct shm_record {
    uint8_t kind, header_bytes;
    uint16_t zero;
    uint32_t body_bytes;
};

struct shm_offer {
    uint64_t id, bytes, at;
    uint32_t slot;
    uint32_t early; /* so many of the first bytes follow at once */
};

struct shm_reply {
    uint64_t id, bytes;
    uint32_t slot;
    uint32_t slots; /* ASK: 1: the receiver would copy a payload that has a slot */
};

struct shm_piece {
    uint64_t id, offset;
};

struct shm_help {
    uint64_t id, offset, bytes; /* the part of the payload that is copied */
    uint64_t at;                /* where it goes, in the receiver's memory */
    uint32_t slot, zero;
};

/* Where the head of the record at this position is. */
static inline _Atomic uint64_t *shm_record_word(const unsigned char *ring, uint64_t position)
{
    return (_Atomic uint64_t *)(uintptr_t)(ring + position % SHM_RING);
}

/* A body that does not fit behind the header into the same line begins with a line of its own. */
static inline size_t shm_body_offset(uint32_t header_bytes, size_t body_bytes)
{
    size_t behind = sizeof(struct shm_record) + ((header_bytes + 7u) & ~7u);
    return behind + body_bytes <= SHM_LINE ? behind
                                           : (behind + SHM_LINE - 1) & ~(size_t)(SHM_LINE - 1);
}

/* Bytes of the ring that a record takes. */
static inline size_t shm_record_bytes(uint32_t header_bytes, size_t body_bytes)
{
    return (shm_body_offset(header_bytes, body_bytes) + body_bytes + SHM_LINE - 1) &
           ~(size_t)(SHM_LINE - 1);
}

/* Pages are mapped one by one, so this is the machine's page size. */
static inline size_t shm_page_bytes(void)
{
    return rz_memory_page_bytes();
}

static inline size_t shm_lane_bytes(void)
{
    return shm_page_bytes() + SHM_RING;
}

/* Of a ring that has not grown. */
static inline size_t shm_lane_first_bytes(void)
{
    return shm_page_bytes() + SHM_RING_FIRST;
}

static inline size_t shm_heads_bytes(uint32_t lanes_max)
{
    size_t page = shm_page_bytes();
    return ((size_t)lanes_max * sizeof(struct shm_head) + page - 1) & ~(page - 1);
}

static inline size_t shm_lane_offset(uint32_t lane, uint32_t lanes_max)
{
    return shm_page_bytes() + shm_heads_bytes(lanes_max) + lane * shm_lane_bytes();
}

#endif
