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
#include "leave.h"

#include <mpi.h>
#include <mpi-ext.h>

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

static MPIX_Group_monitor monitor = MPIX_GROUP_MONITOR_NULL;
static double *seconds; /* of each run; NAN: this process had no part in it */

static const char usage[] =
    "usage: pi INTERVALS [options]\n"
    "  --runs R              so many times (1)\n"
    "  --times               the time of each run, on standard error\n"
    "  --plot FILE           a curve of these times, an svg drawn by gnuplot\n"
    "  --group KEY=VALUE     a setting of the group, as `interval=100ms`; may be repeated\n"
    "%s"
    "  --help\n";

static void must(const char *what, int error)
{
    char words[MPI_MAX_ERROR_STRING];
    int n;
    if (error == MPI_SUCCESS)
        return;
    MPI_Error_string(error, words, &n);
    fprintf(stderr, "pi: %s: %s\n", what, words);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- Options */

static _Noreturn void wrong(const char *name, const char *value, const char *wanted)
{
    fprintf(stderr, "pi: %s '%s' is not %s; see --help\n", name, value ? value : "", wanted);
    exit(2);
}

static uint64_t number(const char *name, const char *text, uint64_t low, uint64_t high)
{
    char wanted[80];
    snprintf(wanted, sizeof wanted, "a whole number from %llu to %llu", (unsigned long long)low,
             (unsigned long long)high);
    bool digits = text && *text && strlen(text) <= 18 && !text[strspn(text, "0123456789")];
    uint64_t value = digits ? strtoull(text, NULL, 10) : 0;
    if (!digits || value < low || value > high)
        wrong(name, text, wanted);
    return value;
}

static void set_key(MPI_Info info, const char *text)
{
    char key[MPI_MAX_INFO_KEY];
    size_t n = text ? strcspn(text, "=") : 0;
    if (n == 0 || n >= sizeof key || !text[n])
        wrong("--group", text, "a setting KEY=VALUE");
    memcpy(key, text, n);
    key[n] = '\0';
    MPI_Info_set(info, key, text + n + 1);
}

static void take(const char *name, const char *value, MPI_Info info)
{
    if (strcmp(name, "--runs") == 0)
        options.runs = number(name, value, 0, RUNS_MAX);
    else if (strcmp(name, "--plot") == 0 && value && !strchr(value, '\''))
        options.plot = value;
    else if (strcmp(name, "--plot") == 0)
        wrong(name, value, "a file");
    else if (strcmp(name, "--group") == 0)
        set_key(info, value);
    else
        wrong("the argument", name, "an option");
}

static void parse(int argc, char **argv, MPI_Info info)
{
    bool counted = false;
    for (int i = 1; i < argc; i++) {
        bool flag = strcmp(argv[i], "--times") == 0;
        options.times |= flag;
        if (strcmp(argv[i], "--help") == 0) {
            printf(usage, leave_usage);
            exit(0);
        }
        if (!flag && !counted && argv[i][0] != '-') {
            options.intervals = number("INTERVALS", argv[i], 1, UINT64_C(1) << 50);
            counted = true;
        } else if (!flag) {
            enum leave_taken taken = leave_option("pi", argv[i], argv[i + 1]);
            if (taken == LEAVE_WRONG)
                exit(2);
            if (taken == LEAVE_NOT_MINE)
                take(argv[i], argv[i + 1], info);
            i++;
        }
    }
    if (!counted)
        wrong("INTERVALS", NULL, "there");
}

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

/* The deaths are known, and the program goes on without these processes. */
static void acknowledge(void)
{
    int dead, acknowledged;
    MPI_Group failed;
    if (MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed) != MPI_SUCCESS)
        return;
    MPI_Group_size(failed, &dead);
    MPI_Group_free(&failed);
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, dead, &acknowledged);
}

/* All runs; *pi: NAN: this process had no part in any. False: it has left for good. */
static bool repeat(double *pi)
{
    MPI_Count done = 0;
    *pi = NAN;
    for (;;) {
        MPI_Comm comm;
        must("the group has no further round",
             MPIX_Group_monitor_round(monitor, done, &done, &comm));
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
static int show(double pi, int rank, int size)
{
    MPI_Count round;
    int n, *members = malloc((size_t)size * sizeof *members);
    double bound = 1.0 / ((double)options.intervals * (double)options.intervals) + 1e-9;
    if (!members)
        return 1;
    must("there was no round", MPIX_Group_monitor_get_round(monitor, &round, &n, members));
    bool first = n > 0 && members[0] == rank;
    free(members);
    if (!first)
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
    int rank, size;
    double pi;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Info_create(&info);
    parse(argc, argv, info);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    seconds = malloc((options.runs + 1) * sizeof *seconds);
    must("no memory", seconds ? MPI_SUCCESS : MPI_ERR_NO_MEM);
    for (uint64_t i = 0; i < options.runs; i++)
        seconds[i] = NAN;
    leave_open("pi", rank, size, options.runs > 0 ? options.runs : 1);
    must("the group cannot be watched",
         MPIX_Group_monitor_start(MPI_COMM_WORLD, info, leave_test, NULL, &monitor));
    bool done = repeat(&pi);
    acknowledge();
    int status = done ? show(pi, rank, size) : 0;
    MPIX_Group_monitor_stop(&monitor);
    MPI_Info_free(&info);
    free(seconds);
    MPI_Finalize();
    return status;
}
