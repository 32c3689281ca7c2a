/* SPDX-License-Identifier: BSD-3-Clause */
/* The options about other hosts: how their daemons are started and reached, and which variables of
 * the environment go there. */
#include "launch/rzrun_hosts.h"

#include "base/no_memory.h"
#include "cli/quantity.h"
#include "launch/allocation.h"
#include "launch/hosts.h"
#include "remote/agent.h"
#include "outcome/exit_codes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS ((struct rz_rzrun_options *)target)

extern char **environ;

RZ_CLI_TAKE(launcher)
{
    static const struct {
        const char *word;
        enum rz_launcher_choice choice;
    } words[] = {{"auto", RZ_LAUNCHER_AUTO},   {"local", RZ_LAUNCHER_LOCAL},
                 {"fork", RZ_LAUNCHER_LOCAL},  {"ssh", RZ_LAUNCHER_SSH},
                 {"slurm", RZ_LAUNCHER_SLURM}, {"srun", RZ_LAUNCHER_SLURM},
                 {"pbs", RZ_LAUNCHER_PBS}};
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
RZ_CLI_TAKE_FLAG(whole_environment, OPTIONS->whole_environment)

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

RZ_CLI_TAKE(start_timeout)
{
    *why = "it wants a number of seconds, or a time like 2s or 5m";
    return rz_quantity_seconds(value, &OPTIONS->start_timeout) &&
           OPTIONS->start_timeout >= RZ_SECOND;
}

RZ_CLI_TAKE(prefix)
{
    static char path[1024];
    int n = snprintf(path, sizeof(path), "%s/bin/rzd", value);
    *why = "it is the directory of an installation: an absolute path without quotes";
    OPTIONS->remote_daemon = path;
    return value[0] == '/' && !strchr(value, '\'') && n < (int)sizeof(path);
}

const struct rz_cli_option rz_rzrun_hosts[] = {
    {NULL, NULL, NULL, "Other hosts (docs/clusters.md)", NULL},
    {"--launcher", "-launcher -bootstrap --bootstrap", "auto|local|ssh|slurm|pbs",
     "How daemons are started. auto (default): in a job of Slurm by srun, in one of PBS as with "
     "pbs; "
     "else on this machine directly, on other hosts by ssh. local: all hosts are emulated on this "
     "machine, whatever their names. ssh: also this machine's by ssh. slurm: by srun; without "
     "--host, on all nodes of the job. pbs: by ssh; without --host, on the nodes of PBS_NODEFILE.",
     take_launcher},
    {"--ssh-args", NULL, "ARGS",
     "Further arguments of ssh, before the host, like '-p 2222 -l me'. Your ssh configuration is "
     "used; ssh must need no password.",
     take_ssh_arguments},
    {"--launch-agent", NULL, "COMMAND",
     "Instead of ssh: a command that behaves like it, with the host and a command line as its last "
     "two arguments.",
     take_agent},
    {"--prefix", "-prefix", "DIR",
     "On other hosts the daemon is DIR/bin/rzd. Default: the path of this one.", take_prefix},
    {"--interface", "-iface --iface", "NAME|NETWORK",
     "The network by which hosts reach each other: the name of an interface (eth0), or a network "
     "(10.1.0.0/16). Default: the one by which the hosts are reached from here.",
     take_interface},
    {"--port-range", NULL, "A-B",
     "rzrun and daemons use ports from A to B alone. Default: any free port.", take_port_range},
    {"--start-timeout", NULL, "T",
     "End the job if not all daemons and processes have started, and none did for this time (30s).",
     take_start_timeout},
    {"--env-all", NULL, NULL,
     "Give the processes on other hosts all variables of the environment, but those of the session "
     "here. Default: PATH, LD_LIBRARY_PATH, LANG, LC_*, OMP_*, UCX_*, RZ_*, and those of -x.",
     take_whole_environment},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- Settling ---- */

static bool begins(const char *entry, const char *const *beginnings)
{
    for (; *beginnings; beginnings++) {
        if (strncmp(entry, *beginnings, strlen(*beginnings)) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_given(const struct rz_texts *texts, const char *entry)
{
    size_t n = strcspn(entry, "=") + 1;
    for (uint32_t i = 0; i < texts->n; i++) {
        if (strncmp(texts->texts[i], entry, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Those that the user gave have precedence. */
static void settle_environment(struct rz_rzrun_options *options)
{
    static const char *const always[] = {
        "PATH=", "LD_LIBRARY_PATH=", "LANG=", "LC_", "OMP_", "UCX_", "RZ_", NULL};
    static const char *const never[] = {"_=",    "PWD=",     "OLDPWD=",     "SHLVL=", "HOSTNAME=",
                                        "HOST=", "DISPLAY=", "SSH_",        "XDG_",   "DBUS_",
                                        "TERM=", "TMPDIR=",  "XAUTHORITY=", NULL};
    for (char **entry = environ; *entry; entry++) {
        bool taken = options->whole_environment ? !begins(*entry, never) : begins(*entry, always);
        if (taken && !is_given(&options->environment, *entry)) {
            rz_texts_add(&options->environment, *entry);
        }
    }
}

/* Daemons of other hosts begin elsewhere: directories become absolute. */
static void settle_directories(struct rz_rzrun_options *options)
{
    char own[PATH_MAX], path[2 * PATH_MAX];
    if (!getcwd(own, sizeof(own))) {
        rz_cli_refuse(&rz_rzrun_cli, "the working directory has no path any more; --wdir says one");
    }
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        const char *wanted = options->contexts[i].directory;
        if (*wanted == '/') {
            continue;
        }
        snprintf(path, sizeof(path), "%s%s%s", own, *wanted ? "/" : "", wanted);
        rz_texts_add(&options->directories, path);
        options->contexts[i].directory = options->directories.texts[options->directories.n - 1];
    }
}

static void check_agent(const struct rz_rzrun_options *options)
{
    if (options->agent.n > RZ_AGENT_WORDS_MAX) {
        rz_cli_refuse(&rz_rzrun_cli,
                      "the command that starts daemons has %u words; %d is the bound",
                      options->agent.n, RZ_AGENT_WORDS_MAX);
    }
}

static void settle_agent(struct rz_rzrun_options *options)
{
    if (options->agent_given && options->ssh_arguments) {
        rz_cli_refuse(&rz_rzrun_cli, "--ssh-args is for ssh: with --launch-agent, write them into "
                                     "its command");
    }
    if (options->agent_given) {
        check_agent(options);
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
    check_agent(options);
}

void rz_rzrun_hosts_allocation(struct rz_rzrun_options *options)
{
    static const struct {
        enum rz_batch batch;
        enum rz_launcher_choice launcher;
        const char *missing;
    } systems[] = {
        {RZ_BATCH_SLURM, RZ_LAUNCHER_SLURM,
         "--launcher slurm is for jobs of Slurm: SLURM_JOB_ID is not set; start rzrun by sbatch or "
         "salloc"},
        {RZ_BATCH_PBS, RZ_LAUNCHER_PBS,
         "--launcher pbs is for jobs of PBS: PBS_NODEFILE is not set; start rzrun by qsub"}};
    enum rz_batch batch = rz_allocation_batch();
    const char *why;
    for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++) {
        if (options->launcher == systems[i].launcher && batch != systems[i].batch) {
            rz_cli_refuse(&rz_rzrun_cli, "%s", systems[i].missing);
        }
        if (options->launcher == RZ_LAUNCHER_AUTO && batch == systems[i].batch &&
            !options->emulated_nodes) {
            options->launcher = systems[i].launcher;
        }
    }
    bool allocated = options->launcher == RZ_LAUNCHER_SLURM || options->launcher == RZ_LAUNCHER_PBS;
    if (allocated && options->emulated_nodes) {
        rz_cli_refuse(&rz_rzrun_cli, "--nodes emulates nodes on this machine: --launcher local");
    }
    if (allocated && options->layout.n_nodes == 0 &&
        !rz_allocation_add(&options->layout, batch, &why)) {
        rz_cli_refuse(&rz_rzrun_cli, "%s", why);
    }
}

void rz_rzrun_hosts_settle(struct rz_rzrun_options *options)
{
    const char *why, *range = getenv(RZ_PORT_RANGE);
    rz_hosts_settle(options);
    if (range && !options->port_range && !take_port_range(options, range, &why)) {
        rz_cli_refuse(&rz_rzrun_cli, RZ_PORT_RANGE " is '%s': %s", range, why);
    }
    if (options->n_remote == 0) {
        return;
    }
    const char *what = options->detach                        ? "--detach"
                       : options->adapter == RZ_ADAPTER_NETNS ? "--adapter netns"
                                                              : NULL;
    if (what) {
        rz_cli_refuse(
            &rz_rzrun_cli,
            "%s is for nodes of this machine, and some hosts are others (--launcher local "
            "emulates them here)",
            what);
    }
    if (options->n_addresses == 0) {
        fprintf(stderr, "rzrun: %s\n",
                options->interface ? "no interface of this machine is the one of --interface"
                                   : "this machine has no address that other hosts could reach; "
                                     "see --interface");
        exit(RZ_EXIT_START);
    }
    settle_agent(options);
    settle_directories(options);
    settle_environment(options);
}
