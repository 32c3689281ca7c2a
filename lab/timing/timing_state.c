/* SPDX-License-Identifier: BSD-3-Clause */
/* The members' state blocks: in one arena, or separate once they have grown. */
#include "timing/timing_run.h"

#include "base/assert.h"
#include "base/random.h"

#include <string.h>

#define ARENA_BYTES ((size_t)4 << 20)

static void *arena_take(struct rz_timing *timing, size_t bytes)
{
    timing->bytes_states += bytes;
    if (timing->n_arena == 0 || bytes > ARENA_BYTES - timing->arena_used) {
        size_t slab = bytes > ARENA_BYTES ? bytes : ARENA_BYTES;
        if (timing->n_arena == timing->arena_max) {
            timing->arena_max = timing->arena_max ? 2 * timing->arena_max : 16;
            timing->arena =
                rz_timing_memory(timing->arena, timing->arena_max * sizeof(*timing->arena));
        }
        timing->arena[timing->n_arena++] = rz_timing_memory(NULL, slab);
        timing->arena_used = 0;
        if (bytes > ARENA_BYTES) { /* full */
            timing->arena_used = ARENA_BYTES;
            return timing->arena[timing->n_arena - 1];
        }
    }
    void *memory = timing->arena[timing->n_arena - 1] + timing->arena_used;
    timing->arena_used += bytes;
    return memory;
}

static void create(struct rz_timing *timing, rz_id member, uint32_t part)
{
    const struct rz_protocol *protocol = timing->setup.parts[part];
    const void *config = timing->setup.config(timing, member, part);
    rz_time now = timing->setup.starts ? timing->setup.starts(timing, member) : 0;
    struct rz_timing_slot *slot = &timing->slots[(size_t)member * timing->n_parts + part];
    size_t bytes = (protocol->size(config) + 7) / 8 * 8;
    rz_assert(bytes <= UINT32_MAX);
    slot->state = arena_take(timing, bytes);
    slot->bytes = slot->protocol = (uint32_t)bytes;
    slot->own = false;
    slot->armed = RZ_TIME_NEVER;
    /* Components must zero their state themselves: fill it with another value first. */
    memset(slot->state, 0xA5, bytes);
    protocol->init(
        slot->state, config, member, now,
        rz_mix(rz_mix(timing->setup.seed, 1), (uint64_t)member * RZ_TIMING_PARTS_MAX + part));
    rz_timing_arm(timing, member, part);
}

void rz_timing_states_create(struct rz_timing *timing)
{
    timing->slots =
        rz_timing_memory(NULL, (size_t)timing->n * timing->n_parts * sizeof(*timing->slots));
    for (rz_id id = 0; id < timing->n; id++) {
        for (uint32_t part = 0; part < timing->n_parts; part++) {
            create(timing, id, part);
        }
    }
}

void rz_timing_states_release(struct rz_timing *timing)
{
    for (size_t i = 0; i < (size_t)timing->n * timing->n_parts; i++) {
        if (timing->slots[i].own) {
            rz_timing_free(timing->slots[i].state);
        }
    }
    for (uint32_t i = 0; i < timing->n_arena; i++) {
        rz_timing_free(timing->arena[i]);
    }
    rz_timing_free(timing->arena);
    rz_timing_free(timing->slots);
}

void rz_timing_state_grow(struct rz_timing *timing, rz_id member, uint32_t part, size_t bytes)
{
    struct rz_timing_slot *slot = &timing->slots[(size_t)member * timing->n_parts + part];
    rz_assert(bytes > slot->bytes && bytes <= UINT32_MAX / 2);
    if (bytes > slot->protocol) {
        size_t protocol = slot->own && bytes < (size_t)slot->protocol * 3 / 2
                              ? (size_t)slot->protocol * 3 / 2
                              : (bytes + 7) / 8 * 8;
        void *state = rz_timing_memory(slot->own ? slot->state : NULL, protocol);
        if (!slot->own) {
            memcpy(state, slot->state, slot->bytes);
        }
        timing->bytes_states += protocol - (slot->own ? slot->protocol : 0);
        slot->state = state;
        slot->protocol = (uint32_t)protocol;
        slot->own = true;
        rz_timing_note_memory(timing);
    }
    memset((char *)slot->state + slot->bytes, 0xA5, bytes - slot->bytes);
    slot->bytes = (uint32_t)bytes;
    timing->setup.parts[part]->grow(slot->state, bytes);
}

void rz_timing_arm(struct rz_timing *timing, rz_id member, uint32_t part)
{
    struct rz_timing_slot *slot = &timing->slots[(size_t)member * timing->n_parts + part];
    rz_time deadline = timing->setup.parts[part]->deadline(slot->state);
    if (deadline < timing->now) {
        deadline = timing->now;
    }
    if (deadline >= slot->armed || deadline == RZ_TIME_NEVER) {
        return;
    }
    slot->armed = deadline;
    rz_timing_push(timing, deadline, RZ_TIMING_TICK, member, part, RZ_TIMING_NO_BLOB);
}
