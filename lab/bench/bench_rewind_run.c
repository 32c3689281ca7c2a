/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fixed amount of work, by a program that does nothing about failures, or that saves its own
 * state to files:
 *
 *     bench_rewind_run MIB PERCENT STEPS INTERVALS plain|snapshots|files [fail]
 *
 * Each rank has MIB of memory. In each step all read some of it, change a part of its pages, and
 * meet in an allreduce; in an interval of STEPS steps PERCENT of the pages change, others in the
 * next one. At the beginning of an interval a snapshot is asked for, or each rank writes all its
 * memory to a file in the working directory (synchronised, then renamed over the one before the
 * last). Two intervals come first, in which memory for the first two images is made; then rank 0
 * measures INTERVALS of them and prints
 *
 *     run WALL_S RANKS_CPU_S DAEMONS_CPU_S
 *     sum RESULT           the same in each way
 *
 * fail: in the middle of the second interval that is measured the last rank kills itself, once, and
 * rank 0 prints "again MS", from the kill until all ranks have ended a step again. A program with
 * files that is started again finds them, and goes on from there.
 *
 * INTERVALS 0: nothing is measured. After the two intervals all ranks wait to be ended, for about a
 * minute at most.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <rhizome/rewind.h>

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, WARM_UP = 2, WINDOW = 16 << 20, REST_MS = 10, RESTS = 6000, FILES = 2 };

enum way { PLAIN, SNAPSHOTS, OWN_FILES, WAYS };

static const char *const way_names[WAYS] = {"plain", "snapshots", "files"};
static const char killed[] = "bench_rewind_run.killed";

/* What a rank must know to go on from the beginning of an interval, beside its memory. */
static struct {
    int64_t interval; /* from 0 on, with those of the warm-up */
    uint64_t sum;
} state;

static uint64_t *memory;
static size_t bytes;
static int rank, size, percent, steps, intervals;
static enum way way;
static int fails, told;

