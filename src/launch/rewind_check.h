/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --rewind-check: finds out whether a program can be rewound. First it runs with snapshots; after
 * the second commit a rank is killed, and another one after the first commit behind that; it runs
 * on to its end, or for half of the time that there is. Then it runs undisturbed, and what it
 * prints is compared. If it differs the program runs undisturbed once more, to learn whether it
 * prints the same each time. Nothing waits for a moment: commits and restorations lead on, and all
 * of it is bounded.
 */
#ifndef RZ_LAUNCH_REWIND_CHECK_H
#define RZ_LAUNCH_REWIND_CHECK_H

#include "launch/check_output.h"
#include "launch/rzrun_options.h"

struct event;

/* All of it, unless --timeout says otherwise. */
#define RZ_REWIND_CHECK_BOUND (120 * RZ_SECOND)

/* One run, to be done and as it was. */
struct rz_check_run {
    bool tries;    /* with snapshots and kills; otherwise undisturbed */
    rz_time bound; /* it is ended after that */
    rz_time every; /* from one snapshot to the next */

    /* session_check.c: */
    struct rz_check_output output;
    uint64_t newest;          /* generation that is committed */
    uint32_t commits;         /* since the beginning, or the last kill */
    uint32_t kills, restored; /* how often */
    bool bounded;             /* it was ended by its bound */
    bool cut;                 /* it was ended by a kill when the ranks had left */
    bool left;                /* the ranks have left: a failure is the end of the job */
    bool unsaved, unrestored; /* a rank cannot be saved, or restored: */
    char why[1024];           /* also why the job ended */
    bool joined;              /* a rank has called MPI_Init */
    bool interrupted;         /* rzrun was */
    uint64_t input;           /* bytes of standard input that it was given */
    rz_time begun, lasted;
    rz_time since; /* how long it ran on after the last restoration */
    int status;
    rz_time restored_at;
    struct event *end, *kill; /* timers */
};

/* Does all runs, says the answer, and returns the exit status: 0, it can be rewound; 1, it cannot,
 * or its output differs; RZ_EXIT_NO_ANSWER. Another one if the program cannot be started, or rzrun
 * is interrupted. */
int rz_rewind_check_run(const struct rz_rzrun_options *options, const char *daemon);

#endif
