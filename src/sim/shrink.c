/* Seeds one after the other; of a violation, the smallest fault plan that still shows it, and the
 * command to see it. */
#include "sim/world.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

bool rz_plan_parse(const char *text, struct rz_sim_plan *plan)
{
    plan->n = 0;
    if (strcmp(text, "none") == 0)
        return true;
    while (*text) {
        unsigned victim, actions;
        unsigned long long at, loss;
        int used = 0;
        if (plan->n == RZ_SIM_PLAN_MAX ||
            sscanf(text, "%u@%llu:%u:%llu%n", &victim, &at, &actions, &loss, &used) != 4)
            return false;
        plan->v[plan->n++] = (struct rz_sim_crash){victim, at, {actions, loss}};
        text += used;
        if (*text == ',')
            text++;
        else if (*text)
            return false;
    }
    return true;
}

bool rz_sim_plan_valid(const char *text)
{
    struct rz_sim_plan ignored;
    return rz_plan_parse(text, &ignored);
}

void rz_plan_format(const struct rz_sim_plan *plan, char *text, size_t bytes)
{
    snprintf(text, bytes, "none");
    size_t used = 0;
    for (uint32_t i = 0; i < plan->n && used < bytes; i++) {
        const struct rz_sim_crash *crash = &plan->v[i];
        used += (size_t)snprintf(text + used, bytes - used, "%s%u@%llu:%u:%llu", i > 0 ? "," : "",
                                 crash->victim, (unsigned long long)crash->at, crash->cut.actions,
                                 (unsigned long long)crash->cut.loss);
    }
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
    if (!violates(options, seed, smaller))
        return false;
    *plan = *smaller;
    return true;
}

void rz_shrink_plan(struct rz_sim_options *options, uint64_t seed, struct rz_sim_plan *plan)
{
    struct rz_sim_options plain = *options;
    plain.plain = true;
    if (violates(&plain, seed, plan))
        *options = plain;
    for (uint32_t i = 0; i < plan->n;) {
        struct rz_sim_plan smaller = *plan;
        smaller.n--;
        memmove(&smaller.v[i], &smaller.v[i + 1], (smaller.n - i) * sizeof *smaller.v);
        if (!shrink_keep(options, seed, plan, &smaller))
            i++;
    }
    for (uint32_t i = 0; i < plan->n; i++) {
        struct rz_sim_plan simpler = *plan;
        simpler.v[i].cut = (struct rz_sim_cut){.actions = 0};
        if (shrink_keep(options, seed, plan, &simpler))
            continue;
        simpler.v[i].cut.actions = UINT32_MAX;
        if (shrink_keep(options, seed, plan, &simpler))
            continue;
        simpler.v[i].cut = (struct rz_sim_cut){plan->v[i].cut.actions, 0};
        shrink_keep(options, seed, plan, &simpler);
    }
}

static uint32_t members_of(const struct rz_sim_options *options)
{
    return options->members > 0 ? options->members : options->scenario->members;
}

static void report(const struct rz_sim_options *options, uint64_t seed,
                   const struct rz_sim_plan *plan, struct rz_sim_result *result)
{
    FILE *out = options->out ? options->out : stderr;
    char crashes[512];
    rz_plan_format(plan, crashes, sizeof crashes);
    snprintf(result->replay, sizeof result->replay,
             "rzsim replay %s --scenario %s --members %u --seed %llu --plan %s%s",
             options->scenario->room->name, options->scenario->name, members_of(options),
             (unsigned long long)seed, crashes, options->plain ? " --plain" : "");
    struct rz_sim_trace *trace = rz_trace_create(NULL);
    struct rz_sim_result again = {0};
    bool violated = rz_run_once(options, seed, plan, NULL, trace, &again);
    rz_assert(violated);
    snprintf(result->reason, sizeof result->reason, "%s", again.reason);
    if (!options->quiet) {
        rz_trace_print(trace, out);
        fprintf(out, "violation: %s\nreplay: %s\n", result->reason, result->replay);
    }
    rz_trace_destroy(trace);
}

void rz_sim_run(const struct rz_sim_options *options, struct rz_sim_result *result)
{
    memset(result, 0, sizeof *result);
    struct rz_sim_plan plan, drawn;
    const struct rz_sim_plan *given = NULL;
    if (options->plan && rz_plan_parse(options->plan, &plan))
        given = &plan;
    for (uint64_t seed = options->seed_first; seed <= options->seed_last; seed++) {
        if (!rz_run_once(options, seed, given, &drawn, NULL, result))
            continue;
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
    if (options->plan && rz_plan_parse(options->plan, &plan))
        given = &plan;
    FILE *out = options->out ? options->out : stdout;
    struct rz_sim_trace *trace = rz_trace_create(options->quiet ? NULL : out);
    result->violated = rz_run_once(options, options->seed_first, given, NULL, trace, result);
    if (!options->quiet)
        fprintf(out, "%s%s\n", result->violated ? "violation: " : "no violation", result->reason);
    rz_trace_destroy(trace);
}

void rz_sim_replay(const struct rz_sim_options *options, struct rz_sim_result *result)
{
    memset(result, 0, sizeof *result);
    if (options->path)
        rz_explore_replay(options, result);
    else
        replay_seed(options, result);
}

bool rz_sim_passed(const struct rz_sim_scenario *scenario, const struct rz_sim_result *result)
{
    return !result->over_budget && result->violated == scenario->violation_expected;
}
