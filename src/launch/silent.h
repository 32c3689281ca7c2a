/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a daemon has been silent for too long: a rule on times that the caller passes. Checks are
 * made every RZ_SILENT_LOOK. One that is late, because rzrun did not run (a loaded machine, Ctrl-Z,
 * a suspended laptop), counts as one, for the daemons did not run then either. A daemon that waits
 * for a processor cannot answer: such a check counts for little.
 */
#ifndef RZ_LAUNCH_SILENT_H
#define RZ_LAUNCH_SILENT_H

#include <rhizome/types.h>

#include <stdbool.h>

#define RZ_SILENT_LOOK RZ_SECOND
/* Only one of this number of checks of a daemon that waits for a processor counts. */
#define RZ_SILENT_STARVED 8
/* A silence of this length is reported. */
#define RZ_SILENT_WORTH_TELLING (10 * RZ_SECOND)
/* Ends a job without --silence-timeout: with one node, which a stopped daemon only delays; with
 * several, whose processes end by their lease long before. */
#define RZ_SILENT_ONE_NODE (600 * RZ_SECOND)
#define RZ_SILENT_NODES (60 * RZ_SECOND)

struct rz_silent {
    bool heard;     /* since the last check */
    rz_time lasted; /* as far as it counts */
};

/* A check, `passed` after the last one: the daemon's silence so far. state: of its process, as in
 * /proc (R: it runs, or waits for a processor); 0: unknown. */
rz_time rz_silent_look(struct rz_silent *silence, rz_time passed, char state);

#endif