static void demand(int good, const char *what)
{
    if (!good) {
        perror(what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- the work ---- */

static uint64_t mix(uint64_t x, uint64_t word)
{
    return (x ^ word) * UINT64_C(6364136223846793005) + 1442695040888963407;
}

static void fill(void)
{
    uint64_t x = (uint64_t)rank;
    for (size_t i = 0; i < bytes / sizeof(*memory); i++) {
        x = mix(x, i);
        memory[i] = x;
    }
}

static uint64_t read_window(int64_t turn)
{
    size_t window = bytes < WINDOW ? bytes : WINDOW;
    const uint64_t *at = memory + (size_t)turn * window % bytes / sizeof(*memory);
    uint64_t x = state.sum;
    for (size_t i = 0; i < window / sizeof(*memory); i++) {
        x = mix(x, at[i]);
    }
    return x;
}

/* This step's share of the pages that change in the interval, which are spread evenly. */
static void change(int step, uint64_t x)
{
    size_t pages = bytes / PAGE, n = pages * (size_t)percent / 100;
    for (size_t i = n * (size_t)step / (size_t)steps; i < n * ((size_t)step + 1) / (size_t)steps;
         i++) {
        size_t page = (i * pages / n + (size_t)state.interval) % pages;
        uint64_t *word = memory + page * (PAGE / sizeof(*memory));
        *word = mix(*word, x);
    }
}

/* ---- a failure, and when all run again ---- */

/* Once: what comes back finds the file. */
static void fail_once(void)
{
    /* Emptied as it is opened: what is created otherwise goes with a roll-back
     * (docs/process-state.md). */
    int fd = access(killed, F_OK) == 0 ? -1 : open(killed, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0) {
        demand(dprintf(fd, "%lld\n", (long long)now_ns()) > 0 && close(fd) == 0, killed);
        kill(getpid(), SIGKILL);
    }
}

/* Nothing that was allreduced in the interrupted step comes before the kill. */
static void tell_again(void)
{
    FILE *file = told ? NULL : fopen(killed, "r");
    long long at;
    if (file) {
        demand(fscanf(file, "%lld", &at) == 1, killed);
        printf("again %.3f\n", (double)(now_ns() - at) / 1e6);
        fflush(stdout);
        fclose(file);
        told = 1;
    }
}

static void step(int number)
{
    uint64_t x = read_window(state.interval * steps + number);
    change(number, x);
    if (fails && rank == size - 1 && state.interval == WARM_UP + 1 && number == steps / 2) {
        fail_once();
    }
    MPI_Allreduce(&x, &state.sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (fails && rank == 0) {
        tell_again();
    }
}

/* ---- files of its own, as a program without other help has them ---- */

struct path {
    char text[64];
};

/* Of an interval: the older of two files makes room for it. */
static struct path path_of(int64_t interval, const char *ending)
{
    struct path path;
    snprintf(path.text, sizeof(path.text), "bench_rewind_run.%d.%d%s", rank,
             (int)(interval % FILES), ending);
    return path;
}

static int write_all(int fd, const void *from, size_t n)
{
    for (const char *at = from; n > 0;) {
        ssize_t done = write(fd, at, n);
        if (done <= 0) {
            return 0;
        }
        at += done;
        n -= (size_t)done;
    }
    return 1;
}

static int read_all(int fd, void *to, size_t n)
{
    for (char *at = to; n > 0;) {
        ssize_t done = read(fd, at, n);
        if (done <= 0) {
            return 0;
        }
        at += done;
        n -= (size_t)done;
    }
    return 1;
}

/* No rank goes on before all files are there, so the files of two ranks are never two intervals
 * apart. */
static void write_file(void)
{
    struct path part = path_of(state.interval, ".part"), path = path_of(state.interval, "");
    int fd = open(part.text, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    demand(fd >= 0 && write_all(fd, &state, sizeof(state)) && write_all(fd, memory, bytes) &&
               fsync(fd) == 0 && close(fd) == 0 && rename(part.text, path.text) == 0,
           part.text);
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    demand(folder >= 0 && fsync(folder) == 0 && close(folder) == 0, "the folder");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Of this rank; -1: none. */
static int64_t newest_file(void)
{
    int64_t newest = -1, found[2];
    for (int i = 0; i < FILES; i++) {
        int fd = open(path_of(i, "").text, O_RDONLY);
        if (fd >= 0 && read_all(fd, found, sizeof(found)) && found[0] > newest) {
            newest = found[0];
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    return newest;
}

/* The newest that all ranks have; false: there is none. */
static int read_file(void)
{
    int64_t mine = newest_file(), all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    if (all < 0) {
        return 0;
    }
    struct path path = path_of(all, "");
    int fd = open(path.text, O_RDONLY);
    demand(fd >= 0 && read_all(fd, &state, sizeof(state)) && state.interval == all &&
               read_all(fd, memory, bytes) && close(fd) == 0,
           path.text);
    return 1;
}

static void remove_files(void)
{
    for (int i = 0; i < FILES; i++) {
        unlink(path_of(i, "").text);
    }
}

/* ---- the run ---- */

static void one_interval(void)
{
    if (way == SNAPSHOTS && rank == 0) {
        RZ_Rewind_now();
    } else if (way == OWN_FILES) {
        write_file();
    }
    for (int i = 0; i < steps; i++) {
        step(i);
    }
    state.interval++;
}

static double own_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* The daemon of the node is the parent of its ranks; only one of them counts it. */
static double daemon_cpu_s(int counts)
{
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
    FILE *file = counts ? fopen(path, "r") : NULL;
    if (file) {
        size_t n = fread(text, 1, sizeof(text) - 1, file);
        text[n] = 0;
        const char *behind = strrchr(text, ')'); /* the name may contain anything */
        demand(behind && sscanf(behind, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                                &user, &system) == 2,
               path);
        fclose(file);
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static int first_on_node(void)
{
    MPI_Comm node;
    int on_node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &on_node);
    MPI_Comm_free(&node);
    return on_node == 0;
}

static void measure(void)
{
    int first = first_on_node();
    double cpu[2] = {-own_cpu_s(), -daemon_cpu_s(first)}, all[2], begin = MPI_Wtime();
    while (state.interval < WARM_UP + intervals) {
        one_interval();
    }
    double taken = MPI_Wtime() - begin;
    cpu[0] += own_cpu_s();
    cpu[1] += daemon_cpu_s(first);
    MPI_Reduce(cpu, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("run %.6f %.3f %.3f\nsum %016llx\n", taken, all[0], all[1],
               (unsigned long long)state.sum);
        fflush(stdout);
    }
}

static void rest(void)
{
    struct timespec time = {.tv_nsec = REST_MS * 1000000L};
    for (int i = 0; i < RESTS; i++) {
        nanosleep(&time, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static int parse(int argc, char **argv)
{
    if (argc < 6 || argc > 7) {
        return 0;
    }
    bytes = (size_t)atoi(argv[1]) << 20;
    percent = atoi(argv[2]);
    steps = atoi(argv[3]);
    intervals = atoi(argv[4]);
    while (way < WAYS && strcmp(argv[5], way_names[way]) != 0) {
        way++;
    }
    fails = argc == 7;
    return bytes > 0 && percent > 0 && percent <= 100 && steps > 0 && intervals >= 0 && way < WAYS;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!parse(argc, argv)) {
        fprintf(stderr, "usage: bench_rewind_run MIB PERCENT STEPS INTERVALS "
                        "plain|snapshots|files [fail]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    memory = malloc(bytes);
    demand(memory != NULL, "memory");
    if (way != OWN_FILES || !read_file()) {
        fill();
    }
    while (state.interval < WARM_UP) {
        one_interval();
    }
    if (intervals == 0) {
        rest();
    } else {
        measure();
    }
    remove_files();
    free(memory);
    MPI_Finalize();
    return 0;
}
