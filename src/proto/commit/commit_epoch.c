/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The meaning of a new epoch for the pieces: what can be restored and from which daemons, what must
 * be protected again. A pure function of the calls EPOCH and OPENED, which are the same at all
 * daemons.
 */
#include "base/assert.h"
#include "proto/mutation.h"
#include "proto/commit/commit_state.h"

#include <string.h>

static bool lives(const struct rz_commit *c, rz_id daemon, uint8_t failed_bits)
{
    return daemon != RZ_ID_NONE && !(rz_commit_daemons(c)[daemon] & failed_bits);
}

/* The group can restore a piece as long as no more of its members have failed than it has parities.
 */
static bool group_bears(const struct rz_commit *c, rz_id owner)
{
    struct rz_commit_group group;
    uint32_t n_failed = 0;
    if (!rz_commit_group(c, RZ_COMMIT_HOME, owner, &group)) {
        return false;
    }
    for (uint32_t i = 0; i < group.n; i++) {
        n_failed += !lives(c, group.members[i], FAILED_AGREED);
    }
    return n_failed <= group.parity + (RZ_MUTATED(c->mutations, RZ_COMMIT_GENEROUS) ? 1 : 0);
}

static bool restorable(const struct rz_commit *c, uint32_t rank)
{
    rz_id owner = rz_commit_owner(c, &c->home)[rank];
    if (c->home.since == 0) {
        return false;
    }
    if (lives(c, owner, FAILED_AGREED)) {
        return true;
    }
    switch ((enum rz_commit_scheme)c->scheme) {
    case RZ_COMMIT_MEMORY:
        return false;
    case RZ_COMMIT_BUDDY:
        return lives(c, rz_commit_next_live(c, &c->home, owner), FAILED_AGREED);
    case RZ_COMMIT_GROUPS:
        return group_bears(c, owner);
    case RZ_COMMIT_FILES:
        return true;
    }
    return false;
}

static bool all_restorable(const struct rz_commit *c)
{
    for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
        if (!restorable(c, rank)) {
            return false;
        }
    }
    return true;
}

static void take_failed(struct rz_commit *c, const uint64_t *failed, uint32_t n_failed)
{
    for (uint32_t i = 0; i < n_failed; i++) {
        rz_assert(failed[i] < c->n_daemons && failed[i] != c->self);
        rz_commit_daemons(c)[failed[i]] |= FAILED_AGREED | FAILED_KNOWN;
    }
}

/* Whether the keepers of this epoch have their parts from the epochs before. */
static bool kept_already(const struct rz_commit *c, uint32_t rank)
{
    rz_id owner = rz_commit_owner(c, &c->now)[rank];
    rz_id buddy = rz_commit_next_live(c, &c->now, owner);
    switch ((enum rz_commit_scheme)c->scheme) {
    case RZ_COMMIT_MEMORY:
    case RZ_COMMIT_FILES:
        return true;
    case RZ_COMMIT_BUDDY:
        return buddy != RZ_ID_NONE && rz_commit_holds(c, &c->home, buddy, rank);
    case RZ_COMMIT_GROUPS:
        return c->now.since == c->home.since || RZ_MUTATED(c->mutations, RZ_COMMIT_OLD_PARITY);
    }
    return false;
}

/* What remains of the generation to restore at its holders from now on: of own ranks only, because
 * other ranks are never asked for. */
static void take_stock(struct rz_commit *c)
{
    for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
        if (rz_commit_owner(c, &c->now)[rank] != c->self) {
            continue;
        }
        rz_commit_stored(c)[rank] = 0; /* until the host has checked it */
        rz_commit_copied(c)[rank] = !c->lost && kept_already(c, rank) ? c->base : 0;
        rz_commit_acking(c)[rank] = rz_commit_acks(c)[rank] = 0;
    }
}

uint32_t rz_commit_older_written_in(const struct rz_commit *c)
{
    if (c->fell_back || c->base < 2 || c->base <= c->home_base) {
        return 0;
    }
    if (c->base - 1 > c->home_base) {
        return c->home_epoch;
    }
    return c->home_lost ? 0 : c->home_written_in;
}

/* The newest generation is damaged, and lost: the state is as before it existed. */
static void take_older(struct rz_commit *c)
{
    rz_assert(!c->fell_back && c->base >= 2 && c->base > c->home_base);
    c->written_in = rz_commit_older_written_in(c);
    c->lost = c->written_in == 0;
    c->fell_back = true;
}

