/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that leave on purpose: an experiment for programs that survive this. Which processes
 * leave, at which of the program's moments and for how long is drawn from a seed, the same at all
 * processes.
 *
 *     leave_open("program", rank, size, moments);        after the options, before the first moment
 *     leave_at(moment);                                  again and again, moments never fall
 *     if (leave_is_for_good()) ...                       it must end, and take part in nothing more
 *
 * Written against C and POSIX alone: copy it into a program.
 */
#ifndef LEAVE_H
#define LEAVE_H

#include <stdbool.h>
#include <stdint.h>

enum leave_taken { LEAVE_NOT_MINE, LEAVE_TAKEN, LEAVE_WRONG };

/* Takes an option and its value, which may be NULL. WRONG: it has printed on standard error what is
 * wrong, on a line that begins with program. */
enum leave_taken leave_option(const char *program, const char *name, const char *value);

/* The lines of a usage text for these options, each ended by a newline. */
extern const char leave_usage[];

/* moments: their number, at least 1; a process that leaves does so at one of them, or at the next
 * one that it reaches. */
void leave_open(const char *program, int rank, int size, uint64_t moments);

/* Whether all processes leave and none comes back: then none is left to reach the end. */
bool leave_is_by_all(int size);

/* Called before a process leaves; the program's own experiment. NULL: none. */
void leave_before(void (*act)(void));

/* This process reaches a moment: fails, is stopped, does nothing or begins to starve here if it was
 * drawn, after a message on standard error; returns when it is back, or starves. */
void leave_at(uint64_t moment);

/* Whether it has left and must not come back; one that starves, when its time is over. */
bool leave_is_for_good(void);

/* The work of a process for a test (a function for RZ_Group_monitor_start): the primes up to 1000;
 * much more while it is slow. */
int leave_test(void *state);

#endif
