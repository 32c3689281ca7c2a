/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a failure until the job is whole again, for any MPI:
 *
 *   bench_recovery reinit|replace|spawn|restart process|node MEBIBYTES
 *
 * All ranks meet in barriers. When all others sleep in one, the victim, which holds this number of
 * mebibytes, kills itself, or (node) the daemon that it is a child of, and with it its node. The
 * job is repaired by MPIX_Reinit; by RZ_Comm_replace; with the calls of ULFM (revoke, shrink,
 * spawn, merge, restore all ranks); or by a restart, by its launcher or the launcher's caller: then
 * the second run is measured. Prints `repaired RANKS MS`: from just before the kill until the last
 * rank has the communicator; `recovered RANKS MS`: until the last is past its first barrier.
 * `absent METHOD`: this MPI has no such method.
 */
#include "bench_dates.h"

#if defined(RHIZOME) || defined(MPIX_ERR_PROC_FAILED)
#define HAS_ULFM 1
#else
#define HAS_ULFM 0
#endif

enum { BARRIERS = 3 };

static struct {
    char **argv;
    const char *method;
    int node_fails, rank, size;
    size_t mebibytes;
    struct bench_dates *dates;
} bench;

static int is(const char *method)
{
    return strcmp(bench.method, method) == 0;
}

static void absent(void)
{
    if (bench.rank == 0) {
        printf("absent %s\n", bench.method);
    }
}

/* ---- Failure ---- */

static _Noreturn void crash(void)
{
    if (!bench.node_fails) {
        bench_fail(bench.dates, bench.mebibytes);
    }
    bench_sleep_ms(BENCH_SETTLE_MS);
    bench.dates->killed = 0; /* the page is there: no fault between the clock and the kill */
    bench.dates->killed = bench_now();
    kill(getppid(), SIGKILL);
    for (;;) {
        pause();
    }
}

/* Barriers until one of them fails, because the victim is missing. */
static int iterate(MPI_Comm comm)
{
    int code = MPI_SUCCESS;
    bench.dates->at[bench.rank] = bench.dates->more[bench.rank] = 0; /* no page fault later */
    for (int i = 0; i < BARRIERS && code == MPI_SUCCESS; i++) {
        code = MPI_Barrier(comm);
    }
    if (code == MPI_SUCCESS && bench.rank == bench.size / 2 + 1) {
        crash();
    }
    return code == MPI_SUCCESS ? MPI_Barrier(comm) : code;
}

/* ---- Repaired ---- */

static double last_ms(volatile long long *at)
{
    double last = 0;
    for (int i = 0; i < bench.size; i++) {
        double ms = (double)(at[i] - bench.dates->killed) / 1e6;
        if (at[i] < bench.dates->killed) {
            return -1;
        }
        last = ms > last ? ms : last;
    }
    return last;
}

static void go_on(MPI_Comm whole)
{
    MPI_Comm_rank(whole, &bench.rank);
    MPI_Comm_size(whole, &bench.size);
    bench.dates->more[bench.rank] = bench_now();
    if (MPI_Barrier(whole) != MPI_SUCCESS) {
        return;
    }
    bench.dates->at[bench.rank] = bench_now();
    MPI_Barrier(whole);
    if (bench.rank != 0 || bench.dates->killed == 0) {
        return;
    }
    double repaired = last_ms(bench.dates->more), recovered = last_ms(bench.dates->at);
    if (repaired >= 0 && recovered >= 0) {
        printf("repaired %d %.4f\nrecovered %d %.4f\n", bench.size, repaired, bench.size,
               recovered);
    }
}

/* ---- By MPIX_Reinit ---- */

#ifdef RHIZOME
static int loop(int argc, char **argv, MPIX_Reinit_state_t state)
{
    (void)argc;
    if (state == MPIX_REINIT_NEW) {
        bench.dates = bench_dates_of_world(argv[0]);
        iterate(MPI_COMM_WORLD);
        return 1;
    }
    bench.dates = bench_dates_open(argv[0], 0);
    go_on(MPI_COMM_WORLD);
    return 0;
}

static int by_reinit(int argc, char **argv)
{
    MPIX_Reinit(argc, argv, loop);
    return 0;
}
#else
static int by_reinit(int argc, char **argv)
{
    (void)argc, (void)argv;
    absent();
    return 0;
}
#endif

/* ---- With the calls of ULFM ---- */

#if HAS_ULFM
#ifdef RHIZOME
static int begun_later(void)
{
    int revoked = 0;
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    MPIX_Comm_is_revoked(MPI_COMM_WORLD,
                         &revoked); /* so is that of a process that was spawned by replace */
    return revoked || parent != MPI_COMM_NULL;
}

