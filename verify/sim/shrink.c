/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs seeds one after the other; for a violation, finds the smallest fault plan that still shows
 * it, and the command to replay it. */
#include "sim/world.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

bool rz_sim_plan_valid(const char *text)
{
    struct rz_sim_plan ignored;
    return rz_plan_parse(text, &ignored);
}

bool rz_sim_plan_fits(const char *text, uint32_t members)
{
    struct rz_sim_plan plan;
    bool fits = rz_plan_parse(text, &plan);
    for (uint32_t i = 0; fits && i < plan.n; i++) {
        fits = plan.v[i].victim < members;
    }
    for (uint32_t i = 0; fits && i < plan.n_troubles; i++) {
        fits = plan.trouble[i].kind != RZ_TROUBLE_PAUSE || plan.trouble[i].what < members;
    }
    return fits;
}

static bool violates(const struct rz_sim_options *options, uint64_t seed,
                     const struct rz_sim_plan *plan)
{
    struct rz_sim_result ignored = {0};
    return rz_run_once(options, seed, plan, NULL, NULL, &ignored);
}

static bool shrink_keep(const struct rz_sim_options *options, uint64_t seed,
                        struct rz_sim_plan *plan, const struct rz_sim_plan *smaller)
{
    if (!violates(options, seed, smaller)) {
        return false;
    }
    *plan = *smaller;
    return true;
}

static void drop_troubles(const struct rz_sim_options *options, uint64_t seed,
                          struct rz_sim_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_troubles;) {
        struct rz_sim_plan smaller = *plan;
        smaller.n_troubles--;
        memmove(&smaller.trouble[i], &smaller.trouble[i + 1],
                (smaller.n_troubles - i) * sizeof(*smaller.trouble));
        if (!shrink_keep(options, seed, plan, &smaller)) {
            i++;
        }
    }
}

static void drop_crashes(const struct rz_sim_options *options, uint64_t seed,
                         struct rz_sim_plan *plan)
{
    for (uint32_t i = 0; i < plan->n;) {
        struct rz_sim_plan smaller = *plan;
        smaller.n--;
        memmove(&smaller.v[i], &smaller.v[i + 1], (smaller.n - i) * sizeof(*smaller.v));
        if (!shrink_keep(options, seed, plan, &smaller)) {
            i++;
        }
    }
}

static void simplify_cuts(const struct rz_sim_options *options, uint64_t seed,
                          struct rz_sim_plan *plan)
{
    for (uint32_t i = 0; i < plan->n; i++) {
        struct rz_sim_plan simpler = *plan;
        simpler.v[i].cut = (struct rz_sim_cut){.actions = 0};
        if (shrink_keep(options, seed, plan, &simpler)) {
            continue;
        }
        simpler.v[i].cut.actions = UINT32_MAX;
        if (shrink_keep(options, seed, plan, &simpler)) {
            continue;
        }
        simpler.v[i].cut = (struct rz_sim_cut){plan->v[i].cut.actions, 0};
        shrink_keep(options, seed, plan, &simpler);
    }
}

/* Begins the fault later, ends it sooner, loses less: by halving. */
static bool trouble_halve(struct rz_sim_trouble *trouble, uint32_t way)
{
    rz_time half = (trouble->to - trouble->from) / 2;
    bool rate = trouble->kind == RZ_TROUBLE_LOSS || trouble->kind == RZ_TROUBLE_DOUBLE;
    if (way == 0) {
        trouble->from += half;
    } else if (way == 1) {
        trouble->to -= half;
    } else if (rate) {
        trouble->what -= trouble->what / 2;
    }
    return way == 2 ? rate && trouble->what > 1 : half > 0;
}

static void narrow_troubles(const struct rz_sim_options *options, uint64_t seed,
                            struct rz_sim_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_troubles; i++) {
        for (uint32_t way = 0; way < 3; way++) {
            struct rz_sim_plan narrower;
            do {
                narrower = *plan;
            } while (trouble_halve(&narrower.trouble[i], way) &&
                     shrink_keep(options, seed, plan, &narrower));
        }
    }
}

void rz_shrink_plan(struct rz_sim_options *options, uint64_t seed, struct rz_sim_plan *plan)
{
    struct rz_sim_options plain = *options;
    plain.plain = true;
    if (violates(&plain, seed, plan)) {
        *options = plain;
    }
    drop_troubles(options, seed, plan);
    drop_crashes(options, seed, plan);
    simplify_cuts(options, seed, plan);
    narrow_troubles(options, seed, plan);
}

static uint32_t members_of(const struct rz_sim_options *options)
{
    return options->members > 0 ? options->members : options->scenario->members;
}

static void report(const struct rz_sim_options *options, uint64_t seed,
                   const struct rz_sim_plan *plan, struct rz_sim_result *result)
{
    FILE *out = options->out ? options->out : stderr;
    char faults[RZ_SIM_PLAN_TEXT];
    rz_plan_format(plan, faults, sizeof(faults));
    snprintf(result->replay, sizeof(result->replay),
             "rzsim replay %s --scenario %s --members %u --seed %llu --plan %s%s",
             options->scenario->protocol->name, options->scenario->name, members_of(options),
             (unsigned long long)seed, faults, options->plain ? " --plain" : "");
    struct rz_sim_trace *trace = rz_trace_create(NULL);
    struct rz_sim_result again = {0};
    bool violated = rz_run_once(options, seed, plan, NULL, trace, &again);
    rz_assert(violated);
    snprintf(result->reason, sizeof(result->reason), "%s", again.reason);
    if (!options->quiet) {
        rz_trace_print(trace, out);
        fprintf(out, "violation: %s\nreplay: %s\n", result->reason, result->replay);
    }
    rz_trace_destroy(trace);
}

void rz_sim_run(const struct rz_sim_options *options, struct rz_sim_result *result)
{
    memset(result, 0, sizeof(*result));
    struct rz_sim_plan plan, drawn;
    const struct rz_sim_plan *given = NULL;
    if (options->plan && rz_plan_parse(options->plan, &plan)) {
        given = &plan;
    }
    for (uint64_t seed = options->seed_first; seed <= options->seed_last; seed++) {
        if (!rz_run_once(options, seed, given, &drawn, NULL, result)) {
            continue;
        }
        struct rz_sim_options shorter = *options;
        result->violated = true;
        rz_shrink_plan(&shorter, seed, &drawn);
        report(&shorter, seed, &drawn, result);
        return;
    }
}

static void replay_seed(const struct rz_sim_options *options, struct rz_sim_result *result)
{
    struct rz_sim_plan plan;
    const struct rz_sim_plan *given = NULL;
    if (options->plan && rz_plan_parse(options->plan, &plan)) {
        given = &plan;
    }
    FILE *out = options->out ? options->out : stdout;
    struct rz_sim_trace *trace = rz_trace_create(options->quiet ? NULL : out);
    result->violated = rz_run_once(options, options->seed_first, given, NULL, trace, result);
    if (!options->quiet) {
        fprintf(out, "%s%s\n", result->violated ? "violation: " : "no violation", result->reason);
    }
    rz_trace_destroy(trace);
}

void rz_sim_replay(const struct rz_sim_options *options, struct rz_sim_result *result)
{
    memset(result, 0, sizeof(*result));
    if (options->path) {
        rz_explore_replay(options, result);
    } else {
        replay_seed(options, result);
    }
}

bool rz_sim_passed(const struct rz_sim_scenario *scenario, const struct rz_sim_result *result)
{
    return !result->over_budget && result->violated == scenario->violation_expected;
}
