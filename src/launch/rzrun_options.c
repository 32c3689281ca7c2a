/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of rzrun's options about ranks, their environment and failures, and the functions that
 * read each value; how the command line is read. The help is printed from this table and those of
 * other themes (rzrun_output.c and others). */
#include "launch/rzrun_private.h"

#include "base/no_memory.h"
#include "ckpt/file_header.h"
#include "cli/quantity.h"
#include "launch/host_options.h"
#include "outcome/exit_codes.h"

#include <stdlib.h>
#include <string.h>

#define OPTIONS ((struct rz_rzrun_options *)target)
#define PART (&OPTIONS->contexts[OPTIONS->n_contexts - 1])

bool rz_rzrun_whole(const char *value, uint64_t low, uint64_t high, uint32_t *number,
                    const char **why)
{
    static char text[96];
    uint64_t read;
    snprintf(text, sizeof(text), "it needs a whole number from %llu to %llu",
             (unsigned long long)low, (unsigned long long)high);
    *why = text;
    if (!rz_quantity_number(value, low, high, &read)) {
        return false;
    }
    *number = (uint32_t)read;
    return true;
}

bool rz_rzrun_duration(const char *value, rz_time *time, const char **why)
{
    *why = "it needs a time like 300ms or 2s";
    return rz_quantity_duration(value, time) && *time > 0;
}

RZ_CLI_TAKE(ranks)
{
    return rz_rzrun_whole(value, 1, RZ_RANKS_MAX, &PART->n_ranks, why);
}

RZ_CLI_TAKE(nodes)
{
    return rz_rzrun_whole(value, 1, RZ_NODES_MAX, &OPTIONS->emulated_nodes, why);
}

RZ_CLI_TAKE(adapter)
{
    *why = "it is `local` or `netns`";
    OPTIONS->adapter = strcmp(value, "netns") == 0 ? RZ_ADAPTER_NETNS : RZ_ADAPTER_LOCAL;
    return OPTIONS->adapter == RZ_ADAPTER_NETNS || strcmp(value, "local") == 0;
}

RZ_CLI_TAKE(host)
{
    return rz_layout_add_hosts(&OPTIONS->layout, value, why);
}

RZ_CLI_TAKE(hostfile)
{
    return rz_layout_add_hostfile(&OPTIONS->layout, value, why);
}

RZ_CLI_TAKE(rankfile)
{
    return rz_rankfile_read(&OPTIONS->rankfile, value, why);
}

RZ_CLI_TAKE_FLAG(oversubscribe, OPTIONS->oversubscribe)

