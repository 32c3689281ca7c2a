/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A member of a group fails and is replaced; the group continues with the new process, which is
 * excluded until it is voted in: `group_replace VICTIM TIMES`.
 */
#include "group.h"

#include <signal.h>

static int me, n, victim, incarnation;

static int until_gone(RZ_Group_monitor monitor, MPI_Count step)
{
    (void)monitor;
    if (me == victim && step >= 10) {
        raise(SIGKILL);
    }
    return (group_view >> victim & 1) == 0 && group_state(monitor, victim).why == RZ_GROUP_FAILED;
}

/* Rank 0 says when it is over: the new one is in. */
static int until_back(RZ_Group_monitor monitor, MPI_Count step)
{
    (void)monitor;
    if (me == 0 && group_log->last == NEVER && (group_view >> victim & 1) != 0) {
        group_log->last = (long)step + 20;
    }
    return 0;
}

/* comm (MPI_COMM_NULL: this process is new) with its failed replaced. */
static MPI_Comm repaired(MPI_Comm comm)
{
    for (;;) {
        MPI_Comm next = MPI_COMM_NULL;
        CHECK(RZ_Comm_replace(comm, &next) == MPI_SUCCESS && next != MPI_COMM_NULL);
        int ok = MPI_Barrier(next) == MPI_SUCCESS;
        if (MPIX_Comm_agree(next, &ok) == MPI_SUCCESS && ok) {
            return next;
        }
        comm = next;
    }
}

static void start(MPI_Comm comm, RZ_Group_monitor *monitor)
{
    MPI_Info info = group_info("20ms", "500ms");
    CHECK(RZ_Group_monitor_start(comm, info, NULL, NULL, monitor) == MPI_SUCCESS);
    MPI_Info_free(&info);
    group_number = 0;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    RZ_Incarnation(&incarnation);
    victim = atoi(argv[1]);
    int times = atoi(argv[2]);
    RZ_Group_monitor monitor = RZ_GROUP_MONITOR_NULL;
    MPI_Comm comm = MPI_COMM_WORLD;
    if (incarnation == 1) {
        group_log_share(comm, NEVER);
        start(comm, &monitor);
        group_run(monitor, comm, 1000, until_gone);
    } else {
        comm = MPI_COMM_NULL;
    }
    for (int i = incarnation == 1 ? 1 : incarnation - 1; i <= times; i++) {
        int is_new = comm == MPI_COMM_NULL;
        comm = repaired(comm);
        group_log_share(comm, NEVER);
        start(comm, &monitor);
        CHECK(group_state(monitor, victim).events >= 1);
        CHECK(!is_new || group_agreed == -1);
        group_run(monitor, comm, 1000, until_back);
        CHECK(group_state(monitor, victim).events >= 2);
        CHECK(group_agreed >= 30);
    }
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    if (me == 0) {
        printf("group replace: correct\n");
    }
    MPI_Finalize();
    return 0;
}
