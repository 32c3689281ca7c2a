/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators, their attributes and error handlers, groups. */
#include "arguments.h"

#include "check.h"

static void rows_making(void)
{
    ROW(MPI_ERR_COMM, "MPI_Comm_free", "comm", MPI_Comm_free(&(MPI_Comm){MPI_COMM_WORLD}));
    ROW(MPI_ERR_COMM, "MPI_Comm_free", "comm", MPI_Comm_free(&(MPI_Comm){MPI_COMM_SELF}));
    ROW(MPI_ERR_COMM, "MPI_Comm_disconnect", "comm",
        MPI_Comm_disconnect(&(MPI_Comm){MPI_COMM_WORLD}));
    ROW(MPI_ERR_ARG, "MPI_Comm_split", "color", MPI_Comm_split(good.comm, -7, 0, &out.comm));
    ROW(MPI_ERR_ARG, "MPI_Comm_split_type", "split_type",
        MPI_Comm_split_type(good.comm, 77, 0, MPI_INFO_NULL, &out.comm));
    ROW(MPI_ERR_GROUP, "MPI_Comm_create", "group",
        MPI_Comm_create(good.comm, good.other_group, &out.comm));
    ROW(MPI_ERR_GROUP, "MPI_Comm_create_group", "group",
        MPI_Comm_create_group(good.comm, good.other_group, 1, &out.comm));
    ROW(MPI_ERR_COMM, "MPI_Comm_create_group", "comm",
        MPI_Comm_create_group(good.inter, good.group, 1, &out.comm));
    ROW(MPI_ERR_COMM, "MPI_Intercomm_merge", "intercomm",
        MPI_Intercomm_merge(good.comm, 0, &out.comm));
    ROW(MPI_ERR_COMM, "MPI_Comm_remote_size", "comm", MPI_Comm_remote_size(good.comm, &out.number));
    ROW(MPI_ERR_COMM, "MPI_Comm_remote_group", "comm",
        MPI_Comm_remote_group(good.comm, &out.group));
    ROW(MPI_ERR_COMM, "MPI_Intercomm_create", "local_comm",
        MPI_Intercomm_create(good.inter, 0, MPI_COMM_WORLD, 0, 1, &out.comm));
    ROW(MPI_ERR_ERRHANDLER, "MPI_Comm_set_errhandler", "errhandler",
        MPI_Comm_set_errhandler(good.comm, good.session_errhandler));
    ROW(MPI_ERR_ERRHANDLER, "MPI_Session_set_errhandler", "errhandler",
        MPI_Session_set_errhandler(good.session, good.errhandler));
    ROW(MPI_ERR_ERRHANDLER, "MPI_File_set_errhandler", "errhandler",
        MPI_File_set_errhandler(MPI_FILE_NULL, good.errhandler));
}

#define ERROR_OF_THE_USER MPI_ERR_ASSERT

static int refuse_copy(MPI_Comm comm, int keyval, void *extra, void *from, void *to, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)from, (void)to, (void)flag;
    return ERROR_OF_THE_USER;
}

static int refuse_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value;
    return *(int *)extra ? ERROR_OF_THE_USER : MPI_SUCCESS;
}