/* Objects that other launchers bind to and map by, and that do not exist here. */
static bool is_other_part(const char *value, size_t n)
{
    static const char *const parts[] = {"socket",  "package", "numa",     "board",   "l1cache",
                                        "l2cache", "l3cache", "hwthread", "machine", "pu"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (strlen(parts[i]) == n && strncmp(value, parts[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* WORD, WORD:MODIFIER,... as in Open MPI, or ppr:N:node. */
RZ_CLI_TAKE(map_by)
{
    static const char *const words[] = {
        [RZ_PLACE_BY_SLOT] = "slot", [RZ_PLACE_BY_NODE] = "node", [RZ_PLACE_BY_CORE] = "core"};
    size_t n = strcspn(value, ":");
    char what[16];
    *why = "it is `slot`, `node`, `core` or `ppr:N:node`";
    if (sscanf(value, "ppr:%5u:%15[a-z]", &OPTIONS->per_node, what) == 2 && OPTIONS->per_node > 0) {
        return strcmp(what, "node") == 0;
    }
    OPTIONS->oversubscribe |= strcasestr(value + n, ":oversubscribe") != NULL;
    if (n == 0) { /* modifiers alone */
        return *value == ':';
    }
    if (is_other_part(value, n)) {
        rz_texts_add(&OPTIONS->without_effect, "--map-by other than slot, node or core");
        return true;
    }
    for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strlen(words[i]) == n && strncmp(value, words[i], n) == 0) {
            OPTIONS->map_by = (enum rz_place_by)i;
            return true;
        }
    }
    return false;
}

RZ_CLI_TAKE(bind_to)
{
    size_t n = strcspn(value, ":");
    *why = "it is `core` or `none`";
    if (is_other_part(value, n)) {
        rz_texts_add(&OPTIONS->without_effect, "--bind-to other than core");
        return true;
    }
    OPTIONS->bind_to_core = n == 4 && strncmp(value, "core", n) == 0;
    return OPTIONS->bind_to_core || (n == 4 && strncmp(value, "none", n) == 0);
}

RZ_CLI_TAKE_FLAG(report_bindings, OPTIONS->report_bindings)

RZ_CLI_TAKE(spares)
{
    OPTIONS->all_spares = strcmp(value, "all") == 0;
    return OPTIONS->all_spares ||
           rz_rzrun_whole(value, 0, RZ_NODES_MAX - 1, &OPTIONS->n_spares, why);
}

RZ_CLI_TAKE_FLAG(no_ft, OPTIONS->no_ft)
RZ_CLI_TAKE_FLAG(accept_failures, OPTIONS->accept_failures)
RZ_CLI_TAKE_TEXT(directory, PART->directory)
RZ_CLI_TAKE_TEXT(path, PART->path)
RZ_CLI_TAKE_TEXT(app, OPTIONS->app_file)

RZ_CLI_TAKE(export)
{
    const char *equals = strchr(value, '='), *own = equals ? NULL : getenv(value);
    *why = "rzrun's environment has no such variable; write NAME=VALUE to give it one";
    if (equals == value || (!equals && !own)) {
        return false;
    }
    size_t bytes = strlen(value) + 2 + (own ? strlen(own) : 0);
    char *text = malloc(bytes);
    rz_need_memory(text, "for the command line");
    snprintf(text, bytes, "%s%s%s", value, own ? "=" : "", own ? own : "");
    rz_texts_add(&PART->environment, text);
    free(text);
    return true;
}

/* For the processes of all parts. */
static bool for_all(struct rz_rzrun_options *options, const char *name, const char *value)
{
    char text[96];
    snprintf(text, sizeof(text), "%s=%s", name, value);
    rz_texts_add(&options->environment, text);
    return true;
}

RZ_CLI_TAKE(initial_errhandler)
{
    static const char *const names[] = {"mpi_errors_are_fatal", "mpi_errors_abort",
                                        "mpi_errors_return"};
    *why = "it is mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(value, names[i]) == 0) {
            return for_all(OPTIONS, "RZ_INITIAL_ERRHANDLER", value);
        }
    }
    return false;
}

RZ_CLI_TAKE(agree)
{
#if RZ_ENGINES
    static const char *const names[] = {"era", "twophase", "gossip1", "gossip2", "gossip3"};
    *why = "it is `era`, `twophase`, `gossip1`, `gossip2` or `gossip3`";
#else
    static const char *const names[] = {"era"};
    *why = "it is `era`: this build of Rhizome has no other engine (cmake -DRZ_ENGINES=ON)";
#endif
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(value, names[i]) == 0) {
            OPTIONS->agree_given = true;
            return for_all(OPTIONS, "RZ_AGREE", value);
        }
    }
    return false;
}

RZ_CLI_TAKE(net)
{
    *why = "it is `tcp` or `ucx`";
    if (strcmp(value, "tcp") != 0 && strcmp(value, "ucx") != 0) {
        return false;
    }
    return take_export(target, strcmp(value, "tcp") == 0 ? "RZ_NET=tcp" : "RZ_NET=ucx", why);
}

RZ_CLI_TAKE(mpi)
{
    static const char *const words[] = {[RZ_MPI_AUTO] = "auto",
                                        [RZ_MPI_RHIZOME] = "rhizome",
                                        [RZ_MPI_PMIX] = "pmix",
                                        [RZ_MPI_PMI1] = "pmi1"};
    *why = "it is `auto`, `rhizome`, `pmix` or `pmi1`";
    for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(value, words[i]) == 0) {
            OPTIONS->mpi = (enum rz_mpi)i;
            return true;
        }
    }
    return false;
}

RZ_CLI_TAKE(wait)
{
    *why = "it is `auto` or `yield`";
    if (strcmp(value, "auto") != 0 && strcmp(value, "yield") != 0) {
        return false;
    }
    return for_all(OPTIONS, "RZ_WAIT", value);
}

RZ_CLI_TAKE(inject)
{
    *why = "there are too many faults";
    return OPTIONS->n_faults < RZ_FAULTS_MAX &&
           rz_fault_parse(value, &OPTIONS->faults[OPTIONS->n_faults], why) && ++OPTIONS->n_faults;
}

