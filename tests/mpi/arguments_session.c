/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions, and communicators made without a parent. */
#include "arguments.h"

#include "check.h"

static void rows_psets(void)
{
    ROW(MPI_ERR_ARG, "MPI_Session_get_nth_pset", "n",
        MPI_Session_get_nth_pset(good.session, MPI_INFO_NULL, 9, &out.length, out.text));
    ROW(MPI_ERR_ARG, "MPI_Session_get_nth_pset", "n",
        MPI_Session_get_nth_pset(good.session, MPI_INFO_NULL, -1, &out.length, out.text));
    ROW(MPI_ERR_ARG, "MPI_Session_get_nth_pset", "pset_len",
        MPI_Session_get_nth_pset(good.session, MPI_INFO_NULL, 0, &(int){-1}, out.text));
    ROW(MPI_ERR_ARG, "MPI_Session_get_nth_pset", "pset_name",
        MPI_Session_get_nth_pset(good.session, MPI_INFO_NULL, 0, &(int){5}, NULL));
    ROW(MPI_ERR_ARG, "MPI_Session_get_pset_info", "pset_name",
        MPI_Session_get_pset_info(good.session, "app://none", &out.info));
}

/* Errors go to the error handler that is given, not to that of MPI_COMM_SELF. */
static void rows_given_handler(void)
{
    MPI_Info info;
    MPI_Group others;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SOMETIMES");
    ROW(MPI_ERR_INFO_VALUE, "MPI_Session_init", "thread_level",
        MPI_Session_init(info, good.session_errhandler, &out.session));
    MPI_Info_free(&info);
    MPI_Group_excl(good.other_group, 1, &rank, &others);
    ROW(MPI_ERR_GROUP, "MPI_Comm_create_from_group", "group",
        MPI_Comm_create_from_group(others, "t", MPI_INFO_NULL, good.errhandler, &out.comm));
    ROW(MPI_ERR_GROUP, "MPI_Comm_create_from_group", "group",
        MPI_Comm_create_from_group(MPI_GROUP_NULL, "t", MPI_INFO_NULL, good.errhandler, &out.comm));
    ROW(MPI_ERR_INFO, "MPI_Comm_create_from_group", "info",
        MPI_Comm_create_from_group(good.group, "t", gone.info, good.errhandler, &out.comm));
    ROW(MPI_ERR_ARG, "MPI_Comm_create_from_group", "stringtag",
        MPI_Comm_create_from_group(good.group, NULL, MPI_INFO_NULL, good.errhandler, &out.comm));
    ROW(MPI_ERR_GROUP, "MPI_Intercomm_create_from_groups", "local_group",
        MPI_Intercomm_create_from_groups(others, 0, good.group, 0, "t", MPI_INFO_NULL,
                                         good.errhandler, &out.comm));
    ROW(MPI_ERR_RANK, "MPI_Intercomm_create_from_groups", "remote_leader",
        MPI_Intercomm_create_from_groups(good.group, 0, others, 3, "t", MPI_INFO_NULL,
                                         good.errhandler, &out.comm));
    ROW(MPI_ERR_GROUP, "MPI_Intercomm_create_from_groups", "group",
        MPI_Intercomm_create_from_groups(good.group, 0, good.group, 0, "t", MPI_INFO_NULL,
                                         good.errhandler, &out.comm));
    MPI_Group_free(&others);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, good.errhandler) == MPI_SUCCESS);
}

void rows_session(void)
{
    rows_psets();
    rows_given_handler();
    ROW(MPI_ERR_ERRHANDLER, "MPI_Session_init", "errhandler",
        MPI_Session_init(MPI_INFO_NULL, good.errhandler, &out.session));
    ROW(MPI_ERR_ERRHANDLER, "MPI_Comm_create_from_group", "errhandler",
        MPI_Comm_create_from_group(good.group, "t", MPI_INFO_NULL, good.session_errhandler,
                                   &out.comm));
    ROW(MPI_ERR_OTHER, "MPI_Init", "", MPI_Init(NULL, NULL));
}
