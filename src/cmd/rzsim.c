/* rzsim: the protocol rooms in the deterministic simulator (src/sim). */
#include "sim/sim.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum exit_status { EXIT_HOLDS, EXIT_VIOLATION, EXIT_USAGE };

static const char usage[] =
    "usage: rzsim ROOM [--scenario NAME] [--members N] [--crashes K] [--seeds A..B]\n"
    "       rzsim ROOM [--scenario NAME] [--members N] [--crashes K] --exhaustive [--budget-states "
    "M]\n"
    "       rzsim replay ROOM --scenario NAME [--members N] [--crashes K]\n"
    "                    (--seed S [--plan CRASHES] [--plain] | --path CHOICES)\n"
    "       rzsim list\n"
    "\n"
    "Runs a protocol room in the simulator and checks its properties after every step.\n"
    "\n"
    "  --scenario NAME    a scenario of the room (default: its first; rzsim list shows all)\n"
    "  --members N        members of the view\n"
    "  --crashes K        at most so many of them die\n"
    "  --seeds A..B       random runs with these seeds (default 1..1000)\n"
    "  --exhaustive       every interleaving instead of random ones\n"
    "  --budget-states M  give up (status 1) when there are more states (default 50000000)\n"
    "  --seed S           the seed of one run\n"
    "  --plan CRASHES     its crashes: VICTIM@AT:ACTIONS:LOSS,... or none; AT is a step of the "
    "victim or a\n"
    "                     date, ACTIONS what its last step carries out, LOSS the seed of what is "
    "lost, 0: nothing\n"
    "  --plain            all delays alike\n"
    "  --path CHOICES     an exhaustive path, as a violation prints it\n"
    "\n"
    "Status: 0 the properties hold (or, for a mutant, a violation was found), 1 they do not, 2 "
    "usage.\n";

enum option_code {
    OPTION_SCENARIO = 256,
    OPTION_MEMBERS,
    OPTION_CRASHES,
    OPTION_SEEDS,
    OPTION_EXHAUSTIVE,
    OPTION_BUDGET,
    OPTION_SEED,
    OPTION_PLAN,
    OPTION_PLAIN,
    OPTION_PATH,
    OPTION_HELP
};

static const struct option option_table[] = {
    {"scenario", required_argument, NULL, OPTION_SCENARIO},
    {"members", required_argument, NULL, OPTION_MEMBERS},
    {"crashes", required_argument, NULL, OPTION_CRASHES},
    {"seeds", required_argument, NULL, OPTION_SEEDS},
    {"exhaustive", no_argument, NULL, OPTION_EXHAUSTIVE},
    {"budget-states", required_argument, NULL, OPTION_BUDGET},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"plan", required_argument, NULL, OPTION_PLAN},
    {"plain", no_argument, NULL, OPTION_PLAIN},
    {"path", required_argument, NULL, OPTION_PATH},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0}};

struct request {
    struct rz_sim_options options;
    const char *scenario;
    bool exhaustive, seed_given;
};

static bool parse_number(const char *text, uint64_t *number)
{
    char *end;
    *number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == 0;
}

static bool parse_small(const char *text, uint32_t *number)
{
    uint64_t wide;
    if (!parse_number(text, &wide) || wide > 1u << 24)
        return false;
    *number = (uint32_t)wide;
    return true;
}

static bool parse_seeds(const char *text, struct rz_sim_options *options)
{
    unsigned long long first, last;
    int used = 0;
    if (sscanf(text, "%llu..%llu%n", &first, &last, &used) != 2 || text[used] || last < first)
        return false;
    options->seed_first = first;
    options->seed_last = last;
    return true;
}

