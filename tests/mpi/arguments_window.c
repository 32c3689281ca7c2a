/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows and one-sided operations: epochs, places, types, operations. */
#include "arguments.h"

#include "check.h"

#define OP_ROW(error_class, argument, disp, type, op)                                              \
    ROW(error_class, "MPI_Accumulate", argument,                                                   \
        MPI_Accumulate(good.buffer, 1, type, 0, disp, 1, type, op, good.win))

static void rows_making(void)
{
    ROW(MPI_ERR_DISP, "MPI_Win_create", "disp_unit",
        MPI_Win_create(good.buffer, 8, 0, MPI_INFO_NULL, good.comm, &out.win));
    ROW(MPI_ERR_BASE, "MPI_Win_create", "base",
        MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, good.comm, &out.win));
    ROW(MPI_ERR_COMM, "MPI_Win_create", "comm",
        MPI_Win_create(good.buffer, 8, 1, MPI_INFO_NULL, good.inter, &out.win));
    ROW(MPI_ERR_COMM, "MPI_Win_create_dynamic", "comm",
        MPI_Win_create_dynamic(MPI_INFO_NULL, good.inter, &out.win));
    ROW(MPI_ERR_DISP, "MPI_Win_allocate", "disp_unit",
        MPI_Win_allocate(8, 0, MPI_INFO_NULL, good.comm, &out.pointer, &out.win));
    ROW(MPI_ERR_NO_MEM, "MPI_Win_allocate", "",
        MPI_Win_allocate((MPI_Aint)1 << 60, 1, MPI_INFO_NULL, good.comm, &out.pointer, &out.win));
    ROW(MPI_ERR_NO_MEM, "MPI_Win_allocate_shared", "",
        MPI_Win_allocate_shared((MPI_Aint)1 << 60, 1, MPI_INFO_NULL, good.comm, &out.pointer,
                                &out.win));
    ROW(MPI_ERR_RMA_FLAVOR, "MPI_Win_attach", "",
        MPI_Win_attach(good.win, good.buffer, sizeof(good.buffer)));
    ROW(MPI_ERR_RMA_FLAVOR, "MPI_Win_detach", "", MPI_Win_detach(good.win, good.buffer));
    ROW(MPI_ERR_RMA_FLAVOR, "MPI_Win_shared_query", "",
        MPI_Win_shared_query(good.dynamic, 0, &out.aint, &out.number, &out.pointer));
    ROW(MPI_ERR_SIZE, "MPI_Win_attach", "size", MPI_Win_attach(good.dynamic, good.buffer, -1));
    ROW(MPI_ERR_BASE, "MPI_Win_attach", "base", MPI_Win_attach(good.dynamic, NULL, 1));
    CHECK(MPI_Win_attach(good.dynamic, good.buffer, 64) == MPI_SUCCESS);
    ROW(MPI_ERR_RMA_ATTACH, "MPI_Win_attach", "",
        MPI_Win_attach(good.dynamic, (char *)good.buffer + 32, 64));
    ROW(MPI_ERR_BASE, "MPI_Win_detach", "base",
        MPI_Win_detach(good.dynamic, (char *)good.buffer + 32));
    CHECK(MPI_Win_detach(good.dynamic, good.buffer) == MPI_SUCCESS);
    ROW(MPI_ERR_KEYVAL, "MPI_Win_set_attr", "",
        MPI_Win_set_attr(good.win, MPI_WIN_SIZE, good.buffer));
    ROW(MPI_ERR_KEYVAL, "MPI_Win_delete_attr", "", MPI_Win_delete_attr(good.win, MPI_WIN_BASE));
    ROW(MPI_ERR_ERRHANDLER, "MPI_Win_set_errhandler", "errhandler",
        MPI_Win_set_errhandler(good.win, good.errhandler));
}

