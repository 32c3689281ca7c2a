/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places where a process can be told to fail, for tests of how other processes react.
 *
 * RZ_KILL_AT=POINT[:NTH][@RANK] ends the process by SIGKILL when it reaches that place for the NTH
 * time (default 1). RZ_KILL_AT=POINT[:NTH][@RANK]+stop stops it there by SIGSTOP. Without the
 * variable a place costs one load and one branch.
 */
#ifndef RZ_PORT_KILL_POINT_H
#define RZ_PORT_KILL_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RZ_KILL_AT "RZ_KILL_AT"

/* Each component lists its own points, in its file kill_points.def; the build puts the lists
 * together, so that each program knows all names and refuses any other. */
enum rz_kill_point {
#define RZ_KILL_POINT(point, name) RZ_KILL_##point,
#include "kill_points_of_all.def"
#undef RZ_KILL_POINT
    RZ_KILL_POINTS
};

struct rz_kill_plan {
    enum rz_kill_point point;
    uint64_t left; /* how often the point is still passed */
    int signal;
};

extern struct rz_kill_plan *rz_kill_plan; /* NULL: no process is to fail */

/* Called at a point; does not return if it was the chosen one. */
void rz_kill_reached(enum rz_kill_point point);

static inline void rz_kill_here(enum rz_kill_point point)
{
    if (__builtin_expect(rz_kill_plan != NULL, 0)) {
        rz_kill_reached(point);
    }
}

/* Sets the plan from text, if it is for this rank; "": no plan. False: text is not understood, and
 * nothing was changed. */
bool rz_kill_arm(const char *text, uint32_t rank);

/* The name of a point, e.g. "ring-write"; NULL after the last. */
const char *rz_kill_point_name(unsigned point);

#endif
