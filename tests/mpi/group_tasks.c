/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bags of tasks: `group_tasks SCENE`.
 *
 *   wrong    a second bag, rounds that are not the bag's, invalid options: refused with a message
 *   phases   no task of a phase is dealt before all of those before are done
 *   lost     the same, and one is stopped while the others do some phases and fail: it does it all
 *   calls    by callbacks, with small results, none, and large ones
 */
#include "group.h"

#include <rhizome/tasks.h>

#include <signal.h>

static int me, n;

static void start(RZ_Group_monitor *monitor, const char *least)
{
    MPI_Info info = group_info("20ms", least);
    *monitor = RZ_GROUP_MONITOR_NULL;
    CHECK(RZ_Group_monitor_start(MPI_COMM_WORLD, info, NULL, NULL, monitor) == MPI_SUCCESS);
    MPI_Info_free(&info);
}

static void empty(RZ_Tasks tasks)
{
    int id, flag;
    for (;;) {
        CHECK(RZ_Tasks_claim(tasks, &id, &flag) == MPI_SUCCESS);
        if (!flag) {
            return;
        }
        CHECK(RZ_Tasks_complete(tasks, id, NULL) == MPI_SUCCESS);
    }
}

static void wrong(void)
{
    RZ_Group_monitor monitor;
    RZ_Tasks first, second, third = NULL;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Count agreed;
    int id = -7, flag = -7;
    RZ_Tasks_options mixed = {.phase_tasks = 2, .by_callbacks = &comm}, less = {.phase_tasks = -1};
    start(&monitor, "2s");
    CHECK(RZ_Tasks_open(monitor, 10, 0, &mixed, &third) == MPI_ERR_ARG);
    CHECK(RZ_Tasks_open(monitor, 10, 0, &less, &third) == MPI_ERR_ARG);
    CHECK(RZ_Tasks_open(monitor, 10, 0, NULL, &first) == MPI_SUCCESS);
    CHECK(RZ_Tasks_open(monitor, 10, 0, NULL, &second) == MPI_SUCCESS);
    empty(first);
    group_refused(RZ_Tasks_claim(second, &id, &flag), MPI_ERR_ARG, "opened once");
    CHECK(id == -7 && flag == -7);
    group_refused(RZ_Tasks_open(monitor, 10, 0, NULL, &third), MPI_ERR_ARG, "opened once");
    CHECK(!third);
    CHECK(RZ_Tasks_close(&first) == MPI_SUCCESS && RZ_Tasks_close(&second) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    start(&monitor, "2s");
    CHECK(RZ_Group_monitor_round(monitor, 0, &agreed, &comm) == MPI_SUCCESS);
    group_refused(RZ_Tasks_open(monitor, 10, 0, NULL, &third), MPI_ERR_ARG, "opened once");
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
}

enum { TASKS = 100, PHASE = 7, STOP_AT = 3, FAIL_AT = 8 };

/* The last one is stopped, and continues when no other is left. */
static void lose(int phase)
{
    pid_t last = group_log->pid[n - 1];
    static int stopped;
    if (me == 0 && phase >= STOP_AT && !stopped++) {
        CHECK(kill(last, SIGSTOP) == 0);
    }
    if (me != n - 1 && phase >= FAIL_AT) {
        CHECK(me != 0 || kill(last, SIGCONT) == 0);
        raise(SIGKILL);
    }
}

/* All tasks of earlier phases have been completed by some process, according to the shared log. */
static void phases(int loses)
{
    RZ_Group_monitor monitor;
    RZ_Tasks tasks;
    RZ_Tasks_options options = {.phase_tasks = PHASE};
    const void *results;
    int id, flag, rounds, completed;
    group_log_share(MPI_COMM_WORLD, 0);
    start(&monitor, loses ? "300ms" : "2s");
    CHECK(RZ_Tasks_open(monitor, TASKS, sizeof(int), &options, &tasks) == MPI_SUCCESS);
    for (;;) {
        CHECK(RZ_Tasks_claim(tasks, &id, &flag) == MPI_SUCCESS);
        if (!flag) {
            break;
        }
        if (loses) {
            lose(id / PHASE);
        }
        for (int before = 0; before < id / PHASE * PHASE; before++) {
            CHECK(group_log->view[before] != 0);
        }
        int result = id * id;
        group_log->view[id] = 1;
        CHECK(RZ_Tasks_complete(tasks, id, &result) == MPI_SUCCESS);
    }
    CHECK(RZ_Tasks_results(tasks, &results) == MPI_SUCCESS);
    for (int i = 0; i < TASKS; i++) {
        CHECK(((const int *)results)[i] == i * i);
    }
    CHECK(RZ_Tasks_count(tasks, &rounds, &completed) == MPI_SUCCESS);
    CHECK(rounds > 0 && completed <= TASKS);
    CHECK(RZ_Tasks_close(&tasks) == MPI_SUCCESS);
    if (loses) {
        MPIX_Comm_ack_failed(MPI_COMM_WORLD, n - 1, &rounds);
        printf("group tasks: nothing is lost\n");
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
}

/* Results of this number of bytes, all of one value, that of the task. */
static void call_with(int n_tasks, int bytes)
{
    RZ_Group_monitor monitor;
    RZ_Tasks tasks;
    MPI_Comm comm;
    RZ_Tasks_options options = {.by_callbacks = &comm};
    const void *results = NULL;
    int id, flag;
    char *result = malloc((size_t)bytes + 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    start(&monitor, "2s");
    CHECK(RZ_Tasks_open(monitor, n_tasks, bytes, &options, &tasks) == MPI_SUCCESS);
    for (;;) {
        CHECK(RZ_Tasks_claim(tasks, &id, &flag) == MPI_SUCCESS);
        if (!flag) {
            break;
        }
        CHECK(id >= 0 && id < n_tasks);
        memset(result, id + 1, (size_t)bytes);
        CHECK(RZ_Tasks_complete(tasks, id, result) == MPI_SUCCESS);
    }
    CHECK(RZ_Tasks_results(tasks, &results) == MPI_SUCCESS);
    for (int i = 0; i < n_tasks; i++) {
        const char *at = (const char *)results + (size_t)i * (size_t)bytes;
        CHECK(bytes == 0 || (at[0] == (char)(i + 1) && at[bytes - 1] == (char)(i + 1)));
    }
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    CHECK(RZ_Tasks_close(&tasks) == MPI_SUCCESS && !tasks);
    MPI_Comm_free(&comm);
    free(result);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strcmp(argv[1], "wrong") == 0) {
        wrong();
    } else if (strcmp(argv[1], "phases") == 0) {
        phases(0);
    } else if (strcmp(argv[1], "lost") == 0) {
        phases(1);
    } else {
        call_with(0, 4);
        call_with(1, 1);
        call_with(50, 8);
        call_with(50, 0);
        call_with(12, 1 << 20);
    }
    if (me == 0) {
        printf("group tasks: correct\n");
    }
    MPI_Finalize();
    return 0;
}
