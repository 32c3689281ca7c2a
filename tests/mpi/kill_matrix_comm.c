/* SPDX-License-Identifier: BSD-3-Clause */
/* Making communicators, and mending them. */
#include "kill_matrix.h"

/* What was made is given back; the error of the call. */
static int made(int error, MPI_Comm *comm)
{
    if (error == MPI_SUCCESS && *comm != MPI_COMM_NULL) {
        int size;
        MPI_Comm_size(*comm, &size);
        CHECK(size > 0 && size <= scene.size);
        CHECK(MPI_Comm_free(comm) == MPI_SUCCESS);
    }
    return error;
}

static int dup(void)
{
    MPI_Comm comm;
    return made(MPI_Comm_dup(scene.comm, &comm), &comm);
}

static int dup_with_info(void)
{
    MPI_Comm comm;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_error_range", scene.how & 2 ? "group" : "universe");
    int error = MPI_Comm_dup_with_info(scene.comm, info, &comm);
    MPI_Info_free(&info);
    if (error == MPI_SUCCESS) {
        int class = class_of(MPI_Barrier(comm));
        CHECK(class == MPI_SUCCESS || class == MPI_ERR_PROC_FAILED || class == MPI_ERR_REVOKED);
    }
    return made(error, &comm);
}

static int idup(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int error = MPI_Comm_idup(scene.comm, &comm, &request);
    error = error != MPI_SUCCESS ? error : ended(&request, MPI_STATUS_IGNORE);
    return made(error, &comm);
}

static int split(void)
{
    MPI_Comm comm;
    return made(MPI_Comm_split(scene.comm, scene.rank % 2, scene.rank, &comm), &comm);
}

static int split_type(void)
{
    MPI_Comm comm;
    return made(MPI_Comm_split_type(scene.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm),
                &comm);
}

static MPI_Group lower_half(void)
{
    MPI_Group all, half;
    int range[1][3] = {{0, scene.size / 2, 1}};
    MPI_Comm_group(scene.comm, &all);
    MPI_Group_range_incl(all, 1, range, &half);
    MPI_Group_free(&all);
    return half;
}

static int create(void)
{
    MPI_Comm comm;
    MPI_Group half = lower_half();
    int error = MPI_Comm_create(scene.comm, half, &comm);
    MPI_Group_free(&half);
    return made(error, &comm);
}

static int create_group(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group half = lower_half();
    int error = MPI_SUCCESS;
    if (scene.rank <= scene.size / 2) {
        error = MPI_Comm_create_group(scene.comm, half, 17, &comm);
    }
    MPI_Group_free(&half);
    return made(error, &comm);
}

static int create_from_group(void)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Comm_group(scene.comm, &group);
    int error =
        MPI_Comm_create_from_group(group, "kill_matrix", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    if (error == MPI_SUCCESS) {
        int class = class_of(MPI_Barrier(comm));
        CHECK(class == MPI_SUCCESS || class == MPI_ERR_PROC_FAILED);
    }
    return made(error, &comm);
}

static int cart_create(void)
{
    MPI_Comm comm;
    int dims[1] = {scene.size}, periods[1] = {0};
    return made(MPI_Cart_create(scene.comm, 1, dims, periods, 1, &comm), &comm);
}

static int dist_graph_create(void)
{
    MPI_Comm comm;
    int source = scene.rank, degree = 1, to = (scene.rank + 1) % scene.size;
    return made(MPI_Dist_graph_create(scene.comm, 1, &source, &degree, &to, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &comm),
                &comm);
}

static void make_half(void)
{
    CHECK(MPI_Comm_split(scene.comm, scene.rank >= scene.size / 2, scene.rank, &scene.other) ==
          MPI_SUCCESS);
}

static int intercomm_create(void)
{
    MPI_Comm comm;
    int leader = scene.rank >= scene.size / 2 ? 0 : scene.size / 2;
    return made(MPI_Intercomm_create(scene.other, 0, scene.comm, leader, 23, &comm), &comm);
}

static void make_copy(void)
{
    CHECK(MPI_Comm_dup(scene.comm, &scene.other) == MPI_SUCCESS);
}

static int disconnect(void)
{
    return MPI_Comm_disconnect(&scene.other);
}

/* ---- Mending ---- */

static int agree(void)
{
    int flag = ~(1 << scene.rank), least = (1 << scene.size) - 1;
    int error = MPIX_Comm_agree(scene.comm, &flag);
    CHECK(((flag ^ (1 << scene.victim)) & least) == 0 || (flag & least) == 0);
    scene.answer = flag;
    return error;
}

static int iagree(void)
{
    int flag = 3 << scene.rank | 1;
    MPI_Request request;
    int error = MPIX_Comm_iagree(scene.comm, &flag, &request);
    error = error != MPI_SUCCESS ? error : ended(&request, MPI_STATUS_IGNORE);
    CHECK((flag & 1) == 1);
    scene.answer = flag;
    return error;
}

