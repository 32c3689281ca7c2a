/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of rzrun's command line share: the tables of its options by theme, beside that of
 * rzrun_options.c, and what follows from a command line once it was read.
 */
#ifndef RZ_LAUNCH_RZRUN_PRIVATE_H
#define RZ_LAUNCH_RZRUN_PRIVATE_H

#include "launch/rzrun_options.h"

/* ---- Tables, each of the file of its name ---- */

extern const struct rz_cli_option rz_rzrun_checkpoints[];
extern const struct rz_cli_option rz_rzrun_rewind[];  /* docs/unmodified.md */
extern const struct rz_cli_option rz_rzrun_hosts[];   /* that rzrun alone has; host_options.h */
extern const struct rz_cli_option rz_rzrun_output[];  /* also how a job starts and ends */
extern const struct rz_cli_option rz_rzrun_foreign[]; /* of other launchers: docs/launchers.md */

/* ---- rzrun_conflicts.c ---- */

/* The command line was read and nothing was settled yet: refuses it where it says what cannot be,
 * or what would silently have no effect. */
void rz_rzrun_conflicts_check(const struct rz_rzrun_options *options);

/* The same with --attach or --end: refuses what concerns a job that rzrun starts. */
void rz_rzrun_conflicts_attach(const struct rz_rzrun_options *options);

/* ---- rzrun_settle.c, and the part of each theme in it ---- */

/* Fills in what was not given, and places the ranks; ends the process with a one-line message where
 * the options contradict each other or the machine. */
void rz_rzrun_settle(struct rz_rzrun_options *options);

/* Completes them once the program is known, and checks their combinations. */
void rz_rzrun_checkpoints_settle(struct rz_rzrun_options *options);

/* Checks the combinations with other options. */
void rz_rzrun_rewind_settle(struct rz_rzrun_options *options);

/* Completes them once the nodes are known, and checks their combinations. */
void rz_rzrun_hosts_settle(struct rz_rzrun_options *options);

/* The same for --attach and --end, which may name the hosts of the job. */
void rz_rzrun_hosts_attach(struct rz_rzrun_options *options);

#endif
