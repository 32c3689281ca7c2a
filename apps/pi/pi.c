/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pi by the midpoint rule, repeatedly, on a dynamic group of recommended processes: a run is a
 * phase of a bag of tasks, and a task is a slice of its intervals. Shows how much the time of one
 * and the same computation varies, after figure 1 of
 *
 *   Camargo, Duarte: "Running resilient MPI applications on a dynamic group of recommended
 *   processes", Journal of the Brazilian Computer Society 24:5 (2018).
 *
 *   pi INTERVALS [--runs R] [--times] [--csv FILE] [--plot FILE] [--group KEY=VALUE] [--fail ...]
 *
 * The last line of standard output is `pi = VALUE, R runs of INTERVALS intervals`.
 */
#include "group_program.h"
#include "leave.h"

#include <rhizome/tasks.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slices for each initial process: if some leave, the others share theirs evenly. */
enum { RUNS_MAX = 1000000, SLICES_EACH = 8 };

static const double PI = 3.14159265358979323846;

static struct {
    uint64_t intervals, runs;
    const char *csv, *plot;
    bool times;
} options = {.runs = 1};

static struct group group;
static int slices;      /* of a run */
static double *seconds; /* of each run; NAN: this process did not see all of it */

static const char usage[] =
    "usage: pi INTERVALS [options]\n"
    "  --runs R              so many times (1)\n"
    "  --times               the time of each run, on standard error\n"
    "  --csv FILE            these times as run,seconds\n"
    "  --plot FILE           a curve of these times, an svg drawn by gnuplot\n";

/* ---- Options ---- */

static bool take_flag(const char *name)
{
    bool times = strcmp(name, "--times") == 0;
    options.times |= times;
    return times;
}

static bool take_option(const char *name, const char *value)
{
    if (strcmp(name, "--runs") == 0) {
        options.runs = group_number(name, value, 1, RUNS_MAX);
    } else if (strcmp(name, "--csv") == 0 && value && *value) {
        options.csv = value;
    } else if (strcmp(name, "--plot") == 0 && value && *value && !strchr(value, '\'')) {
        options.plot = value;
    } else if (strcmp(name, "--csv") == 0 || strcmp(name, "--plot") == 0) {
        group_wrong(name, value, "a file");
    } else {
        return false;
    }
    return true;
}

static const struct group_program program = {.name = "pi",
                                             .usage = usage,
                                             .operand = "INTERVALS",
                                             .least = 1,
                                             .most = UINT64_C(1) << 50,
                                             .value = &options.intervals,
                                             .flag = take_flag,
                                             .option = take_option};

/* ---- Work ---- */

static double slice(int nth)
{
    double sum = 0, width = 1.0 / (double)options.intervals;
    for (uint64_t i = (uint64_t)nth; i < options.intervals; i += (uint64_t)slices) {
        double x = ((double)i + 0.5) * width;
        sum += 4.0 / (1.0 + x * x);
    }
    return sum * width;
}

/* ---- Time: a run lasts until the next one begins ---- */

static struct {
    int run; /* in progress; -1: none that was seen from its begin */
    int size;
    double begun;
} now = {.run = -1};

static void end_run(double time)
{
    if (now.run < 0) {
        return;
    }
    seconds[now.run] = time - now.begun;
    if (options.times && group_is_first(&group)) {
        fprintf(stderr, "run %d of %d processes %.6f s\n", now.run, now.size, seconds[now.run]);
    }
}

/* A process that comes back in the middle of a run does not know when it began. */
static void begin_run(int run, int before, double time)
{
    MPI_Count round;
    end_run(time);
    now.run = run == before + 1 ? run : -1;
    now.begun = time;
    group_must("there was no round",
               RZ_Group_monitor_get_round(group.monitor, &round, &now.size, NULL));
}

/* All runs. False: this process has left permanently. */
static bool repeat(RZ_Tasks tasks)
{
    int id, flag, run = -1;
    for (;;) {
        group_must("no slice can be claimed", RZ_Tasks_claim(tasks, &id, &flag));
        if (!flag || id / slices != run) {
            begin_run(flag ? id / slices : -1, run, MPI_Wtime());
        }
        if (!flag) {
            return true;
        }
        run = id / slices;
        leave_at((uint64_t)run);
        if (leave_is_for_good()) {
            return false;
        }
        double part = slice(id % slices);
        group_must("a slice cannot be completed", RZ_Tasks_complete(tasks, id, &part));
    }
}

/* ---- The end ---- */

static bool can_write(const char *path)
{
    FILE *file = fopen(path, "a");
    if (file && fclose(file) == 0) {
        return true;
    }
    fprintf(stderr, "pi: %s cannot be written: %s\n", path, strerror(errno));
    return false;
}