/* Several at a time, ended in another order; revoked meanwhile. */
static int iagree_many(void)
{
    int flags[4], result = MPI_SUCCESS;
    MPI_Request requests[4];
    for (int i = 0; i < 4; i++) {
        flags[i] = 1 << i | 64 << scene.rank;
        CHECK(MPIX_Comm_iagree(scene.comm, &flags[i], &requests[i]) == MPI_SUCCESS);
        if (i == 1 && scene.rank == scene.root) {
            MPIX_Comm_revoke(scene.comm);
        }
    }
    for (int i = 3; i >= 0; i--) {
        int error = ended(&requests[i], MPI_STATUS_IGNORE);
        result = error != MPI_SUCCESS ? error : result;
        CHECK(class_of(error) == MPI_SUCCESS || class_of(error) == MPI_ERR_PROC_FAILED);
        CHECK((flags[i] & 63) == 1 << i);
        scene.answer = scene.answer * 31 + flags[i] + class_of(error);
    }
    return result;
}

static int agree_failed(void)
{
    MPI_Group failed;
    int error = MPIX_Comm_agree_failed(scene.comm, &failed);
    if (error == MPI_SUCCESS) {
        MPI_Group_size(failed, &scene.answer);
        CHECK(scene.answer <= 1);
        MPI_Group_free(&failed);
    }
    return error;
}

static int iagree_failed(void)
{
    MPI_Group failed;
    MPI_Request request;
    int error = MPIX_Comm_iagree_failed(scene.comm, &failed, &request);
    error = error != MPI_SUCCESS ? error : ended(&request, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS) {
        MPI_Group_size(failed, &scene.answer);
        CHECK(scene.answer <= 1);
        MPI_Group_free(&failed);
    }
    return error;
}

static int shrunk(int error, MPI_Comm *comm)
{
    if (error == MPI_SUCCESS) {
        MPI_Comm_size(*comm, &scene.answer);
        CHECK(scene.answer >= scene.size - 1);
        int class = class_of(MPI_Barrier(*comm));
        CHECK(class == MPI_SUCCESS || (scene.answer == scene.size && class == MPI_ERR_PROC_FAILED));
        MPI_Comm_free(comm);
    }
    return error;
}

static int shrink(void)
{
    MPI_Comm comm;
    return shrunk(MPIX_Comm_shrink(scene.comm, &comm), &comm);
}

static int ishrink(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int error = MPIX_Comm_ishrink(scene.comm, &comm, &request);
    error = error != MPI_SUCCESS ? error : ended(&request, MPI_STATUS_IGNORE);
    return shrunk(error, &comm);
}

/* The communicator is freed while an agreement on it is pending. */
static int iagree_freed(void)
{
    int flag = 1;
    MPI_Request request;
    int error = MPIX_Comm_iagree(scene.other, &flag, &request);
    MPI_Comm_free(&scene.other);
    error = error != MPI_SUCCESS ? error : ended(&request, MPI_STATUS_IGNORE);
    CHECK(flag == 1);
    scene.answer = flag;
    return error;
}

/* One reports it: the wait of the others, for a message of a live process, ends. */
static int revoke(void)
{
    int error, value;
    if (scene.rank == scene.root) {
        error = MPIX_Comm_revoke(scene.comm);
        CHECK(error == MPI_SUCCESS);
        return error;
    }
    int error_recv = MPI_Recv(&value, 1, MPI_INT, scene.root, 99, scene.comm, MPI_STATUS_IGNORE);
    CHECK(error_recv != MPI_SUCCESS);
    /* A process that waits for the failed ones may not learn of it otherwise. */
    return class_of(error_recv) == MPI_ERR_PROC_FAILED && scene.root == scene.victim
               ? MPIX_Comm_revoke(scene.comm)
               : error_recv;
}

/* Until this process knows, in calls that return nothing else. */
static int is_revoked(void)
{
    int flag = 0;
    MPI_Group failed;
    if (scene.rank == scene.root) {
        MPIX_Comm_revoke(scene.comm);
    }
    while (!flag) {
        int n = 0;
        MPIX_Comm_is_revoked(scene.comm, &flag);
        if (scene.root == scene.victim && !flag) {
            MPIX_Comm_get_failed(scene.comm, &failed);
            MPI_Group_size(failed, &n);
            MPI_Group_free(&failed);
        }
        if (n > 0) {
            MPIX_Comm_revoke(scene.comm);
        }
    }
    return MPI_SUCCESS;
}

/* ---- Replacing: all ranks are there again ---- */

static int replace(int k, const MPI_Comm comms[], MPI_Comm made[])
{
    return k == 1 ? RZ_Comm_replace(comms[0], &made[0]) : RZ_Comm_repair(k, comms, made);
}

