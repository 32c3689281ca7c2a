/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The faults of a random run: crashes, and faults of the network and of hosts. All are drawn before
 * the run begins, from a stream of their own; the fate of one message is a function of seed, plan
 * and the number of the message, so that a plan can be shortened.
 */
#include "sim/world.h"

#include "base/assert.h"

#include <string.h>

/* Untimed runs of small worlds last some thousand units at most. */
#define DATE_BITS 12

/* ---- drawing crashes ---- */

static struct rz_sim_cut draw_cut(struct rz_random *faults)
{
    struct rz_sim_cut cut = {.actions = UINT32_MAX};
    if (rz_random_below(faults, 2)) {
        cut.actions = (uint32_t)rz_random_below(faults, 8);
    }
    if (rz_random_below(faults, 2)) {
        cut.loss = 1 + rz_random_below(faults, UINT32_MAX);
    }
    return cut;
}

static bool plan_has(const struct rz_sim_plan *plan, rz_id victim)
{
    for (uint32_t i = 0; i < plan->n; i++) {
        if (plan->v[i].victim == victim) {
            return true;
        }
    }
    return false;
}

static void plan_add(struct rz_sim *sim, struct rz_sim_plan *plan, rz_id victim, uint64_t at,
                     bool dated)
{
    rz_assert(plan->n < RZ_SIM_PLAN_MAX);
    plan->v[plan->n++] = (struct rz_sim_crash){victim, at, dated, draw_cut(&sim->faults)};
}

static rz_time draw_date(struct rz_sim *sim)
{
    rz_time until = sim->scenario->crash_until;
    if (until > 0) {
        return rz_random_below(&sim->faults, until);
    }
    return rz_random_below(&sim->faults, UINT64_C(1) << rz_random_below(&sim->faults, DATE_BITS));
}

static uint64_t draw_step(struct rz_sim *sim)
{
    return rz_random_below(&sim->faults, UINT64_C(1) << rz_random_below(&sim->faults, 8));
}

/* Whole racks, each at one date, as long as no more than `most` members fail. */
static void draw_racks(struct rz_sim *sim, struct rz_sim_plan *plan, uint32_t most)
{
    uint32_t rack = sim->scenario->rack, racks = (sim->n + rack - 1) / rack;
    while (plan->n + rack <= most) {
        rz_id first = (rz_id)rz_random_below(&sim->faults, racks) * rack;
        rz_time at = draw_date(sim);
        for (rz_id id = first; id < first + rack && id < sim->n; id++) {
            if (!plan_has(plan, id)) {
                plan_add(sim, plan, id, at, true);
            }
        }
        if (rz_random_below(&sim->faults, 2)) {
            return;
        }
    }
}

/* Single members, or consecutive ones; in some runs they fail at one date. */
static void draw_victims(struct rz_sim *sim, struct rz_sim_plan *plan, uint32_t most)
{
    struct rz_random *faults = &sim->faults;
    uint32_t n = 1 + (uint32_t)rz_random_below(faults, most);
    bool contiguous = rz_random_below(faults, 2), together = rz_random_below(faults, 4) == 0;
    bool dated = together || sim->scenario->crash_until > 0;
    rz_id victim = (rz_id)rz_random_below(faults, sim->n);
    uint64_t at = draw_date(sim);
    while (plan->n < n) {
        while (plan_has(plan, victim)) {
            victim = contiguous ? (victim + 1) % sim->n : (rz_id)rz_random_below(faults, sim->n);
        }
        if (!together) {
            at = dated ? draw_date(sim) : draw_step(sim);
        }
        plan_add(sim, plan, victim, at, dated);
        victim = (victim + 1) % sim->n;
    }
}

