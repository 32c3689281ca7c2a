/* SPDX-License-Identifier: BSD-3-Clause */
/* The options about checkpoints: how they are kept, and when a job is saved and continued. */
#include "launch/rzrun_private.h"

#include "ckpt/file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS ((struct rz_rzrun_options *)target)

RZ_CLI_TAKE(checkpoint)
{
    OPTIONS->scheme_given = true;
    return rz_scheme_parse(value, &OPTIONS->scheme, why);
}

RZ_CLI_TAKE(checkpoint_dir)
{
    *why = "it needs a directory that all nodes see";
    OPTIONS->checkpoint_dir = value;
    return *value != 0;
}

RZ_CLI_TAKE(checkpoint_name)
{
    *why = "it needs 1 to 63 letters, digits and . _ - +, the first of them no dot";
    OPTIONS->checkpoint_name = value;
    return rz_ckpt_name_valid(value);
}

RZ_CLI_TAKE(checkpoint_keep)
{
    return rz_rzrun_whole(value, 2, 1000, &OPTIONS->checkpoint_keep, why);
}

RZ_CLI_TAKE_FLAG(restart, OPTIONS->restart)
RZ_CLI_TAKE_FLAG(keep_checkpoints, OPTIONS->keep_checkpoints)

static const struct {
    const char *name;
    int number;
} signals[] = {{"SIGUSR1", SIGUSR1},
               {"SIGUSR2", SIGUSR2},
               {"SIGHUP", SIGHUP},
               {"SIGINT", SIGINT},
               {"SIGTERM", SIGTERM}};
#define N_SIGNALS (sizeof(signals) / sizeof(*signals))

const char *rz_rzrun_signal_name(int number)
{
    size_t i = 0;
    while (i + 1 < N_SIGNALS && signals[i].number != number) {
        i++;
    }
    return signals[i].name;
}

RZ_CLI_TAKE(signal_checkpoint)
{
    *why = "it is `USR1`, `USR2`, `HUP`, `INT` or `TERM`";
    for (size_t i = 0; i < N_SIGNALS; i++) {
        if (strcmp(value, signals[i].name) == 0 || strcmp(value, signals[i].name + 3) == 0) {
            OPTIONS->signal_checkpoint = signals[i].number;
            return true;
        }
    }
    return false;
}

const struct rz_cli_option rz_rzrun_checkpoints[] = {
    {NULL, NULL, NULL, "Checkpoints (docs/checkpoints.md)", NULL},
    {"--checkpoint", NULL, "SCHEME",
     "How checkpoints (RZ_Checkpoint) are kept (docs/checkpoints.md). memory: in the memory of "
     "each rank's node alone; they survive failures of processes. buddy (default): there, and in "
     "that of another node. xor:K: in "
     "groups of K nodes, of which any one may be lost. rs:K+M: in groups of K+M nodes, of which "
     "any M may be lost. file: in files alone, which survive the loss of all nodes.",
     take_checkpoint},
    {"--checkpoint-dir", NULL, "DIR",
     "Keep checkpoints in files, too, in DIR, which all nodes must see: for --on-failure restart "
     "and --restart; --checkpoint file needs it. Removed when the job has "
     "succeeded.",
     take_checkpoint_dir},
    {"--checkpoint-name", NULL, "NAME",
     "The job's name in DIR; each job there needs another one. Default: that of the program.",
     take_checkpoint_name},
    {"--checkpoint-keep", NULL, "N", "Keep the newest N generations in files (2, the least).",
     take_checkpoint_keep},
    {"--restart", NULL, NULL,
     "Continue from the checkpoints that an earlier job of this name and number of ranks left in "
     "DIR, on any nodes; if there are none, start from the beginning.",
     take_restart},
    {"--keep-checkpoints", NULL, NULL, "Leave the files in DIR when the job has succeeded, too.",
     take_keep_checkpoints},
    {"--signal-checkpoint", NULL, "SIGNAL",
     "At SIGNAL (USR1, USR2, HUP, INT; TERM, which does so anyway) write the newest checkpoint to "
     "DIR and end the job with "
     "status 75, as at SIGTERM; --restart continues it. For batch systems that warn before they "
     "end a job (docs/clusters.md).",
     take_signal_checkpoint},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- Settling ---- */

/* The last component of the program's name, with a `-` for characters that a name cannot
 * contain. */
static void settle_checkpoint_name(struct rz_rzrun_options *options)
{
    static char name[RZ_CKPT_NAME_MAX];
    const char *slash = strrchr(options->contexts[0].program[0], '/');
    snprintf(name, sizeof(name), "%.60s", slash ? slash + 1 : options->contexts[0].program[0]);
    for (char *at = name; *at; at++) {
        const char one[2] = {*at, 0};
        if (!rz_ckpt_name_valid(one) && (at == name || *at != '.')) {
            *at = '-';
        }
    }
    options->checkpoint_name = *name ? name : "job";
}

void rz_rzrun_checkpoints_settle(struct rz_rzrun_options *options)
{
    const char *what =
        options->scheme.kind == RZ_SCHEME_FILE
            ? options->rewind_scheme_given ? "--rewind-scheme file" : "--checkpoint file"
        : options->restart           ? "--restart"
        : options->keep_checkpoints  ? "--keep-checkpoints"
        : options->checkpoint_name   ? "--checkpoint-name"
        : options->checkpoint_keep   ? "--checkpoint-keep"
        : options->signal_checkpoint ? "--signal-checkpoint"
                                     : NULL;
    if (!options->checkpoint_dir && what) {
        rz_cli_refuse(&rz_rzrun_cli, "%s needs a directory for the files: --checkpoint-dir DIR",
                      what);
    }
    if (!options->checkpoint_dir) {
        return;
    }
    if (options->no_ft) {
        rz_cli_refuse(&rz_rzrun_cli, "with --no-ft checkpoints are not kept: leave out "
                                     "--checkpoint-dir");
    }
    if (!options->checkpoint_keep) {
        options->checkpoint_keep = 2;
    }
    if (!options->checkpoint_name) {
        settle_checkpoint_name(options);
    }
}
