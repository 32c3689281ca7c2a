/* SPDX-License-Identifier: BSD-3-Clause */
/* Places ranks round by round: in its turn a node takes as many ranks as the rule says, until all
 * are placed. Also divides cores and writes lists of numbers. */
#include "place/place.h"

#include "base/assert.h"
#include "base/no_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t rz_place_slots(const struct rz_place_node *nodes, uint32_t n_nodes)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < n_nodes; i++) {
        if (nodes[i].spare) {
            continue;
        }
        if (nodes[i].slots == 0) {
            return 0;
        }
        all += nodes[i].slots;
    }
    return all;
}

/* ---- ranks on nodes ---- */

/* The number of ranks that a node takes in its round; 0: it is full, or spare. */
static uint32_t turn(enum rz_place_by by, const struct rz_place_node *node, uint32_t load,
                     bool bounded, uint32_t even)
{
    uint32_t want = 1;
    if (node->spare) {
        return 0;
    }
    if (by == RZ_PLACE_BY_SLOT) {
        want = bounded ? node->slots : even;
    } else if (by == RZ_PLACE_BY_CORE && node->cores > 0) {
        want = node->cores;
    }
    if (bounded && want > node->slots - load) {
        want = node->slots - load;
    }
    return want;
}

void rz_place_ranks(enum rz_place_by by, const struct rz_place_node *nodes, uint32_t n_nodes,
                    uint32_t n_ranks, uint32_t *placement)
{
    bool bounded = rz_place_slots(nodes, n_nodes) >= n_ranks;
    uint32_t *load = calloc(n_nodes, sizeof(*load)), active = 0, rank = 0;
    rz_need_memory(load, "for the placement of ranks");
    for (uint32_t i = 0; i < n_nodes; i++) {
        active += !nodes[i].spare;
    }
    rz_assert(active > 0);
    while (rank < n_ranks) {
        uint32_t before = rank, nodes_left = active;
        for (uint32_t i = 0; i < n_nodes; i++) {
            uint32_t even = nodes_left ? (n_ranks - rank + nodes_left - 1) / nodes_left : 0;
            uint32_t share = turn(by, &nodes[i], load[i], bounded, even);
            nodes_left -= !nodes[i].spare;
            load[i] += share;
            for (; share > 0 && rank < n_ranks; share--) {
                placement[rank++] = i;
            }
        }
        rz_assert(rank > before);
    }
    free(load);
}

void rz_place_capacities(const struct rz_place_node *nodes, uint32_t n_nodes,
                         const uint32_t *placement, uint32_t n_ranks, uint32_t *slots)
{
    uint32_t fullest = 0;
    memset(slots, 0, n_nodes * sizeof(*slots));
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        if (++slots[placement[rank]] > fullest) {
            fullest = slots[placement[rank]];
        }
    }
    for (uint32_t i = 0; i < n_nodes; i++) {
        slots[i] = nodes[i].slots ? nodes[i].slots : fullest;
    }
}

/* ---- cores ---- */

void rz_place_share(uint32_t n, uint32_t k, uint32_t i, uint32_t *first, uint32_t *count)
{
    rz_assert(i < k);
    *first = (uint32_t)((uint64_t)n * i / k);
    *count = (uint32_t)((uint64_t)n * (i + 1) / k) - *first;
}

uint32_t rz_place_free_core(const bool *taken, uint32_t n_cores)
{
    for (uint32_t core = 0; core < n_cores; core++) {
        if (!taken[core]) {
            return core;
        }
    }
    return RZ_ID_NONE;
}

/* ---- text ---- */

void rz_place_list(const uint32_t *numbers, uint32_t n, char *text, size_t bytes)
{
    size_t at = 0;
    if (n == 0) {
        snprintf(text, bytes, "none");
    }
    for (uint32_t i = 0, last; i < n; i = last + 1) {
        char range[32];
        for (last = i; last + 1 < n && numbers[last + 1] == numbers[last] + 1;) {
            last++;
        }
        int length = last > i
                         ? snprintf(range, sizeof(range), "%s%u-%u", i > 0 ? "," : "", numbers[i],
                                    numbers[last])
                         : snprintf(range, sizeof(range), "%s%u", i > 0 ? "," : "", numbers[i]);
        if (at + (size_t)length + sizeof("...") > bytes) {
            snprintf(text + at, bytes - at, "...");
            return;
        }
        memcpy(text + at, range, (size_t)length + 1);
        at += (size_t)length;
    }
}
