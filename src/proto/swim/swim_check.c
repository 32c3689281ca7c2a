/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of SWIM: what a member holds of itself and of others, and what all hold in the end. */
#include "proto/swim/swim_check.h"

#include "proto/swim/swim.h"

static const char *const state_names[] = {"alive", "suspect", "failed", "left"};

static bool check_self(const struct rz_check_group *group, rz_id id)
{
    const struct rz_swim *swim = group->state[id];
    struct rz_swim_view view = rz_swim_look(swim, id);
    if (view.state == RZ_SWIM_ALIVE || (view.state == RZ_SWIM_LEFT && rz_swim_leaving(swim))) {
        return true;
    }
    return rz_check_say(group, "S5-3: %u holds itself for %s", id, state_names[view.state]);
}

/* A member that fails in a step may have raised its incarnation in it. */
static uint32_t made_by(const struct rz_check_group *group, rz_id about, const uint64_t *memory)
{
    return (uint32_t)memory[about] + (group->state[about] ? 0 : 1);
}

static bool swim_check_view(const struct rz_check_group *group, bool final, rz_id id, rz_id about,
                            uint64_t *memory)
{
    const struct rz_swim *swim = group->state[id];
    struct rz_swim_view view = rz_swim_look(swim, about);
    uint64_t gone = final && view.state >= RZ_SWIM_FAILED;
    uint64_t known = gone << 34 | (uint64_t)view.incarnation << 2 | view.state;
    uint64_t *seen = &memory[group->n_members + (size_t)id * group->n_members + about];
    if (view.incarnation > made_by(group, about, memory)) {
        return rz_check_say(group, "S5-2: %u knows incarnation %u of %u, which made %u", id,
                            view.incarnation, about, (uint32_t)memory[about]);
    }
    if (known < *seen) {
        return rz_check_say(group, "S5-1: %u knew %u as %s of incarnation %u, now as %s of %u", id,
                            about, state_names[*seen % 4], (uint32_t)(*seen >> 2),
                            state_names[view.state], view.incarnation);
    }
    *seen = known;
    if (view.queued && view.sent >= rz_swim_limit(swim)) {
        return rz_check_say(group, "S5-5: %u sent its news about %u %u times and goes on", id,
                            about, view.sent);
    }
    if (view.timers != (view.state == RZ_SWIM_SUSPECT)) {
        return rz_check_say(group, "S5-6: %u has %u timers for %u, which it holds for %s", id,
                            view.timers, about, state_names[view.state]);
    }
    return true;
}

bool rz_swim_check_safety(const struct rz_check_group *group, bool final, uint64_t *memory)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (group->state[id]) {
            memory[id] = rz_swim_incarnation(group->state[id]);
        }
    }
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id] || rz_swim_silent(group->state[id])) {
            continue;
        }
        if (!check_self(group, id)) {
            return false;
        }
        for (rz_id about = 0; about < group->n_members; about++) {
            if (!swim_check_view(group, final, id, about, memory)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether all living members consider each other alive, and the others failed or left. */
static bool check_states(const struct rz_check_group *group, bool of_living, const char *name)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        for (rz_id about = 0; about < group->n_members; about++) {
            if (!group->state[id] || (group->state[about] != NULL) != of_living || about == id) {
                continue;
            }
            enum rz_swim_state state = rz_swim_look(group->state[id], about).state;
            if (rz_swim_leaving(group->state[id]) ||
                (of_living && rz_swim_leaving(group->state[about]))) {
                continue;
            }
            if (of_living ? state == RZ_SWIM_ALIVE : state >= RZ_SWIM_FAILED) {
                continue;
            }
            return rz_check_say(group, "%s: %u holds %u for %s, which %s", name, id, about,
                                state_names[state], of_living ? "lives" : "is gone");
        }
    }
    return true;
}

bool rz_swim_check_accurate(const struct rz_check_group *group)
{
    return check_states(group, true, "accuracy");
}

bool rz_swim_check_complete(const struct rz_check_group *group)
{
    return check_states(group, false, "L5-1");
}

bool rz_swim_check_cleared(const struct rz_check_group *group)
{
    return check_states(group, true, "L5-2");
}

bool rz_swim_check_agreed(const struct rz_check_group *group)
{
    for (rz_id about = 0; about < group->n_members; about++) {
        rz_id first = RZ_ID_NONE;
        for (rz_id id = 0; id < group->n_members; id++) {
            if (!group->state[id] || id == about) {
                continue;
            }
            if (first == RZ_ID_NONE) {
                first = id;
            }
            struct rz_swim_view one = rz_swim_look(group->state[first], about);
            struct rz_swim_view other = rz_swim_look(group->state[id], about);
            if (one.incarnation != other.incarnation || one.state != other.state) {
                return rz_check_say(group,
                                    "S5-4: of %u, %u knows %s of incarnation %u, %u %s of %u",
                                    about, first, state_names[one.state], one.incarnation, id,
                                    state_names[other.state], other.incarnation);
            }
        }
    }
    return true;
}

bool rz_swim_check_parted(const struct rz_check_group *group)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        for (rz_id other = 0; other < group->n_members; other++) {
            if (!group->state[id] || !group->state[other] || id == other) {
                continue;
            }
            if (rz_swim_look(group->state[id], other).state >= RZ_SWIM_FAILED &&
                rz_swim_look(group->state[other], id).state < RZ_SWIM_FAILED) {
                return rz_check_say(group,
                                    "S5-7: %u holds %u for failed, which lives and does not know",
                                    id, other);
            }
        }
    }
    return true;
}
