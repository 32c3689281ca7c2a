/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time from one failure until the others continue, for Rhizome:
 *
 *   bench_failure receive|barrier|reinit VICTIM MEBIBYTES
 *
 * The victim holds this number of mebibytes resident; when all others wait for it (in MPI_Recv, in
 * MPI_Barrier, or in MPI_Barrier inside MPIX_Reinit) it marks iteration 1, at which the caller has
 * rzrun kill it. Each survivor prints when its call returned an error (`error RANK AT_NS`) or when
 * it was at the start of its loop again (`back RANK AT_NS`) and past the first barrier there
 * (`whole RANK AT_NS`); the new process prints `spawned RANK AT_NS`. Times are CLOCK_MONOTONIC.
 */
#define _GNU_SOURCE
#include <mpi-ext.h>
#include <mpi.h>
#include <rhizome/checkpoint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Long enough that all others are asleep in their calls when the victim marks the iteration. */
enum { SETTLE_MS = 150 };

static struct {
    const char *what;
    int victim;
    size_t bytes;
    int rank;
    char *ballast;
} bench;

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void wait_to_be_killed(void)
{
    struct timespec settle = {.tv_nsec = SETTLE_MS * 1000000L};
    nanosleep(&settle, NULL);
    RZ_Progress_mark(1);
    for (;;) {
        pause();
    }
}

static void hold_memory(void)
{
    if (bench.rank != bench.victim) {
        return;
    }
    bench.ballast = malloc(bench.bytes);
    if (!bench.ballast) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(bench.ballast, 1, bench.bytes);
}

static void lose_one(void)
{
    int code, nothing = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    hold_memory();
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench.rank == bench.victim) {
        wait_to_be_killed();
    }
    if (strcmp(bench.what, "receive") == 0) {
        code = MPI_Recv(&nothing, 1, MPI_INT, bench.victim, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        code = MPI_Barrier(MPI_COMM_WORLD);
    }
    long long at = now_ns();
    int error_class;
    MPI_Error_class(code, &error_class);
    printf("%s %d %lld\n", error_class == MPI_ERR_PROC_FAILED ? "error" : "odd", bench.rank, at);
    fflush(stdout);
}

static int loop(int argc, char **argv, MPIX_Reinit_state_t state)
{
    long long at = now_ns();
    (void)argc, (void)argv;
    if (state == MPIX_REINIT_NEW) {
        hold_memory();
        MPI_Barrier(MPI_COMM_WORLD);
        if (bench.rank == bench.victim) {
            wait_to_be_killed();
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (state == MPIX_REINIT_NEW) {
        fprintf(stderr, "bench_failure: rank %d was not rolled back\n", bench.rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    long long whole = now_ns();
    printf("%s %d %lld\nwhole %d %lld\n", state == MPIX_REINIT_RESTARTED ? "spawned" : "back",
           bench.rank, at, bench.rank, whole);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: bench_failure receive|barrier|reinit VICTIM MEBIBYTES\n");
        return 2;
    }
    bench.what = argv[1];
    bench.victim = atoi(argv[2]);
    bench.bytes = (size_t)atoi(argv[3]) << 20;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    if (strcmp(bench.what, "reinit") == 0) {
        MPIX_Reinit(argc, argv, loop);
    } else {
        lose_one();
    }
    MPI_Finalize();
    return 0;
}
