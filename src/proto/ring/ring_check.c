/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of the ring: no living member is reported, and every failed one is, in the end. */
#include "proto/ring/ring_check.h"

#include "base/idset.h"
#include "proto/ring/ring.h"

static bool member_accurate(const struct rz_check_group *group, rz_id id)
{
    uint32_t n;
    const uint64_t *out = rz_ring_out(group->state[id], &n);
    for (uint32_t i = 0; i < n; i++) {
        if (group->state[out[i]]) {
            return rz_check_say(group, "S1-1: %u holds %u for out, which lives", id, (rz_id)out[i]);
        }
    }
    return true;
}

bool rz_ring_check_accurate(const struct rz_check_group *group)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (group->state[id] && !member_accurate(group, id)) {
            return false;
        }
    }
    return true;
}

static bool member_safe(const struct rz_check_group *group, rz_id id)
{
    const struct rz_ring *ring = group->state[id];
    uint32_t n;
    const uint64_t *out = rz_ring_out(ring, &n);
    rz_id observing = rz_ring_observing(ring), observer = rz_ring_observer(ring);
    if (observing != id && observer != id && !rz_items_contain(out, n, observing) &&
        !rz_items_contain(out, n, observer)) {
        return true;
    }
    return rz_check_say(group, "S1-2: %u watches %u and serves %u: itself, or one it knows is out",
                        id, observing, observer);
}

bool rz_ring_check_safety(const struct rz_check_group *group)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (group->state[id] && !member_safe(group, id)) {
            return false;
        }
    }
    return true;
}

static rz_id closest_alive(const struct rz_check_group *group, rz_id id, uint32_t step)
{
    rz_id at = id;
    do {
        at = (rz_id)(((uint64_t)at + step) % group->n_members);
    } while (at != id && !group->state[at]);
    return at != id ? at : RZ_ID_NONE;
}

bool rz_ring_check_stable(const struct rz_check_group *group)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id]) {
            continue;
        }
        rz_id before = closest_alive(group, id, group->n_members - 1);
        rz_id after = closest_alive(group, id, 1);
        rz_id observing = rz_ring_observing(group->state[id]);
        rz_id observer = rz_ring_observer(group->state[id]);
        if (observing == before && observer == after) {
            continue;
        }
        return rz_check_say(group,
                            "S1-3: %u watches %u and serves %u; alive around it are %u and %u", id,
                            observing, observer, before, after);
    }
    return true;
}

bool rz_ring_check_complete(const struct rz_check_group *group)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id]) {
            continue;
        }
        uint32_t n;
        const uint64_t *out = rz_ring_out(group->state[id], &n);
        for (rz_id other = 0; other < group->n_members; other++) {
            if (!group->state[other] && !rz_items_contain(out, n, other)) {
                return rz_check_say(group, "L1-1: %u does not know that %u is out", id, other);
            }
        }
    }
    return true;
}
