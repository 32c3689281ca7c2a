/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI names: null handles, the environment (before, during and after MPI), hints of what is
 * made. The argument: how many processes there are, and the initial error handler.
 */
#include "check.h"

#include <string.h>

static const char *value_of(MPI_Info info, const char *key)
{
    static char value[MPI_MAX_INFO_VAL];
    int there, room = sizeof(value);
    if (MPI_Info_get_string(info, key, &room, value, &there) != MPI_SUCCESS || !there) {
        value[0] = '\0';
    }
    return value;
}

/* Usable before and after MPI: no CHECK, which needs a rank. */
static void expect(MPI_Info info, const char *key, const char *value)
{
    if (strcmp(value_of(info, key), value) != 0) {
        fprintf(stderr, "%s is '%s', not '%s': not so\n", key, value_of(info, key), value);
        exit(1);
    }
}

static void expect_environment(MPI_Info info, char **argv)
{
    expect(info, "maxprocs", argv[1]);
    expect(info, "mpi_initial_errhandler", argv[2]);
    expect(info, "argv", value_of(info, "argv"));
    if (strlen(value_of(info, "wdir")) == 0 || strlen(value_of(info, "host")) == 0 ||
        strlen(value_of(info, "arch")) == 0) {
        fprintf(stderr, "a key is missing: not so\n");
        exit(1);
    }
}

static void environment_is_told(int argc, char **argv)
{
    char arguments[MPI_MAX_INFO_VAL];
    MPI_Info info;
    snprintf(arguments, sizeof(arguments), "%s %s", argv[1], argv[2]);
    MPI_Info_create_env(argc, argv, &info);
    expect_environment(info, argv);
    expect(info, "command", argv[0]);
    expect(info, "argv", arguments);
    MPI_Info_free(&info);
    expect_environment(MPI_INFO_ENV, argv);
    expect(MPI_INFO_ENV, "argv", arguments);
}

static void null_handles_have_names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    CHECK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length) == MPI_SUCCESS);
    CHECK(strcmp(name, "MPI_COMM_NULL") == 0 && length == (int)strlen(name));
    CHECK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length) == MPI_SUCCESS);
    CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0 && length == (int)strlen(name));
    CHECK(MPI_Win_get_name(MPI_WIN_NULL, name, &length) == MPI_SUCCESS);
    CHECK(strcmp(name, "MPI_WIN_NULL") == 0 && length == (int)strlen(name));
    CHECK(MPI_Win_get_name((MPI_Win)MPI_INT, name, &length) == MPI_ERR_WIN);
    CHECK(MPI_Comm_set_name(MPI_COMM_NULL, name) == MPI_ERR_COMM);
    CHECK(MPI_Type_set_name(MPI_DATATYPE_NULL, name) == MPI_ERR_TYPE);
}

static void expect_hint(MPI_Comm *comm)
{
    MPI_Info used;
    CHECK(MPI_Comm_get_info(*comm, &used) == MPI_SUCCESS);
    expect(used, "mpi_assert_no_any_tag", "true");
    expect(used, "mpi_assert_no_any_source", "false");
    expect(used, "mpi_memory_alloc_kinds", "mpi,system");
    MPI_Info_free(&used);
    MPI_Comm_free(comm);
}

static void hints_are_kept(void)
{
    MPI_Info info, used;
    MPI_Comm comm;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, one = 1;
    CHECK(MPI_Comm_get_info(MPI_COMM_WORLD, &used) == MPI_SUCCESS);
    expect(used, "mpi_memory_alloc_kinds", "mpi,system");
    MPI_Info_free(&used);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                         MPI_UNWEIGHTED, info, 0, &comm) == MPI_SUCCESS);
    expect_hint(&comm);
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &next, MPI_UNWEIGHTED, info, 0,
                                &comm) == MPI_SUCCESS);
    expect_hint(&comm);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, info, &comm) == MPI_SUCCESS);
    expect_hint(&comm);
    CHECK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm) == MPI_SUCCESS);
    expect_hint(&comm);
    MPI_Info_free(&info);
}

static void process_sets_have_no_case(void)
{
    const char *names[] = {"mpi://WORLD", "mpi://world", "Mpi://World", "mpi://self"};
    MPI_Session session;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    for (int i = 0; i < 4; i++) {
        MPI_Group group;
        MPI_Info info;
        int n = -1;
        CHECK(MPI_Group_from_session_pset(session, names[i], &group) == MPI_SUCCESS);
        CHECK(group != MPI_GROUP_NULL);
        MPI_Group_size(group, &n);
        CHECK(n == (i < 3 ? size : 1));
        MPI_Group_free(&group);
        CHECK(MPI_Session_get_pset_info(session, names[i], &info) == MPI_SUCCESS);
        CHECK(atoi(value_of(info, "mpi_size")) == n);
        MPI_Info_free(&info);
    }
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    environment_is_told(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    environment_is_told(argc, argv);
    null_handles_have_names();
    hints_are_kept();
    process_sets_have_no_case();
    MPI_Finalize();
    environment_is_told(argc, argv);
    return 0;
}
