/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bag of tasks of unequal length on a dynamic group of recommended processes: whichever processes
 * fail, stop or are slow meanwhile, the checksum of all results is that of an undisturbed run.
 *
 *   bag TASKS [--work W] [--failure-seconds S | --callbacks] [--group KEY=VALUE] [--times]
 *       [--fail ...]
 *
 * A task is a walk through a sequence of pseudo-random numbers, of W to 16 W thousand steps. The
 * last line of standard output is `bag of TASKS: CHECKSUM`.
 */
#include "group_program.h"
#include "leave.h"

#include <rhizome/tasks.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTHS = 16, STEPS = 1000, MOMENTS = 8 };

static struct {
    uint64_t tasks, work;
    double failure_seconds;
    bool times, callbacks;
} options = {.work = 100};

static const char usage[] =
    "usage: bag TASKS [options]\n"
    "  --work W              a task takes W to 16 W thousand steps (100)\n"
    "  --failure-seconds S   a process is expected to fail or slow down every S seconds (0: "
    "never)\n"
    "  --callbacks           without a round for each exchange: the group calls when it changes\n"
    "  --times               rounds and time, on standard error\n";

/* ---- Options ---- */

static double seconds(const char *name, const char *text)
{
    char *end = NULL;
    double value = text && *text ? strtod(text, &end) : -1;
    if (!end || *end || !(value >= 0 && value <= 1e9)) {
        group_wrong(name, text, "a time in seconds, from 0 to 1e9");
    }
    return value;
}

static bool take_flag(const char *name)
{
    bool times = strcmp(name, "--times") == 0, callbacks = strcmp(name, "--callbacks") == 0;
    options.times |= times;
    options.callbacks |= callbacks;
    return times || callbacks;
}

static bool take_option(const char *name, const char *value)
{
    if (strcmp(name, "--work") == 0) {
        options.work = group_number(name, value, 0, 1000000000);
    } else if (strcmp(name, "--failure-seconds") == 0) {
        options.failure_seconds = seconds(name, value);
    } else {
        return false;
    }
    return true;
}

static const struct group_program program = {.name = "bag",
                                             .usage = usage,
                                             .operand = "TASKS",
                                             .most = RZ_TASKS_MAX,
                                             .value = &options.tasks,
                                             .flag = take_flag,
                                             .option = take_option};

/* ---- Work ---- */

/* The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
 * OOPSLA 2014). */
static uint64_t mix(uint64_t word)
{
    word += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

static uint64_t work(int id)
{
    uint64_t word = mix((uint64_t)id), steps = (1 + word % LENGTHS) * options.work * STEPS;
    for (uint64_t i = 0; i < steps; i++) {
        word = mix(word);
    }
    return word;
}

/* Until all is done, or this process has left permanently: false. */
static bool empty(RZ_Tasks tasks)
{
    int id, flag;
    for (uint64_t done = 0;; done++) {
        group_must("no task can be claimed", RZ_Tasks_claim(tasks, &id, &flag));
        if (!flag) {
            return true;
        }
        leave_at(done);
        if (leave_is_for_good()) {
            return false;
        }
        uint64_t result = work(id);
        group_must("a task cannot be completed", RZ_Tasks_complete(tasks, id, &result));
    }
}

/* ---- The end ---- */

static void show(RZ_Tasks tasks, const void *results, double begun)
{
    uint64_t checksum = 0;
    int rounds, completed;
    for (uint64_t id = 0; id < options.tasks; id++) {
        checksum = mix(checksum ^ ((const uint64_t *)results)[id]);
    }
    group_must("no count", RZ_Tasks_count(tasks, &rounds, &completed));
    if (options.times) {
        fprintf(stderr, "times total %.6f rounds %d own-tasks %d\n", MPI_Wtime() - begun, rounds,
                completed);
    }
    printf("bag of %llu: %016llx\n", (unsigned long long)options.tasks,
           (unsigned long long)checksum);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct group group;
    RZ_Tasks tasks;
    const void *results;
    group_parse(&program, argc, argv);
    if (options.callbacks && options.failure_seconds > 0) {
        group_refuse("--failure-seconds is for rounds, --callbacks has none");
    }
    MPI_Init(&argc, &argv);
    double begun = MPI_Wtime();
    group_open(&group, NULL);
    group_leaving(group.rank, group.size, MOMENTS);
    RZ_Tasks_options more = {.failure_seconds = options.failure_seconds,
                             .by_callbacks = options.callbacks ? &group.comm : NULL};
    group_must("no bag",
               RZ_Tasks_open(group.monitor, (int)options.tasks, sizeof(uint64_t), &more, &tasks));
    bool done = empty(tasks) && RZ_Tasks_results(tasks, &results) == MPI_SUCCESS;
    group_acknowledge(&group);
    if (done && group_is_first(&group)) {
        show(tasks, results, begun);
    }
    group_stop(&group);
    RZ_Tasks_close(&tasks);
    int status = group_close(&group, done);
    MPI_Finalize();
    return status;
}
