/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fixed computation while processes test one another.
 *
 *     bench_monitor SECONDS none|INTERVAL [full|cube] [watch]
 *
 * Every rank computes for about SECONDS if it has a processor of its own. Rank 0 prints "time S",
 * from the first to begin to the last to end, and "messages N INTERVALS": tests and answers that
 * all have sent meanwhile, and how many intervals passed.
 *
 * watch: for SECONDS every second rank computes in bursts, as users of a shared cluster do, while
 * rank 0 reads the group: "size T N", the number of recommended processes after T seconds, 40
 * times, and at the end "left N" and "back N", how often a process was excluded and came back. Then
 * no process computes any more: "recovered INTERVALS", after how many intervals all are recommended
 * at once; 300 are waited for.
 */
#include <mpi.h>
#include <mpi-ext.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Steps of the generator that a processor of today makes in a second, roughly. */
#define STEPS_PER_SECOND 3.0e8

static volatile uint64_t sink;

static void compute(uint64_t steps)
{
    uint64_t x = 1;
    for (uint64_t i = 0; i < steps; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
    }
    sink = x;
}

/* From now on, counts what this process sends for the group. */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;

static void count_begin(void)
{
    int index, count, provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    if (MPI_T_pvar_get_index("rz_tests_sent", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) != MPI_SUCCESS ||
        MPI_T_pvar_start(session, handle) != MPI_SUCCESS) {
        fprintf(stderr, "bench_monitor: this library does not count tests (rz_tests_sent)\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static uint64_t count_end(void)
{
    uint64_t value = 0;
    MPI_T_pvar_read(session, handle, &value);
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return value;
}

/* "1s", "100ms". */
static double seconds(const char *text)
{
    char *unit;
    double value = strtod(text, &unit);
    return strcmp(unit, "ms") == 0 ? value / 1e3 : value;
}

/* tight: thresholds follow the measured times, however little margin this leaves for the system. */
static void start(const char *interval, const char *assignment, bool tight,
                  RZ_Group_monitor *monitor)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "interval", interval);
    MPI_Info_set(info, "assignment", assignment);
    if (tight) {
        MPI_Info_set(info, "first_threshold", "500ms");
        MPI_Info_set(info, "least_threshold", "2ms");
    }
    RZ_Group_monitor_start(MPI_COMM_WORLD, info, NULL, NULL, monitor);
    MPI_Info_free(&info);
}

static int members_in(RZ_Group_monitor monitor, int n, long *left, long *back)
{
    int in = 0;
    *left = *back = 0;
    for (int k = 0; k < n; k++) {
        RZ_Group_monitor_state state;
        RZ_Group_monitor_get_state(monitor, k, &state);
        in += state.why == RZ_GROUP_RECOMMENDED;
        *left += (long)(state.events + 1) / 2;
        *back += (long)state.events / 2;
    }
    return in;
}

static void pause_for(double time)
{
    struct timespec left = {.tv_sec = (time_t)time,
                            .tv_nsec = (long)((time - (double)(time_t)time) * 1e9)};
    nanosleep(&left, NULL);
}

/* Up to a third of a second of work, up to a second of rest. */
static void burst(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    compute((*random >> 33) % (uint64_t)(STEPS_PER_SECOND / 3));
    pause_for((double)(*random >> 44) / (double)(1 << 20));
}

/* The load has ended: no process has begun a round, and all should be recommended. */
static void await_all_in(RZ_Group_monitor monitor, double interval)
{
    enum { INTERVALS_MAX = 300 };
    int rank, n;
    long left, back;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), past = 0;
    while (rank == 0 && members_in(monitor, n, &left, &back) < n &&
           past < INTERVALS_MAX * interval) {
        pause_for(interval / 4);
        past = MPI_Wtime() - begin;
    }
    if (rank == 0) {
        printf("recovered %.2f\n", past / interval);
    }
}

static void watch(RZ_Group_monitor monitor, double time)
{
    enum { LOOKS = 40 };
    int rank, n, looks = 0;
    long left = 0, back = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    uint64_t random = (uint64_t)rank + 1;
    for (double begin = MPI_Wtime(), past; (past = MPI_Wtime() - begin) < time;) {
        if (rank % 2 == 1) {
            burst(&random);
        } else {
            pause_for(time / LOOKS / 4);
        }
        if (rank == 0 && past >= time * looks / LOOKS) {
            printf("size %.3f %d\n", past, members_in(monitor, n, &left, &back));
            looks++;
        }
    }
    if (rank == 0) {
        members_in(monitor, n, &left, &back);
        printf("left %ld\nback %ld\n", left, back);
    }
}

int main(int argc, char **argv)
{
    RZ_Group_monitor monitor = RZ_GROUP_MONITOR_NULL;
    MPI_Init(&argc, &argv);
    if (argc < 3 || seconds(argv[1]) <= 0) {
        fprintf(stderr, "usage: bench_monitor SECONDS none|INTERVAL [full|cube] [watch]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int rank;
    bool watched = strcmp(argv[2], "none") != 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (watched) {
        start(argv[2], argc > 3 ? argv[3] : "full", argc > 4, &monitor);
    }
    if (watched && argc > 4) {
        watch(monitor, seconds(argv[1]));
        await_all_in(monitor, seconds(argv[2]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t mine, all = 0;
    count_begin();
    double begin = MPI_Wtime();
    compute(argc > 4 ? 0 : (uint64_t)(seconds(argv[1]) * STEPS_PER_SECOND));
    mine = count_end();
    double took = MPI_Wtime() - begin, longest;
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("time %.6f\n", longest);
        printf("messages %llu %.3f\n", (unsigned long long)all,
               watched ? longest / seconds(argv[2]) : 0);
    }
    if (watched) {
        RZ_Group_monitor_stop(&monitor);
    }
    return MPI_Finalize();
}