RZ_CLI_TAKE(seed)
{
    OPTIONS->seed_given = true;
    *why = "it needs a whole number";
    return rz_quantity_number(value, 0, UINT64_MAX, &OPTIONS->seed);
}

/* Heartbeats of less than a millisecond take a fifth of a processor for each daemon; the daemons
 * take times up to an hour. */
bool rz_rzrun_heartbeat(const char *value, rz_time *time, const char **why)
{
    bool is_time = rz_rzrun_duration(value, time, why);
    *why = "it needs a time from 1ms to 1h, like 100ms: more heartbeats take a processor";
    return is_time && *time >= RZ_MILLISECOND && *time <= 3600 * RZ_SECOND;
}

RZ_CLI_TAKE(hb_period)
{
    OPTIONS->hb_given = true;
    return rz_rzrun_heartbeat(value, &OPTIONS->hb_period, why);
}

RZ_CLI_TAKE(hb_timeout)
{
    OPTIONS->hb_given = true;
    return rz_rzrun_heartbeat(value, &OPTIONS->hb_timeout, why);
}

RZ_CLI_TAKE(detector)
{
    static const char *const names[RZ_DETECTOR_COUNT] = {
        [RZ_DETECTOR_RING] = "ring", [RZ_DETECTOR_SWIM] = "swim", [RZ_DETECTOR_FLAT] = "flat"};
    *why = "it is `ring`, `swim` or `flat`";
    OPTIONS->detector_given = true;
    for (unsigned i = 0; i < RZ_DETECTOR_COUNT; i++) {
        if (strcmp(value, names[i]) == 0) {
            OPTIONS->detector = (enum rz_detector)i;
            return true;
        }
    }
    return false;
}

RZ_CLI_TAKE(hang_timeout)
{
    return rz_rzrun_duration(value, &OPTIONS->hang_timeout, why);
}

RZ_CLI_TAKE(hang_report)
{
    return rz_rzrun_duration(value, &OPTIONS->hang_report, why);
}

RZ_CLI_TAKE(silence_timeout)
{
    OPTIONS->silence_given = true;
    return rz_rzrun_duration(value, &OPTIONS->silence_timeout, why);
}

RZ_CLI_TAKE(max_restarts)
{
    OPTIONS->restarts_given = true;
    return rz_rzrun_whole(value, 0, UINT32_MAX, &OPTIONS->restarts_max, why);
}

RZ_CLI_TAKE(on_failure)
{
    static const struct {
        const char *word;
        enum rz_on_failure what;
    } words[] = {{"auto", RZ_ON_FAILURE_AUTO},         {"repair", RZ_ON_FAILURE_REPAIR},
                 {"continue", RZ_ON_FAILURE_CONTINUE}, {"replace", RZ_ON_FAILURE_REPLACE},
                 {"restart", RZ_ON_FAILURE_RESTART},   {"abort", RZ_ON_FAILURE_ABORT}};
    *why = "it is `auto`, `repair`, `continue`, `replace`, `restart` or `abort`";
    OPTIONS->on_failure_given = true;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(value, words[i].word) == 0) {
            OPTIONS->on_failure = words[i].what;
            return true;
        }
    }
    return false;
}

RZ_CLI_TAKE(place_lost)
{
    OPTIONS->place_lost_given = true;
    *why = "it is `spread` or `together`";
    OPTIONS->lost_together = strcmp(value, "together") == 0;
    return OPTIONS->lost_together || strcmp(value, "spread") == 0;
}

