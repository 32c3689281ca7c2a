/* SPDX-License-Identifier: BSD-3-Clause */
/* Each of these functions counts bits of a bitmap of all members: the linear local computation that
 * dominates in measurements of this algorithm. */
#include "proto/twophase/twophase_private.h"

#include <string.h>

static uint32_t n_members_left(const struct rz_twophase *tp)
{
    return tp->config.n_members - tp->n_agreed;
}

/* The number of remaining members with smaller ids. */
static uint32_t position_among_left(const struct rz_twophase *tp, rz_id id)
{
    const uint64_t *agreed = rz_twophase_set(tp, RZ_TWOPHASE_AGREED);
    uint32_t gone = 0;
    for (uint32_t word = 0; word < id / 64; word++) {
        gone += rz_twophase_count(agreed[word]);
    }
    return id - gone - rz_twophase_count(agreed[id / 64] & ((UINT64_C(1) << id % 64) - 1));
}

static rz_id member_at(const struct rz_twophase *tp, uint32_t position)
{
    const uint64_t *agreed = rz_twophase_set(tp, RZ_TWOPHASE_AGREED);
    for (uint32_t word = 0; word < tp->n_words; word++) {
        uint64_t left = ~agreed[word];
        if (position >= rz_twophase_count(left)) {
            position -= rz_twophase_count(left);
            continue;
        }
        while (position-- > 0) {
            left &= left - 1;
        }
        return 64 * word + (rz_id)__builtin_ctzll(left);
    }
    return RZ_ID_NONE;
}

/* Ranks in the tree are rotated, so that the root of the attempt has rank 0. */
static rz_id member_of(const struct rz_twophase *tp, uint32_t attempt, uint32_t rank)
{
    return member_at(tp, (rank + attempt - 1) % n_members_left(tp));
}

static uint32_t own_rank(const struct rz_twophase *tp, uint32_t attempt)
{
    uint32_t n = n_members_left(tp);
    return (position_among_left(tp, tp->self) + n - (attempt - 1) % n) % n;
}

static bool known_failed(const struct rz_twophase *tp, rz_id id)
{
    return rz_twophase_bit(rz_twophase_set(tp, RZ_TWOPHASE_KNOWN_FAILED), id);
}

rz_id rz_twophase_tree_root(const struct rz_twophase *tp, uint32_t attempt)
{
    return member_of(tp, attempt, 0);
}

static uint32_t highest_bit(uint32_t rank)
{
    return rank == 0 ? 0 : UINT32_C(1) << (31 - __builtin_clz(rank));
}

rz_id rz_twophase_tree_parent(const struct rz_twophase *tp, uint32_t attempt)
{
    for (uint32_t rank = own_rank(tp, attempt); rank > 0;) {
        rank &= ~highest_bit(rank);
        rz_id id = member_of(tp, attempt, rank);
        if (!known_failed(tp, id)) {
            return id;
        }
    }
    return RZ_ID_NONE;
}

/*
 * Depth first through failed members; the depth is that of the tree, the number of bits of a rank.
 */
static void add_children(struct rz_twophase *tp, uint32_t attempt, uint32_t rank)
{
    uint32_t n = n_members_left(tp);
    for (uint64_t bit = rank == 0 ? 1 : 2 * (uint64_t)highest_bit(rank); (rank | bit) < n;
         bit *= 2) {
        uint32_t child = rank | (uint32_t)bit;
        rz_id id = member_of(tp, attempt, child);
        if (known_failed(tp, id)) {
            add_children(tp, attempt, child);
        } else {
            rz_twophase_bit_set(rz_twophase_set(tp, RZ_TWOPHASE_KIDS), id);
        }
    }
}

void rz_twophase_tree_children(struct rz_twophase *tp, uint32_t attempt)
{
    memset(rz_twophase_set(tp, RZ_TWOPHASE_KIDS), 0, tp->n_words * sizeof(uint64_t));
    add_children(tp, attempt, own_rank(tp, attempt));
}
