/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of gossip: accuracy, consensus, monotone states, and conserved mass. */
#include "proto/gossip/gossip_check.h"

#include "base/assert.h"
#include "proto/gossip/gossip.h"

bool rz_gossip_check_accurate(const struct rz_check_group *group)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id]) {
            continue;
        }
        uint32_t n;
        const uint64_t *failed = rz_gossip_failed(group->state[id], &n);
        for (uint32_t i = 0; i < n; i++) {
            if (group->state[failed[i]]) {
                return rz_check_say(group, "S4-1: %u holds %u for failed, which lives", id,
                                    (rz_id)failed[i]);
            }
        }
    }
    return true;
}

/* Whether each living member has reached phase `needed` for all failures that `id` has in phase
 * `phase`. */
static bool others_have(const struct rz_check_group *group, rz_id id, uint32_t phase,
                        uint32_t needed, const char *name)
{
    uint32_t n;
    const uint64_t *failed = rz_gossip_failed(group->state[id], &n);
    for (uint32_t i = 0; i < n; i++) {
        if (rz_gossip_phase(group->state[id], (rz_id)failed[i]) < phase) {
            continue;
        }
        for (rz_id other = 0; other < group->n_members; other++) {
            if (group->state[other] &&
                rz_gossip_phase(group->state[other], (rz_id)failed[i]) < needed) {
                return rz_check_say(group, "%s: about %u, %u is in phase %u and %u in phase %u",
                                    name, (rz_id)failed[i], id, phase, other,
                                    rz_gossip_phase(group->state[other], (rz_id)failed[i]));
            }
        }
    }
    return true;
}

bool rz_gossip_check_consensus(const struct rz_check_group *group)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (group->state[id] && !others_have(group, id, 2, 1, "S4-2")) {
            return false;
        }
    }
    return true;
}

bool rz_gossip_check_commits(const struct rz_check_group *group)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (group->state[id] && !others_have(group, id, 3, 2, "S4-5")) {
            return false;
        }
    }
    return true;
}

bool rz_gossip_check_monotone(const struct rz_check_group *group, struct rz_gossip_watched *watched)
{
    rz_assert(group->n_members <= RZ_GOSSIP_WATCHED_MAX);
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id]) {
            continue;
        }
        struct rz_gossip_watched now = {{0}};
        uint32_t n;
        const uint64_t *failed = rz_gossip_failed(group->state[id], &n);
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t p = 0; p < rz_gossip_phase(group->state[id], (rz_id)failed[i]); p++) {
                now.phase[p] |= UINT64_C(1) << failed[i];
            }
        }
        for (uint32_t p = 0; p < 3; p++) {
            if (watched[id].phase[p] & ~now.phase[p]) {
                return rz_check_say(group, "S4-3: %u went back behind phase %u", id, p + 1);
            }
        }
        watched[id] = now;
    }
    return true;
}

bool rz_gossip_check_rows(const struct rz_check_group *group)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        for (rz_id by = 0; group->state[id] && by < group->n_members; by++) {
            for (rz_id failed = 0; failed < group->n_members; failed++) {
                if (rz_gossip_detected_by(group->state[id], by, failed) &&
                    !rz_gossip_detected_by(group->state[id], id, failed)) {
                    return rz_check_say(group,
                                        "%u knows that %u has detected %u, and has not itself", id,
                                        by, failed);
                }
            }
        }
    }
    return true;
}

/* ---- mass ---- */

/* All mass in the instance of member `first` for one failed member. */
struct instance {
    struct rz_gossip_mass mass;
    uint64_t members, knowing, with_consensus;
};

static struct instance sum_up(const struct rz_check_group *group, rz_id first, rz_id failed)
{
    struct instance all = {.members = 0};
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id] || !rz_gossip_same_instance(group->state[id], group->state[first])) {
            continue;
        }
        struct rz_gossip_mass mass = rz_gossip_mass(group->state[id], failed);
        all.mass.weight += mass.weight;
        all.mass.detected += mass.detected;
        all.mass.consensus += mass.consensus;
        all.members++;
        all.knowing += rz_gossip_phase(group->state[id], failed) > 0;
        all.with_consensus += rz_gossip_phase(group->state[id], failed) > 1;
    }
    return all;
}

bool rz_gossip_check_mass_bounded(const struct rz_check_group *group)
{
    uint64_t most = group->n_members * RZ_GOSSIP_ONE;
    for (rz_id id = 0; id < group->n_members; id++) {
        uint32_t n = 0;
        const uint64_t *failed = NULL;
        if (group->state[id]) {
            failed = rz_gossip_failed(group->state[id], &n);
        }
        for (uint32_t i = 0; i < n; i++) {
            struct instance all = sum_up(group, id, (rz_id)failed[i]);
            if (all.mass.weight > rz_gossip_whole(group->state[id]) || all.mass.detected > most ||
                all.mass.consensus > most) {
                return rz_check_say(
                    group, "S4-4: the instance of %u has more mass than was given out", id);
            }
        }
    }
    return true;
}

bool rz_gossip_check_mass_whole(const struct rz_check_group *group, rz_id first)
{
    uint32_t n;
    const uint64_t *failed = rz_gossip_failed(group->state[first], &n);
    for (uint32_t i = 0; i < n; i++) {
        struct instance all = sum_up(group, first, (rz_id)failed[i]);
        if (all.mass.weight != rz_gossip_whole(group->state[first]) ||
            all.mass.detected != all.knowing * RZ_GOSSIP_ONE ||
            all.mass.consensus != all.with_consensus * RZ_GOSSIP_ONE) {
            return rz_check_say(
                group,
                "S4-4: %llu members of the instance of %u hold weight %.9f, and sums "
                "%.9f and %.9f",
                (unsigned long long)all.members, first,
                (double)all.mass.weight / (double)rz_gossip_whole(group->state[first]),
                (double)all.mass.detected / (double)RZ_GOSSIP_ONE,
                (double)all.mass.consensus / (double)RZ_GOSSIP_ONE);
        }
    }
    return true;
}

/* ---- the end ---- */

bool rz_gossip_check_agreed(const struct rz_check_group *group, uint32_t phase)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id]) {
            continue;
        }
        if (!rz_gossip_returned(group->state[id])) {
            return rz_check_say(group, "S4-6: %u has not returned", id);
        }
        for (rz_id other = 0; other < group->n_members; other++) {
            uint32_t come_to = rz_gossip_phase(group->state[id], other);
            if ((come_to >= phase) == !group->state[other]) {
                continue;
            }
            return rz_check_say(group, "S4-6: about %u, which %s, %u is in phase %u", other,
                                group->state[other] ? "lives" : "has crashed", id, come_to);
        }
    }
    return true;
}
