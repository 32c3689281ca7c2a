/* SPDX-License-Identifier: BSD-3-Clause */
/* rzsim's commands: each takes its arguments (argv[0] is the command's name) and returns the exit
 * status. */
#ifndef RZ_RZSIM_RZSIM_H
#define RZ_RZSIM_RZSIM_H

#include "cli/cli.h"
#include "study/study.h"

enum rz_rzsim_exit { RZ_RZSIM_GOOD, RZ_RZSIM_BAD, RZ_RZSIM_USAGE = RZ_EXIT_USAGE };

int rz_rzsim_check(int argc, char **argv);
int rz_rzsim_replay(int argc, char **argv);
int rz_rzsim_study(const struct rz_study *study, int argc, char **argv);
int rz_rzsim_figure(int argc, char **argv);
int rz_rzsim_compare(int argc, char **argv);
int rz_rzsim_explain(int argc, char **argv);

/* Their options, for the manual page; each ends with an entry without name and help. */
extern const struct rz_cli_option rz_rzsim_check_options[];
extern const struct rz_cli_option rz_rzsim_replay_options[];
extern const struct rz_cli_option rz_rzsim_figure_options[];
extern const struct rz_cli_option rz_rzsim_compare_options[];
extern const struct rz_cli_option rz_rzsim_explain_options[];

/* Takes options before and after one argument that is not an option; refuses more arguments.
 * Returns it; NULL: there is none. */
const char *rz_rzsim_word(const struct rz_cli *cli, int argc, char **argv, void *target);

/* One line on standard error; returns RZ_RZSIM_BAD. */
int rz_rzsim_fail(const char *what, const char *why);

#endif
