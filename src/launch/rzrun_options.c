#include "launch/rzrun_options.h"

#include "base/assert.h"
#include "cli/quantity.h"
#include "launch/exit_codes.h"

#include <stdlib.h>
#include <string.h>

#define OPTION(name) static bool take_##name(void *target, const char *value, const char **why)
#define OPTIONS ((struct rz_rzrun_options *)target)

static bool whole(const char *value, uint64_t low, uint64_t high, uint32_t *number,
                  const char **why)
{
    static char text[96];
    uint64_t read;
    snprintf(text, sizeof text, "it wants a whole number from %llu to %llu",
             (unsigned long long)low, (unsigned long long)high);
    *why = text;
    if (!rz_quantity_number(value, low, high, &read))
        return false;
    *number = (uint32_t)read;
    return true;
}

static bool duration(const char *value, rz_time *time, const char **why)
{
    *why = "it wants a time like 300ms or 2s";
    return rz_quantity_duration(value, time) && *time > 0;
}

OPTION(ranks)
{
    return whole(value, 1, RZ_RANKS_MAX, &OPTIONS->n_ranks, why);
}

OPTION(nodes)
{
    return whole(value, 1, RZ_NODES_MAX, &OPTIONS->emulated_nodes, why);
}

OPTION(host)
{
    return rz_layout_add_hosts(&OPTIONS->layout, value, why);
}

OPTION(hostfile)
{
    return rz_layout_add_hostfile(&OPTIONS->layout, value, why);
}

OPTION(oversubscribe)
{
    (void)value, (void)why;
    return OPTIONS->oversubscribe = true;
}

OPTION(bind_to)
{
    (void)target;
    *why = "only `none` is there so far";
    return strcmp(value, "none") == 0;
}

OPTION(directory)
{
    (void)why;
    OPTIONS->directory = value;
    return true;
}

OPTION(export)
{
    const char *equals = strchr(value, '='), *own = equals ? NULL : getenv(value);
    *why = "rzrun's environment has no such variable; write NAME=VALUE to give it one";
    if (equals == value || (!equals && !own))
        return false;
    size_t bytes = strlen(value) + 2 + (own ? strlen(own) : 0);
    char *text = malloc(bytes);
    OPTIONS->environment =
        realloc(OPTIONS->environment, (OPTIONS->n_environment + 2) * sizeof(char *));
    rz_assert(text && OPTIONS->environment);
    snprintf(text, bytes, "%s%s%s", value, own ? "=" : "", own ? own : "");
    OPTIONS->environment[OPTIONS->n_environment++] = text;
    OPTIONS->environment[OPTIONS->n_environment] = NULL;
    return true;
}

OPTION(label)
{
    (void)value, (void)why;
    return OPTIONS->label = true;
}

OPTION(progress)
{
    (void)value, (void)why;
    return OPTIONS->progress = true;
}

OPTION(story)
{
    (void)value, (void)why;
    return OPTIONS->story = true;
}

OPTION(report)
{
    (void)why;
    OPTIONS->report = value;
    return true;
}

OPTION(inject)
{
    *why = "there are too many faults";
    return OPTIONS->n_faults < RZ_FAULTS_MAX &&
           rz_fault_parse(value, &OPTIONS->faults[OPTIONS->n_faults], why) && ++OPTIONS->n_faults;
}

OPTION(seed)
{
    *why = "it wants a whole number";
    return rz_quantity_number(value, 0, UINT64_MAX, &OPTIONS->seed);
}

OPTION(hb_period)
{
    return duration(value, &OPTIONS->hb_period, why);
}

OPTION(hb_timeout)
{
    return duration(value, &OPTIONS->hb_timeout, why);
}

OPTION(timeout)
{
    return duration(value, &OPTIONS->timeout, why);
}

OPTION(max_restarts)
{
    return whole(value, 0, UINT32_MAX, &OPTIONS->restarts_max, why);
}

OPTION(on_failure)
{
    *why = "it is `repair` or `continue`";
    OPTIONS->no_repair = strcmp(value, "continue") == 0;
    return OPTIONS->no_repair || strcmp(value, "repair") == 0;
}

OPTION(verbose)
{
    (void)value, (void)why;
    OPTIONS->verbosity++;
    return true;
}

