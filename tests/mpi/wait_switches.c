/*
 * Two ranks with a processor each must not put each other to sleep, although wake-ups are expensive
 * (RZ_TEST_WAKE_DELAY_US): counts voluntary context switches, which is how often they slept, in
 * batches of ping-pongs. What is judged holds at any load of the machine: only batches in which
 * neither rank lost its processor count, and of those, most.
 *
 * Ends with 77 where it cannot tell: ranks that share a processor, or that lost theirs all the
 * time.
 */
#include <mpi.h>

#include <stdio.h>
#include <sys/resource.h>

enum {
    TRIPS = 50,
    FEW = 1,         /* sleeps in a batch; a storm has one per message */
    JUDGED = 40,     /* batches */
    BATCHES = 100000 /* at most */
};
#define TIME_MAX 15.0

static const int cannot_tell = 77;

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
        if (rank == 0)
            MPI_Send(&byte, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&byte, 1, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&byte, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
}

/* Voluntary and involuntary switches of both ranks in one batch. */
static void batch(int rank, long both[2])
{
    struct rusage before, after;
    MPI_Barrier(MPI_COMM_WORLD);
    getrusage(RUSAGE_SELF, &before);
    trips(rank);
    getrusage(RUSAGE_SELF, &after);
    long mine[2] = {after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw};
    MPI_Allreduce(mine, both, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, judged = 0, quiet = 0, n = 0;
    long least = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (spin_ns() == 0) {
        if (rank == 0)
            printf("skipped: two ranks have fewer than two processors here\n");
        MPI_Finalize();
        return cannot_tell;
    }
    int more = 1;
    for (double end = MPI_Wtime() + TIME_MAX; more; n++) {
        long both[2];
        batch(rank, both);
        if (both[1] == 0) {
            judged++;
            quiet += both[0] <= FEW;
            least = least < 0 || both[0] < least ? both[0] : least;
        }
        more = judged < JUDGED && n < BATCHES && MPI_Wtime() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d batches of %d ping-pongs, %d without preemption; of those %d with at most %d "
               "sleeps, least %ld\n",
               n, TRIPS, judged, quiet, FEW, least);
    MPI_Finalize();
    if (judged < JUDGED / 4) {
        if (rank == 0)
            printf("skipped: the ranks lost their processors all the time\n");
        return cannot_tell;
    }
    return 2 * quiet <= judged;
}
