/* SPDX-License-Identifier: BSD-3-Clause */
/* What a bag of tasks decides without communication. */
#ifndef RZ_TASKS_DEAL_H
#define RZ_TASKS_DEAL_H

#include <limits.h>
#include <stdbool.h>

/* In the exchange each process contributes a value for each task (the minimum counts): which
 * process has its result, and whether all have it. */
#define RZ_TASKS_NONE INT_MAX

/* The values of the process with number `place` in the view: words[2 n_tasks]. */
void rz_tasks_say(const bool *done, int n_tasks, int place, int *words);

/* Which process sends the task's result, from the reduced values; -1: no process needs it, or none
 * has it. */
int rz_tasks_sender(const int *words, int id);

/* Values for tasks of which nothing is known. */
void rz_tasks_say_nothing(int n_tasks, int *words);

/* The first one that no process has, from the reduced values; n_tasks: there is none. */
int rz_tasks_first_left(const int *words, int n_tasks);

/* The tasks of the process with number `place` of `size`: each size-th of those that no process has
 * done. Returns their number; dealt has space for n_tasks. */
int rz_tasks_deal(const int *words, int n_tasks, int place, int size, int *dealt);

/*
 * Without rounds: the tasks, in order, of the process with number `place` of `size`, numbered by
 * its own knowledge of the group. First its own, each size-th of all, as far as they are not done;
 * then those of the others, from the far end, each helper from a different place. Returns their
 * number; dealt has space for n_tasks.
 */
int rz_tasks_list(const bool *done, int n_tasks, int place, int size, int *dealt);

/* Seconds that a round should take; infinite if no failure is expected. */
double rz_tasks_round_seconds(double cost, double failure_seconds);

#endif
