/* SPDX-License-Identifier: BSD-3-Clause */
/* What a group monitor refuses, by name, and what it leaves as it was. */
#include "group.h"

static int me, n;

static const struct {
    const char *key, *value;
} wrong[] = {
    {"interval", "1"},
    {"interval", "0s"},
    {"interval", "soon"},
    {"interval", "2h"},
    {"zeta", "0"},
    {"zeta", "2.5"},
    {"zeta", "5 "},
    {"threshold", "divide"},
    {"factor", "0.5"},
    {"factor", "2ms"},
    {"factor", "nan"},
    {"first_threshold", "0ms"},
    {"first_threshold", "-1s"},
    {"least_threshold", ""},
    {"assignment", "ring"},
    {"local_health", "101"},
    {"local_health", "-1"},
    {"name", ""},
    {"name", "a/b"},
};

static void assert_told(int error, const char *what, const char *value)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    CHECK(class_of(error) == MPI_ERR_INFO_VALUE);
    MPI_Error_string(error, text, &length);
    CHECK(strstr(text, what) && strstr(text, value));
}

static void wrong_values(void)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        MPI_Info info;
        RZ_Group_monitor monitor = RZ_GROUP_MONITOR_NULL;
        MPI_Info_create(&info);
        if (MPI_Info_set(info, wrong[i].key, wrong[i].value) == MPI_SUCCESS) {
            assert_told(RZ_Group_monitor_start(MPI_COMM_WORLD, info, NULL, NULL, &monitor),
                        wrong[i].key, wrong[i].value);
        }
        CHECK(monitor == RZ_GROUP_MONITOR_NULL);
        MPI_Info_free(&info);
    }
}

/* One has other settings than the rest, or wrong ones: all get an error, none has a monitor. */
static void one_differs(const char *value, int class)
{
    MPI_Info info;
    RZ_Group_monitor monitor = RZ_GROUP_MONITOR_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "zeta", me == 0 ? value : "6");
    int error = RZ_Group_monitor_start(MPI_COMM_WORLD, info, NULL, NULL, &monitor);
    CHECK(class_of(error) == class && monitor == RZ_GROUP_MONITOR_NULL);
    MPI_Info_free(&info);
}

static void with_add(void)
{
    MPI_Info info = group_info("50ms", "2s");
    RZ_Group_monitor monitor = RZ_GROUP_MONITOR_NULL;
    MPI_Info_set(info, "threshold", "add");
    MPI_Info_set(info, "factor", "2.5ms");
    MPI_Info_set(info, "nothing known", "x");
    CHECK(RZ_Group_monitor_start(MPI_COMM_WORLD, info, NULL, NULL, &monitor) == MPI_SUCCESS);
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    MPI_Info_free(&info);
}

static void arguments(RZ_Group_monitor monitor)
{
    MPI_Count agreed = -7;
    MPI_Comm comm = (MPI_Comm)8;
    RZ_Group_monitor_state state;
    int rank = -7;
    CHECK(class_of(RZ_Group_monitor_round(monitor, -1, &agreed, &comm)) == MPI_ERR_ARG);
    CHECK(class_of(RZ_Group_monitor_owner(monitor, -1, &rank)) == MPI_ERR_ARG);
    CHECK(class_of(RZ_Group_monitor_get_state(monitor, n, &state)) == MPI_ERR_RANK);
    CHECK(class_of(RZ_Group_monitor_get_state(monitor, -1, &state)) == MPI_ERR_RANK);
    CHECK(agreed == -7 && comm == (MPI_Comm)8 && rank == -7);
}

/* The communicator of a round is the monitor's, and works on; what is made of it is the program's.
 */
static void lent(RZ_Group_monitor monitor)
{
    for (MPI_Count i = 0; i < 3; i++) {
        MPI_Comm comm, same, own;
        MPI_Count agreed, round;
        int size;
        CHECK(RZ_Group_monitor_round(monitor, i, &agreed, &comm) == MPI_SUCCESS);
        same = comm;
        CHECK(RZ_Group_monitor_get_round(monitor, &round, &size, NULL) == MPI_SUCCESS);
        CHECK(round == i + 1 && size > 0 && size <= n);
        if (comm == MPI_COMM_NULL || size < n) {
            continue; /* a machine so loaded that a process is excluded */
        }
        group_refused(MPI_Comm_free(&comm), MPI_ERR_COMM, "monitor");
        group_refused(MPI_Comm_disconnect(&comm), MPI_ERR_COMM, "monitor");
        CHECK(comm == same);
        if (MPI_Comm_dup(comm, &own) == MPI_SUCCESS) {
            CHECK(MPI_Comm_free(&own) == MPI_SUCCESS);
        }
    }
}

static void ended(RZ_Group_monitor monitor)
{
    int flag = -7;
    CHECK(class_of(RZ_Group_monitor_changed(monitor, &flag)) == MPI_ERR_ARG);
    CHECK(class_of(RZ_Group_monitor_changed(RZ_GROUP_MONITOR_NULL, &flag)) == MPI_ERR_ARG);
    CHECK(class_of(RZ_Group_monitor_changed((RZ_Group_monitor)MPI_COMM_WORLD, &flag)) ==
          MPI_ERR_ARG);
    CHECK(flag == -7);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    wrong_values();
    if (n > 1) {
        one_differs("5", MPI_ERR_OTHER);
        one_differs("none", MPI_ERR_INFO_VALUE);
    }
    with_add();
    RZ_Group_monitor monitor = RZ_GROUP_MONITOR_NULL;
    CHECK(RZ_Group_monitor_start(MPI_COMM_WORLD, MPI_INFO_NULL, NULL, NULL, &monitor) ==
          MPI_SUCCESS);
    arguments(monitor);
    lent(monitor);
    RZ_Group_monitor old = monitor;
    CHECK(RZ_Group_monitor_stop(&monitor) == MPI_SUCCESS);
    ended(old);
    /* A monitor that is not stopped ends with MPI. */
    CHECK(RZ_Group_monitor_start(MPI_COMM_WORLD, MPI_INFO_NULL, NULL, NULL, &monitor) ==
          MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
