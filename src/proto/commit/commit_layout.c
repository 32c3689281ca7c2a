/* SPDX-License-Identifier: BSD-3-Clause */
/* The holders under each scheme: pure functions of a layout. Groups are runs of the list of live
 * daemons, so equal layouts have equal groups. */
#include "base/assert.h"
#include "proto/commit/commit_state.h"

#include <string.h>

static void place_ranks(struct rz_commit *c, const uint64_t *placement)
{
    uint32_t *n_on = rz_commit_at(c, c->failed_at);
    memset(n_on, 0, c->n_daemons * sizeof(*n_on));
    for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
        rz_assert(placement[rank] < c->n_daemons);
        rz_commit_owner(c, &c->now)[rank] = (rz_id)placement[rank];
        rz_commit_row(c, &c->now)[rank] = n_on[placement[rank]]++;
    }
}

static void list_live(struct rz_commit *c)
{
    c->now.n_live = 0;
    for (rz_id d = 0; d < c->n_daemons; d++) {
        bool lives = !(rz_commit_daemons(c)[d] & FAILED_AGREED);
        rz_commit_index(c, &c->now)[d] = lives ? c->now.n_live : RZ_ID_NONE;
        if (lives) {
            rz_commit_live(c, &c->now)[c->now.n_live++] = d;
        }
    }
}

void rz_commit_lay_out(struct rz_commit *c, const uint64_t *placement)
{
    place_ranks(c, placement);
    list_live(c);
    bool same = c->home.since > 0 && c->home.n_live == c->now.n_live &&
                memcmp(rz_commit_owner(c, &c->home), rz_commit_owner(c, &c->now),
                       c->n_ranks * sizeof(rz_id)) == 0 &&
                memcmp(rz_commit_live(c, &c->home), rz_commit_live(c, &c->now),
                       c->now.n_live * sizeof(rz_id)) == 0;
    c->now.since = same ? c->home.since : c->epoch;
}

rz_id rz_commit_next_live(const struct rz_commit *c, const struct rz_commit_layout *l, rz_id daemon)
{
    uint32_t index = l->n_live > 1 ? rz_commit_index(c, l)[daemon] : RZ_ID_NONE;
    return index == RZ_ID_NONE ? RZ_ID_NONE : rz_commit_live(c, l)[(index + 1) % l->n_live];
}

bool rz_commit_holds(const struct rz_commit *c, const struct rz_commit_layout *l, rz_id daemon,
                     uint32_t rank)
{
    rz_id owner = rz_commit_owner(c, l)[rank];
    if (l->since == 0) {
        return false;
    }
    return daemon == owner ||
           (c->scheme == RZ_COMMIT_BUDDY && daemon == rz_commit_next_live(c, l, owner));
}

bool rz_commit_group(const struct rz_commit *c, enum rz_commit_when when, rz_id daemon,
                     struct rz_commit_group *group)
{
    const struct rz_commit_layout *l = rz_commit_layout_of(c, when);
    rz_assert(daemon < c->n_daemons && c->scheme == RZ_COMMIT_GROUPS);
    uint32_t index = l->since > 0 ? rz_commit_index(c, l)[daemon] : RZ_ID_NONE;
    if (index == RZ_ID_NONE) {
        return false;
    }
    uint64_t n_groups = l->n_live / (c->data + c->parity);
    if (n_groups == 0) {
        n_groups = 1;
    }
    /* Daemon i of the list is in group i * n_groups / n_live. */
    uint64_t which = index * n_groups / l->n_live;
    uint32_t first = (uint32_t)((which * l->n_live + n_groups - 1) / n_groups);
    uint32_t end = (uint32_t)(((which + 1) * l->n_live + n_groups - 1) / n_groups);
    group->members = rz_commit_live(c, l) + first;
    group->n = end - first;
    group->parity = c->parity < group->n ? c->parity : group->n - 1;
    group->place = index - first;
    rz_assert(group->n <= RZ_COMMIT_MEMBERS_MAX);
    return true;
}

uint32_t rz_commit_layout(const struct rz_commit *c, enum rz_commit_when when)
{
    return rz_commit_layout_of(c, when)->since;
}

rz_id rz_commit_owner_of(const struct rz_commit *c, enum rz_commit_when when, uint32_t rank)
{
    rz_assert(rank < c->n_ranks);
    return rz_commit_owner(c, rz_commit_layout_of(c, when))[rank];
}

uint32_t rz_commit_row_of(const struct rz_commit *c, enum rz_commit_when when, uint32_t rank)
{
    rz_assert(rank < c->n_ranks);
    return rz_commit_row(c, rz_commit_layout_of(c, when))[rank];
}

uint32_t rz_commit_rank_at(const struct rz_commit *c, enum rz_commit_when when, rz_id daemon,
                           uint32_t row)
{
    const struct rz_commit_layout *l = rz_commit_layout_of(c, when);
    for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
        if (rz_commit_owner(c, l)[rank] == daemon && rz_commit_row(c, l)[rank] == row) {
            return rank;
        }
    }
    return RZ_ID_NONE;
}

uint32_t rz_commit_keepers(const struct rz_commit *c, uint32_t rank,
                           rz_id keepers[RZ_COMMIT_MEMBERS_MAX])
{
    struct rz_commit_group group;
    uint32_t n = 0;
    rz_assert(rank < c->n_ranks && c->epoch > 0);
    rz_id owner = rz_commit_owner(c, &c->now)[rank];
    switch ((enum rz_commit_scheme)c->scheme) {
    case RZ_COMMIT_MEMORY:
        break;
    case RZ_COMMIT_BUDDY:
        keepers[0] = rz_commit_next_live(c, &c->now, owner);
        n = keepers[0] != RZ_ID_NONE;
        break;
    case RZ_COMMIT_FILES:
        keepers[n++] = owner;
        break;
    case RZ_COMMIT_GROUPS:
        /* A daemon failed by decision owns ranks only until a placement is decided. */
        for (uint32_t i = 0; rz_commit_group(c, RZ_COMMIT_NOW, owner, &group) && i < group.n; i++) {
            if (i != group.place) {
                keepers[n++] = group.members[i];
            }
        }
        break;
    }
    return n;
}
