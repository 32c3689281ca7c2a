/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor: what this build of the library supports, and what is missing on this machine. */
#include "cmd/rzdoctor.h"
#include "cmd/rzdoctor_hosts.h"

#include "cli/cli.h"
#include "cli/quantity.h"
#include "launch/host_options.h"
#include "launch/layout.h"

#include <string.h>

#define OPTIONS ((struct rz_doctor_options *)target)

RZ_CLI_TAKE_FLAG(json, OPTIONS->json)
RZ_CLI_TAKE(hosts)
{
    OPTIONS->run.named = true;
    if (strcmp(value, "allocation") == 0) {
        return OPTIONS->allocation = true;
    }
    return rz_layout_add_hosts(&OPTIONS->run.layout, value, why);
}

RZ_CLI_TAKE(hostfile)
{
    OPTIONS->run.named = true;
    return rz_layout_add_hostfile(&OPTIONS->run.layout, value, why);
}

RZ_CLI_TAKE(start_timeout)
{
    *why = "it wants a number of seconds, or a time like 2s or 5m";
    return rz_quantity_seconds(value, &OPTIONS->run.start_timeout) &&
           OPTIONS->run.start_timeout >= RZ_SECOND;
}

RZ_CLI_TAKE_FLAG(missing, OPTIONS->missing)
RZ_CLI_TAKE_FLAG(working, OPTIONS->working)

static const struct rz_cli_option options[] = {
    {"--json", NULL, NULL, "Print JSON instead of text.", take_json},
    {NULL, NULL, NULL, "Of features", NULL},
    {"--missing", NULL, NULL, "Only functions that this build does not support.", take_missing},
    {"--working", NULL, NULL, "Only functions that work.", take_working},
    {NULL, NULL, NULL, "Of check, beside this machine", NULL},
    {"--hosts", "--host -H", "HOST,...|allocation",
     "Also these hosts, as in rzrun --host; allocation: those of the job of Slurm or PBS that this "
     "runs in. Only what is not as here is printed of each.",
     take_hosts},
    {"--hostfile", "-f", "FILE", "The same from a file, as of rzrun --hostfile.", take_hostfile},
    {"--start-timeout", NULL, "T",
     "A host that says nothing for this time (30s) is not waited for any more; all are asked at "
     "once.",
     take_start_timeout},
    {NULL, NULL, NULL, NULL, NULL}};

static const struct rz_cli_option *const more_options[] = {rz_host_options, rz_host_options_agents,
                                                           rz_host_options_network, NULL};

static const struct rz_cli cli = {
    .name = "rzdoctor",
    .summary = "what this build of Rhizome can do, and whether this machine allows it",
    .synopsis = "[check] [--hosts HOST,...] | features [--missing|--working] [NAME]... [--json]",
    .words = "check features",
    .description =
        "check (the default): tries what Rhizome needs of this machine: calls of the "
        "kernel, limits, the network, the installation and the environment of this shell; it ends "
        "with two small jobs (of rzdoctor probe). Each finding is ok, a warning (Rhizome works, "
        "but not as well or not "
        "as expected), or a fault (something will not work), with what to do. With --hosts: "
        "whether "
        "jobs on these hosts will work, too: whether they are reached, what is not as here, their "
        "clocks, the ways between them. features: every "
        "function of the MPI 5.0 ABI and of the extensions, by chapter: works, or returns "
        "MPI_ERR_UNSUPPORTED_OPERATION. NAME is a function, or a pattern like 'MPI_Win_*'.",
    .options = options,
    .more = more_options,
    .epilogue = "Exit status: 0, also with warnings; 1 there is a fault, or a function that was "
                "named does not\nwork; 2 the command line is wrong; 9 standard output could not "
                "be written.\n\n"
                "Examples:\n"
                "  rzdoctor\n"
                "  rzdoctor --hosts alpha,beta\n"
                "  rzdoctor features --missing\n"
                "  rzdoctor features MPI_Win_create && echo windows work"};

static void refuse_name(const char *name, const char *nearest)
{
    if (nearest) {
        rz_cli_refuse(&cli, "there is no function '%s'; did you mean %s?", name, nearest);
    }
    rz_cli_refuse(&cli, "there is no function '%s'", name);
}

/* The hosts and how they are reached, as rzrun has them. */
static void settle_hosts(struct rz_doctor_options *options)
{
    struct rz_rzrun_options *run = &options->run;
    if (!run->named) {
        return;
    }
    if (run->launcher == RZ_LAUNCHER_LOCAL) {
        rz_cli_refuse(&cli, "--launcher local emulates all hosts on this machine");
    }
    if (options->allocation && run->layout.n_nodes > 0) {
        rz_cli_refuse(&cli, "--hosts allocation has all hosts of the job: name no others");
    }
    rz_host_options_allocation(run, &cli);
    if (run->layout.n_nodes == 0) {
        rz_cli_refuse(&cli, options->allocation
                                ? "this is no job of Slurm or PBS: --hosts names the hosts"
                                : "there is no host in the list");
    }
    rz_host_options_elsewhere(run);
    rz_host_options_ports(run, &cli);
    rz_host_options_agent(run, &cli);
}

/* Options may stand before, between and after the words; the words are gathered at the front. */
static int take_command_line(int argc, char **argv, struct rz_doctor_options *options)
{
    int words = 1;
    for (int at = 0; (at += rz_cli_parse(&cli, argc - at, argv + at, options)) < argc;) {
        argv[words++] = argv[at];
    }
    return words;
}

int main(int argc, char **argv)
{
    struct rz_doctor_options options = {.run.start_timeout = 30 * RZ_SECOND};
    int words = take_command_line(argc, argv, &options);
    const char *command = words > 1 ? argv[1] : "check";
    options.names = argv + 2;
    options.names_n = words > 2 ? words - 2 : 0;
    if (strcmp(command, "features") == 0) {
        if (options.missing && options.working) {
            rz_cli_refuse(&cli, "--missing and --working exclude each other");
        }
        if (options.run.named) {
            rz_cli_refuse(&cli, "--hosts and --hostfile belong to rzdoctor check");
        }
        return rz_cli_finish(cli.name, rz_doctor_features(&options, refuse_name));
    }
    if (strcmp(command, "link") == 0 && words == 2) { /* rzdoctor_hosts.h */
        return rz_doctor_link();
    }
    if (strcmp(command, "check") != 0 && strcmp(command, "probe") != 0) {
        rz_cli_refuse(&cli, "there are check and features, but no '%s'", command);
    }
    if (options.missing || options.working) {
        rz_cli_refuse(&cli, "%s belongs to rzdoctor features",
                      options.missing ? "--missing" : "--working");
    }
    if (options.names_n > 0) {
        rz_cli_refuse(&cli, "'%s' is one word too many", options.names[0]);
    }
    if (strcmp(command, "probe") == 0) {
        return rz_doctor_probe();
    }
    settle_hosts(&options);
    int status = rz_doctor_check(&options);
    rz_layout_clear(&options.run.layout);
    rz_texts_clear(&options.run.agent);
    return rz_cli_finish(cli.name, status);
}