static const struct rz_cli_option table[] = {
    {NULL, NULL, NULL, "Processes and nodes", NULL},
    {"-n", "-np", "N", "Start N ranks. Default: one per slot, or 1.", take_ranks},
    {"--nodes", NULL, "N",
     "Emulate N nodes on this machine: each has a daemon, addresses and processes of its own.",
     take_nodes},
    {"--host", "-H", "HOST[:SLOTS],...",
     "Nodes to run on, with the number of ranks each can take (1).", take_host},
    {"--hostfile", "-hostfile", "FILE", "The same from a file: lines of `HOST [slots=N]`.",
     take_hostfile},
    {"--oversubscribe", NULL, NULL, "Allow more ranks than slots.", take_oversubscribe},
    {"--bind-to", NULL, "none", "Binding of processes; only `none` is there so far.", take_bind_to},
    {"--wdir", "-wdir", "DIR", "Working directory of the processes.", take_directory},
    {"-x", NULL, "NAME[=VALUE]", "Give the processes this environment variable. May be repeated.",
     take_export},
    {NULL, NULL, NULL, "Deaths", NULL},
    {"--on-failure", NULL, "repair|continue",
     "repair (default): once the program has entered MPIX_Reinit, dead processes are replaced and "
     "the job goes back to its "
     "last checkpoint. continue: deaths are only told to the survivors, as errors.",
     take_on_failure},
    {"--max-restarts", NULL, "N",
     "End the job after N restarts without a newly committed checkpoint (10; 0: no bound).",
     take_max_restarts},
    {"--hb-period", NULL, "T", "Time between two heartbeats of a node (100ms).", take_hb_period},
    {"--hb-timeout", NULL, "T",
     "Silence after which a node is declared dead (300ms; 1s with --nodes, where nodes share one "
     "machine and its load).",
     take_hb_timeout},
    {NULL, NULL, NULL, "Faults to inject", NULL},
    {"--inject", NULL, "FAULT",
     "`kill rank R|node N at T|iteration K`, `stop rank R|node N at T|iteration K for D`, `every T "
     "kill random rank|node`. "
     "Times like 900ms or 2s count from the moment all ranks are initialised; iterations are those "
     "the program tells by "
     "RZ_Progress_mark. May be repeated.",
     take_inject},
    {"--seed", NULL, "N", "Seed of the random faults (1).", take_seed},
    {NULL, NULL, NULL, "What is shown", NULL},
    {"--label", "-l", NULL, "Begin each line of output with the rank that wrote it.", take_label},
    {"--progress", NULL, NULL, "Show the iterations on the terminal while the program runs.",
     take_progress},
    {"--story", NULL, NULL,
     "Tell on standard error what died, how it was noticed and how long each step took.",
     take_story},
    {"--report", NULL, "FILE",
     "Write everything that happened to FILE, one line `name=value ...` per event.", take_report},
    {"--timeout", NULL, "T", "End the job after this time, and say who waits for whom.",
     take_timeout},
    {"--verbose", "-v", NULL, "Let the daemons say what they do. Twice: more.", take_verbose},
    {NULL, NULL, NULL, NULL, NULL},
};

#define LINE(name, value, text) "  " #value "  " text "\n"
const struct rz_cli rz_rzrun_cli = {
    .name = "rzrun",
    .summary = "run an MPI program that survives the loss of processes and nodes",
    .synopsis = "[OPTION]... PROGRAM [ARGUMENT]...",
    .description = "Starts one daemon per node and, through them, the ranks of PROGRAM; shows "
                   "their output and returns the "
                   "exit status of the job. Prints nothing of its own on success unless asked.",
    .options = table,
    .epilogue =
        "Exit status: 0 if the last incarnation of every rank returned 0 and every death was "
        "repaired; else\n"
        "what ended the job first: the program's exit or abort code, or 128 + the signal that "
        "killed a rank.\n"
        "rzrun's own:\n" RZ_EXIT_TABLE(
            LINE) "\n"
                  "Example: eight ranks on four emulated nodes, of which one dies in the middle\n"
                  "  rzrun -n 8 --nodes 4 --inject 'kill node 2 at iteration 90' --story ./hpccg "
                  "32 32 32"};

static void settle_layout(struct rz_rzrun_options *options)
{
    const char *why;
    if (options->emulated_nodes && options->layout.n_nodes)
        rz_cli_refuse(
            &rz_rzrun_cli,
            "--nodes emulates nodes, --host and --hostfile name them: give one or the other");
    if (!options->layout.n_nodes &&
        !rz_layout_emulate(&options->layout, options->emulated_nodes ? options->emulated_nodes : 1,
                           &why))
        rz_cli_refuse(&rz_rzrun_cli, "--nodes: %s", why);
    uint64_t slots = rz_layout_slots(&options->layout);
    if (!options->n_ranks)
        options->n_ranks = slots ? (uint32_t)slots : options->layout.n_nodes;
    if (slots && options->n_ranks > slots && !options->oversubscribe) {
        fprintf(stderr,
                "rzrun: %u ranks do not fit into %llu slots; add hosts or slots (--host "
                "HOST:SLOTS), or say --oversubscribe\n",
                options->n_ranks, (unsigned long long)slots);
        exit(RZ_EXIT_SLOTS);
    }
    rz_layout_place(&options->layout, options->n_ranks);
}

static void check_faults(const struct rz_rzrun_options *options)
{
    for (uint32_t i = 0; i < options->n_faults; i++) {
        const struct rz_fault *fault = &options->faults[i];
        uint32_t bound = fault->node ? options->layout.n_nodes : options->n_ranks;
        if (!fault->random && fault->target >= bound)
            rz_cli_refuse(&rz_rzrun_cli, "--inject: there is no %s %u, they are 0 to %u",
                          fault->node ? "node" : "rank", fault->target, bound - 1);
    }
}

void rz_rzrun_options_read(struct rz_rzrun_options *options, int argc, char **argv)
{
    *options = (struct rz_rzrun_options){.seed = 1,
                                         .directory = "",
                                         .hb_period = 100 * RZ_MILLISECOND,
                                         /* hb_timeout: once the nodes are known */
                                         .restarts_max = 10};
    int first = rz_cli_parse(&rz_rzrun_cli, argc, argv, options);
    if (first >= argc)
        rz_cli_refuse(&rz_rzrun_cli, "there is no program to run");
    options->program = argv + first;
    if (!options->hb_timeout)
        options->hb_timeout = options->emulated_nodes > 1 ? RZ_SECOND : 300 * RZ_MILLISECOND;
    if (options->hb_timeout <= options->hb_period)
        rz_cli_refuse(&rz_rzrun_cli,
                      "--hb-timeout must be longer than --hb-period, best three times as long");
    settle_layout(options);
    check_faults(options);
}

void rz_rzrun_options_clear(struct rz_rzrun_options *options)
{
    rz_layout_clear(&options->layout);
    for (uint32_t i = 0; i < options->n_environment; i++)
        free(options->environment[i]);
    free(options->environment);
}
