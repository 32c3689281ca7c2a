/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Studies of agreement: ERA, the two-phase commit it was measured against, rounds of all to all,
 * and what is built on them: shrink, and revoke on the broadcast.
 *
 * The members are ranks; the detector is perfect and may lag. Operations follow one another: a
 * member that has decided one proposes the next at once.
 */
#include "study/study_agree_run.h"
#include "study/study_ring_run.h"

static bool check(const struct rz_study_options *options, const char **why)
{
    *why = NULL;
    if (options->kill >= options->members) {
        *why = "--kill: at least one member must be left";
    } else if (options->operations == 0) {
        *why = "--operations: at least one";
    } else {
        rz_study_fits(options->members,
                      16 * (uint64_t)options->payload +
                          (options->kill_during ? 160 : 16) * (uint64_t)options->kill,
                      why);
    }
    return !*why;
}

/* Within a node a message is a copy in memory: two fifths of the work at either end. */
static struct rz_timing_network network_of(const struct rz_study_options *options)
{
    struct rz_timing_network network = rz_study_network(options);
    network.send_overhead_local = options->send_overhead * 2 / 5;
    network.receive_overhead_local = options->receive_overhead * 2 / 5;
    return network;
}

static bool run_trials(struct rz_agree_run *run, const char *what, struct rz_table *table,
                       struct rz_chart *chart, const char **why)
{
    const struct rz_study_options *options = run->options;
    if (!check(options, why)) {
        return false;
    }
    rz_agree_columns(table, run->protocol);
    for (uint32_t trial = 0; trial < options->trials; trial++) {
        rz_study_progress(options, what, trial, options->trials);
        if (!rz_agree_trial(run, trial, table, chart, why)) {
            return false;
        }
    }
    rz_study_progress(options, what, options->trials, options->trials);
    return true;
}

static bool run_protocol(const struct rz_study_options *options, enum rz_agree_protocol protocol,
                         const char *what, struct rz_table *table, struct rz_chart *chart,
                         const char **why)
{
    struct rz_agree_run run = {
        .options = options, .protocol = protocol, .network = network_of(options)};
    return run_trials(&run, what, table, chart, why);
}

static bool agree_run(const struct rz_study_options *options, struct rz_table *table,
                      struct rz_chart *chart, const char **why)
{
    return run_protocol(options, RZ_AGREE_BY_ERA, "agree", table, chart, why);
}

static bool twophase_run(const struct rz_study_options *options, struct rz_table *table,
                         struct rz_chart *chart, const char **why)
{
    return run_protocol(options, RZ_AGREE_BY_TWOPHASE, "twophase", table, chart, why);
}

/* The source's code passes over all members for each parent, child and translation of a rank. */
static bool run_with_scans(const struct rz_study_options *options, bool shrinks, const char *what,
                           struct rz_table *table, struct rz_chart *chart, const char **why)
{
    struct rz_agree_run run = {.options = options,
                               .protocol = RZ_AGREE_BY_TWOPHASE,
                               .shrinks = shrinks,
                               .network = network_of(options)};
    rz_time scan = options->members * RZ_AGREE_SCAN_PS / 1000;
    run.network.receive_overhead += scan;
    run.network.receive_overhead_local += scan;
    return run_trials(&run, what, table, chart, why);
}

static bool scans_run(const struct rz_study_options *options, struct rz_table *table,
                      struct rz_chart *chart, const char **why)
{
    return run_with_scans(options, false, "twophase-scans", table, chart, why);
}

static bool shrink_twophase_run(const struct rz_study_options *options, struct rz_table *table,
                                struct rz_chart *chart, const char **why)
{
    return run_with_scans(options, true, "shrink-twophase", table, chart, why);
}

static bool rounds_run(const struct rz_study_options *options, struct rz_table *table,
                       struct rz_chart *chart, const char **why)
{
    return run_protocol(options, RZ_AGREE_BY_ROUNDS, "rounds", table, chart, why);
}

static bool shrink_run(const struct rz_study_options *options, struct rz_table *table,
                       struct rz_chart *chart, const char **why)
{
    struct rz_agree_run run = {.options = options,
                               .protocol = RZ_AGREE_BY_ERA,
                               .shrinks = true,
                               .network = network_of(options)};
    return run_trials(&run, "shrink", table, chart, why);
}

static void rounds_defaults(struct rz_study_options *options)
{
    rz_agree_defaults(options);
    options->members = 8;
    options->per_node = 1;
}

static void revoke_defaults(struct rz_study_options *options)
{
    rz_agree_defaults(options);
    options->payload = 1; /* the context id with its epoch */
}

#define FAILURES (RZ_STUDY_KILL | RZ_STUDY_LAG | RZ_STUDY_PER_NODE | RZ_STUDY_TRACE)

const struct rz_study rz_agree_studies[] = {
    {.name = "agree",
     .summary = "agreement that returns early (ERA), on a tree that mends itself",
     .members_are = "ranks",
     .members_default = 1024,
     .members_max = 1 << 20,
     .takes = FAILURES | RZ_STUDY_TREE | RZ_STUDY_OPERATIONS | RZ_STUDY_PAYLOAD,
     .defaults = rz_agree_defaults,
     .run = agree_run},
    {.name = "twophase",
     .summary = "agreement by a two-phase commit (Log2phases), without its scans",
     .members_are = "ranks",
     .members_default = 1024,
     .members_max = RZ_TWOPHASE_MEMBERS_MAX,
     .takes = FAILURES | RZ_STUDY_OPERATIONS,
     .defaults = rz_agree_defaults,
     .run = twophase_run},
    {.name = "twophase-scans",
     .summary = "the same, and each message costs a pass over all members: 1 ns for each",
     .members_are = "ranks",
     .members_default = 1024,
     .members_max = RZ_TWOPHASE_MEMBERS_MAX,
     .takes = FAILURES | RZ_STUDY_OPERATIONS,
     .defaults = rz_agree_defaults,
     .run = scans_run},
    {.name = "rounds",
     .summary = "agreement by rounds of all to all that stop early",
     .members_are = "ranks",
     .members_default = 8,
     .members_max = RZ_ROUNDS_MEMBERS_MAX,
     .takes = FAILURES,
     .defaults = rounds_defaults,
     .run = rounds_run},
    {.name = "shrink",
     .summary = "a smaller communicator after failures: agreements on failed, id, activation",
     .members_are = "ranks",
     .members_default = 1024,
     .members_max = 1 << 20,
     .takes = FAILURES | RZ_STUDY_TREE,
     .defaults = rz_agree_defaults,
     .run = shrink_run},
    {.name = "shrink-twophase",
     .summary = "the same by the two-phase commit with scans",
     .members_are = "ranks",
     .members_default = 1024,
     .members_max = RZ_TWOPHASE_MEMBERS_MAX,
     .takes = FAILURES,
     .defaults = rz_agree_defaults,
     .run = shrink_twophase_run},
    {.name = "revoke",
     .summary = "a communicator is revoked by rank 0: one broadcast over all ranks",
     .members_are = "ranks",
     .members_default = 1024,
     .members_max = 1 << 20,
     .takes = FAILURES | RZ_STUDY_NEAR_FIRST,
     .defaults = revoke_defaults,
     .run = rz_ring_spread_run},
};
const size_t rz_agree_studies_count = sizeof(rz_agree_studies) / sizeof(*rz_agree_studies);
