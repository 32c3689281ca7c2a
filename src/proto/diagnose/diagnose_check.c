/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of the dynamic group: event counters never fall, views agree, and in the end all
 * living members hold the same group. */
#include "proto/diagnose/diagnose_check.h"

#include "proto/diagnose/diagnose.h"

#include <stdio.h>

static bool check_counters(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                           rz_id id, bool out)
{
    const struct rz_diagnose *state = group->state[id];
    for (rz_id k = 0; k < group->n_members; k++) {
        struct rz_diagnose_seen_pair *pair = &seen->pair[id][k];
        uint32_t counter = rz_diagnose_counter(state, k);
        if (counter < pair->counter && !out) {
            snprintf(group->why, group->why_bytes, "S6-1: %u: the counter of %u fell from %u to %u",
                     id, k, pair->counter, counter);
            return false;
        }
        if (counter > 0 && counter % 2 == 0 && !(seen->readmitted[k] >> (counter / 2) % 64 & 1)) {
            snprintf(group->why, group->why_bytes,
                     "S6-3: %u: %u is back with counter %u, which was not decided", id, k, counter);
            return false;
        }
        if (counter != pair->counter) {
            pair->good = 0;
        }
        pair->counter = counter;
        pair->threshold = rz_diagnose_threshold(state, k);
    }
    return true;
}

static bool diagnose_check_view(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                                rz_id id)
{
    uint64_t round;
    const uint64_t *view = rz_diagnose_view(group->state[id], &round);
    uint32_t n = group->n_members;
    if (round < seen->round[id]) {
        snprintf(group->why, group->why_bytes, "S6-4: %u goes back from round %llu to %llu", id,
                 (unsigned long long)seen->round[id], (unsigned long long)round);
        return false;
    }
    seen->round[id] = round;
    uint64_t *known = &seen->view[round % RZ_DIAGNOSE_CHECK_ROUNDS];
    if (round > 0 && *known == 0) {
        *known = *view;
    }
    if (round > 0 && *known != *view) {
        snprintf(group->why, group->why_bytes, "S6-4: %u has another view in round %llu", id,
                 (unsigned long long)round);
        return false;
    }
    for (rz_id v = 0; v < UINT32_C(1) << rz_diagnose_dimensions(n); v++) {
        rz_id owner = rz_diagnose_owner(view, n, v);
        bool own = v >= n || !(*view >> v & 1) || owner == v;
        if (owner < n && *view >> owner & 1 && own) {
            continue;
        }
        snprintf(group->why, group->why_bytes, "S6-5: %u is owned by %u", v, owner);
        return false;
    }
    return true;
}

/* After the assessments and doubts of a step. */
static bool check_tester(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                         rz_id id, bool out)
{
    struct rz_diagnose_seen_tester *tester = &seen->tester[id];
    uint64_t interval = rz_diagnose_interval(group->state[id]);
    if (out) {
        *tester = (struct rz_diagnose_seen_tester){.interval = interval};
    }
    if (tester->interval == interval) {
        return true;
    }
    bool most = tester->failed > 1 && 2 * tester->failed > group->n_members - 1;
    if (most && !tester->doubted && seen->health_max > 0) {
        snprintf(group->why, group->why_bytes,
                 "S6-6: %u found %u of %u slow in one interval and did not doubt itself", id,
                 tester->failed, group->n_members - 1);
        return false;
    }
    for (rz_id k = 0; k < group->n_members; k++) {
        if (seen->pair[id][k].failed) {
            seen->pair[id][k].good = 0;
        }
        seen->pair[id][k].failed = false;
    }
    *tester = (struct rz_diagnose_seen_tester){.interval = interval,
                                               .doubts = rz_diagnose_doubts(group->state[id])};
    return true;
}

bool rz_diagnose_check_safety(const struct rz_check_group *group, struct rz_diagnose_seen *seen)
{
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id]) {
            continue;
        }
        bool out = seen->pair[id][id].counter % 2 == 1 || !rz_diagnose_has(group->state[id], id);
        if (!check_tester(group, seen, id, out) || !check_counters(group, seen, id, out) ||
            !diagnose_check_view(group, seen, id)) {
            return false;
        }
    }
    return true;
}

