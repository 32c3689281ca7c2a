/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of visited states: open addressing, with a mark for states of the current path. */
#include "sim/visited.h"

#include "sim/world.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST ((size_t)1 << 16)
#define ON_PATH UINT64_C(1)

/* Bit 0 is the on-path bit, and 0 means free: 63 bits of the hash remain. */
static uint64_t key_of(uint64_t hash)
{
    uint64_t key = hash & ~ON_PATH;
    return key ? key : 2;
}

static uint64_t *slot_of(const struct rz_visited *visited, uint64_t key)
{
    size_t i = (size_t)(key >> 1) & visited->mask;
    while (visited->slot[i] && (visited->slot[i] & ~ON_PATH) != key) {
        i = (i + 1) & visited->mask;
    }
    return &visited->slot[i];
}

static void allocate(struct rz_visited *visited, size_t slots)
{
    visited->slot = calloc(slots, sizeof(*visited->slot));
    if (!visited->slot) {
        fprintf(stderr, "rzsim: out of memory for %zu states\n", slots / 2);
        exit(2);
    }
    visited->mask = slots - 1;
}

void rz_visited_init(struct rz_visited *visited)
{
    visited->count = 0;
    allocate(visited, SLOTS_FIRST);
}

void rz_visited_free(struct rz_visited *visited)
{
    free(visited->slot);
}

static void enlarge(struct rz_visited *visited)
{
    uint64_t *old = visited->slot;
    size_t slots = visited->mask + 1;
    allocate(visited, 2 * slots);
    for (size_t i = 0; i < slots; i++) {
        if (old[i]) {
            *slot_of(visited, old[i] & ~ON_PATH) = old[i];
        }
    }
    free(old);
}

enum rz_visit rz_visited_enter(struct rz_visited *visited, uint64_t hash)
{
    uint64_t key = key_of(hash);
    uint64_t *slot = slot_of(visited, key);
    if (*slot) {
        return *slot & ON_PATH ? RZ_VISIT_ON_PATH : RZ_VISIT_SEEN;
    }
    *slot = key | ON_PATH;
    visited->count++;
    if (visited->count * 10 > (visited->mask + 1) * 6) {
        enlarge(visited);
    }
    return RZ_VISIT_NEW;
}

void rz_visited_leave(struct rz_visited *visited, uint64_t hash)
{
    *slot_of(visited, key_of(hash)) &= ~ON_PATH;
}
