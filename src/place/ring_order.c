/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of nodes in the ring of heartbeats: a node and its observer should not fail together.
 */
#include "base/assert.h"
#include "base/no_memory.h"
#include "place/place.h"

#include <stdlib.h>
#include <string.h>

struct member {
    uint32_t node, rack_size, rack_first; /* rack_first: the first node of its rack */
};

uint32_t rz_place_ring_clashes(const uint32_t *rack, const uint32_t *order, uint32_t n)
{
    uint32_t clashes = 0;
    for (uint32_t i = 0; n > 1 && i < n; i++) {
        clashes += rack[order[i]] == rack[order[(i + 1) % n]];
    }
    return clashes;
}

/* Large racks first, each in one piece, in the order of its nodes. */
static int compare(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->rack_size != y->rack_size) {
        return x->rack_size < y->rack_size ? 1 : -1;
    }
    if (x->rack_first != y->rack_first) {
        return x->rack_first < y->rack_first ? -1 : 1;
    }
    return x->node < y->node ? -1 : x->node > y->node;
}

static void rotate_to_front(uint32_t *order, uint32_t *scratch, uint32_t n, uint32_t node)
{
    uint32_t at = 0;
    while (order[at] != node) {
        at++;
    }
    memcpy(scratch, order, n * sizeof(*order));
    for (uint32_t i = 0; i < n; i++) {
        order[i] = scratch[(at + i) % n];
    }
}

static struct member *sorted_by_rack(const uint32_t *rack, uint32_t n)
{
    struct member *members = calloc(n, sizeof(*members));
    rz_need_memory(members, "for the order of nodes");
    for (uint32_t i = 0; i < n; i++) {
        members[i] = (struct member){.node = i, .rack_first = n};
        for (uint32_t j = 0; j < n; j++) {
            if (rack[j] != rack[i]) {
                continue;
            }
            members[i].rack_size++;
            if (j < members[i].rack_first) {
                members[i].rack_first = j;
            }
        }
    }
    qsort(members, n, sizeof(*members), compare);
    return members;
}

/*
 * The even positions are filled first, then the odd ones: nodes of one rack, which follow each
 * other, are then two apart. Two of them are adjacent only if the rack is larger than half. The
 * largest rack comes first, so that no other one extends from the last even position to the first
 * odd ones with a neighbour of its own there.
 */
void rz_place_ring(const uint32_t *rack, uint32_t n, uint32_t *order)
{
    rz_assert(n > 0);
    struct member *members = sorted_by_rack(rack, n);
    uint32_t largest = members[0].rack_size;
    uint32_t unavoidable = n > 1 && 2 * largest > n ? 2 * largest - n : 0;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    if (rz_place_ring_clashes(rack, order, n) > unavoidable) {
        uint32_t *scratch = calloc(n, sizeof(*scratch));
        rz_need_memory(scratch, "for the order of nodes");
        for (uint32_t i = 0, at = 0; i < n; i++, at += 2) {
            if (at >= n && at % 2 == 0) {
                at = 1;
            }
            order[at] = members[i].node;
        }
        rotate_to_front(order, scratch, n, 0);
        free(scratch);
    }
    free(members);
}