/* Before anything is computed, by one process; gnuplot would write to standard output instead. */
static void look_at_files(void)
{
    if (group.rank == 0 &&
        ((options.csv && !can_write(options.csv)) || (options.plot && !can_write(options.plot)))) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static bool write_csv(void)
{
    FILE *out = fopen(options.csv, "w");
    if (out) {
        fprintf(out, "run,seconds\n");
        for (uint64_t i = 0; i < options.runs; i++) {
            if (!isnan(seconds[i])) {
                fprintf(out, "%llu,%.9f\n", (unsigned long long)i, seconds[i]);
            }
        }
        bool good = !ferror(out);
        if (fclose(out) == 0 && good) {
            return true;
        }
    }
    fprintf(stderr, "pi: %s cannot be written: %s\n", options.csv, strerror(errno));
    return false;
}

static bool plot(void)
{
    FILE *gnuplot = can_write(options.plot) ? popen("gnuplot >/dev/null", "w") : NULL;
    if (!gnuplot) {
        return false;
    }
    fprintf(gnuplot,
            "set terminal svg size 800,400\nset output '%s'\n"
            "set title 'The same computation %llu times (Camargo, Duarte 2018, figure 1)'\n"
            "set xlabel 'run'\nset ylabel 'seconds'\nset yrange [0:*]\n"
            "plot '-' using 1:2 with linespoints title 'pi, %llu intervals'\n",
            options.plot, (unsigned long long)options.runs, (unsigned long long)options.intervals);
    for (uint64_t i = 0; i < options.runs; i++) {
        if (!isnan(seconds[i])) {
            fprintf(gnuplot, "%llu %.9f\n", (unsigned long long)i, seconds[i]);
        }
    }
    fprintf(gnuplot, "e\n");
    if (pclose(gnuplot) == 0) {
        return true;
    }
    fprintf(stderr, "pi: gnuplot could not draw %s\n", options.plot);
    return false;
}

/* Whether all runs gave the same; *pi: of the last one. The error of the midpoint rule falls with
 * the square of the number of intervals. */
static bool is_right(const double *parts, double *pi)
{
    double bound = 1.0 / ((double)options.intervals * (double)options.intervals) + 1e-9;
    for (uint64_t run = 0; run < options.runs; run++) {
        *pi = 0;
        for (int i = 0; i < slices; i++) {
            *pi += parts[run * (uint64_t)slices + (uint64_t)i];
        }
        if (!(fabs(*pi - PI) <= bound)) {
            return false;
        }
    }
    return true;
}

/* By the first member of the last view. Returns its exit status. */
static int show(const double *parts)
{
    double pi = 0;
    bool is_drawn = !options.plot || plot(), is_written = !options.csv || write_csv();
    if (!is_right(parts, &pi)) {
        fprintf(stderr, "pi: %.15g is wrong\n", pi);
        return 1;
    }
    printf("pi = %.12g, %llu runs of %llu intervals\n", pi, (unsigned long long)options.runs,
           (unsigned long long)options.intervals);
    fflush(stdout);
    return !is_drawn || !is_written;
}

static void open_bag(RZ_Tasks *tasks)
{
    slices = SLICES_EACH * group.size;
    slices = slices > RZ_TASKS_MAX / (int)options.runs ? RZ_TASKS_MAX / (int)options.runs : slices;
    RZ_Tasks_options more = {.phase_tasks = slices};
    group_must("no bag", RZ_Tasks_open(group.monitor, slices * (int)options.runs, sizeof(double),
                                       &more, tasks));
    seconds = malloc(options.runs * sizeof(*seconds));
    group_must("no memory", seconds ? MPI_SUCCESS : MPI_ERR_NO_MEM);
    for (uint64_t i = 0; i < options.runs; i++) {
        seconds[i] = NAN;
    }
}

int main(int argc, char **argv)
{
    RZ_Tasks tasks;
    const void *parts;
    int status = 0;
    group_parse(&program, argc, argv);
    MPI_Init(&argc, &argv);
    group_open(&group, NULL);
    group_leaving(group.rank, group.size, options.runs);
    look_at_files();
    open_bag(&tasks);
    bool done = repeat(tasks) && RZ_Tasks_results(tasks, &parts) == MPI_SUCCESS;
    group_acknowledge(&group);
    if (done && group_is_first(&group)) {
        status = show(parts);
    }
    RZ_Tasks_close(&tasks);
    status |= group_close(&group, done);
    free(seconds);
    MPI_Finalize();
    return status;
}
