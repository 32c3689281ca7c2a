/* SPDX-License-Identifier: BSD-3-Clause */
/* The pure functions behind a decision: failures and spawns as items, quorum, placement. */
#include "base/assert.h"
#include "proto/recover/recover.h"

#include <string.h>

/* The four highest bits: recover.h. */
enum {
    ITEM_PROCESS = 0,
    ITEM_DAEMON = 8,
    ITEM_DAMAGE = 9,
    ITEM_SPAWN = 10,
    ITEM_REFUSED = 11,
    ITEM_COHORT = 12
};
#define ITEM_KIND_AT 60
#define COHORT_NODE_AT 46
#define COHORT_SERIAL_AT 20

static uint64_t pack(uint64_t kind, uint32_t slot, uint32_t incarnation)
{
    rz_assert(slot < RZ_RECOVER_SLOTS_MAX);
    return kind << ITEM_KIND_AT | (uint64_t)slot << 32 | incarnation;
}

static bool unpack(uint64_t kind, uint64_t item, uint32_t *slot, uint32_t *incarnation)
{
    if (item >> ITEM_KIND_AT != kind) {
        return false;
    }
    *slot = (uint32_t)(item >> 32) & (RZ_RECOVER_SLOTS_MAX - 1);
    *incarnation = (uint32_t)item;
    return true;
}

uint64_t rz_recover_pack_process(uint32_t slot, uint32_t incarnation)
{
    return pack(ITEM_PROCESS, slot, incarnation);
}

bool rz_recover_unpack_process(uint64_t item, uint32_t *slot, uint32_t *incarnation)
{
    return unpack(ITEM_PROCESS, item, slot, incarnation);
}

uint64_t rz_recover_pack_daemon(rz_id daemon, bool proof)
{
    return (uint64_t)ITEM_DAEMON << ITEM_KIND_AT | (uint64_t)daemon << 1 | (proof ? 1 : 0);
}

bool rz_recover_unpack_daemon(uint64_t item, rz_id *daemon, bool *proof)
{
    if (item >> ITEM_KIND_AT != ITEM_DAEMON) {
        return false;
    }
    *daemon = (rz_id)(item >> 1);
    *proof = item & 1;
    return true;
}

uint64_t rz_recover_pack_damage(rz_id daemon, uint32_t epoch)
{
    return pack(ITEM_DAMAGE, daemon, epoch);
}

bool rz_recover_unpack_damage(uint64_t item, rz_id *daemon, uint32_t *epoch)
{
    return unpack(ITEM_DAMAGE, item, daemon, epoch);
}

uint64_t rz_recover_pack_spawn(uint32_t slot, uint32_t incarnation)
{
    return pack(ITEM_SPAWN, slot, incarnation);
}

bool rz_recover_unpack_spawn(uint64_t item, uint32_t *slot, uint32_t *incarnation)
{
    return unpack(ITEM_SPAWN, item, slot, incarnation);
}

uint64_t rz_recover_pack_refused(uint32_t slot, uint32_t incarnation)
{
    return pack(ITEM_REFUSED, slot, incarnation);
}

bool rz_recover_unpack_refused(uint64_t item, uint32_t *slot, uint32_t *incarnation)
{
    return unpack(ITEM_REFUSED, item, slot, incarnation);
}

uint64_t rz_recover_pack_cohort(rz_id node, uint32_t serial, uint32_t count)
{
    rz_assert(node < RZ_RECOVER_COHORT_NODES_MAX);
    rz_assert(serial > 0 && serial < RZ_RECOVER_COHORT_SERIALS_MAX);
    rz_assert(count > 0 && count < RZ_RECOVER_COHORT_COUNT_MAX);
    return (uint64_t)ITEM_COHORT << ITEM_KIND_AT | (uint64_t)node << COHORT_NODE_AT |
           (uint64_t)serial << COHORT_SERIAL_AT | count;
}

bool rz_recover_unpack_cohort(uint64_t item, rz_id *node, uint32_t *serial, uint32_t *count)
{
    if ((item >> ITEM_KIND_AT & ITEM_COHORT) != ITEM_COHORT) {
        return false;
    }
    *node = (rz_id)(item >> COHORT_NODE_AT) & (RZ_RECOVER_COHORT_NODES_MAX - 1);
    *serial = (uint32_t)(item >> COHORT_SERIAL_AT) & (RZ_RECOVER_COHORT_SERIALS_MAX - 1);
    *count = (uint32_t)item & (RZ_RECOVER_COHORT_COUNT_MAX - 1);
    return true;
}

