/* SPDX-License-Identifier: BSD-3-Clause */
/* How other hosts are reached, and which ones are: the launcher, the words of the agent, the
 * network. */
#include "launch/host_options.h"

#include "base/no_memory.h"
#include "cli/quantity.h"
#include "launch/allocation.h"
#include "port/interface.h"
#include "port/process.h"
#include "remote/agent.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS ((struct rz_rzrun_options *)target)

RZ_CLI_TAKE(launcher)
{
    static const struct {
        const char *word;
        enum rz_launcher_choice choice;
    } words[] = {{"auto", RZ_LAUNCHER_AUTO},   {"local", RZ_LAUNCHER_LOCAL},
                 {"fork", RZ_LAUNCHER_LOCAL},  {"ssh", RZ_LAUNCHER_SSH},
                 {"slurm", RZ_LAUNCHER_SLURM}, {"srun", RZ_LAUNCHER_SLURM},
                 {"pbs", RZ_LAUNCHER_PBS},     {"pmix", RZ_LAUNCHER_PMIX}};
    *why = "it is `auto`, `local`, `ssh`, `slurm` or `pbs`";
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(value, words[i].word) == 0) {
            OPTIONS->launcher = words[i].choice;
            return true;
        }
    }
    return false;
}

/* Appends the words of a text, which are separated by blanks. */
static void add_words(struct rz_texts *texts, const char *text)
{
    char *copy = strdup(text), *save;
    rz_need_memory(copy, "for the command line");
    for (char *word = strtok_r(copy, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        rz_texts_add(texts, word);
    }
    free(copy);
}

RZ_CLI_TAKE(agent)
{
    *why = "it wants a command";
    rz_texts_clear(&OPTIONS->agent);
    add_words(&OPTIONS->agent, value);
    OPTIONS->agent_given = true;
    return OPTIONS->agent.n > 0;
}

RZ_CLI_TAKE_TEXT(ssh_arguments, OPTIONS->ssh_arguments)
RZ_CLI_TAKE_TEXT(interface, OPTIONS->interface)

RZ_CLI_TAKE(port_range)
{
    char first[8];
    uint64_t low, high;
    const char *minus = strchr(value, '-');
    *why = "it is two ports from 1024 to 65535, the lower one first, like 50000-50100";
    if (!minus || (size_t)(minus - value) >= sizeof(first)) {
        return false;
    }
    snprintf(first, sizeof(first), "%.*s", (int)(minus - value), value);
    if (!rz_quantity_number(first, 1024, 65535, &low) ||
        !rz_quantity_number(minus + 1, low, 65535, &high)) {
        return false;
    }
    setenv(RZ_PORT_RANGE, value, 1); /* also of daemons and ranks */
    OPTIONS->port_range = value;
    return true;
}

RZ_CLI_TAKE(prefix)
{
    static char path[1024];
    int n = snprintf(path, sizeof(path), "%s/bin/rzd", value);
    *why = "it is the directory of an installation: an absolute path without quotes";
    OPTIONS->remote_daemon = path;
    return value[0] == '/' && !strchr(value, '\'') && n < (int)sizeof(path);
}

const struct rz_cli_option rz_host_options[] = {
    {NULL, NULL, NULL, "Other hosts (docs/clusters.md)", NULL},
    {"--launcher", "-launcher -bootstrap --bootstrap", "auto|local|ssh|slurm|pbs",
     "How daemons are started. auto (default): in a job of Slurm by srun, in one of PBS as with "
     "pbs; "
     "else on this machine directly, on other hosts by ssh. local: all hosts are emulated on this "
     "machine, whatever their names. ssh: also this machine's by ssh. slurm: by srun; without "
     "--host, on all nodes of the job. pbs: by ssh; without --host, on the nodes of PBS_NODEFILE.",
     take_launcher},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct rz_cli_option rz_host_options_agents[] = {
    {"--ssh-args", NULL, "ARGS",
     "Further arguments of ssh, before the host, like '-p 2222 -l me'. Your ssh configuration is "
     "used; ssh must need no password.",
     take_ssh_arguments},
    {"--launch-agent", NULL, "COMMAND",
     "Instead of ssh: a command that behaves like it, with the host and a command line as its last "
     "two arguments.",
     take_agent},
    {"--prefix", "-prefix", "DIR",
     "On other hosts Rhizome is in DIR (DIR/bin/rzd). Default: where it is here.", take_prefix},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct rz_cli_option rz_host_options_network[] = {
    {"--interface", "-iface --iface", "NAME|NETWORK",
     "The network by which hosts reach each other: the name of an interface (eth0), or a network "
     "(10.1.0.0/16, fd78::/64). Default: the one by which the hosts are reached from here.",
     take_interface},
    {"--port-range", NULL, "A-B",
     "rzrun and daemons use ports from A to B alone. Default: any free port.", take_port_range},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- Settling ---- */

void rz_host_options_ports(struct rz_rzrun_options *options, const struct rz_cli *cli)
{
    const char *why, *range = getenv(RZ_PORT_RANGE);
    if (range && !options->port_range && !take_port_range(options, range, &why)) {
        rz_cli_refuse(cli, RZ_PORT_RANGE " is '%s': %s", range, why);
    }
}

static void check_agent(const struct rz_rzrun_options *options, const struct rz_cli *cli)
{
    if (options->agent.n > RZ_AGENT_WORDS_MAX) {
        rz_cli_refuse(cli, "the command that starts daemons has %u words; %d is the bound",
                      options->agent.n, RZ_AGENT_WORDS_MAX);
    }
}

void rz_host_options_agent(struct rz_rzrun_options *options, const struct rz_cli *cli)
{
    if (options->agent_given && options->ssh_arguments) {
        rz_cli_refuse(cli, "--ssh-args is for ssh: with --launch-agent, write them into "
                           "its command");
    }
    if (options->agent_given) {
        check_agent(options, cli);
        return;
    }
    if (options->launcher == RZ_LAUNCHER_SLURM) {
        /* What keeps the others alive when a host fails; binding is the daemons' own affair. */
        add_words(&options->agent, "srun --overlap --kill-on-bad-exit=0 --no-kill --mpi=none "
                                   "--cpu-bind=none --ntasks-per-node=1");
        return;
    }
    add_words(&options->agent, "ssh -x -T -o BatchMode=yes");
    if (options->ssh_arguments) {
        add_words(&options->agent, options->ssh_arguments);
    }
    check_agent(options, cli);
}

void rz_host_options_allocation(struct rz_rzrun_options *options, const struct rz_cli *cli)
{
    static const struct {
        enum rz_batch batch;
        enum rz_launcher_choice launcher;
        const char *missing;
    } systems[] = {
        {RZ_BATCH_SLURM, RZ_LAUNCHER_SLURM,
         "--launcher slurm is for jobs of Slurm: SLURM_JOB_ID is not set; start this in sbatch or "
         "salloc"},
        {RZ_BATCH_PBS, RZ_LAUNCHER_PBS,
         "--launcher pbs is for jobs of PBS: PBS_NODEFILE is not set; start rzrun by qsub"}};
    enum rz_batch batch = rz_allocation_batch();
    const char *why;
    for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++) {
        if (options->launcher == systems[i].launcher && batch != systems[i].batch) {
            rz_cli_refuse(cli, "%s", systems[i].missing);
        }
        if (options->launcher == RZ_LAUNCHER_AUTO && batch == systems[i].batch &&
            !options->emulated_nodes) {
            options->launcher = systems[i].launcher;
        }
    }
    bool allocated = options->launcher == RZ_LAUNCHER_SLURM || options->launcher == RZ_LAUNCHER_PBS;
    if (allocated && options->emulated_nodes) {
        rz_cli_refuse(cli, "--nodes emulates nodes on this machine: --launcher local");
    }
    if (allocated && options->layout.n_nodes == 0 &&
        !rz_allocation_add(&options->layout, batch, &why)) {
        rz_cli_refuse(cli, "%s", why);
    }
}

bool rz_host_options_program(const struct rz_rzrun_options *options, const char *program,
                             char *path, size_t bytes)
{
    char own[PATH_MAX];
    const char *daemon = options->remote_daemon;
    if (!daemon) {
        if (!rz_process_path(own, sizeof(own)) || strchr(own, '\'')) {
            return false;
        }
        daemon = own;
    }
    const char *slash = strrchr(daemon, '/');
    int folder = slash ? (int)(slash - daemon) : 0;
    return snprintf(path, bytes, "%.*s/%s", folder, daemon, program) < (int)bytes;
}

const char *rz_host_options_remedy(const struct rz_rzrun_options *options, int status)
{
    bool ssh = options->launcher != RZ_LAUNCHER_SLURM && !options->agent_given;
    switch (status) {
    case RZ_AGENT_NOT_STARTED:
        return "is it installed here? --launcher and --launch-agent say what is used instead";
    case 127:
        return "is Rhizome installed there? --prefix says where";
    case 126:
        return "rzd there is not for this kind of machine, or may not be run";
    case 255:
        return ssh ? "ssh must reach the host without a password or a question: try `ssh HOST "
                     "true`; if that works, see whether rzd was killed there"
                   : "";
    case 0:
        return "rzd there is no daemon of Rhizome, or the agent started nothing";
    case 128 + SIGKILL:
        return "it was killed: is there enough memory?";
    case 1:
    case 2:
    case 3:
        return ssh ? "does the login shell there run commands? try `ssh HOST true`; and is rzd "
                     "there of this version of Rhizome?"
                   : "";
    default:
        return "";
    }
}

/*
 * ---- Which hosts are others ----
 *
 * Compares the names of hosts with this machine, and asks for the routes to the others. Each name
 * is looked up at most once.
 */

enum { INTERFACES_MAX = 256, ASKED_MAX = 4 };

/* The addresses of some remote hosts. */
struct asked {
    unsigned n;
    struct rz_host_addresses hosts[ASKED_MAX];
};

/* found: what was looked up for the answer. */
static bool is_elsewhere(const struct rz_rzrun_options *options, const char *host,
                         struct rz_host_addresses *found)
{
    switch (options->launcher) {
    case RZ_LAUNCHER_LOCAL:
        return false;
    case RZ_LAUNCHER_SSH:
        return true;
    case RZ_LAUNCHER_SLURM:
        return strcmp(host, "localhost") != 0;
    default:
        return !rz_host_is_here(host, found);
    }
}

static void add_address(struct rz_rzrun_options *options, const struct rz_address *address)
{
    unsigned i = 0;
    while (i < options->n_addresses && !rz_address_same_ip(&options->addresses[i], address)) {
        i++;
    }
    if (i == options->n_addresses && i < RZ_RZRUN_ADDRESSES_MAX) {
        options->addresses[options->n_addresses++] = *address;
    }
}

/* Looks up what was not yet: a few hosts show the ways to all, and each question may take seconds.
 */
static void ask_host(struct asked *asked, const char *host, const struct rz_host_addresses *found)
{
    const char *at = strrchr(host, '@');
    if (asked->n == ASKED_MAX) {
        return;
    }
    struct rz_host_addresses *addresses = &asked->hosts[asked->n++];
    *addresses = *found;
    if (addresses->n == 0) {
        rz_host_look_up(at ? at + 1 : host, addresses);
    }
}

/* The addresses from which hosts are reached, in the order in which theirs should be tried. */
static void add_routes(struct rz_rzrun_options *options, const struct asked *asked)
{
    for (unsigned i = 0; i < asked->n; i++) {
        const struct rz_host_addresses *host = &asked->hosts[i];
        for (unsigned k = 0; k < host->n; k++) {
            struct rz_address from;
            if (!rz_address_is_loopback(&host->all[k]) &&
                rz_socket_route(&host->all[k], &from) == RZ_OK &&
                !rz_address_is_link_local(&from)) {
                add_address(options, &from);
            }
        }
    }
}

/* Those from which the hosts are reached come first; then all that other hosts may know. */
static void settle_addresses(struct rz_rzrun_options *options, const struct asked *asked)
{
    struct rz_interface interfaces[INTERFACES_MAX];
    unsigned n = rz_interfaces(interfaces, INTERFACES_MAX);
    if (!options->interface) {
        add_routes(options, asked);
    }
    for (unsigned i = 0; i < n; i++) {
        if (options->interface ? rz_interface_matches(&interfaces[i], options->interface)
                               : !interfaces[i].loopback && !interfaces[i].local) {
            add_address(options, &interfaces[i].address);
        }
    }
}

void rz_host_options_elsewhere(struct rz_rzrun_options *options)
{
    struct rz_launch_layout *layout = &options->layout;
    struct asked asked = {.n = 0};
    for (uint32_t i = 0; options->named && i < layout->n_nodes; i++) {
        struct rz_host_addresses found = {.n = 0};
        struct rz_layout_node *node = &layout->nodes[i];
        node->remote = is_elsewhere(options, node->host, &found);
        if (node->remote && !options->interface) {
            ask_host(&asked, node->host, &found);
        }
    }
    rz_layout_merge_remote(layout);
    options->n_remote = 0;
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        options->n_remote += layout->nodes[i].remote;
    }
    if (options->n_remote > 0) {
        settle_addresses(options, &asked);
    }
}
