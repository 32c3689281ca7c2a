/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of recover: daemons with the same decisions hold the same epoch, placement and
 * spawns, and barriers open for all. */
#include "proto/recover/recover_check.h"

#include "proto/recover/recover_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool say(const struct rz_check_group *group,
                                                      const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(group->why, group->why_bytes, format, list);
    va_end(list);
    return false;
}

static uint64_t decisions(const struct rz_recover *r)
{
    return rz_agree_decided(rz_recover_agree(r));
}

/* What spawns change; not the requests. */
static const char *difference_in_spawns(const struct rz_recover *a, const struct rz_recover *b)
{
    size_t slots = a->n_slots * sizeof(uint32_t);
    if (a->round != b->round) {
        return "rounds of spawns";
    }
    if (a->spawns_named != b->spawns_named) {
        return "whether spawns are named";
    }
    if (memcmp(rz_recover_refused(a), rz_recover_refused(b), slots) != 0) {
        return "spawns refused";
    }
    if (memcmp(rz_recover_freed(a), rz_recover_freed(b), 2 * slots) != 0) {
        return "order of the free slots";
    }
    if (memcmp(rz_recover_cohort(a), rz_recover_cohort(b), 2 * slots) != 0 ||
        memcmp(rz_recover_cohort_from(a), rz_recover_cohort_from(b), slots) != 0) {
        return "cohorts of the slots";
    }
    if (memcmp(rz_recover_serial(a), rz_recover_serial(b), a->n_daemons * sizeof(uint32_t)) != 0) {
        return "cohorts decided";
    }
    return NULL;
}

/* The name of the field that differs, or NULL. */
static const char *recover_difference(const struct rz_recover *a, const struct rz_recover *b)
{
    size_t slots = a->n_slots * sizeof(uint32_t);
    if (a->epoch != b->epoch || a->phase != b->phase) {
        return "epoch or phase";
    }
    if (a->generation != b->generation || a->opened != b->opened || a->fell_back != b->fell_back ||
        a->from_start != b->from_start) {
        return "generation";
    }
    if (a->repairing != b->repairing || a->restarts != b->restarts) {
        return "repairing or restarts";
    }
    if (memcmp(rz_recover_placement(a), rz_recover_placement(b), slots) != 0) {
        return "placement";
    }
    if (memcmp(rz_recover_incarnation(a), rz_recover_incarnation(b), slots) != 0) {
        return "incarnations";
    }
    if (memcmp(rz_recover_noted(a), rz_recover_noted(b), slots) != 0) {
        return "failed processes";
    }
    for (rz_id d = 0; d < a->n_daemons; d++) {
        if ((rz_recover_daemons(a)[d] ^ rz_recover_daemons(b)[d]) & (DAEMON_AGREED | DAEMON_GONE)) {
            return "failed daemons";
        }
    }
    return difference_in_spawns(a, b);
}

bool rz_recover_check_uniform(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_recover *a = group->state[i];
        for (rz_id j = 0; a && !a->stopped && j < i; j++) {
            const struct rz_recover *b = group->state[j];
            if (!b || b->stopped || decisions(a) != decisions(b)) {
                continue;
            }
            const char *what = recover_difference(a, b);
            if (what) {
                return say(group, "S7-5/6: %u and %u differ after decision %llu: %s", j, i,
                           (unsigned long long)decisions(a), what);
            }
        }
    }
    return true;
}

static bool check_slots(const struct rz_check_group *group, rz_id member,
                        const struct rz_recover *r)
{
    const uint32_t *slots = rz_recover_at(r, r->slots_at);
    bool overfull = false, room = false;
    for (rz_id d = 0; d < r->n_daemons; d++) {
        uint32_t load = 0;
        for (uint32_t rank = 0; rank < r->n_ranks; rank++) {
            load += rz_recover_placement(r)[rank] == d;
        }
        if (rz_recover_daemons(r)[d] & DAEMON_AGREED) {
            continue;
        }
        overfull |= load > slots[d];
        room |= load < slots[d];
    }
    return !overfull || (!room && !r->slots_limit) ||
           say(group, "S7-6: %u overfills a daemon%s", member,
               room ? " though another has room" : ", and slots are limits");
}

