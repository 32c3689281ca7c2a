/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of all options of all studies, and how each is parsed. */
#include "study/options_table.h"

#include "cli/quantity.h"

#include <stdlib.h>
#include <string.h>

#define REQUEST ((struct rz_study_request *)target)
#define OPTIONS (&REQUEST->options)

static bool count(const char *value, uint64_t low, uint64_t high, uint64_t *out, const char **why)
{
    static char text[96];
    snprintf(text, sizeof(text), "it needs a whole number from %llu to %llu, as 4096 or 2^12",
             (unsigned long long)low, (unsigned long long)high);
    *why = text;
    return rz_quantity_power(value, low, high, out);
}

static bool count32(const char *value, uint32_t low, uint32_t high, uint32_t *out, const char **why)
{
    uint64_t wide;
    if (!count(value, low, high, &wide, why)) {
        return false;
    }
    *out = (uint32_t)wide;
    return true;
}

#define TAKE_COUNT(field, low, high)                                                               \
    RZ_CLI_TAKE(field)                                                                             \
    {                                                                                              \
        return count32(value, low, high, &OPTIONS->field, why);                                    \
    }
#define TAKE_TIME(field)                                                                           \
    RZ_CLI_TAKE(field)                                                                             \
    {                                                                                              \
        *why = "it needs a time like 20us, 100ms or 2s";                                           \
        return rz_quantity_duration(value, &OPTIONS->field);                                       \
    }
/* A time that cannot be 0. */
#define TAKE_SPAN(field)                                                                           \
    RZ_CLI_TAKE(field)                                                                             \
    {                                                                                              \
        *why = "it needs a time above 0 like 20us, 100ms or 2s";                                   \
        return rz_quantity_duration(value, &OPTIONS->field) && OPTIONS->field > 0;                 \
    }
#define TAKE_SHARE(field)                                                                          \
    RZ_CLI_TAKE(field)                                                                             \
    {                                                                                              \
        *why = "it needs a share like 0.1% or 0.001";                                              \
        return rz_quantity_share(value, &OPTIONS->field);                                          \
    }
#define TAKE_FLAG(name, what)                                                                      \
    RZ_CLI_TAKE(name)                                                                              \
    {                                                                                              \
        (void)value, (void)why;                                                                    \
        OPTIONS->what;                                                                             \
        return true;                                                                               \
    }

RZ_CLI_TAKE(members)
{
    return count(value, 2, UINT64_C(1) << 32, &OPTIONS->members, why);
}
TAKE_COUNT(per_node, 1, 1u << 20)
TAKE_COUNT(trials, 1, 1u << 20)
RZ_CLI_TAKE(seed)
{
    return count(value, 0, UINT64_MAX, &OPTIONS->seed, why);
}
TAKE_TIME(until)
TAKE_COUNT(kill, 0, 1u << 24)
/* A member that fails implies a failure. */
TAKE_FLAG(kill_contiguous, victims = RZ_STUDY_VICTIMS_CONTIGUOUS;
          OPTIONS->kill += OPTIONS->kill == 0)
TAKE_FLAG(kill_root, victims = RZ_STUDY_VICTIMS_FIRST; OPTIONS->kill += OPTIONS->kill == 0)
TAKE_FLAG(kill_rack, victims = RZ_STUDY_VICTIMS_RACK; OPTIONS->kill += OPTIONS->kill == 0)
TAKE_TIME(kill_at)
TAKE_FLAG(kill_during, kill_during = true)
TAKE_SPAN(hb_period)
TAKE_SPAN(hb_timeout)
TAKE_SPAN(cycle)
TAKE_SHARE(tolerance)
TAKE_COUNT(window, 1, 1u << 20)
TAKE_COUNT(health, 0, 100)
TAKE_COUNT(initial_cycles, 1, 1u << 20)
TAKE_COUNT(operations, 1, 1u << 20)
TAKE_COUNT(payload, 0, 1u << 20)
TAKE_FLAG(flat, flat = true)
TAKE_FLAG(near_first, near_first = true)
TAKE_FLAG(model, model = true)
TAKE_FLAG(lifeguard, lifeguard = true)
TAKE_TIME(latency)
TAKE_TIME(latency_local)
TAKE_TIME(jitter)
TAKE_TIME(send_overhead)
TAKE_TIME(receive_overhead)
TAKE_SHARE(loss)
TAKE_SHARE(duplication)
TAKE_COUNT(slow, 0, 1u << 24)
TAKE_TIME(slow_by)
TAKE_TIME(detector_lag)

RZ_CLI_TAKE(tree)
{
    static const char *const names[] = {"binary", "binstar", "binbin"};
    *why = "it is binary, binstar or binbin";
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(value, names[i]) == 0) {
            OPTIONS->tree = (enum rz_study_tree)i;
            return true;
        }
    }
    return false;
}

RZ_CLI_TAKE(phases)
{
    *why = "it is independent or same";
    bool same = strcmp(value, "same") == 0;
    OPTIONS->phases = same ? RZ_STUDY_PHASES_SAME : RZ_STUDY_PHASES_INDEPENDENT;
    return same || strcmp(value, "independent") == 0;
}

