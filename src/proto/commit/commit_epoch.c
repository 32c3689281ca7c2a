/*
 * What a new epoch means for the pieces: buddies, what can be restored and from where. A pure
 * function of the calls EPOCH and OPENED, which are the same at all daemons.
 */
#include "base/assert.h"
#include "proto/commit/commit_state.h"

#include <string.h>

/* The buddy of a daemon is the next live one in the ring of ids. */
static void choose_buddies(struct rz_commit *c)
{
    const uint8_t *daemons = rz_commit_daemons(c);
    rz_id *buddy = rz_commit_buddy(c);
    for (rz_id d = 0; d < c->n_daemons; d++) {
        rz_id next = (d + 1) % c->n_daemons;
        while (next != d && (daemons[next] & DAEMON_AGREED))
            next = (next + 1) % c->n_daemons;
        buddy[d] = next == d ? RZ_ID_NONE : next;
    }
}

static bool holds_at_home(const struct rz_commit *c, rz_id daemon, uint32_t rank)
{
    return daemon == rz_commit_home_owner(c)[rank] || daemon == rz_commit_home_buddy(c)[rank];
}

static bool lives(const struct rz_commit *c, rz_id daemon, uint8_t dead_bits)
{
    return daemon != RZ_ID_NONE && !(rz_commit_daemons(c)[daemon] & dead_bits);
}

static bool restorable(const struct rz_commit *c)
{
    for (uint32_t rank = 0; rank < c->n_ranks; rank++)
        if (!lives(c, rz_commit_home_owner(c)[rank], DAEMON_AGREED) &&
            !lives(c, rz_commit_home_buddy(c)[rank], DAEMON_AGREED))
            return false;
    return true;
}

static void take_dead(struct rz_commit *c, const uint64_t *dead, uint32_t n_dead)
{
    for (uint32_t i = 0; i < n_dead; i++) {
        rz_assert(dead[i] < c->n_daemons && dead[i] != c->self);
        rz_commit_daemons(c)[dead[i]] |= DAEMON_AGREED | DAEMON_KNOWN;
    }
}

/* What is left of the generation to restore with those who must hold it from now on. */
static void take_stock(struct rz_commit *c)
{
    for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
        rz_id owner = rz_commit_owner(c)[rank], buddy = rz_commit_buddy(c)[owner];
        bool stored = !c->lost && holds_at_home(c, owner, rank);
        bool copied = !c->lost && buddy != RZ_ID_NONE && holds_at_home(c, buddy, rank);
        rz_commit_stored(c)[rank] = stored ? c->base : 0;
        rz_commit_copied(c)[rank] = copied ? c->base : 0;
    }
}

void rz_commit_begin_epoch(struct rz_commit *c, const struct rz_event *event)
{
    rz_assert(event->n_items >= c->n_ranks && event->arg[0] > c->epoch);
    uint64_t generation = event->arg[1];
    rz_assert(generation >= c->base && (c->epoch > 0 || generation == 0));
    if (generation > c->base) {
        /* Something was committed in the epoch that ends now, be it unseen here. */
        c->written_in = c->epoch;
        c->lost = false;
    }
    c->base = c->newest = generation;
    c->epoch = (uint32_t)event->arg[0];
    c->opened = c->closed = c->protected_told = false;
    take_dead(c, event->items + c->n_ranks, event->n_items - c->n_ranks);
    if (!restorable(c))
        c->lost = true;
    for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
        rz_assert(event->items[rank] < c->n_daemons);
        rz_commit_owner(c)[rank] = (rz_id)event->items[rank];
    }
    choose_buddies(c);
    take_stock(c);
    if (c->mutations & RZ_COMMIT_EARLY_HOME)
        rz_commit_settle_home(c);
}

void rz_commit_settle_home(struct rz_commit *c)
{
    for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
        rz_id owner = rz_commit_owner(c)[rank];
        rz_commit_home_owner(c)[rank] = owner;
        rz_commit_home_buddy(c)[rank] = rz_commit_buddy(c)[owner];
    }
}

bool rz_commit_own_safe(const struct rz_commit *c, uint64_t generation)
{
    bool alone = rz_commit_buddy(c)[c->self] == RZ_ID_NONE;
    if (c->mutations & RZ_COMMIT_UNCOPIED)
        alone = true;
    for (uint32_t rank = 0; rank < c->n_ranks; rank++)
        if (rz_commit_owner(c)[rank] == c->self &&
            (rz_commit_stored(c)[rank] < generation ||
             (!alone && rz_commit_copied(c)[rank] < generation)))
            return false;
    return true;
}

rz_id rz_commit_buddy_of(const struct rz_commit *c, uint32_t rank)
{
    rz_assert(rank < c->n_ranks && c->epoch > 0);
    return rz_commit_buddy(c)[rz_commit_owner(c)[rank]];
}

rz_id rz_commit_holder_of(const struct rz_commit *c, uint32_t rank)
{
    rz_assert(rank < c->n_ranks && c->epoch > 0);
    rz_id owner = rz_commit_owner(c)[rank];
    rz_id home_owner = rz_commit_home_owner(c)[rank], home_buddy = rz_commit_home_buddy(c)[rank];
    if (c->lost)
        return RZ_ID_NONE;
    if (holds_at_home(c, owner, rank) && lives(c, owner, DAEMON_KNOWN))
        return owner;
    if (lives(c, home_owner, DAEMON_KNOWN))
        return home_owner;
    return lives(c, home_buddy, DAEMON_KNOWN) ? home_buddy : RZ_ID_NONE;
}

bool rz_commit_needs_copy(const struct rz_commit *c, uint32_t rank)
{
    rz_assert(rank < c->n_ranks && c->epoch > 0);
    return !c->lost && rz_commit_owner(c)[rank] == c->self &&
           rz_commit_buddy(c)[c->self] != RZ_ID_NONE && rz_commit_copied(c)[rank] < c->base;
}