static const struct rz_cli_option table[] = {
    {NULL, NULL, NULL, "Placement", NULL},
    {"-n", "-np --np --n -c", "N",
     "Start N ranks. Default: one for each slot, or for each node if slots are not limited.",
     take_ranks},
    {"--nodes", NULL, "N",
     "Emulate N nodes on this machine: each has a daemon, addresses and processes of its own.",
     take_nodes},
    {"--adapter", NULL, "local|netns",
     "How --nodes emulates them. local (default): they share this machine's network. netns: each "
     "has a network and a host name of its own, and real links between; needs root.",
     take_adapter},
    {"--host", "-H -host -hosts --hosts", "HOST[:SLOTS],...",
     "Hosts to run on, with the number of ranks each can take (1); an IPv6 address is in brackets "
     "then: [fd78::1]:4. Several of similar names: node[1-3,07]:4. Where one is not this machine, "
     "see --launcher.",
     take_host},
    {"--hostfile", "-f -hostfile -machinefile --machinefile", "FILE",
     "The same from a file: lines of `HOST [slots=N] [max_slots=N] [rack=NAME]`, or `HOST:N`. With "
     "racks, nodes are numbered "
     "so that nodes that observe each other or keep each other's checkpoints are in different "
     "racks.",
     take_hostfile},
    {"--rankfile", "-rf -rankfile -rmaps-rankfile", "FILE",
     "The host of each rank, from a file: lines of `rank N=HOST`. Without --host and --hostfile "
     "these hosts are used; else those without a rank are spares.",
     take_rankfile},
    {"--map-by", "-map-by", "slot|node|core|ppr:N:node",
     "slot (default): fill the slots of one node after the other; evenly if slots are not limited. "
     "node: one rank for each node in turn. core: one for each core of one node after "
     "the other. ppr:N:node: N on each node, as -ppn N.",
     take_map_by},
    {"--oversubscribe", "-oversubscribe", NULL,
     "Allow more ranks than slots, at the start and when nodes fail.", take_oversubscribe},
    {"--spares", NULL, "N|all",
     "Keep the last N nodes free at the start; ranks of a node that fails go there first. all: all "
     "nodes that the ranks of -n do not need.",
     take_spares},
    {"--bind-to", "-bind-to", "core|none",
     "none (default): the operating system chooses where processes run. core: each has a core to "
     "itself, also a restarted one, if its node has a free one. Nodes of one machine "
     "divide its cores.",
     take_bind_to},
    {"--net", NULL, "tcp|ucx",
     "How messages travel between nodes. tcp (default): over TCP, each connection opened by "
     "processes that authenticate each other as members of this job. ucx: over UCX's TCP, for "
     "comparison; UCX does not authenticate, so that any program that reaches its ports can end a "
     "rank or write into "
     "its "
     "memory: "
     "only for machines without other users. UCX_* environment variables concern ucx alone; rzrun "
     "sets those that must have a certain value.",
     take_net},
    {"--mpi", NULL, "auto|rhizome|pmix|pmi1",
     "How processes find each other. auto (default): as the library says that the program is "
     "linked "
     "to. rhizome: by this MPI library. pmix: by PMIx, as programs of Open MPI and clients of "
     "libpmix; they can ask to be told of failures. pmi1: by PMI-1, as programs of MPICH. For a "
     "script (Python) or a program that another one starts, auto cannot know (docs/foreign.md).",
     take_mpi},
    {"--wait", NULL, "auto|yield",
     "How a call that waits does so. auto (default): if each rank has a processor, it spins for as "
     "long as several wake-ups take on this machine, then sleeps until it is woken; if there are "
     "more ranks than processors, it yields its processor for a moment, then sleeps. yield: it "
     "never sleeps, and only yields its processor: it notices messages, failures and revocations "
     "sooner if there are more ranks than processors, and uses all processors all the time, as "
     "mpi_yield_when_idle of Open MPI.",
     take_wait},
    {"--report-bindings", "-report-bindings", NULL,
     "Print on standard error where each process may run, also restarted ones.",
     take_report_bindings},
    {NULL, NULL, NULL, "The program's environment", NULL},
    {"--wdir", "-wdir -wd --wd", "DIR",
     "Working directory of the processes; a program given by a relative path is looked for there "
     "first.",
     take_directory},
    {"--path", "-path", "DIR:...", "Look for the program there first, then in PATH.", take_path},
    {"-x", NULL, "NAME[=VALUE]", "Give the processes this environment variable. May be repeated.",
     take_export},
    {"-env", "--env", "NAME VALUE", "The same.", take_export},
    {"--app", "-app -configfile --configfile", "FILE",
     "Read the programs from this file instead of the command line, one part (program with "
     "options) per line.",
     take_app},
    {"--initial-errhandler", "-initial-errhandler", "HANDLER",
     "The error handler until the program sets another one: mpi_errors_are_fatal (default), "
     "mpi_errors_abort, mpi_errors_return.",
     take_initial_errhandler},
    {NULL, NULL, NULL, "Detection of failures", NULL},
    {"--detector", NULL, "ring|swim|flat",
     "How silent nodes are found. ring (default): each node watches one other. swim: random "
     "probes, suspicions that can be refuted (SWIM with Lifeguard); slower, and more reliable "
     "where messages are lost. flat: for comparison, each process watches another from a thread of "
     "its "
     "own, and a process that is stopped has failed, too.",
     take_detector},
    {"--hb-period", NULL, "T", "Time between two heartbeats of a node (100ms).", take_hb_period},
    {"--hb-timeout", NULL, "T",
     "Silence after which a node is declared failed (RZ_HB_TIMEOUT in the environment, or 300ms; "
     "1s "
     "with --nodes, where nodes share one machine and its load; at least three times --hb-period).",
     take_hb_timeout},
    {"--hang-timeout", NULL, "T",
     "Kill a rank that has made no progress for T, as failed: neither an MPI call, in which it may "
     "wait as long as it likes, nor RZ_Alive; time without a processor does not count. "
     "Default: never.",
     take_hang_timeout},
    {"--hang-report", NULL, "T",
     "Print one page, which rank waits for which, when a rank has waited in one call for longer "
     "than T, and whether messages to them do not arrive; no process is ended. Default: never.",
     take_hang_report},
    {"--silence-timeout", NULL, "T",
     "End the job when no daemon has sent anything for T, for example because they were stopped. "
     "Default: 10m with one node, whose processes continue when the daemon does; 1m with several. "
     "A job stopped with rzrun (Ctrl-Z) and a suspended machine are not silent.",
     take_silence_timeout},
    {NULL, NULL, NULL, "What a failure does", NULL},
    {"--on-failure", NULL, "auto|repair|continue|replace|restart|abort",
     "auto (default): a failure raises an error in the survivors' error handlers, whose default "
     "ends the job; once the program has entered MPIX_Reinit, failed processes are replaced and "
     "the job rolls back to its last checkpoint; where the program calls RZ_Comm_replace, it "
     "replaces them. repair: the same for a program that is known to enter MPIX_Reinit: if all its "
     "processes "
     "fail before any has, they are started again. continue: failures are errors, and no process "
     "is "
     "replaced. replace: failures are errors, also "
     "inside MPIX_Reinit, and RZ_Comm_replace replaces the failed processes. restart: when a "
     "process or a "
     "node fails, the job ends and restarts, at most --max-restarts times, from the checkpoints "
     "in --checkpoint-dir or from what the program itself finds. abort: the first failure ends the "
     "job.",
     take_on_failure},
    {"--agree", NULL, "ENGINE",
     "The protocol of MPIX_Comm_agree, MPIX_Comm_shrink and variants, unless the communicator's "
     "info key rz_agree names another one (docs/agreement-engines.md). era (default): early "
     "returning agreement. twophase: two-phase commit. gossip1, gossip2, gossip3: random pings "
     "with a matrix, a list, push-sum; all probably know the same failed processes then; an "
     "agreement by era checks this, and decides if it is not so.",
     take_agree},
    {"--place-lost", NULL, "spread|together",
     "Where the ranks of a lost node are restarted: one by one on the node with the fewest "
     "processes (spread, the default), or all of them on the node with the fewest processes that "
     "has slots for all of them (together; without such a node as with spread). Nodes with free "
     "slots come first in either case.",
     take_place_lost},
    {"--max-restarts", NULL, "N",
     "End the job after N restarts without a newly committed checkpoint (10; 0: no bound). With "
     "--on-failure restart: after N restarts.",
     take_max_restarts},
    {"--accept-failures", NULL, NULL,
     "A failure that the program has not acknowledged does not affect the exit status if the other "
     "processes go on and end in order. Implied by --with-ft mpi and ulfm, as with Open MPI.",
     take_accept_failures},
    {"--no-ft", NULL, NULL,
     "No fault tolerance: the first failure of a rank or a node ends the job, as with a plain MPI. "
     "Nodes send no heartbeats, MPIX_Reinit runs its function once, checkpoints are not kept, "
     "MPIX_Comm_agree is a plain MPI_Allreduce.",
     take_no_ft},
    {NULL, NULL, NULL, "Faults to inject", NULL},
    {"--inject", NULL, "FAULT",
     "`kill rank R|node N at T|iteration K`, `stop rank R|node N at T|iteration K for D`, `every "
     "T kill random rank|node`; of the network between the daemons `cut node N,...`, `delay node "
     "N,... D`, `lose P% node N,...`, each `at T|iteration K [for D]`, and `heal at T|iteration "
     "K`. Times like 900ms or 2s count from the moment all ranks are initialised; iterations are "
     "those the program marks by RZ_Progress_mark. May be repeated.",
     take_inject},
    {"--seed", NULL, "N", "Seed of the random faults of --inject (1).", take_seed},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct rz_cli_option *const more_tables[] = {
    rz_rzrun_output, rz_rzrun_checkpoints,   rz_rzrun_rewind,
    rz_host_options, rz_host_options_agents, rz_host_options_network,
    rz_rzrun_hosts,  rz_rzrun_foreign,       NULL};

#define LINE(name, value, text) "  " #value "  " text "\n"
const struct rz_cli rz_rzrun_cli = {
    .name = "rzrun",
    .summary = "run an MPI program that survives failures of processes and nodes",
    .synopsis = "[OPTION]... PROGRAM [ARGUMENT]... [: [OPTION]... PROGRAM [ARGUMENT]...]...",
    .description = "Starts one daemon per node and, through them, the ranks of PROGRAM; shows "
                   "their output and returns the "
                   "exit status of the job. Prints nothing of its own on success unless requested. "
                   "Behind each `:` another program begins, whose ranks come next. -n, --wdir, -x "
                   "and --path apply to the program that follows; all other options apply to the "
                   "job and stand before the first program.",
    .options = table,
    .more = more_tables,
    .epilogue =
        "Exit status: 0 if the last incarnation of every process returned 0 and every failure was "
        "repaired\n"
        "or acknowledged by the program (MPIX_Comm_agree, _shrink, _replace, _ack_failed) or "
        "accepted\n"
        "(--accept-failures); else what ended\n"
        "the job first: the program's exit or abort code, or 128 + the signal that killed a "
        "process\n"
        "(docs/exit-status.md). "
        "rzrun's own:\n" RZ_EXIT_TABLE(
            LINE) "\n"
                  "Example: eight ranks on four emulated nodes, of which one fails in the middle\n"
                  "  rzrun -n 8 --nodes 4 --inject 'kill node 2 at iteration 90' --story ./hpccg "
                  "32 32 32"};

static void check_attach(const struct rz_rzrun_options *options, int n_arguments)
{
    if (n_arguments > 0 || options->detach) {
        rz_cli_refuse(&rz_rzrun_cli, "%s is for a job that already runs: give no program",
                      options->attach ? "--attach" : "--end");
    }
    if (options->attach && options->finish) {
        rz_cli_refuse(&rz_rzrun_cli, "give --attach or --end, not both");
    }
    rz_rzrun_conflicts_attach(options);
}

/* ---- the parts of the command line ---- */

/* The parts after the first `:`; options that concern the whole job stand before the first
 * program. */
static const struct rz_cli_option part_table[] = {
    {"-n", "-np --np --n -c", "N", "Start N ranks (1).", take_ranks},
    {"--wdir", "-wdir -wd --wd", "DIR", "Working directory.", take_directory},
    {"--path", "-path", "DIR:...", "Look for the program there first.", take_path},
    {"-x", NULL, "NAME[=VALUE]", "Give an environment variable.", take_export},
    {"-env", "--env", "NAME VALUE", "The same.", take_export},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct rz_cli part_cli = {.name = "rzrun",
                                       .summary = "behind a `:`",
                                       .synopsis = "... : [OPTION]... PROGRAM [ARGUMENT]...",
                                       .description = "",
                                       .options = part_table,
                                       .elsewhere = &rz_rzrun_cli,
                                       .where = "concerns the whole job, and stands before the "
                                                "first program"};

/* words[0] is the command's name, or the preceding `:`. The program's words, followed by NULL. */
static void read_context(struct rz_rzrun_options *options, char **words, int n)
{
    bool global = options->n_contexts == 0;
    options->contexts =
        realloc(options->contexts, (options->n_contexts + 1) * sizeof(*options->contexts));
    rz_need_memory(options->contexts, "for the command line");
    struct rz_context *part = &options->contexts[options->n_contexts++];
    *part = (struct rz_context){.directory = ""};
    int first = rz_cli_parse(global ? &rz_rzrun_cli : &part_cli, n, words, options);
    part->program = calloc((size_t)(n - first) + 1, sizeof(*part->program));
    rz_need_memory(part->program, "for the command line");
    memcpy(part->program, words + first, (size_t)(n - first) * sizeof(*part->program));
}

static void read_list(struct rz_rzrun_options *options, char **words, int n)
{
    for (int at = 0; at < n;) {
        int length = 1 + rz_context_words(words + at + 1, n - at - 1);
        read_context(options, words + at, length);
        at += length;
    }
}

/* The lines of --app become the parts; options of the command line's own part apply to each. */
static void read_app(struct rz_rzrun_options *options)
{
    const char *why;
    int n;
    char **words = rz_context_file(options->app_file, &n, &why);
    if (!words) {
        rz_cli_refuse(&rz_rzrun_cli, "--app '%s': %s", options->app_file, why);
    }
    char **list = calloc((size_t)n + 2, sizeof(*list));
    rz_need_memory(list, "for the command line");
    list[0] = (char *)":";
    memcpy(list + 1, words, (size_t)n * sizeof(*list));
    struct rz_context *own = &options->contexts[0];
    for (uint32_t i = 0; i < own->environment.n; i++) {
        rz_texts_add(&options->environment, own->environment.texts[i]);
    }
    const char *directory = own->directory;
    rz_texts_clear(&own->environment);
    free(own->program);
    own->program = NULL;
    uint32_t of_line = own->n_ranks;
    options->n_contexts = 1; /* accept only options of a part */
    read_list(options, list, n + 1);
    memmove(options->contexts, options->contexts + 1,
            --options->n_contexts * sizeof(*options->contexts));
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        struct rz_context *part = &options->contexts[i];
        part->n_ranks = part->n_ranks ? part->n_ranks : of_line;
        part->directory = *part->directory ? part->directory : directory;
    }
    free(list);
}

/* False: there is nothing to start. */
static bool read_parts(struct rz_rzrun_options *options, int argc, char **argv)
{
    read_list(options, argv, argc);
    uint32_t n_words = 0;
    for (char **word = options->contexts[0].program; *word; word++) {
        n_words++;
    }
    if (options->attach || options->finish) {
        check_attach(options, (int)n_words);
        rz_rzrun_hosts_attach(options);
        return false;
    }
    if (options->app_file && n_words > 0) {
        rz_cli_refuse(&rz_rzrun_cli, "--app names the programs: there is '%s', too",
                      options->contexts[0].program[0]);
    }
    if (options->app_file) {
        read_app(options);
    }
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        if (!options->contexts[i].program[0] && options->n_contexts == 1) {
            rz_cli_refuse(&rz_rzrun_cli, "there is no program to run");
        } else if (!options->contexts[i].program[0]) {
            rz_cli_refuse(&rz_rzrun_cli, "part %u of the command line has no program", i + 1);
        }
    }
    return true;
}