RZ_CLI_TAKE(composition)
{
    *why = "it is paper or daemon";
    OPTIONS->as_daemon = strcmp(value, "daemon") == 0;
    return OPTIONS->as_daemon || strcmp(value, "paper") == 0;
}

RZ_CLI_TAKE(assignment)
{
    *why = "it is full or cube";
    OPTIONS->cube = strcmp(value, "cube") == 0;
    return OPTIONS->cube || strcmp(value, "full") == 0;
}

RZ_CLI_TAKE(profile)
{
    *why = "it is lan, wan or local";
    OPTIONS->profile = value;
    return strcmp(value, "lan") == 0 || strcmp(value, "wan") == 0 || strcmp(value, "local") == 0;
}

static bool positive(const char *value, double most, double *out)
{
    char *end;
    bool plain = *value && !value[strspn(value, "0123456789.")];
    *out = strtod(value, &end);
    return plain && !*end && *out > 0 && *out <= most;
}

RZ_CLI_TAKE(factor)
{
    *why = "it needs a number above 0";
    return positive(value, 1e6, &OPTIONS->factor);
}

RZ_CLI_TAKE(bandwidth)
{
    double megabytes;
    *why = "it needs megabytes per second, such as 12500";
    if (!positive(value, 1e12, &megabytes)) {
        return false;
    }
    OPTIONS->bytes_per_second = (uint64_t)(megabytes * 1e6);
    return OPTIONS->bytes_per_second > 0;
}

RZ_CLI_TAKE_TEXT(csv, REQUEST->csv)

RZ_CLI_TAKE(plot)
{
    *why = "a drawing ends in .svg, .png or .pdf";
    REQUEST->plot = value;
    return rz_chart_kind(value) != NULL;
}

RZ_CLI_TAKE_TEXT(trace, OPTIONS->trace)

#define AT(field) offsetof(struct rz_study_options, field)

