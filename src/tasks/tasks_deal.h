/* What a bag of tasks decides without asking anybody. */
#ifndef RZ_TASKS_DEAL_H
#define RZ_TASKS_DEAL_H

#include <limits.h>
#include <stdbool.h>

/* In the exchange each process says of each task (the least of all words counts): who has its
 * result, and whether all have it. */
#define RZ_TASKS_NOBODY INT_MAX

/* The words of a process that is number `place` in the view: words[2 n_tasks]. */
void rz_tasks_say(const bool *done, int n_tasks, int place, int *words);

/* Whether the task's result is sent, by whom, in the joined words: -1: nobody needs it, or has it.
 */
int rz_tasks_sender(const int *words, int id);

/* Of tasks of which nothing is known. */
void rz_tasks_say_nothing(int n_tasks, int *words);

/* The first that nobody has, in the joined words; n_tasks: there is none. */
int rz_tasks_first_left(const int *words, int n_tasks);

/* The tasks of a process that is number `place` of `size`: each size-th of those that nobody has
 * done. Returns how many; dealt has room for n_tasks. */
int rz_tasks_deal(const int *words, int n_tasks, int place, int size, int *dealt);

/*
 * Without rounds: what a process does, in this order, that is number `place` of `size`, all
 * numbered by what it knows of the group. First its own, each size-th of all, what is not done of
 * them; then those of the others, from the far end, and each helper from another place on. Returns
 * how many; dealt has room for n_tasks.
 */
int rz_tasks_list(const bool *done, int n_tasks, int place, int size, int *dealt);

/* Seconds that a round shall take; infinite where no failure is expected. */
double rz_tasks_round_seconds(double cost, double failure_seconds);

#endif
