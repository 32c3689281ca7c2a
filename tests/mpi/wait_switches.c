/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ranks with a processor each must not put each other to sleep, although wake-ups are expensive
 * (RZ_TEST_WAKE_DELAY_US): counts voluntary context switches, which is how often they slept, in
 * batches of ping-pongs. The assessment is valid at any load of the machine: only batches count in
 * which neither rank lost its processor or was found to share it, and of those, most.
 *
 * Ends with 77 if it cannot decide: ranks that share a processor, or that lost theirs all the time.
 */
#include <mpi.h>

#include <stdio.h>
#include <sys/resource.h>

enum {
    TRIPS = 50,
    FEW = 4,          /* sleeps in a batch; a storm has one per message */
    ASSESSED = 40,    /* batches */
    BATCHES = 100000, /* at most */
    CANNOT_TELL = 77
};
#define TIME_MAX 15.0

static long long spin_ns(void)
{
    int provided, count, index;
    unsigned long long value = 0;
    MPI_T_cvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_cvar_get_index("rz_spin_ns", &index) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
        MPI_T_cvar_read(handle, &value);
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
    return (long long)value;
}

static void trips(int rank)
{
    char byte = 0;
    for (int i = 0; i < TRIPS; i++) {
        if (rank == 0) {
            MPI_Send(&byte, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        }
        MPI_Recv(&byte, 1, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) {
            MPI_Send(&byte, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        }
    }
}

/* Of both ranks, in one batch. */
struct counts {
    long slept, preempted, shared;
};

static struct counts batch(int rank)
{
    struct rusage before, after;
    MPI_Barrier(MPI_COMM_WORLD);
    getrusage(RUSAGE_SELF, &before);
    trips(rank);
    getrusage(RUSAGE_SELF, &after);
    long mine[3] = {after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw,
                    spin_ns() == 0};
    long both[3];
    MPI_Allreduce(mine, both, 3, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return (struct counts){both[0], both[1], both[2]};
}

/* The results of all batches. */
struct result {
    int n, assessed, quiet, preempted, shared;
};

static int verdict(const struct result *result)
{
    if (result->assessed < ASSESSED / 4) {
        return CANNOT_TELL;
    }
    return 2 * result->quiet <= result->assessed;
}

int main(int argc, char **argv)
{
    int rank, more = 1;
    struct result result = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (spin_ns() == 0) {
        if (rank == 0) {
            printf("skipped: two ranks have fewer than two processors here\n");
        }
        MPI_Finalize();
        return CANNOT_TELL;
    }
    for (double end = MPI_Wtime() + TIME_MAX; more; result.n++) {
        struct counts counts = batch(rank);
        result.preempted += counts.preempted > 0;
        result.shared += counts.shared > 0;
        if (counts.preempted == 0 && counts.shared == 0) {
            result.assessed++;
            result.quiet += counts.slept <= FEW;
        }
        more = result.assessed < ASSESSED && result.n < BATCHES && MPI_Wtime() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    int status = verdict(&result);
    if (rank == 0) {
        printf("%s%d batches of %d ping-pongs, %d disturbed, %d on a shared processor; of %d "
               "assessed, %d with at most %d sleeps\n",
               status == CANNOT_TELL ? "skipped: " : "", result.n, TRIPS, result.preempted,
               result.shared, result.assessed, result.quiet, FEW);
    }
    MPI_Finalize();
    return status;
}
