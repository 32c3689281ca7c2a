/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time from one failure until the others continue, for any MPI with ULFM:
 *
 *   bench_ulfm_failure receive|barrier MEBIBYTES   until their pending call returns an error
 *   bench_ulfm_failure replace MEBIBYTES           until the first barrier on the repaired
 * communicator
 *
 * The victim holds this number of mebibytes resident, checks that all others wait for it, and kills
 * itself. Prints `first RANKS MS` and `last RANKS MS`: milliseconds from just before the kill until
 * the first and the last survivor has its error; `repaired` and `replaced RANKS MS`: until the last
 * has the communicator, and until it is past its first barrier. The repair is RZ_Comm_replace if it
 * exists; else the calls of ULFM: revoke, shrink, spawn, merge, and restore all ranks. Prints
 * `absent replace` if neither is possible.
 */
#include "bench_dates.h"

#ifdef RHIZOME
/* Not in every version of the library. */
int RZ_Comm_replace(MPI_Comm comm, MPI_Comm *newcomm) __attribute__((weak));
#endif

static struct {
    const char *program, *what;
    int rank, size, victim, spawned_process;
    size_t mebibytes;
    struct bench_dates *dates;
} bench;

static double ms_since_kill(long long at)
{
    return (double)(at - bench.dates->killed) / 1e6;
}

/* The dates of all but the victim (`except`; -1: of all), if all are there. */
static int span(volatile long long *at, int except, double *first, double *last)
{
    *first = *last = 0;
    for (int i = 0, n = 0; i < bench.size; i++) {
        if (i == except) {
            continue;
        }
        if (at[i] < bench.dates->killed || bench.dates->killed == 0) {
            return 0;
        }
        double ms = ms_since_kill(at[i]);
        *first = n == 0 || ms < *first ? ms : *first;
        *last = ms > *last ? ms : *last;
        n++;
    }
    return 1;
}

/* Until the pending call has ended; false: not with the expected error. */
static int lose_one(void)
{
    int code, nothing = 0;
    bench.dates->at[bench.rank] = bench.dates->more[bench.rank] = 0; /* no page fault later */
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench.rank == bench.victim) {
        bench_fail(bench.dates, bench.mebibytes);
    }
    if (strcmp(bench.what, "receive") == 0) {
        code = MPI_Recv(&nothing, 1, MPI_INT, bench.victim, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        code = MPI_Barrier(MPI_COMM_WORLD);
    }
    bench.dates->at[bench.rank] = bench_now();
    return bench_class(code) == MPIX_ERR_PROC_FAILED;
}

static void show_errors(void)
{
    double first, last;
    if (bench.rank == 0 && span(bench.dates->at, bench.victim, &first, &last)) {
        printf("first %d %.4f\nlast %d %.4f\n", bench.size, first, bench.size, last);
    }
}

static void measure_errors(void)
{
    int flag = 1;
    if (!lose_one()) {
        printf("odd %d\n", bench.rank);
    }
    bench_sleep_ms(BENCH_SETTLE_MS); /* takes no processor time from the processes that wait */
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag); /* all dates are written */
    show_errors();
}

/* ---- Repair ---- */

/* Past the first barrier of `whole`, which has all ranks of the old world in their order. */
static void go_on(MPI_Comm whole)
{
    int rank, size;
    double first, last;
    MPI_Comm_rank(whole, &rank);
    MPI_Comm_size(whole, &size);
    bench.size = size;
    bench.dates->more[rank] = bench_now();
    if (MPI_Barrier(whole) != MPI_SUCCESS) {
        return;
    }
    bench.dates->at[rank] = bench_now();
    MPI_Barrier(whole);
    if (rank == 0 && span(bench.dates->more, -1, &first, &last)) {
        printf("repaired %d %.4f\n", size, last);
    }
    if (rank == 0 && span(bench.dates->at, -1, &first, &last)) {
        printf("replaced %d %.4f\n", size, last);
    }
}

#ifdef RHIZOME
static int can_replace(void)
{
    return RZ_Comm_replace != NULL;
}

static int begun_later(void)
{
    int revoked = 0;
    MPIX_Comm_is_revoked(MPI_COMM_WORLD, &revoked);
    return revoked; /* the world of a spawned process has no other member */
}

static int repair(MPI_Comm *whole)
{
    return RZ_Comm_replace(bench.spawned_process ? MPI_COMM_NULL : MPI_COMM_WORLD, whole);
}
#else
static int can_replace(void)
{
    return 1;
}

static int begun_later(void)
{
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    return parent != MPI_COMM_NULL;
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

static int repair(MPI_Comm *whole)
{
    MPI_Comm shrunk, between, merged;
    int lowest, size;
    char number[32], *arguments[] = {(char *)bench.what, number, NULL};
    if (bench.spawned_process) {
        return join(whole);
    }
    snprintf(number, sizeof(number), "%zu", bench.mebibytes);
    MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk);
    int code = MPI_Comm_spawn(bench.program, arguments, 1, MPI_INFO_NULL, 0, shrunk, &between,
                              MPI_ERRCODES_IGNORE);
    if (code != MPI_SUCCESS) {
        return code;
    }
    MPI_Intercomm_merge(between, 0, &merged);
    MPI_Comm_rank(shrunk, &lowest);
    MPI_Comm_size(merged, &size);
    if (lowest == 0) {
        MPI_Send(&bench.victim, 1, MPI_INT, size - 1, 1, merged);
    }
    return MPI_Comm_split(merged, 0, bench.rank, whole);
}
#endif

static void measure_replace(void)
{
    MPI_Comm whole = MPI_COMM_NULL;
    if (!bench.spawned_process) {
        lose_one();
        MPIX_Comm_revoke(MPI_COMM_WORLD);
    }
    if (repair(&whole) == MPI_SUCCESS) {
        go_on(whole);
    } else {
        printf("odd %d\n", bench.rank);
    }
}

int main(int argc, char **argv)
{
    int number = argc == 3 ? atoi(argv[2]) : -1;
    if (number < 0 || number > 1 << 20) {
        fprintf(stderr, "usage: bench_ulfm_failure receive|barrier|replace MEBIBYTES\n");
        return 2;
    }
    bench.program = argv[0], bench.what = argv[1], bench.mebibytes = (size_t)number;
    int replace = strcmp(bench.what, "replace") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.size);
    bench.victim = bench.size / 2 + 1;
    bench.spawned_process = begun_later();
    if (replace && !can_replace()) {
        if (bench.rank == 0) {
            printf("absent replace\n");
        }
    } else if (replace && bench.spawned_process) {
        bench.dates = bench_dates_open(argv[0], 0);
        measure_replace();
    } else {
        bench.dates = bench_dates_of_world(argv[0]);
        if (replace) {
            measure_replace();
        } else {
            measure_errors();
        }
    }
    return bench_finish(1);
}
