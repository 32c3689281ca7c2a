/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spawns: the known requests, and their treatment by a decision. Which processes are spawned on
 * which daemons depends on the decision and on state that is the same at all members; the knowledge
 * of this member determines only its contribution.
 */
#include "base/assert.h"
#include "proto/mutation.h"
#include "base/idset.h"
#include "base/status.h"
#include "proto/recover/recover_state.h"

#include <string.h>

/* ---- requests ---- */

/* Whether this is a cohort that may still be decided. */
static bool cohort_open(const struct rz_recover *r, uint64_t item)
{
    rz_id node;
    uint32_t serial, count;
    return rz_recover_unpack_cohort(item, &node, &serial, &count) && node < r->n_daemons &&
           !(rz_recover_daemons(r)[node] & DAEMON_AGREED) && count > 0 &&
           serial > rz_recover_serial(r)[node];
}

/* Whether this is the spawn of the next incarnation in a slot, not decided yet. */
static bool spawn_open(const struct rz_recover *r, uint64_t item)
{
    uint32_t slot, incarnation;
    return rz_recover_unpack_spawn(item, &slot, &incarnation) && slot < r->n_slots &&
           incarnation == rz_recover_incarnation(r)[slot] + 1 && rz_recover_slot_used(r, slot);
}

bool rz_recover_want_fits(struct rz_recover *r, const uint64_t *items, uint32_t n_items)
{
    uint32_t needed = r->n_cohorts;
    for (uint32_t i = 0; i < n_items; i++) {
        needed += cohort_open(r, items[i]) &&
                  !rz_items_contain(rz_recover_cohorts(r), r->n_cohorts, items[i]);
    }
    if (needed <= r->cohorts_max) {
        return true;
    }
    r->cohorts_needed = 2 * needed;
    return false;
}

/* The spawn implies a failure. */
static void want_spawn(struct rz_recover *r, uint32_t slot, uint32_t incarnation)
{
    if (slot >= r->n_slots || incarnation < 2) {
        return;
    }
    if (RZ_MUTATED(r->mutations, RZ_RECOVER_ANY_SPAWN) &&
        incarnation <= rz_recover_incarnation(r)[slot]) {
        incarnation = rz_recover_incarnation(r)[slot] + 1;
    }
    if (rz_recover_asked(r)[slot] < incarnation) {
        rz_recover_asked(r)[slot] = incarnation;
    }
    if (rz_recover_known(r)[slot] < incarnation - 1) {
        rz_recover_known(r)[slot] = incarnation - 1;
    }
    rz_recover_bit_set(rz_recover_restless(r), slot);
}

void rz_recover_want(struct rz_recover *r, const uint64_t *items, uint32_t n_items)
{
    for (uint32_t i = 0; i < n_items; i++) {
        uint32_t slot, incarnation, serial, count;
        rz_id node;
        if (RZ_MUTATED(r->mutations, RZ_RECOVER_ANY_COHORT) &&
            rz_recover_unpack_cohort(items[i], &node, &serial, &count) &&
            !cohort_open(r, items[i])) {
            rz_recover_serial(r)[node] = serial - 1;
        }
        if (rz_recover_unpack_spawn(items[i], &slot, &incarnation)) {
            want_spawn(r, slot, incarnation);
        } else if (cohort_open(r, items[i])) {
            rz_items_insert(rz_recover_cohorts(r), &r->n_cohorts, r->cohorts_max, items[i]);
        }
    }
    rz_recover_recount(r);
}

/*
 * The cohorts that the next decision may settle: of each daemon those that follow the last settled
 * one without a gap. A cohort behind a gap waits for the reports that close it; if its daemon has
 * failed and the missing ones are lost, it is dropped with the daemon. Writes at most
 * COHORTS_SETTLED_MAX.
 */
static uint32_t collect_cohorts(const struct rz_recover *r, uint64_t *items)
{
    rz_id last = RZ_ID_NONE, node = RZ_ID_NONE;
    uint32_t expected = 0, serial = 0, count, n = 0;
    for (uint32_t i = 0; i < r->n_cohorts && n < COHORTS_SETTLED_MAX; i++) {
        rz_recover_unpack_cohort(rz_recover_cohorts(r)[i], &node, &serial, &count);
        if (node != last) {
            expected = rz_recover_serial(r)[node] + 1;
        }
        last = node;
        if (serial != expected) {
            continue;
        }
        expected = serial + 1;
        if (items) {
            items[n] = rz_recover_cohorts(r)[i];
        }
        n++;
    }
    return n;
}

uint32_t rz_recover_recount_cohorts(struct rz_recover *r)
{
    uint64_t *cohorts = rz_recover_cohorts(r);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->n_cohorts; i++) {
        if (cohort_open(r, cohorts[i])) {
            cohorts[kept++] = cohorts[i];
        }
    }
    r->n_cohorts = kept;
    return collect_cohorts(r, NULL);
}

