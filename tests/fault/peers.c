/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs of kinds in which others hang or do not end cleanly: peers MODE SEED. The seed determines
 * which processes fail and when; the failures themselves come from a timer, at any instruction of
 * the library.
 *
 * finalize: one fails; a process that notices it revokes and calls MPI_Finalize, and so do the
 * others in the end. With an odd seed a process that knows of the failure acknowledges it, and
 * prints `acknowledged`.
 *
 * shrink: one fails, the others shrink; another one fails, they shrink again; a clean exit.
 * replace, spawn: the places of the failed processes are taken, by RZ_Comm_replace or processes of
 * MPI_Comm_spawn.
 *
 * storm: a quarter of the ranks fail at random times in a loop of allreduce, agree and shrink;
 * refill: the same with RZ_Comm_replace, so that some fail while others are replaced.
 *
 * stopped: one stops itself (SIGSTOP) in the middle; the others shrink.
 *
 * compute: all compute for two seconds without a call.
 *
 * A survivor prints `MODE: correct`.
 */
#include "../mpi/ulfm.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>

enum { REPAIRS = 2, TAG_RANK = 11, CALLS = 300 };

static uint64_t seed;
static const char *mode;

/* Small numbers that all processes draw alike. */
static unsigned draw(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static void on_alarm(int number)
{
    (void)number;
    raise(strcmp(mode, "stopped") == 0 ? SIGSTOP : SIGKILL);
}

/* A victim fails after this number of microseconds, wherever it is then. All have completed the
 * calls before this one; only in the barrier itself may one get an error that a process has
 * failed. */
static void fail_in(MPI_Comm comm, bool is_victim, unsigned us)
{
    struct itimerval when = {{0, 0}, {us / 1000000, us % 1000000 + 1}};
    MPI_Barrier(comm);
    if (is_victim) {
        CHECK(signal(SIGALRM, on_alarm) != SIG_ERR && setitimer(ITIMER_REAL, &when, NULL) == 0);
    }
}

static bool is_failure(int error)
{
    int class = class_of(error);
    return class == MPI_ERR_PROC_FAILED || class == MPI_ERR_REVOKED;
}

/* One of the calls that programs make; an error can only be a failure of a process. */
static int call(MPI_Comm comm, unsigned number)
{
    static char out[70000], in[70000];
    int rank, size, sum, error;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    switch (number % 4) {
    case 0:
        error = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(error != MPI_SUCCESS || sum == size * (size - 1) / 2);
        break;
    case 1:
        error =
            MPI_Sendrecv(out, (int)sizeof(out), MPI_CHAR, (rank + 1) % size, 0, in, (int)sizeof(in),
                         MPI_CHAR, (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
        break;
    case 2:
        error = MPI_Bcast(out, (int)sizeof(out), MPI_CHAR, (int)(number / 4) % size, comm);
        break;
    default:
        error = MPI_Barrier(comm);
    }
    CHECK(error == MPI_SUCCESS || is_failure(error));
    return error;
}

static bool all_well(MPI_Comm comm, bool well)
{
    int flag = well;
    if (!well) {
        MPIX_Comm_revoke(comm);
    }
    return MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag;
}

static void end(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL) {
        MPI_Comm_free(comm);
    }
}

/* Everything until the first error; then, or after all calls, nothing but the end. */
static void finalize(MPI_Comm comm)
{
    int rank, size, acked, error = MPI_SUCCESS;
    bool acknowledges = seed % 2;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    unsigned calls = draw(CALLS), us = draw(20000), victim = draw((unsigned)size);
    fail_in(comm, rank == (int)victim, us);
    for (unsigned i = 0; i < calls && error == MPI_SUCCESS; i++) {
        error = call(comm, i);
    }
    if (error != MPI_SUCCESS) {
        MPIX_Comm_revoke(comm);
    }
    if (error != MPI_SUCCESS && acknowledges) {
        MPIX_Comm_ack_failed(comm, size, &acked);
        if (acked > 0) {
            printf("acknowledged\n");
            fflush(stdout);
        }
    }
}

/* The communicator without its failed, or with others in their place. */
static MPI_Comm spawned(MPI_Comm old, MPI_Comm living, char **argv);

static MPI_Comm repaired(MPI_Comm *comm, char **argv)
{
    MPI_Comm next;
    if (strcmp(mode, "replace") == 0 || strcmp(mode, "refill") == 0) {
        CHECK(RZ_Comm_replace(*comm, &next) == MPI_SUCCESS);
    } else {
        CHECK(MPIX_Comm_shrink(*comm, &next) == MPI_SUCCESS);
        if (strcmp(mode, "spawn") == 0) {
            next = spawned(*comm, next, argv);
        }
    }
    MPI_Comm_free(comm);
    return next;
}

/* Merged, and in the order of ranks; where one more fails meanwhile the job is none of this test.
 */
static MPI_Comm in_order(MPI_Comm *bridge, bool is_new, int rank)
{
    MPI_Comm merged, full;
    CHECK(MPI_Intercomm_merge(*bridge, is_new, &merged) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_split(merged, 0, rank, &full) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&merged) == MPI_SUCCESS && MPI_Comm_free(bridge) == MPI_SUCCESS);
    return full;
}

/* `living` is old without one member; it is freed. */
static MPI_Comm spawned(MPI_Comm old, MPI_Comm living, char **argv)
{
    int rank, number, lost = 0, first = 0;
    MPI_Group before, after, failed;
    MPI_Comm bridge;
    MPI_Comm_rank(old, &rank);
    MPI_Comm_rank(living, &number);
    MPI_Comm_group(old, &before);
    MPI_Comm_group(living, &after);
    MPI_Group_difference(before, after, &failed);
    MPI_Group_translate_ranks(failed, 1, &first, before, &lost);
    CHECK(MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, living, &bridge,
                         MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    if (number == 0) {
        CHECK(MPI_Send(&lost, 1, MPI_INT, 0, TAG_RANK, bridge) == MPI_SUCCESS);
    }
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    MPI_Group_free(&failed);
    end(&living);
    return in_order(&bridge, false, rank);
}

/* A spawned process's communicator; MPI_COMM_NULL for an original process. */
static MPI_Comm joined(void)
{
    int incarnation, rank;
    MPI_Comm parent, full = MPI_COMM_NULL;
    MPI_Comm_get_parent(&parent);
    RZ_Incarnation(&incarnation);
    if (parent != MPI_COMM_NULL) {
        CHECK(MPI_Recv(&rank, 1, MPI_INT, 0, TAG_RANK, parent, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        return in_order(&parent, true, rank);
    }
    if (incarnation > 1) {
        CHECK(RZ_Comm_replace(MPI_COMM_NULL, &full) == MPI_SUCCESS);
        MPI_Comm_set_errhandler(full, MPI_ERRORS_RETURN);
    }
    return full;
}

/* Calls until a process has failed, and a repair; twice. Spawned processes receive the number of
 * repairs. */
static void repair_twice(MPI_Comm *comm, int repairs, char **argv)
{
    int rank, all = 0;
    CHECK(MPI_Allreduce(&repairs, &all, 1, MPI_INT, MPI_MAX, *comm) == MPI_SUCCESS);
    for (repairs = all; repairs < REPAIRS; repairs++) {
        int size, well = 1;
        uint64_t same = seed;
        MPI_Comm_rank(*comm, &rank);
        MPI_Comm_size(*comm, &size);
        seed = same + (uint64_t)repairs * 1000003;
        unsigned victim = draw((unsigned)size), us = draw(5000);
        seed = same;
        fail_in(*comm, rank == (int)victim, us);
        for (unsigned i = 0; well; i++) {
            well = all_well(*comm, call(*comm, i) == MPI_SUCCESS);
        }
        *comm = repaired(comm, argv);
        int newest = repairs + 1;
        CHECK(MPI_Allreduce(&newest, &all, 1, MPI_INT, MPI_MAX, *comm) == MPI_SUCCESS);
        CHECK(all == repairs + 1);
    }
    works(*comm);
}

/* A quarter of the ranks draws a time to fail. */
static int some_fail(MPI_Comm comm)
{
    int rank, size;
    unsigned mine = 0;
    bool fails = false;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int left = size / 4, member = 0; left > 0; member++) {
        if ((int)draw((unsigned)(size - member)) < left) {
            unsigned us = draw(60000);
            left -= 1;
            if (member == rank) {
                mine = us;
                fails = true;
            }
        }
    }
    fail_in(comm, fails, mine);
    return size / 4;
}

/* They are replaced, whenever they fail, until all of them have been. */
static void refill(MPI_Comm *comm, bool is_new, char **argv)
{
    int size, incarnation, replaced = -1, n_victims;
    MPI_Comm_size(*comm, &size);
    n_victims = is_new ? size / 4 : some_fail(*comm);
    RZ_Incarnation(&incarnation);
    incarnation--;
    while (replaced != n_victims) {
        int error = MPI_Allreduce(&incarnation, &replaced, 1, MPI_INT, MPI_SUM, *comm);
        if (!all_well(*comm, error == MPI_SUCCESS)) {
            *comm = repaired(comm, argv);
            replaced = -1;
        }
    }
    MPI_Comm_size(*comm, &n_victims);
    CHECK(n_victims == size);
    works(*comm);
}

/* All results of agreements and shrinks at survivors, as one number: the same at all. */
static void storm(MPI_Comm *comm)
{
    int size, before, lowest, highest, told = 0, n_victims = some_fail(*comm);
    MPI_Comm_size(*comm, &size);
    before = size;
    while (size > before - n_victims) {
        int well = call(*comm, 0) == MPI_SUCCESS;
        if (!well) {
            MPIX_Comm_revoke(*comm);
        }
        int error = MPIX_Comm_agree(*comm, &well);
        CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_PROC_FAILED);
        if (error != MPI_SUCCESS || !well) {
            MPI_Comm next;
            CHECK(MPIX_Comm_shrink(*comm, &next) == MPI_SUCCESS);
            MPI_Comm_free(comm);
            *comm = next;
            MPI_Comm_size(*comm, &size);
        }
        told = (int)((unsigned)told * 31u + (unsigned)class_of(error) * 7u + (unsigned)well * 3u +
                     (unsigned)size);
    }
    CHECK(MPI_Allreduce(&told, &lowest, 1, MPI_INT, MPI_MIN, *comm) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&told, &highest, 1, MPI_INT, MPI_MAX, *comm) == MPI_SUCCESS);
    CHECK(lowest == told && highest == told);
    works(*comm);
}

static void stopped(MPI_Comm *comm)
{
    int rank, size;
    MPI_Comm next;
    MPI_Comm_rank(*comm, &rank);
    MPI_Comm_size(*comm, &size);
    unsigned victim = draw((unsigned)size), us = draw(20000);
    fail_in(*comm, rank == (int)victim, us);
    for (unsigned i = 0; all_well(*comm, call(*comm, i) == MPI_SUCCESS); i++) {
    }
    CHECK(MPIX_Comm_shrink(*comm, &next) == MPI_SUCCESS);
    MPI_Comm_free(comm);
    *comm = next;
    MPI_Comm_size(*comm, &rank);
    CHECK(rank == size - 1);
    works(*comm);
}

static void compute(MPI_Comm comm)
{
    volatile double sum = 0;
    works(comm);
    for (double start = MPI_Wtime(); MPI_Wtime() - start < 2;) {
        for (int i = 1; i < 1000000; i++) {
            sum += 1.0 / i;
        }
    }
    (void)sum;
    works(comm);
}

int main(int argc, char **argv)
{
    SO(argc == 3);
    mode = argv[1];
    seed = strtoull(argv[2], NULL, 10);
    MPI_Init(&argc, &argv);
    MPI_Comm comm = joined();
    int repairs = comm == MPI_COMM_NULL ? 0 : -1;
    if (comm == MPI_COMM_NULL) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
    if (strcmp(mode, "finalize") == 0) {
        finalize(comm);
    } else if (strcmp(mode, "storm") == 0) {
        storm(&comm);
    } else if (strcmp(mode, "refill") == 0) {
        refill(&comm, repairs == -1, argv);
    } else if (strcmp(mode, "stopped") == 0) {
        stopped(&comm);
    } else if (strcmp(mode, "compute") == 0) {
        compute(comm);
    } else {
        repair_twice(&comm, repairs, argv);
    }
    MPI_Comm_free(&comm);
    int error = MPI_Finalize();
    signal(SIGALRM, SIG_IGN);
    SO(error == MPI_SUCCESS);
    printf("%s: correct\n", mode);
    return 0;
}
