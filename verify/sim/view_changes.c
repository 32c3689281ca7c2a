/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timed worlds in turns: if no action of a member in a tick affects another one before the next
 * tick, the steps of different members in one tick commute, and one order represents all: by id. A
 * tick begins with the choice of faults: which members fail in it and lose messages of earlier
 * ticks, which their receivers would otherwise take in their turns. Then the members have their
 * turns: in its turn a member takes the events that are there in any order, leaves those for later
 * that may wait, and may fail at any point, with any part of what it has sent in this tick.
 */
#include "sim/explorer.h"

#include "base/assert.h"

bool rz_view_change_taken(const struct rz_explorer *x)
{
    return !x->whole && x->sim->scenario->claims.turns;
}

/* ---- whose turn it is ---- */

static bool turn_is_idle(const struct rz_explorer *x, rz_id member)
{
    const struct rz_sim *sim = x->sim;
    if (!sim->alive[member]) {
        return true;
    }
    if (rz_choices_may_fail(x, member) || sim->pending[(size_t)member * sim->row_words] ||
        rz_choices_overdue(x, member)) {
        return false;
    }
    for (uint32_t i = 0; i < x->n_flights; i++) {
        if (x->flights[i].to == member && x->flights[i].earliest <= sim->common->now) {
            return false;
        }
    }
    return true;
}

/* Skips decisions without alternatives. */
static void turn_settle(struct rz_explorer *x)
{
    struct rz_sim *sim = x->sim;
    struct rz_sim_common *common = sim->common;
    while (common->fate < sim->n &&
           (!rz_choices_may_fail(x, common->fate) || rz_explorer_sent_by(x, common->fate) == 0)) {
        common->fate++;
    }
    while (common->fate == sim->n && common->turn < sim->n && turn_is_idle(x, common->turn)) {
        common->turn++;
    }
}

static void tick_begin(struct rz_explorer *x)
{
    x->sim->common->fate = x->sim->common->turn = 0;
    turn_settle(x);
}

void rz_view_change_start(struct rz_explorer *x)
{
    if (rz_view_change_taken(x)) {
        tick_begin(x);
    }
}

void rz_view_change_apply(struct rz_explorer *x, const struct rz_choice *choice)
{
    struct rz_sim_common *common = x->sim->common;
    if (!rz_view_change_taken(x)) {
        return;
    }
    uint64_t bit = UINT64_C(1) << choice->member;
    switch (choice->kind) {
    case RZ_CHOOSE_TIME:
        tick_begin(x);
        return;
    case RZ_CHOOSE_CONDEMN:
        common->condemned |= bit;
        common->fate = choice->member + 1;
        break;
    case RZ_CHOOSE_VIEW_CHANGE:
        if (common->fate < x->sim->n) {
            common->fate = x->sim->n;
        } else {
            common->turn++;
        }
        break;
    case RZ_CHOOSE_CRASH:
        common->condemned &= ~bit;
        break;
    default:
        break;
    }
    turn_settle(x);
}

uint64_t rz_view_change_final(const struct rz_explorer *x)
{
    struct rz_sim_common *common = x->sim->common, saved = *common;
    common->turn = common->fate = 0;
    uint64_t hash = rz_explorer_hash(x);
    *common = saved;
    return hash;
}

/* ---- choices ---- */

static uint32_t fate_choices(struct rz_explorer *x, uint32_t *active)
{
    size_t first = x->n_choices;
    rz_choice_push(
        x, (struct rz_choice){.kind = RZ_CHOOSE_VIEW_CHANGE, .member = x->sim->common->fate});
    *active = 1;
    for (rz_id id = x->sim->common->fate; id < x->sim->n; id++) {
        if (rz_choices_may_fail(x, id)) {
            rz_choices_failure(x, RZ_CHOOSE_CONDEMN, id);
        }
    }
    return (uint32_t)(x->n_choices - first);
}

/* A member that was to fail has left: the choice of faults was wrong, and there is no such run. */
static bool left_condemned(const struct rz_explorer *x)
{
    for (rz_id id = 0; id < x->sim->n; id++) {
        if ((x->sim->common->condemned >> id & 1) && !x->sim->alive[id]) {
            return true;
        }
    }
    return false;
}

uint32_t rz_view_change_choices(struct rz_explorer *x, uint32_t *active)
{
    const struct rz_sim_common *common = x->sim->common;
    size_t first = x->n_choices;
    rz_id member = common->turn;
    if (left_condemned(x)) {
        *active = 1;
        return 0;
    }
    if (common->fate < x->sim->n) {
        return fate_choices(x, active);
    }
    if (member == x->sim->n) {
        rz_choices_time(x);
        return *active = (uint32_t)(x->n_choices - first);
    }
    bool condemned = common->condemned >> member & 1;
    rz_choices_arrivals(x, member);
    rz_choices_news(x, member);
    rz_choices_tick(x, member);
    bool last = common->now >= x->sim->scenario->horizon; /* there is no later */
    if (!condemned && !rz_choices_overdue(x, member) && !(last && x->n_choices > first)) {
        rz_choice_push(x, (struct rz_choice){.kind = RZ_CHOOSE_VIEW_CHANGE, .member = member});
    }
    *active = (uint32_t)(x->n_choices - first);
    if (rz_choices_may_fail(x, member)) {
        rz_choices_failure(x, RZ_CHOOSE_CRASH, member);
    }
    uint32_t n = (uint32_t)(x->n_choices - first);
    if (condemned) {
        *active = n;
    }
    rz_assert(*active > 0);
    return n;
}
