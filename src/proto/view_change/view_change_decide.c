/* SPDX-License-Identifier: BSD-3-Clause */
/* Decisions: taken by the least living daemon, kept by all; then they count. */
#include "proto/view_change/view_change_private.h"

#include "proto/mutation.h"
#include "base/assert.h"

#include <string.h>

rz_id rz_view_change_leader(const struct rz_view_change *vc)
{
    const uint64_t *failed = rz_view_change_failed_daemons(vc);
    rz_id id = 0;
    while (id != vc->self && rz_view_change_bit(failed, id)) {
        id++;
    }
    return id;
}

/* The living processes that wait in the round that counts. */
static uint32_t list_waiting(const struct rz_view_change *vc,
                             const struct rz_view_change_group *group,
                             struct rz_view_change_waiting *waiting)
{
    uint32_t n = 0;
    for (struct rz_view_change_record *r = rz_view_change_next(vc, &group->record);
         r && r->group == group->record.group; r = rz_view_change_next(vc, r)) {
        const struct rz_view_change_arrival *arrival = (const struct rz_view_change_arrival *)r;
        if (arrival->round == group->counts.round) {
            waiting[n++] = (struct rz_view_change_waiting){.rank = r->key - 1,
                                                           .progress = arrival->progress,
                                                           .counters = arrival->items,
                                                           .n_counters = arrival->n_items};
        }
    }
    return n;
}

/* Starts to send the kept decision, as this daemon's own. */
static void tell_decision(struct rz_view_change *vc, struct rz_view_change_group *group)
{
    group->kept.by = vc->self;
    group->say |= RZ_VIEW_CHANGE_SAY_DECIDED;
    vc->busy = true;
    memset(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_CONFIRMED), 0,
           rz_view_change_set_words(vc->config.n_members) * sizeof(uint64_t));
}

/* False: there is nothing to decide. */
static bool decide_one(struct rz_view_change *vc, struct rz_view_change_group *group)
{
    if (rz_view_change_leader(vc) != vc->self || group->kept.round != group->counts.round) {
        return false;
    }
    uint32_t words = rz_view_change_set_words(group->n);
    uint64_t *scratch = rz_view_change_scratch(vc), progress;
    struct rz_view_change_waiting *waiting = (struct rz_view_change_waiting *)scratch;
    struct rz_diagnose_list *lists = (struct rz_diagnose_list *)(waiting + group->n);
    uint64_t *view = (uint64_t *)(lists + group->n);
    struct rz_view_change_situation now = {
        .n = group->n,
        .round = group->counts.round,
        .progress = group->counts.progress,
        .view = rz_view_change_set(group, RZ_VIEW_CHANGE_SET_COUNTS),
        .gone = rz_view_change_set(group, RZ_VIEW_CHANGE_SET_GONE),
        .n_waiting = list_waiting(vc, group, waiting),
        .waiting = waiting,
        .count_absent = RZ_MUTATED(vc->config.mutations, RZ_VIEW_CHANGE_COUNT_ABSENT)};
    if (group->counts.round == UINT32_MAX ||
        !rz_view_change_ends(&now, lists, (uint32_t *)(view + words), view, &progress)) {
        return false;
    }
    group->kept.round++;
    group->kept.progress = progress;
    memcpy(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_KEPT), view, words * sizeof(*view));
    tell_decision(vc, group);
    return true;
}

void rz_view_change_count(struct rz_view_change *vc, struct rz_view_change_group *group)
{
    if (group->counts.round == group->kept.round) {
        return;
    }
    group->counts = group->kept;
    memcpy(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_COUNTS),
           rz_view_change_set(group, RZ_VIEW_CHANGE_SET_KEPT),
           rz_view_change_set_words(group->n) * sizeof(uint64_t));
    group->say |= RZ_VIEW_CHANGE_SAY_ROUND;
    vc->busy = true;
    struct rz_view_change_record *r = rz_view_change_next(vc, &group->record);
    while (r && r->group == group->record.group) {
        bool over = ((const struct rz_view_change_arrival *)r)->round < group->counts.round;
        r = over ? rz_view_change_remove(vc, r) : rz_view_change_next(vc, r);
    }
}

/* Whether all other living daemons have kept it. */
static bool is_confirmed(const struct rz_view_change *vc, const struct rz_view_change_group *group)
{
    const uint64_t *confirmed = rz_view_change_set(group, RZ_VIEW_CHANGE_SET_CONFIRMED);
    const uint64_t *failed = rz_view_change_failed_daemons(vc);
    if (RZ_MUTATED(vc->config.mutations, RZ_VIEW_CHANGE_TELL_EARLY)) {
        return true;
    }
    for (rz_id id = 0; id < vc->config.n_members; id++) {
        if (id != vc->self && !rz_view_change_bit(failed, id) &&
            !rz_view_change_bit(confirmed, id)) {
            return false;
        }
    }
    return true;
}

void rz_view_change_settle(struct rz_view_change *vc, struct rz_view_change_group *group)
{
    while (group->kept.round != group->counts.round && group->kept.by == vc->self &&
           is_confirmed(vc, group)) {
        rz_view_change_count(vc, group);
        group->say |= RZ_VIEW_CHANGE_SAY_SETTLED;
        if (!decide_one(vc, group)) {
            return;
        }
    }
}

void rz_view_change_decide(struct rz_view_change *vc, struct rz_view_change_group *group)
{
    if (decide_one(vc, group)) {
        rz_view_change_settle(vc, group);
    }
}

bool rz_view_change_look_at_gone(struct rz_view_change *vc, struct rz_view_change_group *group)
{
    const uint64_t *gone = rz_view_change_set(group, RZ_VIEW_CHANGE_SET_GONE);
    uint32_t rank = 0;
    while (rank < group->n && rz_view_change_bit(gone, rank)) {
        rank++;
    }
    if (rank < group->n) {
        rz_view_change_decide(vc, group);
        return true;
    }
    vc->n_local -= group->local;
    vc->forgotten[vc->n_forgotten++ % RZ_VIEW_CHANGE_FORGOTTEN_MAX] = group->record.group;
    rz_view_change_remove_group(vc, group);
    return false;
}

/* A daemon that becomes the leader sends the decision that it has kept again: others may not have
 * it. */
static void take_over(struct rz_view_change *vc, struct rz_view_change_group *group)
{
    if (group->kept.round != group->counts.round) {
        tell_decision(vc, group);
        rz_view_change_settle(vc, group);
        return;
    }
    if (group->counts.round > 0) {
        group->say |= RZ_VIEW_CHANGE_SAY_SETTLED;
        vc->busy = true;
    }
    rz_view_change_decide(vc, group);
}

void rz_view_change_leader_may_change(struct rz_view_change *vc, rz_id before)
{
    rz_id leader = rz_view_change_leader(vc);
    for (struct rz_view_change_record *r = rz_view_change_first(vc); r;
         r = rz_view_change_next(vc, r)) {
        if (r->key > 0) {
            struct rz_view_change_arrival *arrival = (struct rz_view_change_arrival *)r;
            arrival->say = arrival->say || (arrival->local && leader != before);
            vc->busy = vc->busy || arrival->say;
        } else if (leader == vc->self && leader != before) {
            take_over(vc, (struct rz_view_change_group *)r);
        } else {
            rz_view_change_settle(vc, (struct rz_view_change_group *)r);
        }
    }
}