static bool parse_option(int code, struct request *request)
{
    struct rz_sim_options *options = &request->options;
    switch (code) {
    case OPTION_SCENARIO:
        request->scenario = optarg;
        return true;
    case OPTION_MEMBERS:
        return parse_small(optarg, &options->members) && options->members > 0;
    case OPTION_CRASHES:
        return parse_small(optarg, &options->crashes);
    case OPTION_SEEDS:
        return parse_seeds(optarg, options);
    case OPTION_EXHAUSTIVE:
        return request->exhaustive = true;
    case OPTION_BUDGET:
        return parse_number(optarg, &options->states_max);
    case OPTION_SEED:
        request->seed_given = true;
        return parse_number(optarg, &options->seed_first);
    case OPTION_PLAN:
        options->plan = optarg;
        return rz_sim_plan_valid(optarg);
    case OPTION_PLAIN:
        return options->plain = true;
    case OPTION_PATH:
        options->path = optarg;
        return true;
    default:
        return false;
    }
}

static int refuse(const char *why, const char *what)
{
    fprintf(stderr, "rzsim: %s%s (rzsim --help tells more)\n", why, what);
    return EXIT_USAGE;
}

static int list(void)
{
    const struct rz_sim_scenario *scenario;
    for (size_t i = 0; (scenario = rz_sim_scenario_at(i)); i++)
        printf("%-8s %-22s %3u members, %u crashes: %s%s\n", scenario->room->name, scenario->name,
               scenario->members, scenario->crashes, scenario->summary,
               scenario->violation_expected ? " (mutant: a violation is expected)" : "");
    return EXIT_HOLDS;
}

static void print_figures(const struct request *request, const struct rz_sim_result *result)
{
    const struct rz_sim_scenario *scenario = request->options.scenario;
    printf("%s/%s: ", scenario->room->name, scenario->name);
    if (request->exhaustive)
        printf("%llu states, %llu transitions, %llu quiescent, depth %u, %llu cycles",
               (unsigned long long)result->states, (unsigned long long)result->transitions,
               (unsigned long long)result->quiescent, result->depth_max,
               (unsigned long long)result->cycles);
    else
        printf("%llu runs, %llu steps, %llu messages, %llu crashes",
               (unsigned long long)result->runs, (unsigned long long)result->steps,
               (unsigned long long)result->messages, (unsigned long long)result->crashes);
    if (result->over_budget)
        printf(": OVER BUDGET, nothing is proven\n");
    else if (result->violated)
        printf(": %s\n", scenario->violation_expected ? "violated, as expected" : "VIOLATED");
    else
        printf(": %s\n", scenario->violation_expected ? "NO VIOLATION FOUND" : "holds");
}

static int run(struct request *request, bool replay)
{
    static struct rz_sim_result result;
    const struct rz_sim_scenario *scenario = request->options.scenario;
    if (replay) {
        rz_sim_replay(&request->options, &result);
        return result.violated ? EXIT_VIOLATION : EXIT_HOLDS;
    }
    if (request->exhaustive)
        rz_sim_explore(&request->options, &result);
    else
        rz_sim_run(&request->options, &result);
    print_figures(request, &result);
    return rz_sim_passed(scenario, &result) ? EXIT_HOLDS : EXIT_VIOLATION;
}

int main(int argc, char **argv)
{
    struct request request = {
        .options = {.crashes = UINT32_MAX, .seed_first = 1, .seed_last = 1000}};
    int code;
    while ((code = getopt_long(argc, argv, "", option_table, NULL)) != -1) {
        if (code == OPTION_HELP) {
            fputs(usage, stdout);
            return EXIT_HOLDS;
        }
        if (!parse_option(code, &request))
            return refuse("no such option, or not a value for it: ", argv[optind - 1]);
    }
    int rest = argc - optind;
    if (rest == 1 && strcmp(argv[optind], "list") == 0)
        return list();
    bool replay = rest == 2 && strcmp(argv[optind], "replay") == 0;
    if (rest != 1 + replay)
        return refuse("name one room", "");
    if (replay && !request.options.path && !request.seed_given)
        return refuse("replay needs --seed or --path", "");
    const char *room = argv[optind + replay];
    request.options.scenario = rz_sim_find(room, request.scenario);
    if (!request.options.scenario)
        return refuse("no such room or scenario: ", request.scenario ? request.scenario : room);
    uint32_t most = request.options.scenario->members_max;
    if (request.exhaustive && (most == 0 || most > 32))
        most = 32;
    if (most > 0 && request.options.members > most)
        return refuse("too many members for this scenario", "");
    return run(&request, replay);
}
