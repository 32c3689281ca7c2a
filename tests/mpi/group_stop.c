/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members of a group do not answer for a while: `group_stop HOW FIRST`: ranks FIRST and up are
 * stopped (HOW is stop, by SIGSTOP) or do not finish their tests (slow), once the others have done
 * some steps. These continue without them; when all of them are out of the view they are continued,
 * and are voted back.
 */
#include "group.h"

#include <signal.h>

static int me, n, first, stops;

enum { BEFORE, AWAY, RETURNING, AFTER };

/* A test takes as long as the scene requires. */
static int test(void *slow)
{
    while (*(_Atomic uint32_t *)slow != 0) {
        group_pause(1000);
    }
    return 0;
}

static void all(int away)
{
    for (int k = first; k < n; k++) {
        if (stops) {
            CHECK(kill(group_log->pid[k], away ? SIGSTOP : SIGCONT) == 0);
        } else {
            group_log->slow[k] = (uint32_t)away;
        }
    }
}

/* Rank 0 leads; it may be out of the view itself. */
static int lead(RZ_Group_monitor monitor, MPI_Count step)
{
    static int phase = BEFORE;
    uint64_t away = 0;
    (void)monitor;
    for (int k = first; k < n; k++) {
        away |= UINT64_C(1) << k;
    }
    if (me == 0 && phase == BEFORE && step >= 20) {
        all(1);
        phase = AWAY;
    } else if (phase == AWAY && (group_view & away) == 0) {
        all(0);
        phase = RETURNING;
    } else if (phase == RETURNING && (group_view & away) == away) {
        group_log->last = (long)step + 20;
        phase = AFTER;
    }
    return 0;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    stops = strcmp(argv[1], "stop") == 0;
    first = atoi(argv[2]);
    group_log_share(MPI_COMM_WORLD, NEVER);
    MPI_Info info = group_info("20ms", "300ms");
    RZ_Group_monitor monitor = RZ_GROUP_MONITOR_NULL;
    CHECK(RZ_Group_monitor_start(MPI_COMM_WORLD, info, test, (void *)&group_log->slow[me],
                                 &monitor) == MPI_SUCCESS);
    MPI_Info_free(&info);
    group_run(monitor, MPI_COMM_WORLD, 1000, lead);
    for (int k = first; k < n; k++) {
        CHECK(group_state(monitor, k).events >= 2);
    }
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    if (me == 0) {
        printf("group stop: correct (%ld steps, %ld broken, %lld rounds)\n", group_done,
               group_broken, (long long)group_number);
    }
    MPI_Finalize();
    return 0;
}