void rz_rzrun_options_read(struct rz_rzrun_options *options, int argc, char **argv)
{
    *options = (struct rz_rzrun_options){.line = argv,
                                         .seed = 1,
                                         .hb_period = 100 * RZ_MILLISECOND,
                                         /* hb_timeout: once the nodes are known */
                                         .spool_bytes = UINT64_C(4) << 20,
                                         .output_wait = 10 * RZ_SECOND,
                                         .linger = 600 * RZ_SECOND,
                                         .start_timeout = 30 * RZ_SECOND,
                                         .scheme = {.kind = RZ_SCHEME_BUDDY},
                                         .restarts_max = 10};
    char wrong[512] = "";
    const char *log = getenv("RZ_LOG");
    rz_trace_levels_default(&options->levels);
    options->levels_given =
        log && *log && rz_trace_levels_parse(&options->levels, log, wrong, sizeof(wrong));
    if (!read_parts(options, argc, argv)) {
        return;
    }
    if (wrong[0]) { /* --help was to be had before */
        rz_cli_refuse(&rz_rzrun_cli, "RZ_LOG: %s", wrong);
    }
    rz_rzrun_settle(options);
}

void rz_rzrun_options_clear(struct rz_rzrun_options *options)
{
    rz_layout_clear(&options->layout);
    rz_rankfile_clear(&options->rankfile);
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        rz_texts_clear(&options->contexts[i].environment);
        free(options->contexts[i].program);
    }
    free(options->contexts);
    rz_texts_clear(&options->environment);
    rz_texts_clear(&options->without_effect);
    rz_texts_clear(&options->agent);
    rz_texts_clear(&options->debug_ranks);
    free(options->debug_script);
    rz_texts_clear(&options->directories);
    rz_preload_close(&options->preload);
}
