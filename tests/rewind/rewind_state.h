/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of rewind_state share: each has a table of modes. */
#ifndef RZ_TESTS_REWIND_STATE_H
#define RZ_TESTS_REWIND_STATE_H

#include <stdbool.h>

/* A kind of state: made before the first step, used in each step, and judged at the end. */
struct mode {
    const char *name; /* NULL: the end of the table */
    void (*make)(void);
    void (*step)(int step);
    void (*end)(void);
};

extern const struct mode process_modes[], file_modes[], memory_modes[], thread_modes[],
    undone_modes[], refused_modes[];

extern int rank, steps;
extern const char *folder;
extern int saved_out; /* a copy of standard output, which is elsewhere until the end */

/* For the end: also what stands on a descriptor that is redirected until then. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* Ends the job unless it holds. */
void need(bool holds, const char *what);

/* Unless it holds the system does not let this process have the state. */
void may(bool holds);

/* The file of this name and rank, until the next call. */
const char *path_of(const char *name);
int open_as(const char *name);     /* to read and write it */
int open_folder(const char *name); /* made if it is missing */

#endif