/* Whether all members of the first communicator, of all ranks, find theirs well. */
static bool is_well(int k, const MPI_Comm comms[])
{
    int ok = 1;
    for (int i = 0; i < k; i++) {
        ok &= comms[i] != MPI_COMM_NULL && MPI_Barrier(comms[i]) == MPI_SUCCESS;
    }
    return MPIX_Comm_agree(comms[0], &ok) == MPI_SUCCESS && ok;
}

/* From the first repair until all succeed; processes that fail meanwhile are replaced, too. */
static int replace_until_well(int k, const MPI_Comm comms[], MPI_Comm made[])
{
    int error = replace(k, comms, made);
    while (error == MPI_SUCCESS && !is_well(k, made)) {
        MPI_Comm before[2];
        for (int i = 0; i < k; i++) {
            before[i] = made[i];
        }
        error = replace(k, before, made);
        for (int i = 0; i < k; i++) {
            if (before[i] != MPI_COMM_NULL) {
                MPI_Comm_free(&before[i]);
            }
        }
    }
    return error;
}

static int replaced(int k)
{
    MPI_Comm comms[2] = {scene.comm, scene.other}, made[2];
    int error = replace_until_well(k, comms, made);
    if (error == MPI_SUCCESS) {
        int rank;
        MPI_Comm_size(made[0], &scene.answer);
        MPI_Comm_rank(made[0], &rank);
        CHECK(scene.answer == scene.size && rank == scene.rank);
        for (int i = 0; i < k; i++) {
            MPI_Comm_free(&made[i]);
        }
    }
    return error;
}

/* A member of each is left. */
static void make_half_of_two(void)
{
    int colour = scene.size >= 4 && scene.rank >= scene.size / 2;
    CHECK(MPI_Comm_split(scene.comm, colour, scene.rank, &scene.other) == MPI_SUCCESS);
}

static int comm_replace(void)
{
    return replaced(1);
}

static int comm_repair(void)
{
    return replaced(2);
}

void kill_matrix_spawned_process(void)
{
    const MPI_Comm none[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Comm made[2];
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int k = 1, error = replace_until_well(k, none, made);
    if (class_of(error) == MPI_ERR_ARG) { /* it was the other row */
        error = replace_until_well(k = 2, none, made);
    }
    CHECK(error == MPI_SUCCESS);
    for (int i = 0; i < k; i++) {
        MPI_Comm_free(&made[i]);
    }
}

const struct kill_row kill_comm_rows[] = {
    {"comm_dup", dup, NULL, ROW_FAILS | ROW_CREATES},
    {"comm_dup_with_info", dup_with_info, NULL, ROW_FAILS | ROW_CREATES},
    {"comm_idup", idup, NULL, ROW_FAILS | ROW_CREATES},
    {"comm_split", split, NULL, ROW_FAILS | ROW_CREATES},
    {"comm_split_type", split_type, NULL, ROW_FAILS | ROW_CREATES},
    {"comm_create", create, NULL, ROW_FAILS | ROW_CREATES},
    {"comm_create_group", create_group, NULL, ROW_FAILS},
    {"comm_create_from_group", create_from_group, NULL, ROW_FAILS},
    {"cart_create", cart_create, NULL, ROW_FAILS | ROW_CREATES},
    {"dist_graph_create", dist_graph_create, NULL, ROW_FAILS | ROW_CREATES},
    {"intercomm_create", intercomm_create, make_half, ROW_FAILS},
    {"comm_disconnect", disconnect, make_copy, ROW_FAILS},
    {"comm_agree", agree, NULL, ROW_FAILS | ROW_REPAIR | ROW_UNIFORM},
    {"comm_iagree", iagree, NULL, ROW_FAILS | ROW_REPAIR | ROW_UNIFORM},
    {"comm_iagree_many", iagree_many, NULL, ROW_FAILS | ROW_REPAIR | ROW_UNIFORM},
    {"comm_iagree_freed", iagree_freed, make_copy, ROW_FAILS | ROW_REPAIR | ROW_UNIFORM},
    {"comm_agree_failed", agree_failed, NULL, ROW_REPAIR | ROW_UNIFORM},
    {"comm_iagree_failed", iagree_failed, NULL, ROW_REPAIR | ROW_UNIFORM},
    {"comm_shrink", shrink, NULL, ROW_REPAIR | ROW_UNIFORM},
    {"comm_ishrink", ishrink, NULL, ROW_REPAIR | ROW_UNIFORM},
    {"comm_replace", comm_replace, NULL, ROW_REPAIR | ROW_UNIFORM | ROW_REPLACES},
    {"comm_repair", comm_repair, make_half_of_two, ROW_REPAIR | ROW_UNIFORM | ROW_REPLACES},
    {"comm_revoke", revoke, NULL, ROW_FAILS},
    {"comm_is_revoked", is_revoked, NULL, ROW_FAILS},
    {NULL, NULL, NULL, 0},
};
