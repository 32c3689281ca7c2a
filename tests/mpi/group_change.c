/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that follows its group by callbacks, without a round: `group_change SCENE`.
 *
 *   told   the last member is slow, stopped, and failed, and comes back between; the callback calls
 * MPI stop   the callback stops the monitor that calls it none   the callback removes itself: later
 * failures are not reported to it
 */
#include "group.h"

#include <signal.h>

static int me, n, last, calls, depth, failed;
static RZ_Group_monitor monitor;
static _Atomic int told; /* of the last member */

/* ---- Callbacks ---- */

static void hear(int rank, int why, void *extra)
{
    int flag, sum = 0, size;
    MPI_Count round;
    CHECK(extra == &told && depth++ == 0 && rank >= 0 && rank < n);
    CHECK(why == RZ_GROUP_RECOMMENDED || why == RZ_GROUP_SLOW || why == RZ_GROUP_FAILED);
    CHECK(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(sum == rank);
    CHECK(RZ_Group_monitor_get_round(monitor, &round, &size, NULL) == MPI_SUCCESS && size == n);
    calls++;
    depth--;
    told = rank == last ? why : told;
}

static void hear_and_stop(int rank, int why, void *extra)
{
    hear(rank, why, extra);
    if (why == RZ_GROUP_FAILED) { /* because no other process fails */
        CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
        CHECK(monitor == RZ_GROUP_MONITOR_NULL);
    }
}

static void hear_and_remove(int rank, int why, void *extra)
{
    hear(rank, why, extra);
    CHECK(RZ_Group_monitor_on_change(monitor, NULL, NULL) == MPI_SUCCESS);
}

/* ---- What happens ---- */

static int test(void *slow)
{
    while (*(_Atomic uint32_t *)slow != 0) {
        group_pause(1000);
    }
    return 0;
}

static void call(void)
{
    int flag;
    CHECK(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    group_pause(1000);
}

static void await_told(int why)
{
    while (told != why) {
        call();
    }
}

static void start(RZ_Group_monitor_change_function function)
{
    MPI_Info info = group_info("20ms", "300ms");
    group_log_share(MPI_COMM_WORLD, NEVER);
    CHECK(RZ_Group_monitor_start(MPI_COMM_WORLD, info, test, (void *)&group_log->slow[me],
                                 &monitor) == MPI_SUCCESS);
    CHECK(RZ_Group_monitor_on_change(monitor, function, (void *)&told) == MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Barrier(MPI_COMM_WORLD); /* a process that fails after it has seen all arrive */
}

/* The first one causes the event, and continues when it was called. */
static void tell(int why)
{
    pid_t pid = group_log->pid[last];
    static int stops;
    if (me == 0 && why == RZ_GROUP_FAILED) {
        CHECK(kill(pid, SIGKILL) == 0);
    } else if (me == 0 && why == RZ_GROUP_SLOW) {
        group_log->slow[last] = !stops;
        CHECK(!stops || kill(pid, SIGSTOP) == 0);
    } else if (me == 0) {
        group_log->slow[last] = 0;
        CHECK(!stops++ || kill(pid, SIGCONT) == 0);
    }
    if (me == 0) {
        await_told(why);
    }
}

static void wait_for_failure(void)
{
    while (me == last) {
        call();
    }
    await_told(RZ_GROUP_FAILED);
    failed++;
}

static void scene_told(void)
{
    start(hear);
    tell(RZ_GROUP_SLOW);
    tell(RZ_GROUP_RECOMMENDED);
    tell(RZ_GROUP_SLOW);
    tell(RZ_GROUP_RECOMMENDED);
    tell(RZ_GROUP_FAILED);
    wait_for_failure();
    CHECK(me != 0 || calls >= 5);
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
}

static void scene_stop(void)
{
    start(hear_and_stop);
    tell(RZ_GROUP_FAILED);
    wait_for_failure();
    CHECK(monitor == RZ_GROUP_MONITOR_NULL);
    for (int i = 0, before = calls; i < 20; i++) {
        call();
        CHECK(calls == before);
    }
}

static void scene_none(void)
{
    int flag;
    start(hear_and_remove);
    CHECK(me != 0 || kill(group_log->pid[last], SIGKILL) == 0);
    while (me == last) {
        call();
    }
    while (group_state(monitor, last).why != RZ_GROUP_FAILED) {
        call();
    }
    while (calls == 0) {
        call(); /* of that failure, or of a process that was late before */
    }
    MPI_Comm living;
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &living) == MPI_SUCCESS);
    MPI_Barrier(living);
    if (me == last - 1) {
        raise(SIGKILL);
    }
    while (group_state(monitor, last - 1).why != RZ_GROUP_FAILED) {
        call();
    }
    CHECK(calls == 1 && RZ_Group_monitor_changed(monitor, &flag) == MPI_SUCCESS);
    failed = 2;
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    last = n - 1;
    if (strcmp(argv[1], "told") == 0) {
        scene_told();
    } else if (strcmp(argv[1], "stop") == 0) {
        scene_stop();
    } else {
        scene_none();
    }
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, argv[1][0] == 'n' ? 2 : 1, &failed);
    if (me == 0) {
        printf("group change: correct\n");
    }
    MPI_Finalize();
    return 0;
}
