/*
 * A fixed computation while processes test one another.
 *
 *     bench_monitor SECONDS none|INTERVAL [full|cube]
 *
 * Every rank does about SECONDS of arithmetic where it has a processor of its own. Rank 0 prints
 * "time S", from the first to begin to the last to end, and "messages N INTERVALS": tests and
 * answers that all have sent meanwhile, and how many intervals passed.
 */
#include <mpi.h>
#include <mpi-ext.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What this process sends for the group from now on is counted. */
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

static void start(const char *interval, const char *assignment, MPIX_Group_monitor *monitor)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "interval", interval);
    MPI_Info_set(info, "assignment", assignment);
    MPIX_Group_monitor_start(MPI_COMM_WORLD, info, NULL, NULL, monitor);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    MPIX_Group_monitor monitor = MPIX_GROUP_MONITOR_NULL;
    MPI_Init(&argc, &argv);
    if (argc < 3 || seconds(argv[1]) <= 0) {
        fprintf(stderr, "usage: bench_monitor SECONDS none|INTERVAL [full|cube]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int rank;
    bool watched = strcmp(argv[2], "none") != 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (watched) {
        start(argv[2], argc > 3 ? argv[3] : "full", &monitor);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t mine, all = 0;
    count_begin();
    double begin = MPI_Wtime();
    compute((uint64_t)(seconds(argv[1]) * STEPS_PER_SECOND));
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
        MPIX_Group_monitor_stop(&monitor);
    }
    return MPI_Finalize();
}
