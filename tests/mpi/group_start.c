/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RZ_Group_monitor_start has the same outcome at all live processes, whichever fail inside it:
 * `group_start SEED`: in each start one more member fails, at a time of its own, until one is left;
 * with an odd seed the monitor is kept, and moves to those that are left. `group_start point RANK`:
 * RZ_KILL_AT says where RANK fails; after the start if it has not reached it. `group_start revoke`:
 * one revokes the communicator and does not take part.
 */
#include "group.h"

#include <signal.h>
#include <sys/time.h>

static int me, n, attempts, moves;
static RZ_Group_monitor monitor;

/* A start without failures takes some of this time. */
enum { FAIL_US_MAX = 6000 };

static void on_alarm(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

static void fail_soon(unsigned random)
{
    struct itimerval timer = {.it_value = {.tv_usec = 1 + (long)(random % FAIL_US_MAX)}};
    struct sigaction action = {.sa_handler = on_alarm};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static int start(MPI_Comm comm)
{
    MPI_Info info = group_info("20ms", "500ms");
    RZ_Group_monitor before = monitor;
    int error = RZ_Group_monitor_start(comm, info, NULL, NULL, &monitor);
    MPI_Info_free(&info);
    CHECK(error == MPI_SUCCESS ? monitor != RZ_GROUP_MONITOR_NULL : monitor == before);
    group_same(&group_log->agreed[attempts++], 1 + (uint64_t)class_of(error));
    return error;
}

static void start_and_stop(MPI_Comm comm)
{
    CHECK(start(comm) == MPI_SUCCESS);
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
}

static MPI_Comm shrunk(MPI_Comm comm)
{
    MPI_Comm living;
    CHECK(MPIX_Comm_shrink(comm, &living) == MPI_SUCCESS);
    return living;
}

/* Those left of comm when its member `victim` has failed inside a start, or behind it. */
static MPI_Comm without(MPI_Comm comm, int victim, unsigned random)
{
    int rank;
    MPI_Comm round;
    MPI_Count agreed;
    MPI_Comm_rank(comm, &rank);
    if (rank == victim && random > 0) {
        fail_soon(random);
    }
    int error = start(comm);
    if (rank == victim) {
        raise(SIGKILL);
    }
    CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_PROC_FAILED);
    if (error == MPI_SUCCESS) { /* rounds begin, with those that live */
        CHECK(RZ_Group_monitor_round(monitor, 0, &agreed, &round) == MPI_SUCCESS);
        CHECK(moves || RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    }
    return shrunk(comm);
}

static void one_after_the_other(unsigned seed)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    moves = seed % 2;
    for (int size = n, left; size > 1; size = left) {
        unsigned random = (seed * 64 + (unsigned)size) * 2654435761u;
        comm = without(comm, (int)(random >> 20) % size, 1 + (random >> 8));
        /* Fewer, if the next victim has left this shrink, and failed, before the others agree. */
        MPI_Comm_size(comm, &left);
        CHECK(left < size);
    }
    start_and_stop(comm);
}

static void at_point(int victim)
{
    start_and_stop(without(MPI_COMM_WORLD, victim, 0));
}

static void one_revokes(void)
{
    MPI_Comm comm;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    if (me == n / 2) {
        CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    } else {
        CHECK(class_of(start(comm)) == MPI_ERR_REVOKED);
    }
    attempts = 1;
    start_and_stop(shrunk(comm));
}

int main(int argc, char **argv)
{
    int rank;
    CHECK(argc >= 2);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    monitor = RZ_GROUP_MONITOR_NULL;
    group_log_share(MPI_COMM_WORLD, 0);
    if (strcmp(argv[1], "point") == 0) {
        CHECK(argc == 3);
        at_point(atoi(argv[2]));
    } else if (strcmp(argv[1], "revoke") == 0) {
        one_revokes();
    } else {
        one_after_the_other((unsigned)atoi(argv[1]));
    }
    MPI_Comm last = shrunk(MPI_COMM_WORLD); /* their failures are acknowledged by this */
    MPI_Comm_rank(last, &rank);
    if (rank == 0) {
        for (int i = 0; i < attempts; i++) {
            fprintf(stderr, "start %d: %s\n", i,
                    group_log->agreed[i] == 1 + MPI_SUCCESS ? "success" : "an error");
        }
        printf("group start: the same at all\n");
    }
    MPI_Finalize();
    return 0;
}