static void rows_attributes(void)
{
    int keyval, refuses = 1;
    MPI_Comm comm, same;
    ROW(MPI_ERR_KEYVAL, "MPI_Comm_set_attr", "comm_keyval",
        MPI_Comm_set_attr(good.comm, MPI_TAG_UB, NULL));
    ROW(MPI_ERR_KEYVAL, "MPI_Comm_delete_attr", "comm_keyval",
        MPI_Comm_delete_attr(good.comm, MPI_TAG_UB));
    ROW(MPI_ERR_KEYVAL, "MPI_Comm_free_keyval", "comm_keyval",
        MPI_Comm_free_keyval(&(int){MPI_TAG_UB}));
    ROW(MPI_ERR_KEYVAL, "MPI_Type_get_attr", "type_keyval",
        MPI_Type_get_attr(MPI_INT, good.comm_keyval, &out.pointer, &out.flag));
    CHECK(MPI_Comm_create_keyval(refuse_copy, refuse_delete, &keyval, &refuses) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(good.comm, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(comm, keyval, &refuses) == MPI_SUCCESS);
    same = comm;
    ROW(ERROR_OF_THE_USER, "MPI_Comm_dup", "", MPI_Comm_dup(comm, &out.comm));
    ROW(ERROR_OF_THE_USER, "MPI_Comm_idup", "", MPI_Comm_idup(comm, &out.comm, &out.request));
    ROW(ERROR_OF_THE_USER, "MPI_Comm_free", "", MPI_Comm_free(&comm));
    CHECK(comm == same);
    ROW(ERROR_OF_THE_USER, "MPI_Comm_delete_attr", "", MPI_Comm_delete_attr(comm, keyval));
    ROW(ERROR_OF_THE_USER, "MPI_Comm_set_attr", "", MPI_Comm_set_attr(comm, keyval, NULL));
    refuses = 0;
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && MPI_Comm_free_keyval(&keyval) == MPI_SUCCESS);
}

void rows_comm(void)
{
    rows_making();
    rows_attributes();
}

/* ---- Groups ---- */

void rows_group(void)
{
    int twice[] = {0, 0}, far[] = {0, 2};
    MPI_Group all = good.other_group;
    ROW(MPI_ERR_RANK, "MPI_Group_incl", "ranks", MPI_Group_incl(all, 2, twice, &out.group));
    ROW(MPI_ERR_RANK, "MPI_Group_incl", "ranks", MPI_Group_incl(all, 2, far, &out.group));
    ROW(MPI_ERR_RANK, "MPI_Group_incl", "ranks", MPI_Group_incl(all, 1, good.negative, &out.group));
    ROW(MPI_ERR_RANK, "MPI_Group_excl", "ranks", MPI_Group_excl(all, 2, twice, &out.group));
    ROW(MPI_ERR_RANK, "MPI_Group_excl", "ranks", MPI_Group_excl(all, 2, far, &out.group));
    ROW(MPI_ERR_RANK, "MPI_Group_translate_ranks", "ranks1",
        MPI_Group_translate_ranks(all, 2, far, good.group, out.numbers));
    ROW(MPI_ERR_RANK, "MPI_Group_incl", "ranks",
        MPI_Group_incl(MPI_GROUP_EMPTY, 1, good.zeros, &out.group));
    int still[1][3] = {{0, 1, 0}}, beyond[1][3] = {{0, 2, 1}}, below[1][3] = {{1, -1, -1}},
        overlap[2][3] = {{0, 1, 1}, {1, 1, 1}}, whole[1][3] = {{-2147483647, 2147483647, 1}};
    ROW(MPI_ERR_ARG, "MPI_Group_range_incl", "ranges",
        MPI_Group_range_incl(all, 1, still, &out.group));
    ROW(MPI_ERR_ARG, "MPI_Group_range_excl", "ranges",
        MPI_Group_range_excl(all, 1, still, &out.group));
    ROW(MPI_ERR_RANK, "MPI_Group_range_incl", "ranges",
        MPI_Group_range_incl(all, 1, beyond, &out.group));
    ROW(MPI_ERR_RANK, "MPI_Group_range_excl", "ranges",
        MPI_Group_range_excl(all, 1, below, &out.group));
    ROW(MPI_ERR_RANK, "MPI_Group_range_incl", "ranges",
        MPI_Group_range_incl(all, 2, overlap, &out.group));
    ROW(MPI_ERR_RANK, "MPI_Group_range_excl", "ranges",
        MPI_Group_range_excl(all, 2, overlap, &out.group));
    ROW(MPI_ERR_RANK, "MPI_Group_range_incl", "ranges",
        MPI_Group_range_incl(all, 1, whole, &out.group));
}