void rz_recover_bound_lost(struct rz_recover *r)
{
    for (EACH_RESTLESS(r, slot)) {
        uint32_t lost = rz_recover_incarnation(r)[slot] + 1;
        if (rz_recover_known(r)[slot] > lost) {
            rz_recover_known(r)[slot] = lost;
        }
        if (rz_recover_asked(r)[slot] > lost + 1) {
            rz_recover_asked(r)[slot] = lost + 1;
        }
    }
    rz_recover_recount(r);
}

uint32_t rz_recover_collect_spawns(const struct rz_recover *r, uint64_t *items)
{
    uint32_t n = 0;
    if (r->wanted == 0) {
        return 0;
    }
    for (EACH_RESTLESS(r, slot)) {
        if (rz_recover_slot_wanted(r, slot)) {
            items[n++] = rz_recover_pack_spawn(slot, rz_recover_asked(r)[slot]);
        }
    }
    n += collect_cohorts(r, items + n);
    rz_assert(n == r->wanted);
    return n;
}

/* ---- the treatment by a decision ---- */

static bool slot_free(const struct rz_recover *r, uint32_t slot)
{
    uint32_t incarnation = rz_recover_incarnation(r)[slot];
    return slot >= r->n_ranks && (rz_recover_noted(r)[slot] >= incarnation ||
                                  (RZ_MUTATED(r->mutations, RZ_RECOVER_KNOWN_FREE) &&
                                   rz_recover_known(r)[slot] >= incarnation));
}

/* Why no spawn is carried out now, or RZ_OK. */
static rz_status_t refusal(const struct rz_recover *r)
{
    if (RZ_MUTATED(r->mutations, RZ_RECOVER_OWN_REFUSAL) ? r->repairing_here : r->repairing) {
        return RZ_ERR_ROLLBACK;
    }
    if (r->phase == RZ_PHASE_LEFT) {
        return RZ_ERR_JOB_ENDED;
    }
    return r->phase == RZ_PHASE_RUN ? RZ_OK : RZ_ERR_INVALID;
}

/* Before the first spawn of a decision: fills in the scratch arrays, living processes and failure
 * of each daemon. */
static void survey(struct rz_recover *r)
{
    if (r->n_spawn_items > 0) {
        return;
    }
    uint8_t failed_bit =
        RZ_MUTATED(r->mutations, RZ_RECOVER_OWN_SPAWN_PLACE) ? DAEMON_KNOWN : DAEMON_AGREED;
    bool *failed = rz_recover_at(r, r->scratch_at);
    uint32_t *load = rz_recover_at(r, r->load_at);
    for (rz_id d = 0; d < r->n_daemons; d++) {
        failed[d] = rz_recover_daemons(r)[d] & failed_bit;
        load[d] = 0;
    }
    for (uint32_t slot = 0; slot < r->n_slots; slot++) {
        if (rz_recover_noted(r)[slot] < rz_recover_incarnation(r)[slot]) {
            load[rz_recover_placement(r)[slot]]++;
        }
    }
}

/* How many processes may be spawned, by the slots that were surveyed. */
static uint64_t free_places(const struct rz_recover *r)
{
    const bool *failed = rz_recover_at(r, r->scratch_at);
    const uint32_t *load = rz_recover_at(r, r->load_at), *slots = rz_recover_at(r, r->slots_at);
    uint64_t n = 0;
    if (!r->slots_limit || RZ_MUTATED(r->mutations, RZ_RECOVER_CROWDED_SPAWN)) {
        return UINT64_MAX;
    }
    for (rz_id d = 0; d < r->n_daemons; d++) {
        n += !failed[d] && load[d] < slots[d] ? slots[d] - load[d] : 0;
    }
    return n;
}

/* The next incarnation in the slot, on the daemon of the one before it, if that daemon is alive and
 * has a free slot. A free slot exists. */
static uint64_t bear(struct rz_recover *r, uint32_t slot)
{
    const bool *failed = rz_recover_at(r, r->scratch_at);
    const uint32_t *slots = rz_recover_at(r, r->slots_at);
    uint32_t *load = rz_recover_at(r, r->load_at);
    rz_id *place = &rz_recover_placement(r)[slot];
    if (*place == RZ_ID_NONE || failed[*place] ||
        (r->slots_limit && load[*place] >= slots[*place])) {
        *place = rz_recover_place_one(slots, load, failed, r->n_daemons);
    }
    load[*place]++;
    return rz_recover_pack_spawn(slot, ++rz_recover_incarnation(r)[slot]);
}

/* Whether it is still to be spawned; a member that contributed the spawn contributed the failure,
 * too. */
static bool spawn_due(const struct rz_recover *r, uint64_t item, uint32_t *slot,
                      uint32_t *incarnation)
{
    return spawn_open(r, item) && rz_recover_unpack_spawn(item, slot, incarnation) &&
           rz_recover_noted(r)[*slot] + 1 == *incarnation;
}

/* Returns how many are spawned. */
static uint32_t settle_spawn(struct rz_recover *r, uint32_t slot, uint32_t incarnation,
                             rz_status_t status)
{
    survey(r);
    uint64_t *item = rz_recover_items(r) + r->spawns_at + r->n_spawn_items++;
    bool room = free_places(r) > 0, spawned = status == RZ_OK && room;
    *item = status == RZ_OK && !room ? rz_recover_pack_refused(slot, incarnation)
                                     : rz_recover_pack_spawn(slot, incarnation);
    if (spawned) {
        bear(r, slot);
    } else {
        rz_recover_refused(r)[slot] = incarnation;
    }
    return spawned;
}