static int replace(int spawned_process, MPI_Comm *whole)
{
    return RZ_Comm_replace(spawned_process ? MPI_COMM_NULL : MPI_COMM_WORLD, whole);
}
#else
static int begun_later(void)
{
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    return parent != MPI_COMM_NULL;
}

static int replace(int spawned_process, MPI_Comm *whole)
{
    (void)spawned_process, (void)whole;
    absent();
    return MPI_ERR_OTHER;
}
#endif

/* The empty places, in order; the caller frees them. */
static int *empty_places(MPI_Comm shrunk, int *n)
{
    MPI_Group world, living, failed;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(shrunk, &living);
    MPI_Group_difference(world, living, &failed);
    MPI_Group_size(failed, n);
    int *places = calloc((size_t)*n + 1, 2 * sizeof(*places)), *all = places + *n;
    for (int i = 0; i < *n; i++) {
        all[i] = i;
    }
    MPI_Group_translate_ranks(failed, *n, all, world, places);
    MPI_Group_free(&world), MPI_Group_free(&living), MPI_Group_free(&failed);
    return places;
}

/* A spawned process takes the place that its parents send it. */
static int join(MPI_Comm *whole)
{
    MPI_Comm parent, merged;
    int place;
    MPI_Comm_get_parent(&parent);
    MPI_Intercomm_merge(parent, 1, &merged);
    MPI_Recv(&place, 1, MPI_INT, 0, 1, merged, MPI_STATUS_IGNORE);
    return MPI_Comm_split(merged, 0, place, whole);
}

static int spawn(int spawned_process, MPI_Comm *whole)
{
    MPI_Comm shrunk, between, merged;
    int self, n;
    if (spawned_process) {
        return join(whole);
    }
    MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk);
    int *places = empty_places(shrunk, &n);
    int code = MPI_Comm_spawn(bench.argv[0], bench.argv + 1, n, MPI_INFO_NULL, 0, shrunk, &between,
                              MPI_ERRCODES_IGNORE);
    if (code == MPI_SUCCESS) {
        MPI_Intercomm_merge(between, 0, &merged);
        MPI_Comm_rank(merged, &self);
        for (int i = 0; self == 0 && i < n; i++) {
            MPI_Send(&places[i], 1, MPI_INT, bench.size - n + i, 1, merged);
        }
        code = MPI_Comm_split(merged, 0, bench.rank, whole);
    }
    free(places);
    return code;
}

static int by_ulfm(void)
{
    MPI_Comm whole = MPI_COMM_NULL;
    int spawned_process = begun_later();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bench.dates =
        spawned_process ? bench_dates_open(bench.argv[0], 0) : bench_dates_of_world(bench.argv[0]);
    if (!spawned_process) {
        iterate(MPI_COMM_WORLD);
        MPIX_Comm_revoke(MPI_COMM_WORLD);
    }
    if ((is("replace") ? replace : spawn)(spawned_process, &whole) == MPI_SUCCESS) {
        go_on(whole);
    } else {
        printf("odd %d\n", bench.rank);
    }
    return 1;
}
#else
static int by_ulfm(void)
{
    absent();
    return 0;
}
#endif

/* ---- Restart ---- */

/* Whether a previous run has ended by the failure. */
static int second_run(void)
{
    char path[4096];
    int second = 0;
    snprintf(path, sizeof(path), "%s.dates", bench.argv[0]);
    if (bench.rank == 0 && access(path, R_OK) == 0) {
        second = bench_dates_open(bench.argv[0], 0)->killed != 0;
    }
    MPI_Bcast(&second, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return second;
}

static int by_restart(void)
{
    if (second_run()) {
        bench.dates = bench_dates_open(bench.argv[0], 0);
        go_on(MPI_COMM_WORLD);
    } else {
        bench.dates = bench_dates_of_world(bench.argv[0]);
        iterate(MPI_COMM_WORLD); /* its errors end the job */
    }
    return 0;
}

int main(int argc, char **argv)
{
    int number = argc == 4 ? atoi(argv[3]) : -1;
    if (number < 0 || number > 1 << 20) {
        fprintf(stderr,
                "usage: bench_recovery reinit|replace|spawn|restart process|node MEBIBYTES\n");
        return 2;
    }
    bench.argv = argv, bench.method = argv[1], bench.mebibytes = (size_t)number;
    bench.node_fails = strcmp(argv[2], "node") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.size);
    int after_failure = is("reinit")    ? by_reinit(argc, argv)
                        : is("restart") ? by_restart()
                                        : by_ulfm();
    return bench_finish(after_failure);
}