static void draw_crashes(struct rz_sim *sim, struct rz_sim_plan *plan)
{
    uint32_t most = sim->crashes_max, rack = sim->scenario->rack;
    if (most > sim->n - 1) {
        most = sim->n - 1;
    }
    if (most > RZ_SIM_PLAN_MAX) {
        most = RZ_SIM_PLAN_MAX;
    }
    if (most == 0 || rz_random_below(&sim->faults, 16) == 0) {
        return;
    }
    if (rack > 0 && rack <= most && rz_random_below(&sim->faults, 2)) {
        draw_racks(sim, plan, most);
    } else {
        draw_victims(sim, plan, most);
    }
}

/* ---- drawing troubles ---- */

static void add_trouble(struct rz_sim *sim, struct rz_sim_plan *plan, enum rz_sim_trouble_kind kind,
                        uint64_t what, rz_time longest)
{
    rz_time until = sim->scenario->faults.until;
    struct rz_sim_trouble trouble = {.kind = kind, .what = what, .to = until};
    if (longest > 0) {
        trouble.from = rz_random_below(&sim->faults, until);
        rz_time most = until - trouble.from < longest ? until - trouble.from : longest;
        trouble.to = trouble.from + 1 + rz_random_below(&sim->faults, most);
    }
    if (plan->n_troubles < RZ_SIM_TROUBLES_MAX) {
        plan->trouble[plan->n_troubles++] = trouble;
    }
}

/* A rate, for the whole time or for a part of it. */
static void draw_rate(struct rz_sim *sim, struct rz_sim_plan *plan, enum rz_sim_trouble_kind kind,
                      uint32_t most)
{
    if (most == 0 || rz_random_below(&sim->faults, 2) == 0) {
        return;
    }
    uint64_t rate = 1 + rz_random_below(&sim->faults, most);
    bool whole = rz_random_below(&sim->faults, 2);
    add_trouble(sim, plan, kind, rate, whole ? 0 : sim->scenario->faults.until);
}

static void draw_troubles(struct rz_sim *sim, struct rz_sim_plan *plan)
{
    const struct rz_sim_faults *bound = &sim->scenario->faults;
    struct rz_random *faults = &sim->faults;
    rz_assert(bound->until > 0 ||
              (bound->loss == 0 && bound->duplication == 0 && bound->partitions == 0 &&
               bound->pauses == 0 && bound->slow == 0));
    if (bound->until == 0 || rz_random_below(faults, 8) == 0) {
        return;
    }
    draw_rate(sim, plan, RZ_TROUBLE_LOSS, bound->loss);
    draw_rate(sim, plan, RZ_TROUBLE_DOUBLE, bound->duplication);
    uint64_t partitions = rz_random_below(faults, bound->partitions + UINT64_C(1));
    for (uint64_t i = 0; i < partitions && sim->n > 1; i++) {
        add_trouble(sim, plan, RZ_TROUBLE_PARTITION, rz_random_below(faults, UINT32_MAX),
                    bound->partition_max > 0 ? bound->partition_max : bound->until);
    }
    uint64_t pauses = rz_random_below(faults, bound->pauses + UINT64_C(1));
    for (uint64_t i = 0; i < pauses; i++) {
        add_trouble(sim, plan, RZ_TROUBLE_PAUSE, rz_random_below(faults, sim->n),
                    bound->pause_max > 0 ? bound->pause_max : bound->until);
    }
    if (bound->slow > 0 && rz_random_below(faults, 2)) {
        add_trouble(sim, plan, RZ_TROUBLE_SLOW, rz_random_below(faults, UINT32_MAX), bound->until);
    }
}

void rz_plan_draw(struct rz_sim *sim, struct rz_sim_plan *plan)
{
    memset(plan, 0, sizeof(*plan));
    draw_crashes(sim, plan);
    draw_troubles(sim, plan);
}

/* ---- effects of faults ---- */

