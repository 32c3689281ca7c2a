/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs of this folder share: a scenario by its name, explored or run. It must hold; a
 * mutant must be caught. */
#ifndef RZ_TESTS_SCHEDULES_H
#define RZ_TESTS_SCHEDULES_H

#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* members 0, crashes UINT32_MAX: the scenario's own. */
static inline struct rz_sim_options schedules_of(const char *protocol, const char *name,
                                                 uint32_t members, uint32_t crashes)
{
    struct rz_sim_options options = {
        .scenario = rz_sim_find(protocol, name), .members = members, .crashes = crashes};
    if (!options.scenario) {
        fail_msg("there is no scenario %s of %s", name, protocol);
    }
    options.quiet = options.scenario->violation_expected;
    return options;
}

static inline void schedules_passed(const struct rz_sim_options *options,
                                    const struct rz_sim_result *result)
{
    if (!rz_sim_passed(options->scenario, result)) {
        fail_msg("%s, %u members, %u failures: %s: %s", options->scenario->name, options->members,
                 options->crashes,
                 result->over_budget ? "too many states"
                 : result->violated  ? result->reason
                                     : "the mutant was not caught",
                 result->replay);
    }
}

/* Every interleaving of calls, messages, failures and news of failures. */
static inline struct rz_sim_result schedules_explore(const struct rz_sim_options *options)
{
    struct rz_sim_result result;
    rz_sim_explore(options, &result);
    schedules_passed(options, &result);
    return result;
}

/* The seeds from 1 on. */
static inline struct rz_sim_result schedules_run(const char *protocol, const char *name,
                                                 uint32_t members, uint32_t crashes, uint64_t seeds)
{
    struct rz_sim_options options = schedules_of(protocol, name, members, crashes);
    struct rz_sim_result result;
    options.seed_first = 1;
    options.seed_last = seeds;
    rz_sim_run(&options, &result);
    schedules_passed(&options, &result);
    return result;
}

#endif