/* Slots that were never used come first, then the one that has been free for the longest time. */
static uint32_t best_free(const struct rz_recover *r)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t slot = r->n_ranks; slot < r->n_slots; slot++) {
        if (!slot_free(r, slot)) {
            continue;
        }
        if (rz_recover_incarnation(r)[slot] == 0) {
            return slot;
        }
        if (best == UINT32_MAX || rz_recover_freed(r)[slot] < rz_recover_freed(r)[best]) {
            best = slot;
        }
    }
    return best;
}

/* Returns how many are spawned: all or none. */
static uint32_t settle_cohort(struct rz_recover *r, uint64_t item, uint32_t count,
                              rz_status_t status)
{
    uint64_t *items = rz_recover_items(r) + r->spawns_at, n_free = 0;
    survey(r);
    items[r->n_spawn_items++] = item;
    for (uint32_t slot = r->n_ranks; slot < r->n_slots; slot++) {
        n_free += slot_free(r, slot);
    }
    if (n_free > free_places(r)) {
        n_free = free_places(r);
    }
    uint32_t spawned = status == RZ_OK && count <= n_free ? count : 0;
    for (uint32_t i = 0; i < spawned; i++) {
        uint32_t slot = best_free(r);
        items[r->n_spawn_items++] = bear(r, slot);
        rz_recover_cohort(r)[slot] = item;
        rz_recover_cohort_from(r)[slot] = rz_recover_incarnation(r)[slot];
    }
    return spawned;
}

/* Whether it is the next cohort of a living daemon. */
static bool cohort_due(const struct rz_recover *r, uint64_t item, rz_id node, uint32_t serial)
{
    return cohort_open(r, item) && serial == rz_recover_serial(r)[node] + 1;
}

void rz_recover_settle_spawns(struct rz_recover *r, const struct rz_action *decided, uint32_t at)
{
    rz_status_t status = refusal(r);
    r->spawns_named = false;
    uint32_t spawned = 0, n_cohorts = 0;
    r->spawns_at = at;
    r->n_spawn_items = 0;
    for (uint32_t i = 0; i < decided->n_items; i++) {
        uint32_t slot, incarnation, serial, count;
        rz_id node;
        if (spawn_due(r, decided->items[i], &slot, &incarnation)) {
            spawned += settle_spawn(r, slot, incarnation, status);
        } else if (rz_recover_unpack_cohort(decided->items[i], &node, &serial, &count) &&
                   cohort_due(r, decided->items[i], node, serial) &&
                   n_cohorts < COHORTS_SETTLED_MAX) {
            rz_recover_serial(r)[node] = serial;
            spawned += settle_cohort(r, decided->items[i], count, status);
            n_cohorts++;
        }
    }
    r->spawns_notice = r->n_spawn_items > 0;
    r->spawns_status = status;
    if (spawned == 0) {
        return;
    }
    r->round++;
    if (!RZ_MUTATED(r->mutations, RZ_RECOVER_KEEP_REACHED)) {
        r->reached = false;
    }
}

void rz_recover_learn_spawns(struct rz_recover *r, const uint64_t *items, uint32_t n_items)
{
    for (uint32_t i = 0; i < n_items; i++) {
        r->spawns_named |= spawn_open(r, items[i]) || cohort_open(r, items[i]);
    }
}

/* ---- accessors ---- */

bool rz_recover_slot_free(const struct rz_recover *r, uint32_t slot)
{
    rz_assert(slot < r->n_slots);
    return slot_free(r, slot);
}

enum rz_recover_spawn rz_recover_spawn(const struct rz_recover *r, uint32_t slot,
                                       uint32_t incarnation)
{
    rz_assert(slot < r->n_slots && incarnation > 0);
    if (rz_recover_refused(r)[slot] == incarnation) {
        return RZ_SPAWN_REFUSED;
    }
    if (rz_recover_incarnation(r)[slot] < incarnation) {
        return RZ_SPAWN_OPEN;
    }
    return rz_recover_cohort_from(r)[slot] == incarnation ? RZ_SPAWN_TAKEN : RZ_SPAWN_SPAWNED;
}

uint64_t rz_recover_spawned_of(const struct rz_recover *r, uint32_t slot)
{
    rz_assert(slot < r->n_slots);
    return rz_recover_cohort_from(r)[slot] == rz_recover_incarnation(r)[slot]
               ? rz_recover_cohort(r)[slot]
               : 0;
}

uint64_t rz_recover_cohort_of(const struct rz_recover *r, uint32_t slot)
{
    rz_assert(slot < r->n_slots);
    return rz_recover_cohort(r)[slot];
}

uint32_t rz_recover_cohorts_decided(const struct rz_recover *r, rz_id node)
{
    rz_assert(node < r->n_daemons);
    return rz_recover_serial(r)[node];
}

uint32_t rz_recover_round(const struct rz_recover *r)
{
    return r->round;
}
