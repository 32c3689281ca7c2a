/* SPDX-License-Identifier: BSD-3-Clause */
/* rzsim check and rzsim replay: protocol components under the explorer (verify/sim). */
#include "rzsim/rzsim.h"

#include "cli/quantity.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define REQUEST ((struct request *)target)

struct request {
    struct rz_sim_options options;
    const char *scenario;
    bool exhaustive, seed_given;
};

RZ_CLI_TAKE_TEXT(scenario, REQUEST->scenario)

static bool small(const char *value, uint64_t low, uint32_t *out, const char **why)
{
    uint64_t wide;
    *why = "it needs a whole number up to 16777216";
    if (!rz_quantity_power(value, low, 1u << 24, &wide)) {
        return false;
    }
    *out = (uint32_t)wide;
    return true;
}

RZ_CLI_TAKE(members)
{
    return small(value, 1, &REQUEST->options.members, why);
}

RZ_CLI_TAKE(crashes)
{
    return small(value, 0, &REQUEST->options.crashes, why);
}

RZ_CLI_TAKE(seeds)
{
    unsigned long long first, last;
    int used = 0;
    *why = "it needs two numbers, A..B";
    if (sscanf(value, "%llu..%llu%n", &first, &last, &used) != 2 || value[used] || last < first) {
        return false;
    }
    REQUEST->options.seed_first = first;
    REQUEST->options.seed_last = last;
    return true;
}

RZ_CLI_TAKE_FLAG(exhaustive, REQUEST->exhaustive)
RZ_CLI_TAKE_FLAG(whole, REQUEST->options.whole)

RZ_CLI_TAKE(budget)
{
    *why = "it needs a number of states";
    return rz_quantity_power(value, 1, UINT64_MAX, &REQUEST->options.states_max);
}

RZ_CLI_TAKE(seed)
{
    *why = "it needs a whole number";
    REQUEST->seed_given = true;
    return rz_quantity_number(value, 0, UINT64_MAX, &REQUEST->options.seed_first);
}

RZ_CLI_TAKE(plan)
{
    *why = "that is no plan as a violation prints it";
    REQUEST->options.plan = value;
    return rz_sim_plan_valid(value);
}

RZ_CLI_TAKE_FLAG(plain, REQUEST->options.plain)
RZ_CLI_TAKE_TEXT(path, REQUEST->options.path)

const struct rz_cli_option rz_rzsim_check_options[] = {
    {NULL, NULL, NULL, "What is run", NULL},
    {"--scenario", NULL, "NAME",
     "A scenario of the protocol. Default: its first; rzsim list has all.", take_scenario},
    {"--members", NULL, "N", "Members of the view. Default: the scenario's.", take_members},
    {"--crashes", NULL, "K", "At most so many of them fail. Default: the scenario's.",
     take_crashes},
    {"--seeds", NULL, "A..B", "Random schedules with these seeds. Default: 1..1000.", take_seeds},
    {"--exhaustive", NULL, NULL, "Every schedule instead of random ones.", take_exhaustive},
    {"--whole", NULL, NULL,
     "Exhaustive: also run all schedules that the scenario claims to be equivalent.", take_whole},
    {"--budget-states", NULL, "M",
     "Give up, with status 1, when there are more states. Default: 50000000.", take_budget},
    {NULL, NULL, NULL, NULL, NULL}};

const struct rz_cli_option rz_rzsim_replay_options[] = {
    {NULL, NULL, NULL, "Which schedule", NULL},
    {"--scenario", NULL, "NAME", "The scenario. Default: the protocol's first.", take_scenario},
    {"--members", NULL, "N", "Members of the view. Default: the scenario's.", take_members},
    {"--crashes", NULL, "K", "At most so many of them fail. Default: the scenario's.",
     take_crashes},
    {"--seed", NULL, "S", "The seed of a random schedule.", take_seed},
    {"--plan", NULL, "FAULTS", "Its crashes and other faults, as a violation prints them, or none.",
     take_plan},
    {"--plain", NULL, NULL, "All delays alike.", take_plain},
    {"--path", NULL, "CHOICES", "A schedule of an exhaustive run, as a violation prints it.",
     take_path},
    {"--whole", NULL, NULL,
     "Exhaustive: also run all schedules that the scenario claims to be equivalent.", take_whole},
    {NULL, NULL, NULL, NULL, NULL}};