/* If slots are limits: no daemon has more living processes than slots. */
static bool check_limits(const struct rz_check_group *group, rz_id member,
                         const struct rz_recover *r)
{
    const uint32_t *slots = rz_recover_at(r, r->slots_at);
    for (rz_id d = 0; r->slots_limit && d < r->n_daemons; d++) {
        uint32_t load = 0;
        for (uint32_t slot = 0; slot < r->n_slots; slot++) {
            load += rz_recover_placement(r)[slot] == d &&
                    rz_recover_noted(r)[slot] < rz_recover_incarnation(r)[slot];
        }
        if (load > slots[d]) {
            return say(group, "S7-6: at %u daemon %u has %u processes and %u slots", member, d,
                       load, slots[d]);
        }
    }
    return true;
}

bool rz_recover_check_world(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_recover *r = group->state[i];
        if (!r || r->stopped || !r->repairing || r->phase == RZ_PHASE_LEFT || r->lost > 0) {
            continue;
        }
        for (uint32_t rank = 0; rank < r->n_ranks; rank++) {
            rz_id d = rz_recover_placement(r)[rank];
            if (rz_recover_daemons(r)[d] & DAEMON_AGREED) {
                return say(group, "S7-1: at %u rank %u lies on failed daemon %u", i, rank, d);
            }
        }
        if (r->round == 0 && !check_slots(group, i, r)) {
            return false;
        }
    }
    return true;
}

static bool check_slot(const struct rz_check_group *group, rz_id member, const struct rz_recover *r,
                       uint32_t slot)
{
    uint32_t incarnation = rz_recover_incarnation(r)[slot];
    if ((rz_recover_placement(r)[slot] == RZ_ID_NONE) != (incarnation == 0)) {
        return say(group, "spawns: at %u slot %u, incarnation %u, lies on daemon %u", member, slot,
                   incarnation, rz_recover_placement(r)[slot]);
    }
    if (slot < r->n_ranks && (incarnation == 0 || rz_recover_cohort(r)[slot] != 0)) {
        return say(group, "spawns: at %u rank %u is empty or was spawned", member, slot);
    }
    if (rz_recover_noted(r)[slot] > incarnation || rz_recover_noted(r)[slot] + 1 < incarnation) {
        return say(group, "spawns: at %u process %u.%u is alive, noted failed is %u", member, slot,
                   incarnation, rz_recover_noted(r)[slot]);
    }
    return true;
}

bool rz_recover_check_spawns(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_recover *r = group->state[i];
        for (uint32_t slot = 0; r && !r->stopped && slot < r->n_slots; slot++) {
            if (!check_slot(group, i, r, slot)) {
                return false;
            }
        }
        if (r && !r->stopped && !r->repairing && !check_limits(group, i, r)) {
            return false;
        }
    }
    return true;
}

bool rz_recover_check_open(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_recover *r = group->state[i];
        uint32_t fresh = 0, lost = 0, found = 0;
        if (!r || r->stopped) {
            continue;
        }
        for (uint32_t slot = 0; slot < r->n_slots; slot++) {
            fresh += rz_recover_slot_fresh(r, slot);
            lost += rz_recover_slot_lost(r, slot);
        }
        for (rz_id d = 0; d < r->n_daemons; d++) {
            fresh += rz_recover_daemon_fresh(r, d);
            lost += rz_recover_daemon_lost(r, d);
            found += rz_recover_damage_counts(r, d, rz_recover_found(r)[d]);
        }
        if (fresh != r->fresh || lost != r->lost || found != r->found) {
            return say(group, "open: %u counts %u fresh, %u lost, %u found; there are %u, %u, %u",
                       i, r->fresh, r->lost, r->found, fresh, lost, found);
        }
    }
    return true;
}

bool rz_recover_check_settled(const struct rz_check_group *group)
{
    const struct rz_recover *first = NULL;
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_recover *r = group->state[i];
        if (!r || r->stopped) {
            continue;
        }
        if (!first) {
            first = r;
        }
        if (r->epoch != first->epoch || r->phase != first->phase) {
            return say(group, "liveness: %u rests in epoch %u phase %u, another in %u, %u", i,
                       r->epoch, r->phase, first->epoch, first->phase);
        }
        if (r->fresh > 0) {
            return say(group, "liveness: %u rests with %u unsettled failures", i, r->fresh);
        }
        if (r->wanted > 0 || r->spawns_named) {
            return say(group, "liveness: %u rests with %u wanted spawns undecided", i, r->wanted);
        }
        if (rz_agree_proposed(rz_recover_agree(r)) > decisions(r)) {
            return say(group, "liveness: %u rests with an undecided contribution", i);
        }
    }
    return true;
}
