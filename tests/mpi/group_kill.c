/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members of a group are killed, whatever they are at: computing, in a round, in MPI. `group_kill
 * SEED LEFT [node]`: all but the first LEFT (the last -LEFT) are killed, each at a time of its own;
 * with `node` by killing their nodes, the daemon with them; with `point` RZ_KILL_AT says where.
 * Those that are left see the same views to the end, and do all steps.
 */
#include "group.h"

#include <signal.h>
#include <sys/time.h>

static int me, n, first, left; /* ranks first to first + left - 1 are left */
static int told_failed;        /* by on_change */
static RZ_Group_monitor monitor;

static int is_victim(int rank)
{
    return rank < first || rank >= first + left;
}

static void on_alarm(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

static void on_alarm_node(int signal)
{
    (void)signal;
    kill(getppid(), SIGKILL);
}

static void arm(unsigned seed, int node)
{
    unsigned random = seed * 2654435761u + (unsigned)me * 40503u;
    long us = 1000 + (long)(random >> 8) % 400000;
    struct itimerval timer = {.it_value = {.tv_sec = us / 1000000, .tv_usec = us % 1000000}};
    struct sigaction action = {.sa_handler = node ? on_alarm_node : on_alarm};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

/* The first remaining member knows when all victims have ended; then they continue for a while. */
static int watch(RZ_Group_monitor of, MPI_Count step)
{
    int failed = 0;
    for (int k = 0; k < n; k++) {
        failed += group_state(of, k).why == RZ_GROUP_FAILED;
    }
    if (me == first && failed == n - left && group_log->last == NEVER) {
        group_log->last = (long)step + 50;
    }
    return 0;
}

static void on_change(int rank, int why, void *extra)
{
    CHECK(extra == &told_failed && rank < n);
    told_failed += why == RZ_GROUP_FAILED && is_victim(rank); /* others may have ended already */
}

static void see_it_through(void)
{
    if (me == first) {
        CHECK(RZ_Group_monitor_on_change(monitor, on_change, &told_failed) == MPI_SUCCESS);
    }
    group_run(monitor, MPI_COMM_WORLD, 0, watch);
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    CHECK(!is_victim(me));
    if (me == first && told_failed != n - left) {
        fprintf(stderr, "told of %d failures\n", told_failed);
        CHECK(told_failed == n - left);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc >= 3);
    int node = argc > 3 && strcmp(argv[3], "node") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    left = abs(atoi(argv[2]));
    first = argv[2][0] == '-' ? n - left : 0;
    group_log_share(MPI_COMM_WORLD, NEVER);
    MPI_Info info = group_info("20ms", "500ms");
    int error = RZ_Group_monitor_start(MPI_COMM_WORLD, info, NULL, NULL, &monitor);
    MPI_Info_free(&info);
    if (is_victim(me) && (argc == 3 || node)) {
        arm((unsigned)atoi(argv[1]), node);
    }
    if (error == MPI_SUCCESS) {
        see_it_through();
    } else { /* a process failed before the group existed: none has it */
        CHECK(class_of(error) == MPI_ERR_PROC_FAILED);
    }
    int acknowledged;
    CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, n, &acknowledged) == MPI_SUCCESS);
    if (me == first) {
        printf("group kill: correct (%ld steps, %ld broken, %lld rounds)\n", group_done,
               group_broken, (long long)group_number);
    }
    MPI_Finalize();
    return 0;
}
