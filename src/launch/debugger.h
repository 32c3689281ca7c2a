/* SPDX-License-Identifier: BSD-3-Clause */
/* --debugger: the ranks that the user names run under a debugger, or another program that runs
 * programs (docs/debugging.md). */
#ifndef RZ_LAUNCH_DEBUGGER_H
#define RZ_LAUNCH_DEBUGGER_H

#include <rhizome/types.h>

struct rz_rzrun_options;

/* Where a debugger talks to its user. */
enum rz_debug_terminal {
    RZ_DEBUG_AUTO,  /* tmux or X, if rzrun runs there */
    RZ_DEBUG_PLAIN, /* the rank's own streams */
    RZ_DEBUG_XTERM, /* a window per rank */
    RZ_DEBUG_TMUX   /* a window per rank of the tmux that rzrun runs in */
};

/* Reads a list as 0,3,5-7. False: *why. */
bool rz_debugger_take_ranks(struct rz_rzrun_options *options, const char *value, const char **why);

/* The command line was read, the number of ranks is known: what cannot be is refused. */
void rz_debugger_settle(struct rz_rzrun_options *options);

/* Puts the debugger before the programs, which were found. */
void rz_debugger_apply(struct rz_rzrun_options *options);

#endif