void rz_commit_begin_epoch(struct rz_commit *c, const struct rz_event *event)
{
    rz_assert(event->n_items >= c->n_ranks && event->arg[0] > c->epoch);
    uint64_t generation = event->arg[1];
    rz_assert(generation + 1 >= c->base && (c->epoch > 0 || generation == 0));
    if (generation > c->base) {
        /* A generation was committed in the epoch that ends now, perhaps without the knowledge of
         * this member. */
        c->written_in = c->epoch;
        c->lost = false;
    } else if (generation < c->base) {
        take_older(c);
    }
    c->base = c->newest = generation;
    c->epoch = (uint32_t)event->arg[0];
    c->opened = c->closed = c->protected_told = false;
    take_failed(c, event->items + c->n_ranks, event->n_items - c->n_ranks);
    if (event->arg[2] || !all_restorable(c)) {
        c->lost = true;
    }
    rz_commit_lay_out(c, event->items);
    take_stock(c);
    if (RZ_MUTATED(c->mutations, RZ_COMMIT_EARLY_HOME)) {
        rz_commit_settle_home(c);
    }
}

void rz_commit_settle_home(struct rz_commit *c)
{
    size_t ranks = c->n_ranks * sizeof(rz_id), daemons = c->n_daemons * sizeof(rz_id);
    memcpy(rz_commit_owner(c, &c->home), rz_commit_owner(c, &c->now), ranks);
    memcpy(rz_commit_row(c, &c->home), rz_commit_row(c, &c->now), ranks);
    memcpy(rz_commit_live(c, &c->home), rz_commit_live(c, &c->now), daemons);
    memcpy(rz_commit_index(c, &c->home), rz_commit_index(c, &c->now), daemons);
    c->home.n_live = c->now.n_live;
    c->home.since = c->now.since;
    c->home_base = c->base;
    c->home_lost = c->lost;
    c->home_written_in = c->written_in;
    c->home_epoch = c->epoch;
    c->fell_back = false;
}

void rz_commit_acknowledge(struct rz_commit *c, uint64_t generation, uint32_t rank, rz_id keeper)
{
    rz_id keepers[RZ_COMMIT_MEMBERS_MAX];
    uint32_t n = rz_commit_keepers(c, rank, keepers), n_acks = 0;
    uint64_t *acks = &rz_commit_acks(c)[rank];
    if (generation < rz_commit_acking(c)[rank]) {
        return;
    }
    if (generation > rz_commit_acking(c)[rank]) {
        rz_commit_acking(c)[rank] = generation;
        *acks = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (keepers[i] == keeper) {
            *acks |= UINT64_C(1) << i;
        }
        n_acks += *acks >> i & 1;
    }
    uint32_t enough = n > 1 && RZ_MUTATED(c->mutations, RZ_COMMIT_ONE_SHORT) ? n - 1 : n;
    if (n_acks >= enough && generation > rz_commit_copied(c)[rank]) {
        rz_commit_copied(c)[rank] = generation;
    }
}

bool rz_commit_own_safe(const struct rz_commit *c, uint64_t generation)
{
    rz_id keepers[RZ_COMMIT_MEMBERS_MAX];
    for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
        if (rz_commit_owner(c, &c->now)[rank] != c->self) {
            continue;
        }
        bool kept = rz_commit_copied(c)[rank] >= generation ||
                    RZ_MUTATED(c->mutations, RZ_COMMIT_UNCOPIED) ||
                    rz_commit_keepers(c, rank, keepers) == 0;
        if (rz_commit_stored(c)[rank] < generation || !kept) {
            return false;
        }
    }
    return true;
}

uint32_t rz_commit_holders(const struct rz_commit *c, uint32_t rank, rz_id holders[2])
{
    rz_assert(rank < c->n_ranks && c->epoch > 0);
    uint32_t n = 0;
    rz_id owner = rz_commit_owner(c, &c->now)[rank], old = rz_commit_owner(c, &c->home)[rank];
    if (c->lost || c->home.since == 0) {
        return 0;
    }
    if (rz_commit_holds(c, &c->home, owner, rank) && lives(c, owner, FAILED_KNOWN)) {
        holders[n++] = owner;
    }
    if (old != owner && lives(c, old, FAILED_KNOWN)) {
        holders[n++] = old;
    }
    rz_id buddy = c->scheme == RZ_COMMIT_BUDDY ? rz_commit_next_live(c, &c->home, old) : RZ_ID_NONE;
    if (buddy != owner && lives(c, buddy, FAILED_KNOWN)) {
        holders[n++] = buddy;
    }
    rz_assert(n <= 2);
    return n;
}

bool rz_commit_needs_copy(const struct rz_commit *c, uint32_t rank)
{
    rz_id keepers[RZ_COMMIT_MEMBERS_MAX];
    rz_assert(rank < c->n_ranks && c->epoch > 0);
    return !c->lost && rz_commit_owner(c, &c->now)[rank] == c->self &&
           rz_commit_copied(c)[rank] < c->base && rz_commit_keepers(c, rank, keepers) > 0;
}
