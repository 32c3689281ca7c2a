/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs for --rewind-check: STEPS steps of some milliseconds, after each tenth of which rank 0
 * prints a line.
 *
 *   rewind_check WHAT STEPS [FILE]     FILE: also the beginning of a folder's name
 *
 * WHAT: steady  prints the same each time
 *       random  each third line differs from run to run
 *       folders counts its steps by folders that it makes, which no image has
 *       file    counts its steps in a large file, in place
 *       forbid  allows no snapshot
 *       fails   ends with status 3
 *       hangs   does not end if it was restored
 *       lingers asks for snapshots by itself, and goes on long after MPI_Finalize
 *       input   adds up the numbers on standard input
 *       alone   does not call MPI
 */
#include <mpi.h>
#include <rhizome/rewind.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *what, *path;

static bool is(const char *this)
{
    return strcmp(what, this) == 0;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* It is larger than those whose content is kept. */
static int count_in_file(bool begins)
{
    enum { BYTES = 65536 };
    int n = 0;
    FILE *file = fopen(path, begins ? "w" : "r+");
    if (!file || (!begins && fscanf(file, "%d", &n) != 1)) {
        MPI_Abort(MPI_COMM_WORLD, 9);
        return -1;
    }
    rewind(file);
    fprintf(file, "%-*d\n", begins ? BYTES : 8, n + 1);
    fclose(file);
    return n + 1;
}

static int count_folders(bool begins)
{
    int n = 0;
    char name[4096];
    for (bool there = true; there; n += there) {
        snprintf(name, sizeof(name), "%s.%d", path, n);
        there = begins ? rmdir(name) == 0 : access(name, F_OK) == 0;
    }
    if (mkdir(name, 0700) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 9);
    }
    return n + 1;
}

static void linger(int step)
{
    if (is("lingers") && step % 10 == 0) {
        RZ_Rewind_now();
    }
}

static long read_input(void)
{
    long sum = 0, number;
    while (scanf("%ld", &number) == 1) {
        sum += number;
    }
    return sum;
}

static void show(int step, long value)
{
    if (is("random") && step % 3 == 0) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        value = now.tv_nsec;
    }
    printf("step %d value %ld\n", step, value);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rank, steps = argc > 2 ? atoi(argv[2]) : 0;
    long value = 0, sum = 0;
    what = argc > 1 ? argv[1] : "";
    path = argc > 3 ? argv[3] : "";
    if (is("alone")) {
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (is("forbid")) {
        RZ_Rewind_forbid();
    }
    if (is("input") && rank == 0) {
        value = read_input();
    }
    if (is("file") && rank == 0) {
        count_in_file(true);
    }
    if (is("folders") && rank == 0) {
        count_folders(true);
    }
    bool restored = false;
    pid_t began = getpid();
    for (int step = 0; step < steps || (is("hangs") && restored); step++) {
        value += step;
        MPI_Allreduce(&value, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        nap();
        linger(step);
        restored = restored || getpid() != began;
        if (is("file") && rank == 0) {
            sum = count_in_file(false);
        }
        if (is("folders") && rank == 0) {
            sum = count_folders(false);
        }
        if (rank == 0 && step % 10 == 0 && !(is("hangs") && restored)) {
            show(step, sum);
        }
    }
    MPI_Finalize();
    for (int i = 0; is("lingers") && i < 300; i++) {
        nap();
    }
    return is("fails") ? 3 : 0;
}