bool rz_recover_has_quorum(const uint8_t *votes, uint32_t n_daemons, rz_id tie_breaker)
{
    uint32_t live = 0, electorate = 0;
    rz_id lowest = RZ_ID_NONE;
    for (rz_id d = 0; d < n_daemons; d++) {
        if (votes[d] == RZ_VOTE_GONE) {
            continue;
        }
        if (lowest == RZ_ID_NONE) {
            lowest = d;
        }
        electorate++;
        live += votes[d] == RZ_VOTE_LIVE;
    }
    if (2 * live != electorate) {
        return 2 * live > electorate;
    }
    if (live == 0) {
        return false;
    }
    if (tie_breaker >= n_daemons || votes[tie_breaker] == RZ_VOTE_GONE) {
        tie_breaker = lowest;
    }
    return votes[tie_breaker] == RZ_VOTE_LIVE;
}

uint64_t rz_recover_slots_left(const uint32_t *slots, const bool *failed, uint32_t n_daemons)
{
    uint64_t left = 0;
    for (rz_id d = 0; d < n_daemons; d++) {
        left += failed[d] ? 0 : slots[d];
    }
    return left;
}

/* A daemon with a free slot is preferred to one without; then the less loaded one, then the lower
 * id. */
static bool better_place(const uint32_t *slots, const uint32_t *load, rz_id a, rz_id b)
{
    bool free_a = load[a] < slots[a], free_b = load[b] < slots[b];
    return free_a != free_b ? free_a : load[a] < load[b];
}

rz_id rz_recover_place_one(const uint32_t *slots, const uint32_t *load, const bool *failed,
                           uint32_t n_daemons)
{
    rz_id best = RZ_ID_NONE;
    for (rz_id d = 0; d < n_daemons; d++) {
        if (!failed[d] && (best == RZ_ID_NONE || better_place(slots, load, d, best))) {
            best = d;
        }
    }
    rz_assert(best != RZ_ID_NONE);
    return best;
}

/* The number of ranks of each daemon, including failed ones. */
static void count_ranks(const uint32_t *placement, uint32_t n_ranks, uint32_t n_daemons,
                        uint32_t *load)
{
    memset(load, 0, n_daemons * sizeof(*load));
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        load[placement[rank]]++;
    }
}

void rz_recover_place_together(uint32_t *placement, uint32_t n_ranks, const uint32_t *slots,
                               const bool *failed, uint32_t n_daemons, uint32_t *load)
{
    count_ranks(placement, n_ranks, n_daemons, load);
    for (rz_id lost = 0; lost < n_daemons; lost++) {
        rz_id best = RZ_ID_NONE;
        for (rz_id d = 0; failed[lost] && load[lost] > 0 && d < n_daemons; d++) {
            if (!failed[d] && (uint64_t)load[d] + load[lost] <= slots[d] &&
                (best == RZ_ID_NONE || load[d] < load[best])) {
                best = d;
            }
        }
        if (best == RZ_ID_NONE) {
            continue;
        }
        for (uint32_t rank = 0; rank < n_ranks; rank++) {
            if (placement[rank] == lost) {
                placement[rank] = best;
            }
        }
        load[best] += load[lost];
        load[lost] = 0;
    }
}

/* The number of lost ranks that each daemon gets, found one by one; the result is in load, 0 for
 * failed daemons. */
static void share_out(const uint32_t *placement, uint32_t n_ranks, const uint32_t *slots,
                      const bool *failed, uint32_t n_daemons, uint32_t *load)
{
    count_ranks(placement, n_ranks, n_daemons, load);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        if (failed[placement[rank]]) {
            load[rz_recover_place_one(slots, load, failed, n_daemons)]++;
        }
    }
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        load[placement[rank]]--;
    }
}

void rz_recover_place(uint32_t *placement, uint32_t n_ranks, const uint32_t *slots,
                      const bool *failed, uint32_t n_daemons, uint32_t *load)
{
    rz_id to = 0;
    share_out(placement, n_ranks, slots, failed, n_daemons, load);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        if (!failed[placement[rank]]) {
            continue;
        }
        while (load[to] == 0) {
            to++;
        }
        placement[rank] = to;
        load[to]--;
    }
}