bool rz_diagnose_check_diagnosis(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                                 rz_id member, const uint64_t arg[4])
{
    struct rz_diagnose_seen_pair *pair = &seen->pair[member][arg[0]];
    struct rz_diagnose_seen_tester *tester = &seen->tester[member];
    bool good = arg[1] <= pair->threshold;
    pair->good = good ? pair->good + 1 : seen->health_max > 0 ? pair->good : 0;
    pair->failed = !good && seen->health_max > 0;
    tester->assessed += pair->counter % 2 == 0;
    tester->failed += pair->counter % 2 == 0 && !good;
    if (pair->threshold == 0 || good == (arg[3] == 1)) {
        return true;
    }
    snprintf(group->why, group->why_bytes, "%u assessed %u by a threshold of %llu, which was %llu",
             member, (rz_id)arg[0], (unsigned long long)arg[2],
             (unsigned long long)pair->threshold);
    return false;
}

bool rz_diagnose_check_doubt(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                             rz_id member, const uint64_t arg[4])
{
    struct rz_diagnose_seen_tester *tester = &seen->tester[member];
    bool overruled = arg[3] == 1;
    bool most = arg[0] > 1 && 2 * arg[0] > arg[1] && arg[1] >= tester->assessed;
    if (arg[0] != tester->failed || !most ||
        (overruled ? tester->doubts != seen->health_max : tester->doubts >= seen->health_max)) {
        snprintf(group->why, group->why_bytes,
                 "S6-6: %u doubts itself by %llu of %llu after %u doubts; %u of %u assessed failed",
                 member, (unsigned long long)arg[0], (unsigned long long)arg[1], tester->doubts,
                 tester->failed, tester->assessed);
        return false;
    }
    tester->doubted = true;
    for (rz_id k = 0; k < group->n_members && !overruled; k++) {
        seen->pair[member][k].failed = false;
    }
    return true;
}

bool rz_diagnose_check_want(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                            rz_id member, rz_id k, uint32_t zeta)
{
    const struct rz_diagnose_seen_pair *pair = &seen->pair[member][k];
    if (pair->counter % 2 == 1 && pair->good >= zeta) {
        return true;
    }
    snprintf(group->why, group->why_bytes,
             "%u asks for the rejoin of %u after %u good tests since it is out", member, k,
             pair->counter % 2 == 1 ? pair->good : 0);
    return false;
}

static uint32_t first_living(const struct rz_check_group *group)
{
    uint32_t id = 0;
    while (id < group->n_members && !group->state[id]) {
        id++;
    }
    return id;
}

bool rz_diagnose_check_settled(const struct rz_check_group *group)
{
    uint32_t first = first_living(group);
    for (rz_id id = first; id < group->n_members; id++) {
        for (rz_id k = 0; k < group->n_members && group->state[id]; k++) {
            bool alive = group->state[k] != NULL;
            uint32_t counter = rz_diagnose_counter(group->state[id], k);
            uint32_t other = rz_diagnose_counter(group->state[first], k);
            if ((counter % 2 == 0) != alive) {
                snprintf(group->why, group->why_bytes, "%u holds %u, which %s, for %s", id, k,
                         alive ? "lives" : "has failed", alive ? "out" : "recommended");
                return false;
            }
            if (counter != other) {
                snprintf(group->why, group->why_bytes, "%u counts %u for %u, and %u counts %u", id,
                         counter, k, first, other);
                return false;
            }
        }
    }
    return true;
}

bool rz_diagnose_check_tested(const struct rz_check_group *group)
{
    for (rz_id k = 0; k < group->n_members; k++) {
        uint32_t testers = 0, others = 0;
        for (rz_id id = 0; id < group->n_members; id++) {
            bool other = id != k && group->state[id] && rz_diagnose_has(group->state[id], id);
            others += other;
            testers += other && rz_diagnose_tests(group->state[id], k);
        }
        if (others == 0 || testers > 0) {
            continue;
        }
        snprintf(group->why, group->why_bytes, "no member tests %u", k);
        return false;
    }
    return true;
}
