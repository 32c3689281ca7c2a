/* SPDX-License-Identifier: BSD-3-Clause */
/* The event counters: the larger one wins; a non-recommended process takes those of the group. */
#include "proto/diagnose/diagnose_private.h"

#include "proto/mutation.h"
#include "base/assert.h"

static bool is_even(uint32_t counter)
{
    return counter % 2 == 0;
}

void rz_diagnose_set(struct rz_diagnose *diagnose, rz_id k, uint32_t counter)
{
    struct rz_diagnose_peer *peer = &diagnose->peers[k];
    if (peer->counter == counter) {
        return;
    }
    diagnose->n_even -= is_even(peer->counter);
    diagnose->n_even += is_even(counter);
    peer->counter = counter;
    peer->event = peer->failed = false;
    if (!RZ_MUTATED(diagnose->config.mutations, RZ_DIAGNOSE_KEEP_OKRUN)) {
        peer->okrun = 0;
    }
    diagnose->untold = true;
}

/* The list replaces all counters here; tests under way end without assessment. */
static void adopt(struct rz_diagnose *diagnose, const uint64_t *items, uint32_t n)
{
    uint32_t at = 0;
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        while (at < n && items[at] >> 32 < k) {
            at++;
        }
        bool listed = at < n && items[at] >> 32 == k;
        rz_diagnose_set(diagnose, k, listed ? (uint32_t)items[at] : 0);
        diagnose->peers[k].pending = false;
        diagnose->peers[k].event = diagnose->peers[k].failed = false;
        diagnose->peers[k].okrun = 0;
    }
    rz_diagnose_recover(diagnose);
}

uint32_t rz_diagnose_listed(const uint64_t *items, uint32_t n, rz_id k)
{
    for (uint32_t i = 0; i < n; i++) {
        if (items[i] >> 32 == k) {
            return (uint32_t)items[i];
        }
    }
    return 0;
}

/* Even counters are decided by the group. If a readmitted tester were not believed, a member could
 * for ever be tested only by members it does not believe: in a cube it has few testers. */
bool rz_diagnose_believes(const struct rz_diagnose *diagnose, rz_id from, const uint64_t *items,
                          uint32_t n)
{
    if (rz_diagnose_has(diagnose, from) || !is_even(diagnose->peers[diagnose->self].counter)) {
        return true;
    }
    uint32_t claim = rz_diagnose_listed(items, n, from);
    return is_even(claim) && claim > diagnose->peers[from].counter;
}

/* A process that is non-recommended, or learns it now, takes the list of a sender that knows this:
 * what it found since then reached no member, and must not take effect after its rejoin. */
void rz_diagnose_merge(struct rz_diagnose *diagnose, const uint64_t *items, uint32_t n, bool events)
{
    bool count_up = RZ_MUTATED(diagnose->config.mutations, RZ_DIAGNOSE_INCREMENT);
    uint32_t about_self = rz_diagnose_listed(items, n, diagnose->self);
    uint32_t own_counter = diagnose->peers[diagnose->self].counter;
    bool put_out = is_even(own_counter) && !is_even(about_self) && about_self > own_counter;
    if ((put_out || !is_even(own_counter)) && !count_up) {
        if (about_self >= own_counter) {
            adopt(diagnose, items, n);
        }
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t k = items[i] >> 32;
        uint32_t counter = (uint32_t)items[i];
        if (k >= diagnose->config.n_members) {
            continue;
        }
        uint32_t own = diagnose->peers[k].counter;
        if (count_up && events && counter >= own && !is_even(counter)) {
            rz_diagnose_set(diagnose, (rz_id)k, own + 1);
        } else if (counter > own) {
            rz_diagnose_set(diagnose, (rz_id)k, counter);
        }
    }
}

void rz_diagnose_readmit(struct rz_diagnose *diagnose, rz_id k, uint32_t counter)
{
    rz_assert(k < diagnose->config.n_members && !is_even(counter));
    if (diagnose->peers[k].counter <= counter) {
        rz_diagnose_set(diagnose, k, counter + 1);
    }
}

void rz_diagnose_agree(struct rz_diagnose *diagnose, uint64_t round, const uint64_t *items,
                       uint32_t n)
{
    if (round <= diagnose->round) {
        return;
    }
    diagnose->round = round;
    uint64_t *view = rz_diagnose_view_bits(diagnose);
    uint32_t members = diagnose->config.n_members, in = members;
    for (rz_id k = 0; k < members; k++) {
        view[k / 64] |= UINT64_C(1) << (k % 64);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t k = items[i] >> 32;
        if (k >= members || is_even((uint32_t)items[i])) {
            continue;
        }
        view[k / 64] &= ~(UINT64_C(1) << (k % 64));
        in--;
    }
    if (in == 0) {
        view[0] |= 1; /* the process of least rank remains: at least one must compute */
    }
    rz_diagnose_merge(diagnose, items, n, false);
}

void rz_diagnose_take_over(struct rz_diagnose *diagnose, struct rz_actions *out)
{
    rz_id self = diagnose->self;
    rz_assert(!is_even(diagnose->peers[self].counter));
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        if (k == self || is_even(diagnose->peers[k].counter)) {
            rz_diagnose_set(diagnose, k, diagnose->peers[k].counter + 1);
        }
    }
    struct rz_action *notice = rz_diagnose_emit(out, RZ_ACTION_NOTIFY);
    notice->what = RZ_DIAGNOSE_ALONE;
    notice->arg[0] = self;
    notice->arg[1] = diagnose->peers[self].counter;
}

enum rz_more rz_diagnose_tell(struct rz_diagnose *diagnose, struct rz_actions *out)
{
    for (rz_id k = 0; k < diagnose->config.n_members && diagnose->untold; k++) {
        struct rz_diagnose_peer *peer = &diagnose->peers[k];
        if (peer->told == peer->counter) {
            continue;
        }
        if (out->count == out->max) {
            return RZ_MORE;
        }
        peer->told = peer->counter;
        struct rz_action *notice = rz_diagnose_emit(out, RZ_ACTION_NOTIFY);
        notice->what = RZ_DIAGNOSE_CHANGED;
        notice->arg[0] = k;
        notice->arg[1] = peer->counter;
    }
    diagnose->untold = false;
    return RZ_DONE;
}