static const struct rz_cli check_cli = {
    .name = "rzsim check",
    .summary = "test a protocol: random schedules, or every schedule",
    .synopsis = "PROTOCOL [OPTION]...",
    .description =
        "Runs the shipped objects of a protocol component under a scheduler that delays, "
        "reorders, crashes members and loses what they had in flight, and checks the protocol's "
        "properties after every step. A violation is shortened, and printed "
        "with the command that replays it.",
    .options = rz_rzsim_check_options,
    .epilogue =
        "Exit status: 0 the properties hold (of a mutant: a violation was found), 1 they do "
        "not, or\n"
        "the budget was not enough, 2 the command line is wrong."};

static const struct rz_cli replay_cli = {
    .name = "rzsim replay",
    .summary = "run one schedule again, and print its trace",
    .synopsis = "PROTOCOL (--seed S [--plan FAULTS] [--plain] | --path CHOICES) [OPTION]...",
    .description = "What rzsim check prints below a violation is a command of this kind.",
    .options = rz_rzsim_replay_options,
    .epilogue = "Exit status: 0 the properties hold, 1 they do not, 2 the command line is wrong."};

static void print_figures(const struct request *request, const struct rz_sim_result *result)
{
    const struct rz_sim_scenario *scenario = request->options.scenario;
    printf("%s/%s: ", scenario->protocol->name, scenario->name);
    if (request->exhaustive) {
        printf("%llu states, %llu transitions, %llu quiescent, depth %u, %llu cycles",
               (unsigned long long)result->states, (unsigned long long)result->transitions,
               (unsigned long long)result->quiescent, result->depth_max,
               (unsigned long long)result->cycles);
    } else {
        printf("%llu runs, %llu steps, %llu messages, %llu crashes",
               (unsigned long long)result->runs, (unsigned long long)result->steps,
               (unsigned long long)result->messages, (unsigned long long)result->crashes);
    }
    if (result->over_budget) {
        printf(": OVER BUDGET, nothing is shown\n");
    } else if (result->violated) {
        printf(": %s\n", scenario->violation_expected ? "violated, as expected" : "VIOLATED");
    } else {
        printf(": %s\n", scenario->violation_expected ? "NO VIOLATION FOUND" : "holds");
    }
}

/* The requested scenario, which must allow this number of members. */
static void find_scenario(const struct rz_cli *cli, const char *protocol, struct request *request)
{
    if (!protocol) {
        rz_cli_refuse(cli, "name a protocol; rzsim list has them");
    }
    struct rz_sim_options *options = &request->options;
    options->scenario = rz_sim_find(protocol, request->scenario);
    if (!options->scenario && rz_sim_find(protocol, NULL)) {
        rz_cli_refuse(cli, "%s has no scenario '%s'; rzsim list has them", protocol,
                      request->scenario);
    }
    if (!options->scenario) {
        rz_cli_refuse(cli, "there is no protocol '%s'; rzsim list has them", protocol);
    }
    uint32_t most = options->scenario->members_max;
    if (request->exhaustive && (most == 0 || most > 32)) {
        most = 32;
    }
    if (most > 0 && options->members > most) {
        rz_cli_refuse(cli, "%s/%s takes at most %u members", protocol, options->scenario->name,
                      most);
    }
}

static struct request no_request(void)
{
    return (struct request){.options = {.crashes = UINT32_MAX, .seed_first = 1, .seed_last = 1000}};
}

int rz_rzsim_check(int argc, char **argv)
{
    static struct rz_sim_result result;
    struct request request = no_request();
    const char *protocol = rz_rzsim_word(&check_cli, argc, argv, &request);
    find_scenario(&check_cli, protocol, &request);
    if (request.exhaustive) {
        rz_sim_explore(&request.options, &result);
    } else {
        rz_sim_run(&request.options, &result);
    }
    print_figures(&request, &result);
    return rz_sim_passed(request.options.scenario, &result) ? RZ_RZSIM_GOOD : RZ_RZSIM_BAD;
}

int rz_rzsim_replay(int argc, char **argv)
{
    static struct rz_sim_result result;
    struct request request = no_request();
    const char *protocol = rz_rzsim_word(&replay_cli, argc, argv, &request);
    find_scenario(&replay_cli, protocol, &request);
    if (!request.options.path && !request.seed_given) {
        rz_cli_refuse(&replay_cli, "it needs --seed or --path");
    }
    const struct rz_sim_options *options = &request.options;
    uint32_t members = options->members > 0 ? options->members : options->scenario->members;
    if (options->plan && !rz_sim_plan_fits(options->plan, members)) {
        rz_cli_refuse(&replay_cli, "--plan names a member that is not there: the run has %u",
                      members);
    }
    rz_sim_replay(&request.options, &result);
    return result.violated ? RZ_RZSIM_BAD : RZ_RZSIM_GOOD;
}
