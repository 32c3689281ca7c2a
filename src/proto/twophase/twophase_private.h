/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the two-phase commit and the declarations that its files share; only this component,
 * its checkers and its tests include this header.
 *
 * One flat block: struct rz_twophase, then bitmaps of n_words words, in n_value words each: with
 * `extremes` the value of an operation is its bitmap, minimum and maximum. Two operations are held:
 * the one under way and its neighbour, the last decided one or an early vote of the next. That is
 * enough: a member that votes in k + 1 has decided k, so all living members have decided k - 1.
 *
 * Messages: seq = operation, word[0] = attempt. VOTE and DECISION: word[1] = flag, items = the
 * other n_value words of the value.
 */
#ifndef RZ_PROTO_TWOPHASE_PRIVATE_H
#define RZ_PROTO_TWOPHASE_PRIVATE_H

#include "proto/mutation.h"
#include "base/assert.h"
#include "proto/twophase/twophase.h"

enum rz_twophase_message {
    RZ_TWOPHASE_VOTE,     /* child to parent: flag and failed members of its subtree */
    RZ_TWOPHASE_DECISION, /* parent to children, and to members that asked */
    RZ_TWOPHASE_QUERY,    /* from a member whose parent failed, to the next living ancestor: what is
                             the state of the operation? */
    RZ_TWOPHASE_GATHER,   /* answer: send the vote again, to the answering member */
    RZ_TWOPHASE_ABORT,    /* answer: the attempt is aborted, word[0] is a later one */
    RZ_TWOPHASE_ASK, /* termination: parent to children of a later attempt: have you decided? */
    RZ_TWOPHASE_MESSAGE_COUNT
};

enum rz_twophase_status {
    RZ_TWOPHASE_NOT_CONTRIBUTED, /* another member began it */
    RZ_TWOPHASE_GATHERING,
    RZ_TWOPHASE_VOTED, /* uncertain: only a decision of this or a later attempt ends it */
    RZ_TWOPHASE_COMMITTED
};

enum rz_twophase_set {
    RZ_TWOPHASE_KNOWN_FAILED, /* known failed */
    RZ_TWOPHASE_AGREED,       /* failed by decisions */
    RZ_TWOPHASE_KIDS,         /* scratch: the children at present */
    RZ_TWOPHASE_PENDING,      /* the rest of the destinations of a multicast */
    RZ_TWOPHASE_SETS,
    /* of each operation: */
    RZ_TWOPHASE_FAILED = 0, /* its value */
    RZ_TWOPHASE_GATHERED,   /* the members whose votes are in it */
    RZ_TWOPHASE_ASKERS,     /* the members that wait for its decision */
    RZ_TWOPHASE_ASKED,      /* the members that were queried */
    RZ_TWOPHASE_OP_SETS
};

struct rz_twophase_op {
    uint64_t seq; /* 0: none */
    uint64_t flag, own_flag;
    uint64_t own_min, own_max; /* with extremes */
    uint32_t status;
    uint32_t attempt; /* from 1; its root is the member at position attempt - 1 of those left */
    rz_id parent;     /* VOTED: where the vote or the query went */
    uint32_t slot;
};

#define RZ_TWOPHASE_CHUNK 64 /* destinations of one action */

struct rz_twophase {
    struct rz_twophase_config config;
    rz_id self;
    uint32_t n_words, n_value, n_agreed, stopped;
    uint64_t proposed, decided;
    uint32_t pending;      /* a multicast is not complete yet */
    uint32_t pending_type; /* of the operation `proposed` */
    uint32_t pending_word; /* the words of the bitmap before this one are sent */
    rz_id late;            /* destination of an answer */
    struct rz_twophase_op op[2];
    rz_id to[RZ_TWOPHASE_CHUNK];
};

/* twophase.c */
uint64_t *rz_twophase_set(const struct rz_twophase *tp, enum rz_twophase_set set);
uint64_t *rz_twophase_op_set(const struct rz_twophase *tp, const struct rz_twophase_op *op,
                             enum rz_twophase_set set);
static inline bool rz_twophase_mutated(const struct rz_twophase *tp,
                                       enum rz_twophase_mutation mutation)
{
    return RZ_MUTATED(tp->config.mutations, mutation);
}
void rz_twophase_send(struct rz_twophase *tp, const struct rz_twophase_op *op,
                      enum rz_twophase_message type, const rz_id *to, uint32_t n_to,
                      struct rz_actions *out);
/* The value of op is the decision; its failed members are known failed here from now on. giver: the
 * sender, or self. */
void rz_twophase_commit(struct rz_twophase *tp, struct rz_twophase_op *op, rz_id giver);
/* Changes to a later attempt: votes and queries of this one are forgotten, its decision is not
 * taken any more. */
void rz_twophase_give_up(struct rz_twophase *tp, struct rz_twophase_op *op, uint32_t attempt);
/* What follows for the current operation from its state and the known failures. */
void rz_twophase_review(struct rz_twophase *tp, struct rz_actions *out);

/* twophase_tree.c: the binomial tree of an attempt over the members that no decision found failed;
 * failed members are replaced by their parents and children. */
rz_id rz_twophase_tree_root(const struct rz_twophase *tp, uint32_t attempt);
/* The nearest living ancestor, or RZ_ID_NONE: all of them have failed, or this member is the root.
 */
rz_id rz_twophase_tree_parent(const struct rz_twophase *tp, uint32_t attempt);
/* Fills the set KIDS with this member's living children. */
void rz_twophase_tree_children(struct rz_twophase *tp, uint32_t attempt);

/* Written out: the compiler's own version may call a library that the cores do without. */
static inline uint32_t rz_twophase_count(uint64_t word)
{
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (uint32_t)(word * UINT64_C(0x0101010101010101) >> 56);
}

static inline bool rz_twophase_bit(const uint64_t *set, rz_id id)
{
    return set[id / 64] >> (id % 64) & 1;
}

static inline void rz_twophase_bit_set(uint64_t *set, rz_id id)
{
    set[id / 64] |= UINT64_C(1) << (id % 64);
}

#endif
