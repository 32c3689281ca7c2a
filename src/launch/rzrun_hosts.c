/* SPDX-License-Identifier: BSD-3-Clause */
/* The options about other hosts that rzrun alone has: how long it waits for them, and which
 * variables of the environment go there. */
#include "launch/rzrun_private.h"

#include "base/no_memory.h"
#include "cli/quantity.h"
#include "launch/host_options.h"
#include "outcome/exit_codes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS ((struct rz_rzrun_options *)target)

extern char **environ;

RZ_CLI_TAKE_FLAG(whole_environment, OPTIONS->whole_environment)
RZ_CLI_TAKE_FLAG(readmit, OPTIONS->readmit)

RZ_CLI_TAKE(start_timeout)
{
    *why = "it wants a number of seconds, or a time like 2s or 5m";
    return rz_quantity_seconds(value, &OPTIONS->start_timeout) &&
           OPTIONS->start_timeout >= RZ_SECOND;
}

RZ_CLI_TAKE_FLAG(preload, OPTIONS->preload.programs)

RZ_CLI_TAKE(preload_files)
{
    char *list = strdup(value), *save;
    *why = "it wants names of files, with commas between";
    rz_need_memory(list, "for the command line");
    char *name = strtok_r(list, ",", &save);
    bool good = name != NULL;
    for (; name; name = strtok_r(NULL, ",", &save)) {
        rz_texts_add(&OPTIONS->preload.names, name);
    }
    free(list);
    return good;
}

const struct rz_cli_option rz_rzrun_hosts[] = {
    {"--start-timeout", NULL, "T",
     "End the job if not all daemons and processes have started, and none did for this time (30s).",
     take_start_timeout},
    {"--readmit", NULL, NULL,
     "When a lost host answers again, write the newest checkpoint to files (--checkpoint-dir), and "
     "start the job again from it, on all hosts. Counts for --max-restarts.",
     take_readmit},
    {"--env-all", NULL, NULL,
     "Give the processes on other hosts all variables of the environment, but those of the session "
     "here. Default: PATH, LD_LIBRARY_PATH, LANG, LC_*, OMP_*, UCX_*, RZ_*, and those of -x.",
     take_whole_environment},
    {"--preload", "-preload-binary --preload-binary -s", NULL,
     "Bring the programs to the other hosts, with the shared libraries that they use here and that "
     "are not in the system's folders: for hosts without a common file system. They are in a "
     "folder of the job below TMPDIR or /tmp there, which RZ_PRELOAD_DIR names and which is "
     "removed "
     "at the end; it is the working directory where the one of here does not exist.",
     take_preload},
    {"--preload-files", "-preload-files", "FILE,...",
     "Bring these files, too, into the same folder. May be repeated.", take_preload_files},
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

void rz_rzrun_hosts_attach(struct rz_rzrun_options *options)
{
    struct rz_launch_layout *layout = &options->layout;
    if (layout->n_nodes == 0) {
        return;
    }
    if (options->launcher == RZ_LAUNCHER_SLURM) {
        rz_cli_refuse(&rz_rzrun_cli,
                      "--attach and --end reach other hosts by ssh: use --launcher ssh");
    }
    options->named = true;
    rz_host_options_elsewhere(options);
    rz_host_options_agent(options, &rz_rzrun_cli);
}

/* Options about other hosts, of which there are none: scripts have them for hosts that vary. */
static void name_without_effect(struct rz_rzrun_options *options)
{
    const struct {
        const char *name;
        bool given;
    } all[] = {{"--preload", options->preload.programs},
               {"--preload-files", options->preload.names.n > 0},
               {"--ssh-args", options->ssh_arguments != NULL},
               {"--launch-agent", options->agent_given},
               {"--prefix", options->remote_daemon != NULL},
               {"--interface", options->interface != NULL},
               {"--env-all", options->whole_environment}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        if (all[i].given) {
            rz_texts_add(&options->without_effect, all[i].name);
        }
    }
}

void rz_rzrun_hosts_settle(struct rz_rzrun_options *options)
{
    rz_host_options_elsewhere(options);
    rz_host_options_ports(options, &rz_rzrun_cli);
    if (options->n_remote == 0) {
        if (options->readmit) {
            rz_cli_refuse(&rz_rzrun_cli, "--readmit has no effect without other hosts (--host, "
                                         "--hostfile): it asks those that were lost");
        }
        name_without_effect(options);
        return;
    }
    if (options->adapter == RZ_ADAPTER_NETNS) {
        rz_cli_refuse(
            &rz_rzrun_cli,
            "--adapter netns is for nodes of this machine, and some hosts are others (--launcher "
            "local emulates them here)");
    }
    if (options->detach && options->launcher == RZ_LAUNCHER_SLURM) {
        rz_cli_refuse(&rz_rzrun_cli, "--detach would end srun, with which Slurm ends the daemons: "
                                     "use --launcher ssh, or leave rzrun in the background");
    }
    if (options->readmit && options->launcher == RZ_LAUNCHER_SLURM) {
        rz_cli_refuse(&rz_rzrun_cli,
                      "--readmit is for hosts that are reached by ssh; Slurm gives a "
                      "lost node to no running job again");
    }
    if (options->n_addresses == 0) {
        fprintf(stderr, "rzrun: %s\n",
                options->interface ? "no interface of this machine is the one of --interface"
                                   : "this machine has no address that other hosts could reach; "
                                     "see --interface");
        exit(RZ_EXIT_START);
    }
    rz_host_options_agent(options, &rz_rzrun_cli);
    settle_directories(options);
    settle_environment(options);
}
