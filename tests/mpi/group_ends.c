/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What else may end a monitor, or its waits: `group_ends SCENE`.
 *
 *   rollback   a member fails inside MPIX_Reinit: monitors end with all else, and are started again
 *   threads    two threads come to one round: one of them is refused
 *   left       one finalizes and has not stopped its monitor: the others go on without it
 *   twice      one is started again on a duplicate, goes on counting there, and is stopped: its
 *              threads have ended
 */
#include "group.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>

static int me, n;
static RZ_Group_monitor monitor;

/* Waits until this number of threads of monitors are here: one that was joined may still be
 * seen. */
static void await_testers(int wanted)
{
    for (int there = -1; there != wanted; group_pause(1000)) {
        DIR *dir = opendir("/proc/self/task");
        CHECK(dir != NULL);
        there = 0;
        for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
            char path[300], name[32] = "";
            snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
            FILE *file = fopen(path, "r");
            if (file) {
                there += fgets(name, sizeof(name), file) && strcmp(name, "rz-tester\n") == 0;
                fclose(file);
            }
        }
        closedir(dir);
    }
}

static void start(MPI_Comm comm)
{
    MPI_Info info = group_info("20ms", "1s");
    CHECK(RZ_Group_monitor_start(comm, info, NULL, NULL, &monitor) == MPI_SUCCESS);
    MPI_Info_free(&info);
    group_number = 0;
}

/* ---- rollback ---- */

static MPIX_Reinit_state_t state;

static int fail_once(RZ_Group_monitor of, MPI_Count step)
{
    (void)of;
    if (state == MPIX_REINIT_NEW && me == 1 && step >= 10) {
        raise(SIGKILL);
    }
    return 0;
}

static int point(int argc, char **argv, MPIX_Reinit_state_t how)
{
    int flag;
    (void)argc, (void)argv;
    state = how;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (how == MPIX_REINIT_REINITED) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        CHECK(class_of(RZ_Group_monitor_changed(monitor, &flag)) == MPI_ERR_ARG);
        await_testers(0);
    }
    monitor = RZ_GROUP_MONITOR_NULL;
    group_agreed = -1;
    group_log_share(MPI_COMM_WORLD, how == MPIX_REINIT_NEW ? NEVER : 30);
    start(MPI_COMM_WORLD);
    group_run(monitor, MPI_COMM_WORLD, 1000, fail_once);
    CHECK(how != MPIX_REINIT_NEW);
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    return 0;
}

/* ---- threads ---- */

static _Atomic int refused;

static void *one_round(void *arg)
{
    MPI_Count agreed;
    MPI_Comm comm;
    (void)arg;
    int error = RZ_Group_monitor_round(monitor, 0, &agreed, &comm);
    CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_OTHER);
    if (error != MPI_SUCCESS) {
        RZ_Group_monitor same = monitor;
        CHECK(class_of(RZ_Group_monitor_stop(&same)) == MPI_ERR_OTHER && same == monitor);
        refused++;
        CHECK(MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    return NULL;
}

/* Rank 0 enters the round when all others have been refused once. */
static void threads(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    start(MPI_COMM_WORLD);
    if (me == 0) {
        MPI_Count agreed;
        MPI_Comm comm;
        for (int k = 1; k < n; k++) {
            MPI_Recv(NULL, 0, MPI_BYTE, k, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        CHECK(RZ_Group_monitor_round(monitor, 0, &agreed, &comm) == MPI_SUCCESS);
    } else {
        pthread_t other;
        CHECK(pthread_create(&other, NULL, one_round, NULL) == 0);
        one_round(NULL);
        CHECK(pthread_join(other, NULL) == 0);
        CHECK(refused == 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
}

/* ---- left ---- */

static int until_ten(RZ_Group_monitor of, MPI_Count step)
{
    (void)of;
    return me == n - 1 && step >= 10;
}

static void left(void)
{
    group_log_share(MPI_COMM_WORLD, 30);
    start(MPI_COMM_WORLD);
    group_run(monitor, MPI_COMM_WORLD, 1000, until_ten);
    CHECK(me == n - 1 || (group_view >> (n - 1) & 1) == 0);
}

/* ---- twice ---- */

static void twice(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    group_log_share(MPI_COMM_WORLD, 20);
    start(MPI_COMM_WORLD);
    RZ_Group_monitor first = monitor;
    group_run(monitor, MPI_COMM_WORLD, 1000, NULL);
    await_testers(n > 1);
    group_log_share(MPI_COMM_WORLD, 40);
    start(comm);
    CHECK(monitor == first);
    group_run(monitor, comm, 1000, NULL);
    CHECK(group_agreed >= 40);
    await_testers(n > 1);
    MPI_Comm_free(&comm); /* the monitor keeps what it needs */
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    await_testers(0);
}

int main(int argc, char **argv)
{
    int provided;
    CHECK(argc == 2);
    int all = strcmp(argv[1], "threads") == 0;
    MPI_Init_thread(&argc, &argv, all ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (all) {
        threads();
    } else if (strcmp(argv[1], "twice") == 0) {
        twice();
    } else if (strcmp(argv[1], "left") == 0) {
        left();
    } else {
        CHECK(MPIX_Reinit(argc, argv, point) == 0);
    }
    MPI_Finalize();
    return 0;
}
