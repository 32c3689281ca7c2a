#include "tasks/tasks_deal.h"

#include <math.h>

void rz_tasks_say(const bool *done, int n_tasks, int place, int *words)
{
    for (int id = 0; id < n_tasks; id++) {
        words[2 * id] = done[id] ? place : RZ_TASKS_NOBODY;
        words[2 * id + 1] = done[id];
    }
}

int rz_tasks_sender(const int *words, int id)
{
    bool all_have_it = words[2 * id + 1];
    return all_have_it || words[2 * id] == RZ_TASKS_NOBODY ? -1 : words[2 * id];
}

int rz_tasks_deal(const int *words, int n_tasks, int place, int size, int *dealt)
{
    int n = 0, left = 0;
    for (int id = 0; id < n_tasks; id++)
        if (words[2 * id] == RZ_TASKS_NOBODY && left++ % size == place)
            dealt[n++] = id;
    return n;
}

/* J. W. Young: A first order approximation to the optimum checkpoint interval, CACM 17:9 (1974). */
double rz_tasks_round_seconds(double cost, double failure_seconds)
{
    return failure_seconds > 0 ? sqrt(2 * cost * failure_seconds) : INFINITY;
}