/* clang-format off */
const struct rz_study_option rz_study_option_table[] = {
    {0, PLAIN, 0, {NULL, NULL, NULL, "How many, how often", NULL}},
    {0, COUNT64, AT(members), {"--members", NULL, "N", "Members, as 4096 or 2^12.", take_members}},
    {0, PLAIN, 0, {"--nodes", NULL, "N", "The same as --members.", take_members}},
    {0, PLAIN, 0, {"--ranks", NULL, "N", "The same as --members.", take_members}},
    {RZ_STUDY_PER_NODE, COUNT, AT(per_node), {"--per-node", NULL, "N",
     "So many of them are on one node.", take_per_node}},
    {0, COUNT, AT(trials), {"--trials", NULL, "N",
     "Repeat it with seeds S, S+1, ...", take_trials}},
    {0, COUNT64, AT(seed), {"--seed", NULL, "S", "Seed of the first trial.", take_seed}},
    {0, TIME, AT(until), {"--until", NULL, "T",
     "End a trial at this virtual time, if the study does not choose one.", take_until}},
    {RZ_STUDY_KILL, PLAIN, 0, {NULL, NULL, NULL, "Which members fail", NULL}},
    {RZ_STUDY_KILL, COUNT, AT(kill), {"--kill", NULL, "K", "So many fail.", take_kill}},
    {RZ_STUDY_KILL, PLAIN, 0, {"--kill-contiguous", NULL, NULL,
     "They are neighbours, instead of drawn at random.", take_kill_contiguous}},
    {RZ_STUDY_KILL, PLAIN, 0, {"--kill-root", NULL, NULL,
     "They are member 0 and those after it: the root of a tree.", take_kill_root}},
    {RZ_STUDY_KILL, PLAIN, 0, {"--kill-rack", NULL, NULL, "They are whole nodes.", take_kill_rack}},
    {RZ_STUDY_KILL, TIME, AT(kill_at), {"--kill-at", NULL, "T",
     "They fail at this virtual time. Default: a random date.", take_kill_at}},
    {RZ_STUDY_KILL, PLAIN, 0, {"--kill-during", NULL, NULL,
     "Each fails at its own random date, instead of all at once.", take_kill_during}},
    {0, PLAIN, 0, {NULL, NULL, NULL, "The protocol", NULL}},
    {RZ_STUDY_HEARTBEAT, TIME, AT(hb_period), {"--hb-period", NULL, "T",
     "Time from heartbeat to heartbeat.", take_hb_period}},
    {RZ_STUDY_HEARTBEAT, TIME, AT(hb_timeout), {"--hb-timeout", NULL, "T",
     "Silence after which a member is suspected.", take_hb_timeout}},
    {RZ_STUDY_PHASES, PLAIN, 0, {"--phases", NULL, "NAME",
     "Members send heartbeats at dates of their own (independent) or together (same). Default: independent.", take_phases}},
    {RZ_STUDY_COMPOSITION, PLAIN, 0, {"--composition", NULL, "NAME",
     "A suspicion is broadcast at once (paper), or as by daemons (daemon): after a roll call, redundant messages later. Default: paper.", take_composition}},
    {RZ_STUDY_CYCLE, TIME, AT(cycle), {"--cycle", NULL, "T",
     "Gossip's cycle, SWIM's protocol period, the interval of tests.", take_cycle}},
    {RZ_STUDY_TOLERANCE, SHARE, AT(tolerance), {"--tolerance", NULL, "X",
     "Relative tolerance of the estimates, as 0.1%.", take_tolerance}},
    {RZ_STUDY_WINDOW, COUNT, AT(window), {"--window", NULL, "N",
     "Cycles that something must last before it counts.", take_window}},
    {RZ_STUDY_INITIAL, COUNT, AT(initial_cycles), {"--initial-cycles", NULL, "N",
     "Cycles before consensus is looked for.", take_initial_cycles}},
    {RZ_STUDY_TREE, TREE, AT(tree), {"--tree", NULL, "SHAPE",
     "binary, binstar (the nodes a binary tree, the members of a node a star) or binbin (binary within nodes, too).", take_tree}},
    {RZ_STUDY_OPERATIONS, COUNT, AT(operations), {"--operations", NULL, "N",
     "Operations in a row.", take_operations}},
    {RZ_STUDY_PAYLOAD, COUNT, AT(payload), {"--payload", NULL, "N",
     "Items (of 8 bytes) of what is sent or agreed on.", take_payload}},
    {RZ_STUDY_FLAT, PLAIN, 0, {"--flat", NULL, NULL,
     "One ring of all processes, instead of one of nodes.", take_flat}},
    {RZ_STUDY_NEAR_FIRST, PLAIN, 0, {"--near-first", NULL, NULL,
     "Send to the nearest neighbours first.", take_near_first}},
    {RZ_STUDY_MODEL, PLAIN, 0, {"--model", NULL, NULL,
     "Compute the scale model, which goes up to more members, instead of running the objects.", take_model}},
    {RZ_STUDY_LIFEGUARD, PLAIN, 0, {"--lifeguard", NULL, NULL,
     "SWIM with Lifeguard's three parts.", take_lifeguard}},
    {RZ_STUDY_LIFEGUARD, PLAIN, 0, {"--profile", NULL, "NAME",
     "SWIM's parameters: lan, wan or local. Default: in proportion to --cycle.", take_profile}},
    {RZ_STUDY_FACTOR, NUMBER, AT(factor), {"--factor", NULL, "X",
     "Factor of the threshold.", take_factor}},
    {RZ_STUDY_TESTERS, PLAIN, 0, {"--assignment", NULL, "NAME",
     "Which members test which: full (all test all) or cube (the first of each cluster). Default: full.", take_assignment}},
    {RZ_STUDY_TESTERS, COUNT, AT(health), {"--health", NULL, "N",
     "A tester that finds most slow doubts itself, so many intervals in a row; 0: never.", take_health}},
    {0, PLAIN, 0, {NULL, NULL, NULL, "The network", NULL}},
    {0, TIME, AT(latency), {"--latency", NULL, "T", "From node to node.", take_latency}},
    {0, TIME, AT(latency_local), {"--latency-local", NULL, "T",
     "Within a node.", take_latency_local}},
    {0, TIME, AT(jitter), {"--jitter", NULL, "T",
     "Further delay, from 0 to T at random.", take_jitter}},
    {0, TIME, AT(send_overhead), {"--send-overhead", NULL, "T",
     "A sender is busy so long with each message.", take_send_overhead}},
    {0, TIME, AT(receive_overhead), {"--receive-overhead", NULL, "T",
     "A receiver is.", take_receive_overhead}},
    {0, BYTES, AT(bytes_per_second), {"--bandwidth", NULL, "MB",
     "Megabytes (10^6 bytes) per second between nodes, if there is a limit.", take_bandwidth}},
    {RZ_STUDY_LOSS, SHARE, AT(loss), {"--loss", NULL, "X",
     "So many messages are lost, as 1%.", take_loss}},
    {RZ_STUDY_LOSS, SHARE, AT(duplication), {"--duplication", NULL, "X",
     "So many messages arrive twice.", take_duplication}},
    {RZ_STUDY_SLOW, COUNT, AT(slow), {"--slow", NULL, "N", "So many members are slow.", take_slow}},
    {RZ_STUDY_SLOW, TIME, AT(slow_by), {"--slow-by", NULL, "T",
     "How much later slow members do everything.", take_slow_by}},
    {RZ_STUDY_LAG, TIME, AT(detector_lag), {"--detector-lag", NULL, "T",
     "News of a failure arrive up to so much later.", take_detector_lag}},
    {0, PLAIN, 0, {NULL, NULL, NULL, "What is written", NULL}},
    {0, PLAIN, 0, {"--csv", NULL, "FILE", "The table as CSV.", take_csv}},
    {0, PLAIN, 0, {"--plot", NULL, "FILE",
     "The first trial over virtual time, by gnuplot: .svg, .png or .pdf.", take_plot}},
    {RZ_STUDY_TRACE, PLAIN, 0, {"--trace", NULL, "FILE",
     "The first trial's events as JSON, for Perfetto or chrome://tracing.", take_trace}},
    {0, PLAIN, 0, {NULL, NULL, NULL, NULL, NULL}}};
/* clang-format on */