static void rows_operations(void)
{
    int one = 1, two[2] = {1, 2};
    MPI_Aint end = sizeof(good.buffer) / 8;
    MPI_Datatype mixed, types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Type_create_struct(2, good.ones, (MPI_Aint[]){0, 8}, types, &mixed);
    MPI_Type_commit(&mixed);
    OP_ROW(MPI_ERR_DISP, "target_disp", -1, MPI_INT, MPI_SUM);
    OP_ROW(MPI_ERR_RMA_RANGE, "", end, MPI_INT, MPI_SUM);
    OP_ROW(MPI_ERR_DISP, "target_disp", INT64_MAX, MPI_INT, MPI_SUM);
    OP_ROW(MPI_ERR_OP, "op", 0, MPI_INT, good.op);
    OP_ROW(MPI_ERR_OP, "", 0, MPI_INT, MPI_NO_OP);
    OP_ROW(MPI_ERR_OP, "op", 0, MPI_DOUBLE, MPI_BAND);
    OP_ROW(MPI_ERR_OP, "op", 0, MPI_INT, MPI_MAXLOC);
    OP_ROW(MPI_ERR_TYPE, "", 0, mixed, MPI_SUM);
    ROW(MPI_ERR_TYPE, "MPI_Accumulate", "",
        MPI_Accumulate(good.buffer, 1, MPI_DOUBLE, 0, 0, 2, MPI_INT, MPI_SUM, good.win));
    ROW(MPI_ERR_ARG, "MPI_Put", "", MPI_Put(two, 2, MPI_INT, 0, 0, 1, MPI_INT, good.win));
    ROW(MPI_ERR_ARG, "MPI_Get", "", MPI_Get(out.buffer, 2, MPI_INT, 0, 0, 1, MPI_INT, good.win));
    ROW(MPI_ERR_RMA_RANGE, "MPI_Put", "",
        MPI_Put(good.buffer, 2, MPI_DOUBLE, 0, end - 1, 2, MPI_DOUBLE, good.win));
    ROW(MPI_ERR_TYPE, "MPI_Fetch_and_op", "datatype",
        MPI_Fetch_and_op(&one, out.numbers, good.datatype, 0, 0, MPI_SUM, good.win));
    ROW(MPI_ERR_TYPE, "MPI_Compare_and_swap", "datatype",
        MPI_Compare_and_swap(&one, &one, out.buffer, MPI_DOUBLE, 0, 0, good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Rput", "",
        MPI_Rput(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, good.win, &out.request));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Put", "", MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, good.dynamic));
    MPI_Type_free(&mixed);
}

static void rows_epochs(void)
{
    ROW(MPI_ERR_ASSERT, "MPI_Win_fence", "assert", MPI_Win_fence(MPI_MODE_NOCHECK, good.win));
    ROW(MPI_ERR_ASSERT, "MPI_Win_post", "assert",
        MPI_Win_post(good.group, MPI_MODE_NOPRECEDE, good.win));
    ROW(MPI_ERR_ASSERT, "MPI_Win_start", "assert",
        MPI_Win_start(good.group, MPI_MODE_NOPUT, good.win));
    ROW(MPI_ERR_ASSERT, "MPI_Win_lock", "assert",
        MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, good.win));
    ROW(MPI_ERR_ASSERT, "MPI_Win_lock_all", "assert", MPI_Win_lock_all(MPI_MODE_NOPUT, good.win));
    ROW(MPI_ERR_LOCKTYPE, "MPI_Win_lock", "lock_type", MPI_Win_lock(0, 0, 0, good.win));
    ROW(MPI_ERR_GROUP, "MPI_Win_post", "group", MPI_Win_post(good.other_group, 0, good.win));
    ROW(MPI_ERR_GROUP, "MPI_Win_start", "group", MPI_Win_start(good.other_group, 0, good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_complete", "", MPI_Win_complete(good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_wait", "", MPI_Win_wait(good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_test", "", MPI_Win_test(good.win, &out.flag));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_unlock", "", MPI_Win_unlock(0, good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all", "", MPI_Win_unlock_all(good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_flush", "", MPI_Win_flush(0, good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_flush_all", "", MPI_Win_flush_all(good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_flush_local", "", MPI_Win_flush_local(0, good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_flush_local_all", "", MPI_Win_flush_local_all(good.win));
    CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, good.win) == MPI_SUCCESS);
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_lock", "", MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all", "", MPI_Win_lock_all(0, good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_fence", "", MPI_Win_fence(0, good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_start", "", MPI_Win_start(good.group, 0, good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_free", "", MPI_Win_free(&(MPI_Win){good.win}));
    CHECK(MPI_Win_unlock(0, good.win) == MPI_SUCCESS);
    CHECK(MPI_Win_lock_all(0, good.win) == MPI_SUCCESS);
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_lock", "", MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_unlock", "", MPI_Win_unlock(0, good.win));
    CHECK(MPI_Win_unlock_all(good.win) == MPI_SUCCESS);
    CHECK(MPI_Win_post(good.group, 0, good.win) == MPI_SUCCESS);
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_post", "", MPI_Win_post(good.group, 0, good.win));
    CHECK(MPI_Win_start(good.group, 0, good.win) == MPI_SUCCESS);
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_start", "", MPI_Win_start(good.group, 0, good.win));
    ROW(MPI_ERR_RMA_SYNC, "MPI_Win_lock", "", MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, good.win));
    CHECK(MPI_Win_complete(good.win) == MPI_SUCCESS);
    CHECK(MPI_Win_wait(good.win) == MPI_SUCCESS);
}

/* The epoch that a fence may have begun is over when one of another kind begins. */
static void rows_after_a_fence(void)
{
    int one = 1;
    for (int way = 0; way < 3; way++) {
        CHECK(MPI_Win_fence(0, good.win) == MPI_SUCCESS);
        CHECK(MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, good.win) == MPI_SUCCESS);
        CHECK(MPI_Win_fence(0, good.win) == MPI_SUCCESS);
        if (way == 0) {
            CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, good.win) == MPI_SUCCESS);
            CHECK(MPI_Win_unlock(0, good.win) == MPI_SUCCESS);
        } else if (way == 1) {
            CHECK(MPI_Win_lock_all(0, good.win) == MPI_SUCCESS);
            CHECK(MPI_Win_unlock_all(good.win) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Win_post(good.group, 0, good.win) == MPI_SUCCESS);
            CHECK(MPI_Win_start(good.group, 0, good.win) == MPI_SUCCESS);
            CHECK(MPI_Win_complete(good.win) == MPI_SUCCESS);
            CHECK(MPI_Win_wait(good.win) == MPI_SUCCESS);
        }
        ROW(MPI_ERR_RMA_SYNC, "MPI_Put", "", MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, good.win));
    }
}

void rows_window(void)
{
    rows_making();
    rows_operations();
    rows_epochs();
    rows_after_a_fence();
}
