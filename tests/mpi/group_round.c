/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of a group in which no process fails: `group_round STEPS INTERVAL [ASSIGNMENT]`. All see
 * the same views and reach the end together, whichever members were excluded for a while.
 */
#include "group.h"

#include <math.h>

static int me, n;

/* Waits until that many more are counted. */
static void await_count(const char *name, uint64_t more)
{
    int index, count;
    uint64_t value = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
    while (value < more) {
        group_pause(1000);
        CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    }
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
}

/* Each process has been tested, or says why not. */
static void look_at_states(RZ_Group_monitor monitor)
{
    for (int k = 0; k < n; k++) {
        RZ_Group_monitor_state state;
        CHECK(RZ_Group_monitor_get_state(monitor, k, &state) == MPI_SUCCESS);
        CHECK(state.why == RZ_GROUP_RECOMMENDED || state.why == RZ_GROUP_SLOW ||
              state.why == RZ_GROUP_COOLING);
        CHECK((state.why == RZ_GROUP_RECOMMENDED) == (state.events % 2 == 0));
        CHECK(k != me || (isnan(state.test_time) && isnan(state.threshold)));
        CHECK(isnan(state.test_time) || state.test_time >= 0);
    }
}

/* The latest view, as a process set. */
static void look_at_set(RZ_Group_monitor monitor)
{
    MPI_Session session;
    MPI_Group group, start;
    int n_sets, found = 0, size, members[MEMBERS_MAX], translated;
    MPI_Count round;
    CHECK(RZ_Group_monitor_get_round(monitor, &round, &size, members) == MPI_SUCCESS);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    CHECK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n_sets) == MPI_SUCCESS);
    for (int i = 0; i < n_sets; i++) {
        char name[MPI_MAX_PSET_NAME_LEN];
        int length = sizeof(name);
        CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name) == MPI_SUCCESS);
        found += strcmp(name, "rhizome://recommended/rounds") == 0;
    }
    CHECK(found == 1);
    CHECK(MPI_Group_from_session_pset(session, "rhizome://recommended/rounds", &group) ==
          MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_WORLD, &start);
    int in_set;
    MPI_Group_size(group, &in_set);
    CHECK(in_set == size);
    for (int i = 0; i < size; i++) {
        MPI_Group_translate_ranks(group, 1, &i, start, &translated);
        CHECK(translated == members[i]);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&start);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    int provided;
    CHECK(argc >= 3);
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    group_log_share(MPI_COMM_WORLD, atol(argv[1]));
    MPI_Info info = group_info(argv[2], "2s");
    MPI_Info_set(info, "name", "rounds");
    if (argc > 3) {
        MPI_Info_set(info, "assignment", argv[3]);
    }
    RZ_Group_monitor monitor = RZ_GROUP_MONITOR_NULL;
    CHECK(RZ_Group_monitor_start(MPI_COMM_WORLD, info, NULL, NULL, &monitor) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(monitor != RZ_GROUP_MONITOR_NULL);
    group_run(monitor, MPI_COMM_WORLD, 1000, NULL);
    look_at_states(monitor);
    look_at_set(monitor);
    if (n > 1) { /* an excluded process is tested, too, and answers */
        await_count("rz_tests_received", 2);
        await_count("rz_tests_sent", 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    CHECK(monitor == RZ_GROUP_MONITOR_NULL);
    if (me == 0) {
        printf("%ld steps, %ld broken, %lld rounds\n", group_done, group_broken,
               (long long)group_number);
    }
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