/* One side of a partition: one member, consecutive members, or a random half. */
static bool side_of(const struct rz_sim *sim, uint64_t seed, rz_id id)
{
    uint32_t n = sim->n, shape = (uint32_t)(rz_mix(seed, 0) % 3);
    if (shape == 0) {
        return rz_mix(rz_mix(seed, 3), id) & 1;
    }
    uint64_t first = rz_mix(seed, 1) % n;
    uint64_t count = shape == 1 ? 1 : 1 + rz_mix(seed, 2) % (n - 1);
    return (id + n - first) % n < count;
}

static bool happens(const struct rz_sim *sim, const struct rz_sim_trouble *trouble)
{
    uint64_t number = rz_mix(rz_mix(sim->seed, 8 + trouble->kind), sim->messages);
    return number % 1000 < trouble->what;
}

static rz_time slower(const struct rz_sim *sim, uint64_t seed, rz_id from, rz_id to)
{
    uint64_t link = rz_mix(seed, ((uint64_t)from << 32) + to);
    return link % 4 == 0 ? 1 + link / 4 % sim->scenario->faults.slow : 0;
}

struct rz_sim_fate rz_plan_fate(const struct rz_sim *sim, const struct rz_sim_plan *plan,
                                rz_id from, rz_id to)
{
    struct rz_sim_fate fate = {0};
    for (uint32_t i = 0; i < plan->n_troubles; i++) {
        const struct rz_sim_trouble *trouble = &plan->trouble[i];
        if (sim->common->now < trouble->from || sim->common->now >= trouble->to) {
            continue;
        }
        if (trouble->kind == RZ_TROUBLE_LOSS) {
            fate.lost = fate.lost || happens(sim, trouble);
        } else if (trouble->kind == RZ_TROUBLE_DOUBLE) {
            fate.doubled = fate.doubled || happens(sim, trouble);
        } else if (trouble->kind == RZ_TROUBLE_PARTITION) {
            fate.lost =
                fate.lost || side_of(sim, trouble->what, from) != side_of(sim, trouble->what, to);
        } else if (trouble->kind == RZ_TROUBLE_SLOW && sim->scenario->faults.slow > 0) {
            fate.later += slower(sim, trouble->what, from, to);
        }
    }
    fate.doubled = fate.doubled && !fate.lost;
    return fate;
}

rz_time rz_plan_paused_until(const struct rz_sim *sim, const struct rz_sim_plan *plan, rz_id member)
{
    for (uint32_t i = 0; i < plan->n_troubles; i++) {
        const struct rz_sim_trouble *trouble = &plan->trouble[i];
        if (trouble->kind == RZ_TROUBLE_PAUSE && trouble->what == member &&
            sim->common->now >= trouble->from && sim->common->now < trouble->to) {
            return trouble->to;
        }
    }
    return 0;
}

/* ---- as text ---- */

static void trace_sides(struct rz_sim *sim, const struct rz_sim_trouble *trouble)
{
    char side[200] = "";
    for (rz_id id = 0; id < sim->n && strlen(side) + 12 < sizeof(side); id++) {
        if (side_of(sim, trouble->what, id)) {
            snprintf(side + strlen(side), sizeof(side) - strlen(side), " %u", id);
        }
    }
    rz_trace_line(sim, "parted from %llu to %llu: {%s } and the others",
                  (unsigned long long)trouble->from, (unsigned long long)trouble->to, side);
}

void rz_plan_trace(struct rz_sim *sim, const struct rz_sim_plan *plan)
{
    static const char *const words[RZ_TROUBLE_KINDS] = {
        "lost, per mille:", "doubled, per mille:", "", "pauses: member", "slow links, seed"};
    for (uint32_t i = 0; i < plan->n_troubles && sim->trace; i++) {
        const struct rz_sim_trouble *trouble = &plan->trouble[i];
        if (trouble->kind == RZ_TROUBLE_PARTITION) {
            trace_sides(sim, trouble);
        } else {
            rz_trace_line(sim, "%s %llu, from %llu to %llu", words[trouble->kind],
                          (unsigned long long)trouble->what, (unsigned long long)trouble->from,
                          (unsigned long long)trouble->to);
        }
    }
}
