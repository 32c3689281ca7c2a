/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A monitor moves to another communicator while one member has missed the last rounds: all continue
 * from the same progress, the one that the others had agreed on.
 */
#include "group.h"

#include <signal.h>

enum { STEPS = 10, LATE = 2 };

static int without_late(RZ_Group_monitor monitor, MPI_Count step)
{
    (void)monitor;
    return step >= STEPS && (group_view >> LATE & 1) == 0;
}

static void start(RZ_Group_monitor *monitor)
{
    MPI_Info info = group_info("20ms", "500ms");
    group_log_share(MPI_COMM_WORLD, NEVER);
    CHECK(RZ_Group_monitor_start(MPI_COMM_WORLD, info, NULL, NULL, monitor) == MPI_SUCCESS);
    MPI_Info_free(&info);
    group_number = 0;
}

/* It is in again when the monitor moves, and has done no round since the first one. */
static void miss_rounds(int me, RZ_Group_monitor monitor)
{
    if (me == LATE) {
        raise(SIGSTOP);
    } else {
        group_run(monitor, MPI_COMM_WORLD, 1000, without_late);
    }
    if (me == 0) {
        CHECK(kill(group_log->pid[LATE], SIGCONT) == 0);
        while (group_state(monitor, LATE).why != RZ_GROUP_RECOMMENDED) {
            group_pause(1000);
        }
        group_log->last = 0;
    }
    while (group_log->last == NEVER) {
        group_pause(1000);
    }
}

int main(int argc, char **argv)
{
    int me;
    RZ_Group_monitor monitor = RZ_GROUP_MONITOR_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    start(&monitor);
    MPI_Count step = 0;
    group_round(monitor, MPI_COMM_WORLD, &step);
    miss_rounds(me, monitor);
    CHECK(me == LATE ? step == 0 : group_agreed >= STEPS);
    step = group_agreed;
    start(&monitor);
    group_round(monitor, MPI_COMM_WORLD, &step);
    CHECK(step >= STEPS);
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    if (me == 0) {
        printf("group further: correct\n");
    }
    MPI_Finalize();
    return 0;
}
