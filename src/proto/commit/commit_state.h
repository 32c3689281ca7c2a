/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a commit object; private to the component. */
#ifndef RZ_PROTO_COMMIT_STATE_H
#define RZ_PROTO_COMMIT_STATE_H

#include "proto/agree/agree.h"
#include "proto/commit/commit.h"

enum {
    FAILED_KNOWN = 1, /* failed as far as this member knows */
    FAILED_AGREED = 2 /* failed by decision, in the list of the current epoch */
};

/* Pending notices, reported in this order. */
enum { GIVE_RESTORE = 1, GIVE_PROTECTED = 2, GIVE_COMMITTED = 4 };

/* See enum rz_commit_when. */
struct rz_commit_layout {
    uint32_t since;  /* 0: none */
    uint32_t n_live; /* daemons */
    size_t owner_at; /* rz_id [n_ranks] */
    size_t row_at;   /* uint32_t [n_ranks] */
    size_t live_at;  /* rz_id [n_daemons]: the first n_live, in order */
    size_t index_at; /* uint32_t [n_daemons]: in live, or RZ_ID_NONE */
};

/* One flat block: this, the arrays at the offsets, the agree object last, so that it may grow. */
struct rz_commit {
    uint32_t n_daemons, n_ranks, view, agree_mutations, mutations;
    uint32_t scheme, data, parity;
    rz_id self;
    uint64_t seed;

    uint32_t epoch;      /* 0: none yet */
    uint32_t written_in; /* the epoch in which base was written */
    uint64_t base;       /* newest committed generation that the epoch began with */
    uint64_t newest;     /* >= base: also as far as this member knows */
    bool lost;           /* base cannot be restored, or does not exist */
    bool fell_back; /* base is not the newest generation, and the barrier has not opened since */
    bool opened;    /* the barrier of the epoch */
    bool closed;    /* a decision without a commit: this epoch has no further commit */
    bool protected_told;

    /* Work for CONTINUE: the rest of agree's work, the failures to report to the new agree object,
     * notices, the next contribution. */
    bool agree_more, tell_failed;
    uint32_t give;

    struct rz_commit_layout home, now;
    uint64_t home_base; /* base, lost, written_in and epoch when the barrier of home opened */
    bool home_lost;
    uint32_t home_written_in, home_epoch;
    size_t stored_at; /* uint64_t [n_ranks]: newest generation stored, own ranks only */
    size_t copied_at; /* uint64_t [n_ranks]: newest generation that all keepers acknowledged */
    size_t acking_at; /* uint64_t [n_ranks]: the generation that acks is about */
    size_t acks_at;   /* uint64_t [n_ranks]: keepers that have acknowledged it, a bit for each */
    size_t daemon_at; /* uint8_t [n_daemons]: DAEMON_* */
    size_t failed_at; /* rz_id [n_daemons]: scratch */
    size_t agree_at;
    size_t agree_bytes; /* memory of the agree object; it outlives each of these objects */
};

static inline void *rz_commit_at(const struct rz_commit *c, size_t offset)
{
    return (char *)(uintptr_t)c + offset;
}
static inline struct rz_agree *rz_commit_agree(const struct rz_commit *c)
{
    return rz_commit_at(c, c->agree_at);
}
static inline const struct rz_commit_layout *rz_commit_layout_of(const struct rz_commit *c,
                                                                 enum rz_commit_when when)
{
    return when == RZ_COMMIT_HOME ? &c->home : &c->now;
}
static inline rz_id *rz_commit_owner(const struct rz_commit *c, const struct rz_commit_layout *l)
{
    return rz_commit_at(c, l->owner_at);
}
static inline uint32_t *rz_commit_row(const struct rz_commit *c, const struct rz_commit_layout *l)
{
    return rz_commit_at(c, l->row_at);
}
static inline rz_id *rz_commit_live(const struct rz_commit *c, const struct rz_commit_layout *l)
{
    return rz_commit_at(c, l->live_at);
}
static inline uint32_t *rz_commit_index(const struct rz_commit *c, const struct rz_commit_layout *l)
{
    return rz_commit_at(c, l->index_at);
}
static inline uint64_t *rz_commit_stored(const struct rz_commit *c)
{
    return rz_commit_at(c, c->stored_at);
}
static inline uint64_t *rz_commit_copied(const struct rz_commit *c)
{
    return rz_commit_at(c, c->copied_at);
}
static inline uint64_t *rz_commit_acking(const struct rz_commit *c)
{
    return rz_commit_at(c, c->acking_at);
}
static inline uint64_t *rz_commit_acks(const struct rz_commit *c)
{
    return rz_commit_at(c, c->acks_at);
}
static inline uint8_t *rz_commit_daemons(const struct rz_commit *c)
{
    return rz_commit_at(c, c->daemon_at);
}

/* ---- commit_layout.c: the holders ---- */

/* The layout of this placement and of the daemons not failed by decision; since: this epoch, or
 * that of home if nothing has changed. */
void rz_commit_lay_out(struct rz_commit *c, const uint64_t *placement);

/* The next live daemon in the ring, or RZ_ID_NONE. */
rz_id rz_commit_next_live(const struct rz_commit *c, const struct rz_commit_layout *l,
                          rz_id daemon);

/* Whether the daemon holds the piece of rank whole, by the scheme. */
bool rz_commit_holds(const struct rz_commit *c, const struct rz_commit_layout *l, rz_id daemon,
                     uint32_t rank);

/* ---- commit_epoch.c ---- */

/* Takes the placement and the failed daemons of a new epoch: what can be restored, what must be
 * protected again. */
void rz_commit_begin_epoch(struct rz_commit *c, const struct rz_event *event);

/* The barrier has opened: from now on pieces are protected under the layout of this epoch. */
void rz_commit_settle_home(struct rz_commit *c);

/* A keeper of an own rank's piece has acknowledged. */
void rz_commit_acknowledge(struct rz_commit *c, uint64_t generation, uint32_t rank, rz_id keeper);

/* Whether each own rank's piece of the generation is stored here and at its keepers. */
bool rz_commit_own_safe(const struct rz_commit *c, uint64_t generation);

#endif
