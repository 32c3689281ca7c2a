/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group whose program begins no round recovers, too: `group_back LEADER AWAY DEAD [VICTIM]`, sets
 * of ranks as hexadecimal numbers. LEADER kills those in DEAD, and twice stops those in AWAY until
 * they are excluded, and continues them: then all live ones are recommended again, as all of them
 * see it, though more than half of the first voters may have failed. Only LEADER calls MPI until
 * then. VICTIM fails by RZ_KILL_AT while the others come back.
 */
#include "group.h"

#include <signal.h>

static int me, n;
static RZ_Group_monitor monitor;
static uint64_t gone; /* failed, or to fail */

static int has(uint64_t set, int k)
{
    return set >> k & 1;
}

static void signal_all(uint64_t set, int signal)
{
    for (int k = 0; k < n; k++) {
        CHECK(!has(set, k) || kill(group_log->pid[k], signal) == 0);
    }
}

static void await_failed(void)
{
    for (int k = 0; k < n; k++) {
        while (has(gone, k) && group_state(monitor, k).why != RZ_GROUP_FAILED) {
            group_pause(1000);
        }
    }
}

/* All at once. */
static void await_out(uint64_t set)
{
    for (int out = 0; !out; group_pause(1000)) {
        out = 1;
        for (int k = 0; k < n; k++) {
            out = out && (!has(set, k) || group_state(monitor, k).why != RZ_GROUP_RECOMMENDED);
        }
    }
}

static void await_all_in(void)
{
    for (int in = 0; !in; group_pause(1000)) {
        in = 1;
        for (int k = 0; k < n; k++) {
            in = in && (has(gone, k) || group_state(monitor, k).why == RZ_GROUP_RECOMMENDED);
        }
    }
}

static void lead(uint64_t away, uint64_t failed, uint64_t victim)
{
    signal_all(failed, SIGKILL);
    gone = failed;
    await_failed();
    for (int i = 0; i < 2; i++) {
        signal_all(away, SIGSTOP);
        await_out(away);
        signal_all(away, SIGCONT);
        gone = failed | victim;
        await_failed();
        await_all_in();
    }
    group_log->last = 0;
}

/* No process stops its monitor, and so is excluded, before all have seen all recommended. */
static void see_all_in(void)
{
    await_all_in();
    group_log->slow[me] = 1;
    for (int k = 0; k < n; k++) {
        while (!has(gone, k) && group_log->slow[k] == 0) {
            group_pause(1000);
        }
    }
}

int main(int argc, char **argv)
{
    CHECK(argc >= 4);
    int leader = atoi(argv[1]), acknowledged;
    uint64_t away = strtoull(argv[2], NULL, 16), failed = strtoull(argv[3], NULL, 16);
    uint64_t victim = argc > 4 ? UINT64_C(1) << atoi(argv[4]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    group_log_share(MPI_COMM_WORLD, NEVER);
    MPI_Info info = group_info("20ms", "300ms");
    CHECK(RZ_Group_monitor_start(MPI_COMM_WORLD, info, NULL, NULL, &monitor) == MPI_SUCCESS);
    MPI_Info_free(&info);
    if (me == leader) {
        lead(away, failed, victim);
    }
    while (group_log->last == NEVER) {
        group_pause(1000);
    }
    gone = failed | victim;
    see_all_in();
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, n, &acknowledged) == MPI_SUCCESS);
    if (me == leader) {
        printf("group back: correct\n");
    }
    MPI_Finalize();
    return 0;
}
