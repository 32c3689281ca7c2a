/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of sets and instances in the block. */
#include "proto/paxos/paxos_private.h"

#include "base/assert.h"

#include <string.h>

static uint32_t words_of(uint32_t n_members)
{
    return (n_members + 63) / 64;
}

/* 64-bit words before the instances: the sets, and two destinations per word. */
static size_t paxos_head_words(uint32_t n_members)
{
    return RZ_PAXOS_SETS * (size_t)words_of(n_members) + (n_members + 1) / 2;
}

size_t rz_paxos_bytes(uint32_t n_members, uint32_t instances_max)
{
    size_t rows = RZ_PAXOS_ROWS * (size_t)words_of(n_members) * sizeof(uint64_t);
    return sizeof(struct rz_paxos) + paxos_head_words(n_members) * sizeof(uint64_t) +
           instances_max * (sizeof(struct rz_paxos_instance) + rows);
}

uint64_t *rz_paxos_set(struct rz_paxos *paxos, enum rz_paxos_set set)
{
    return paxos->block + (size_t)set * paxos->words;
}

const uint64_t *rz_paxos_set_at(const struct rz_paxos *paxos, enum rz_paxos_set set)
{
    return paxos->block + (size_t)set * paxos->words;
}

rz_id *rz_paxos_destinations(struct rz_paxos *paxos)
{
    return (rz_id *)(paxos->block + RZ_PAXOS_SETS * (size_t)paxos->words);
}

struct rz_paxos_instance *rz_paxos_instances(struct rz_paxos *paxos)
{
    return (struct rz_paxos_instance *)(paxos->block + paxos_head_words(paxos->config.n_members));
}

const struct rz_paxos_instance *rz_paxos_instances_at(const struct rz_paxos *paxos)
{
    return (const struct rz_paxos_instance *)(paxos->block +
                                              paxos_head_words(paxos->config.n_members));
}

static uint64_t *rows_of(struct rz_paxos *paxos, uint32_t index)
{
    uint64_t *rows = (uint64_t *)(rz_paxos_instances(paxos) + paxos->max);
    return rows + (size_t)index * RZ_PAXOS_ROWS * paxos->words;
}

uint64_t *rz_paxos_row(struct rz_paxos *paxos, const struct rz_paxos_instance *in,
                       enum rz_paxos_row row)
{
    uint32_t index = (uint32_t)(in - rz_paxos_instances(paxos));
    rz_assert(index < paxos->n);
    return rows_of(paxos, index) + (size_t)row * paxos->words;
}

uint32_t rz_paxos_row_count(struct rz_paxos *paxos, const struct rz_paxos_instance *in,
                            enum rz_paxos_row row)
{
    const uint64_t *set = rz_paxos_row(paxos, in, row);
    uint32_t count = 0;
    for (uint32_t i = 0; i < paxos->words; i++) {
        for (uint64_t word = set[i]; word; word &= word - 1) {
            count++;
        }
    }
    return count;
}

static uint32_t lower_bound(const struct rz_paxos_instance *all, uint32_t n, uint64_t number)
{
    uint32_t low = 0;
    while (low < n) {
        uint32_t middle = low + (n - low) / 2;
        if (all[middle].number < number) {
            low = middle + 1;
        } else {
            n = middle;
        }
    }
    return low;
}

const struct rz_paxos_instance *rz_paxos_find_at(const struct rz_paxos *paxos, uint64_t number)
{
    const struct rz_paxos_instance *all = rz_paxos_instances_at(paxos);
    uint32_t at = lower_bound(all, paxos->n, number);
    return at < paxos->n && all[at].number == number ? &all[at] : NULL;
}

struct rz_paxos_instance *rz_paxos_find(struct rz_paxos *paxos, uint64_t number)
{
    struct rz_paxos_instance *all = rz_paxos_instances(paxos);
    uint32_t at = lower_bound(all, paxos->n, number);
    return at < paxos->n && all[at].number == number ? &all[at] : NULL;
}

struct rz_paxos_instance *rz_paxos_enter(struct rz_paxos *paxos, uint64_t number,
                                         struct rz_actions *out)
{
    struct rz_paxos_instance *all = rz_paxos_instances(paxos);
    uint32_t at = lower_bound(all, paxos->n, number);
    if (at < paxos->n && all[at].number == number) {
        return &all[at];
    }
    if (paxos->n == paxos->max) {
        out->need = rz_paxos_bytes(paxos->config.n_members, 2 * paxos->max);
        return NULL;
    }
    size_t row_bytes = RZ_PAXOS_ROWS * (size_t)paxos->words * sizeof(uint64_t);
    memmove(&all[at + 1], &all[at], (paxos->n - at) * sizeof(*all));
    memmove(rows_of(paxos, at + 1), rows_of(paxos, at), (paxos->n - at) * row_bytes);
    memset(rows_of(paxos, at), 0, row_bytes);
    memset(&all[at], 0, sizeof(*all));
    all[at].number = number;
    all[at].vote = RZ_PAXOS_UNKNOWN;
    all[at].due = RZ_TIME_NEVER;
    paxos->n++;
    return &all[at];
}

void rz_paxos_grow(struct rz_paxos *paxos, size_t bytes)
{
    uint32_t n_members = paxos->config.n_members;
    size_t empty = rz_paxos_bytes(n_members, 0);
    size_t each = rz_paxos_bytes(n_members, 1) - empty;
    uint32_t old = paxos->max, max = (uint32_t)((bytes - empty) / each);
    rz_assert(max >= old);
    const uint64_t *rows = rows_of(paxos, 0);
    paxos->max = max;
    memmove(rows_of(paxos, 0), rows,
            (size_t)paxos->n * RZ_PAXOS_ROWS * paxos->words * sizeof(uint64_t));
}
