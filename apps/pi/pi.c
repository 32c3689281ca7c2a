/*
 * Pi by the midpoint rule, again and again, on a dynamic group of recommended processes: each run
 * is a round, its intervals are shared out among the members of the view. Shows how much the time
 * of one and the same computation varies, after figure 1 of
 *
 *   Camargo, Duarte: "Running resilient MPI applications on a dynamic group of recommended
 *   processes", Journal of the Brazilian Computer Society 24:5 (2018).
 *
 *   pi INTERVALS [--runs R] [--times] [--plot FILE] [--group KEY=VALUE] [--fail ...]
 *
 * The last line of standard output is `pi = VALUE, R runs of INTERVALS intervals`.
 */
#include "group_program.h"
#include "leave.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 1000000 };

static const double PI = 3.14159265358979323846;

static struct {
    uint64_t intervals, runs;
    const char *plot;
    bool times;
} options = {.runs = 1};

static struct group group;
static double *seconds; /* of each run; NAN: this process had no part in it */

static const char usage[] =
    "usage: pi INTERVALS [options]\n"
    "  --runs R              so many times (1)\n"
    "  --times               the time of each run, on standard error\n"
    "  --plot FILE           a curve of these times, an svg drawn by gnuplot\n";

/* ---- Options */

static bool take_flag(const char *name)
{
    bool times = strcmp(name, "--times") == 0;
    options.times |= times;
    return times;
}

static bool take_option(const char *name, const char *value)
{
    if (strcmp(name, "--runs") == 0)
        options.runs = group_number(name, value, 0, RUNS_MAX);
    else if (strcmp(name, "--plot") == 0 && value && !strchr(value, '\''))
        options.plot = value;
    else if (strcmp(name, "--plot") == 0)
        group_wrong(name, value, "a file");
    else
        return false;
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

/* ---- Work */

/* The part of member `place` of `size`; less where the group has lost somebody meanwhile. */
static double part(int place, int size)
{
    double sum = 0, width = 1.0 / (double)options.intervals;
    for (uint64_t i = (uint64_t)place; i < options.intervals; i += (uint64_t)size) {
        double x = ((double)i + 0.5) * width;
        sum += 4.0 / (1.0 + x * x);
    }
    return sum * width;
}

/* A run by those of comm; false: it is to be done again. */
static bool run(MPI_Comm comm, uint64_t nth, double *pi)
{
    int place, size;
    double begun = MPI_Wtime();
    MPI_Comm_rank(comm, &place);
    MPI_Comm_size(comm, &size);
    double mine = part(place, size), sum;
    if (MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm) != MPI_SUCCESS) {
        MPIX_Comm_revoke(comm); /* nobody waits for us */
        return false;
    }
    *pi = sum;
    seconds[nth] = MPI_Wtime() - begun;
    if (options.times && place == 0)
        fprintf(stderr, "run %llu of %d processes %.6f s\n", (unsigned long long)nth, size,
                seconds[nth]);
    return true;
}

/* All runs; *pi: NAN: this process had no part in any. False: it has left for good. */
static bool repeat(double *pi)
{
    MPI_Count done = 0;
    *pi = NAN;
    for (;;) {
        MPI_Comm comm;
        group_must("the group has no further round",
                   MPIX_Group_monitor_round(group.monitor, done, &done, &comm));
        if ((uint64_t)done >= options.runs)
            return true;
        if (comm == MPI_COMM_NULL)
            continue;
        leave_at((uint64_t)done);
        if (leave_is_for_good())
            return false;
        done += run(comm, (uint64_t)done, pi);
    }
}

/* ---- The end */

static void plot(void)
{
    FILE *gnuplot = popen("gnuplot", "w");
    if (!gnuplot) {
        fprintf(stderr, "pi: gnuplot cannot be run: %s\n", strerror(errno));
        return;
    }
    fprintf(gnuplot,
            "set terminal svg size 800,400\nset output '%s'\nset xlabel 'run'\n"
            "set ylabel 'seconds'\nset yrange [0:*]\n"
            "plot '-' using 1:2 with linespoints title '%llu intervals'\n",
            options.plot, (unsigned long long)options.intervals);
    for (uint64_t i = 0; i < options.runs; i++)
        if (!isnan(seconds[i]))
            fprintf(gnuplot, "%llu %.9f\n", (unsigned long long)i, seconds[i]);
    fprintf(gnuplot, "e\n");
    if (pclose(gnuplot) != 0)
        fprintf(stderr, "pi: gnuplot could not draw %s\n", options.plot);
}

/* The first member of the last view that had a part in a run; the error of the midpoint rule falls
 * with the square of the number of intervals. */
static int show(double pi)
{
    double bound = 1.0 / ((double)options.intervals * (double)options.intervals) + 1e-9;
    if (!group_is_first(&group))
        return 0;
    if (options.plot)
        plot();
    if (options.runs > 0 && !(fabs(pi - PI) <= bound)) {
        fprintf(stderr, "pi: %.15g is wrong\n", pi);
        return 1;
    }
    printf("pi = %.12g, %llu runs of %llu intervals\n", pi, (unsigned long long)options.runs,
           (unsigned long long)options.intervals);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    double pi;
    group_parse(&program, argc, argv);
    MPI_Init(&argc, &argv);
    group_open(&group, NULL);
    seconds = malloc((options.runs + 1) * sizeof *seconds);
    group_must("no memory", seconds ? MPI_SUCCESS : MPI_ERR_NO_MEM);
    for (uint64_t i = 0; i < options.runs; i++)
        seconds[i] = NAN;
    leave_open("pi", group.rank, group.size, options.runs > 0 ? options.runs : 1);
    bool done = repeat(&pi);
    group_acknowledge(&group);
    int status = done ? show(pi) : 0;
    group_close(&group);
    free(seconds);
    MPI_Finalize();
    return status;
}
