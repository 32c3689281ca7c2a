/* SPDX-License-Identifier: BSD-3-Clause */
/* Which tasks are done, which process sends a result, and which process computes what next: pure
 * functions of what all processes have exchanged. */
#include "tasks/tasks_deal.h"

#include <math.h>
#include <stdint.h>

void rz_tasks_say(const bool *done, int n_tasks, int place, int *words)
{
    for (int id = 0; id < n_tasks; id++) {
        words[2 * id] = done[id] ? place : RZ_TASKS_NONE;
        words[2 * id + 1] = done[id];
    }
}

void rz_tasks_say_nothing(int n_tasks, int *words)
{
    for (int id = 0; id < n_tasks; id++) {
        words[2 * id] = RZ_TASKS_NONE;
        words[2 * id + 1] = false;
    }
}

int rz_tasks_first_left(const int *words, int n_tasks)
{
    int id = 0;
    while (id < n_tasks && words[2 * id] != RZ_TASKS_NONE) {
        id++;
    }
    return id;
}

int rz_tasks_sender(const int *words, int id)
{
    bool all_have_it = words[2 * id + 1];
    return all_have_it || words[2 * id] == RZ_TASKS_NONE ? -1 : words[2 * id];
}

int rz_tasks_deal(const int *words, int n_tasks, int place, int size, int *dealt)
{
    int n = 0, left = 0;
    for (int id = 0; id < n_tasks; id++) {
        if (words[2 * id] == RZ_TASKS_NONE && left++ % size == place) {
            dealt[n++] = id;
        }
    }
    return n;
}

int rz_tasks_list(const bool *done, int n_tasks, int place, int size, int *dealt)
{
    int n = 0;
    for (int id = place; id < n_tasks; id += size) {
        if (!done[id]) {
            dealt[n++] = id;
        }
    }
    int first = n_tasks - 1 - (int)((int64_t)n_tasks * place / size);
    for (int i = 0; i < n_tasks; i++) {
        int id = (first - i + n_tasks) % n_tasks;
        if (id % size != place && !done[id]) {
            dealt[n++] = id;
        }
    }
    return n;
}

/* J. W. Young: A first order approximation to the optimum checkpoint interval, CACM 17:9 (1974). */
double rz_tasks_round_seconds(double cost, double failure_seconds)
{
    return failure_seconds > 0 ? sqrt(2 * cost * failure_seconds) : INFINITY;
}
