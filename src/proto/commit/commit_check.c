/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of commit: daemons with the same decisions have the same state, and each generation
 * that may be chosen can be restored. */
#include "proto/commit/commit_check.h"

#include "proto/commit/commit_state.h"
#include "proto/commit/stripes.h"

#include <string.h>

static bool layouts_differ(const struct rz_commit *a, const struct rz_commit_layout *x,
                           const struct rz_commit *b, const struct rz_commit_layout *y)
{
    return x->since != y->since || x->n_live != y->n_live ||
           memcmp(rz_commit_owner(a, x), rz_commit_owner(b, y), a->n_ranks * sizeof(rz_id)) != 0 ||
           memcmp(rz_commit_live(a, x), rz_commit_live(b, y), x->n_live * sizeof(rz_id)) != 0;
}

static const char *commit_difference(const struct rz_commit *a, const struct rz_commit *b)
{
    if (a->base != b->base || a->lost != b->lost ||
        (a->opened == b->opened && a->fell_back != b->fell_back)) {
        return "generation to restore";
    }
    if (!a->lost && a->written_in != b->written_in) {
        return "epoch in which it was written";
    }
    if (layouts_differ(a, &a->now, b, &b->now)) {
        return "placement";
    }
    if (a->opened == b->opened && layouts_differ(a, &a->home, b, &b->home)) {
        return "holders";
    }
    if (a->newest > b->newest + 1 || b->newest > a->newest + 1) {
        return "generations committed, by more than one";
    }
    return NULL;
}

bool rz_commit_check_uniform(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_commit *a = group->state[i];
        for (rz_id j = 0; a && j < i; j++) {
            const struct rz_commit *b = group->state[j];
            const char *what = b && a->epoch == b->epoch ? commit_difference(a, b) : NULL;
            if (what) {
                return rz_check_say(group, "S7-5: in epoch %u %u and %u differ: %s", a->epoch, j, i,
                                    what);
            }
        }
    }
    return true;
}

static bool failed(const struct rz_commit *c, rz_id daemon)
{
    return daemon == RZ_ID_NONE || (rz_commit_daemons(c)[daemon] & FAILED_AGREED);
}

/* Each chunk of the piece is in a stripe with enough live columns; counted one by one. */
static bool group_gives_back(const struct rz_commit *c, rz_id owner)
{
    struct rz_commit_group group;
    if (!rz_commit_group(c, RZ_COMMIT_HOME, owner, &group)) {
        return false;
    }
    uint32_t data = group.n - group.parity;
    for (uint32_t chunk = 0; chunk < data; chunk++) {
        uint32_t stripe = rz_stripe_of(group.n, group.parity, group.place, chunk), n_live = 0;
        uint64_t columns = 0;
        for (uint32_t place = 0; place < group.n; place++) {
            columns |= UINT64_C(1) << rz_stripe_column(group.n, group.parity, stripe, place);
            n_live += !failed(c, group.members[place]);
        }
        if (rz_stripe_column(group.n, group.parity, stripe, group.place) != chunk ||
            columns != (UINT64_C(1) << group.n) - 1 || n_live < data) {
            return false;
        }
    }
    return true;
}

static bool a_member_has(const struct rz_commit *c, uint32_t rank)
{
    rz_id owner = rz_commit_owner(c, &c->home)[rank];
    if (!failed(c, owner) || c->scheme == RZ_COMMIT_FILES) {
        return true;
    }
    if (c->scheme == RZ_COMMIT_BUDDY) {
        return !failed(c, rz_commit_next_live(c, &c->home, owner));
    }
    return c->scheme == RZ_COMMIT_GROUPS && group_gives_back(c, owner);
}

static bool keepers_are_others(const struct rz_commit *c, uint32_t rank)
{
    rz_id keepers[RZ_COMMIT_MEMBERS_MAX], owner = rz_commit_owner(c, &c->now)[rank];
    uint32_t n = rz_commit_keepers(c, rank, keepers);
    for (uint32_t i = 0; i < n; i++) {
        if ((keepers[i] == owner) != (c->scheme == RZ_COMMIT_FILES) || failed(c, keepers[i])) {
            return false;
        }
        for (uint32_t j = 0; j < i; j++) {
            if (keepers[j] == keepers[i]) {
                return false;
            }
        }
    }
    return true;
}

bool rz_commit_check_holders(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_commit *c = group->state[i];
        for (uint32_t rank = 0; c && c->epoch > 0 && rank < c->n_ranks; rank++) {
            if (!failed(c, rz_commit_owner(c, &c->now)[rank]) && !keepers_are_others(c, rank)) {
                return rz_check_say(group, "at %u rank %u has keepers that are none", i, rank);
            }
            if (!c->lost && !a_member_has(c, rank)) {
                return rz_check_say(group,
                                    "at %u no living member holds rank %u of generation %llu", i,
                                    rank, (unsigned long long)c->base);
            }
        }
    }
    return true;
}
