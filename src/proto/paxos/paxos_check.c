/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of consensus: one value per instance, and living acceptors that hold it. */
#include "proto/paxos/paxos_check.h"

#include "proto/paxos/paxos.h"

bool rz_paxos_check_told(const struct rz_check_group *group, struct rz_paxos_seen *seen,
                         uint64_t value)
{
    if (seen->decided && seen->value != value) {
        return rz_check_say(group, "instance %llu: decided %llu and %llu",
                            (unsigned long long)seen->number, (unsigned long long)seen->value,
                            (unsigned long long)value);
    }
    seen->decided = true;
    seen->value = value;
    return true;
}

bool rz_paxos_check_one_value(const struct rz_check_group *group, struct rz_paxos_seen *seen)
{
    uint64_t value;
    for (rz_id id = 0; id < group->n_members; id++) {
        if (group->state[id] && rz_paxos_decision(group->state[id], seen->number, &value) &&
            !rz_paxos_check_told(group, seen, value)) {
            return false;
        }
    }
    return true;
}

bool rz_paxos_check_acceptors(const struct rz_check_group *group, const struct rz_paxos_seen *seen)
{
    uint32_t gone = 0, with = 0;
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id]) {
            gone++;
            continue;
        }
        uint64_t value;
        uint64_t accepted = rz_paxos_accepted(group->state[id], seen->number, &value);
        bool knows = rz_paxos_decision(group->state[id], seen->number, NULL);
        with += accepted != 0 || knows;
        if (knows || accepted <= rz_paxos_promised(group->state[id], seen->number)) {
            continue;
        }
        return rz_check_say(group, "%u accepted above its promise", id);
    }
    uint32_t majority = group->n_members / 2 + 1;
    if (!seen->decided || with + gone >= majority) {
        return true;
    }
    return rz_check_say(group, "instance %llu was decided by less than a majority",
                        (unsigned long long)seen->number);
}

bool rz_paxos_check_majority(const struct rz_check_group *group, const struct rz_paxos_seen *seen,
                             uint32_t view_size)
{
    uint32_t yes = (uint32_t)__builtin_popcountll(seen->yes);
    if (!seen->decided || seen->value == 0 || yes > view_size / 2) {
        return true;
    }
    return rz_check_say(group, "S6-3: instance %llu: yes was decided by %u votes of a view of %u",
                        (unsigned long long)seen->number, yes, view_size);
}

bool rz_paxos_check_known(const struct rz_check_group *group, uint64_t instance)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id] || !rz_paxos_knows(group->state[id], instance) ||
            rz_paxos_decision(group->state[id], instance, NULL)) {
            continue;
        }
        return rz_check_say(group, "%u waits for the decision of instance %llu", id,
                            (unsigned long long)instance);
    }
    return true;
}
