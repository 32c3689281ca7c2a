/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows as objects: attributes, names, info, error handlers, groups, addresses of shared memory,
 * dynamic memory; and that nothing is left of windows that were freed.
 */
#include "use.h"

#include <string.h>

static int rank, size;

/* ---- Attributes ---- */

static int copied, deleted;

static int on_copy(MPI_Win win, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)win, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
    copied++;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)win, (void)keyval;
    CHECK(value == extra);
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    static int mark;
    int keyval, flag, *unit, *flavor, *model;
    char memory[64];
    void *value, *base;
    MPI_Aint *bytes;
    MPI_Win win;
    MPI_Win_create(memory, sizeof(memory), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_create_keyval(on_copy, on_delete, &keyval, &mark);
    MPI_Win_get_attr(win, keyval, &value, &flag);
    CHECK(!flag);
    MPI_Win_set_attr(win, keyval, &mark);
    MPI_Win_get_attr(win, keyval, &value, &flag);
    CHECK(flag && value == &mark);
    MPI_Win_delete_attr(win, keyval);
    CHECK(deleted == 1);
    CHECK(MPI_Win_delete_attr(win, keyval) == MPI_SUCCESS && deleted == 1);
    MPI_Win_set_attr(win, keyval, &mark);
    MPI_Win_free_keyval(&keyval);
    CHECK(keyval == MPI_KEYVAL_INVALID);
    CHECK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag) == MPI_SUCCESS && flag);
    CHECK(base == memory);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag);
    CHECK(flag && *bytes == sizeof(memory));
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag);
    CHECK(flag && *unit == 4);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_CREATE);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && *model == MPI_WIN_UNIFIED);
    MPI_Win_free(&win);
    CHECK(deleted == 2 && copied == 0);
}

/* ---- Names, info, error handlers ---- */

static MPI_Win handled;
static int handled_code;

static void on_error(MPI_Win *win, int *code, ...)
{
    handled = *win;
    handled_code = *code;
}

static void expect(MPI_Win win, const char *key, const char *value)
{
    MPI_Info info;
    char found[MPI_MAX_INFO_VAL + 1];
    int there, room = sizeof(found);
    MPI_Win_get_info(win, &info);
    MPI_Info_get_string(info, key, &room, found, &there);
    CHECK(there && strcmp(found, value) == 0);
    MPI_Info_free(&info);
}

static void names_and_handlers(void)
{
    char name[MPI_MAX_OBJECT_NAME], *memory;
    int length = -1, value = 1;
    MPI_Info info;
    MPI_Errhandler handler, now;
    MPI_Win win;
    MPI_Request request;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "accumulate_ops", "same_op");
    MPI_Win_allocate(64, 1, info, MPI_COMM_WORLD, &memory, &win);
    MPI_Info_free(&info);
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 0 && name[0] == '\0');
    MPI_Win_set_name(win, "halo");
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 4 && strcmp(name, "halo") == 0);
    expect(win, "no_locks", "true");
    expect(win, "accumulate_ops", "same_op");
    expect(win, "same_size", "false");
    expect(win, "accumulate_ordering", "rar,raw,war,waw");
    MPI_Win_get_errhandler(win, &now);
    CHECK(now == MPI_ERRORS_ARE_FATAL);
    MPI_Win_create_errhandler(on_error, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Win_get_errhandler(win, &now);
    CHECK(now == handler);
    MPI_Errhandler_free(&now);
    MPI_Errhandler_free(&handler);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win) == MPI_ERR_RMA_SYNC);
    CHECK(handled == win && handled_code == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_call_errhandler(win, MPI_ERR_OTHER) == MPI_SUCCESS);
    CHECK(handled_code == MPI_ERR_OTHER);
    /* To no process: always allowed. */
    CHECK(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    CHECK(MPI_Rget(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && value == 1);
    MPI_Win_free(&win);
}

static void done(MPI_Request *request, int error)
{
    CHECK(error == MPI_SUCCESS);
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

#define OF(n, type) &value, n, type
#define AT(rank, n, type) rank, 0, n, type

/* Operations on no process. */
static void on_no_process(MPI_Win win)
{
    int value = 1, other = 2;
    MPI_Request request;
    enum { NONE = MPI_PROC_NULL };
    CHECK(MPI_Put(OF(1, MPI_INT), AT(NONE, 1, MPI_INT), win) == MPI_SUCCESS);
    CHECK(MPI_Get(OF(1, MPI_INT), AT(NONE, 1, MPI_INT), win) == MPI_SUCCESS);
    CHECK(MPI_Accumulate(OF(1, MPI_INT), AT(NONE, 1, MPI_INT), MPI_SUM, win) == MPI_SUCCESS);
    CHECK(MPI_Get_accumulate(&other, 1, MPI_INT, OF(1, MPI_INT), AT(NONE, 1, MPI_INT), MPI_SUM,
                             win) == MPI_SUCCESS);
    CHECK(MPI_Fetch_and_op(&other, &value, MPI_INT, NONE, 0, MPI_SUM, win) == MPI_SUCCESS);
    CHECK(MPI_Fetch_and_op(NULL, &value, MPI_INT, NONE, 0, MPI_NO_OP, win) == MPI_SUCCESS);
    CHECK(MPI_Compare_and_swap(&other, &other, &value, MPI_INT, NONE, 0, win) == MPI_SUCCESS);
    done(&request, MPI_Rput(OF(1, MPI_INT), AT(NONE, 1, MPI_INT), win, &request));
    done(&request, MPI_Rget(OF(1, MPI_INT), AT(NONE, 1, MPI_INT), win, &request));
    done(&request, MPI_Raccumulate(OF(1, MPI_INT), AT(NONE, 1, MPI_INT), MPI_SUM, win, &request));
    done(&request, MPI_Rget_accumulate(&other, 1, MPI_INT, OF(1, MPI_INT), AT(NONE, 1, MPI_INT),
                                       MPI_SUM, win, &request));
    CHECK(MPI_Win_flush(NONE, win) == MPI_SUCCESS);
    CHECK(MPI_Win_flush_local(NONE, win) == MPI_SUCCESS);
    CHECK(value == 1);
}

/* Operations without data: any types, and places that are not there. */
static void without_data(MPI_Win win, int target)
{
    int value = 1, other = 2;
    MPI_Request request;
    CHECK(MPI_Put(OF(0, MPI_INT), target, 1000, 0, MPI_DOUBLE, win) == MPI_SUCCESS);
    CHECK(MPI_Get(NULL, 0, MPI_INT, target, 1000, 0, MPI_DOUBLE, win) == MPI_SUCCESS);
    CHECK(MPI_Accumulate(OF(0, MPI_INT), AT(target, 0, MPI_DOUBLE), MPI_SUM, win) == MPI_SUCCESS);
    CHECK(MPI_Accumulate(OF(0, MPI_BYTE), AT(target, 0, MPI_BYTE), MPI_SUM, win) == MPI_SUCCESS);
    CHECK(MPI_Get_accumulate(&other, 0, MPI_INT, OF(0, MPI_BYTE), AT(target, 0, MPI_DOUBLE),
                             MPI_SUM, win) == MPI_SUCCESS);
    CHECK(MPI_Get_accumulate(&other, 0, MPI_BYTE, OF(0, MPI_BYTE), AT(target, 0, MPI_BYTE), MPI_SUM,
                             win) == MPI_SUCCESS);
    done(&request, MPI_Rput(OF(0, MPI_INT), AT(target, 0, MPI_DOUBLE), win, &request));
    done(&request, MPI_Rget(OF(0, MPI_INT), AT(target, 0, MPI_DOUBLE), win, &request));
    done(&request,
         MPI_Raccumulate(OF(0, MPI_INT), AT(target, 0, MPI_DOUBLE), MPI_SUM, win, &request));
    done(&request, MPI_Rget_accumulate(&other, 0, MPI_BYTE, OF(0, MPI_BYTE),
                                       AT(target, 0, MPI_BYTE), MPI_SUM, win, &request));
    CHECK(value == 1);
}

static void nothing(void)
{
    MPI_Win win;
    int *memory, next = (rank + 1) % size;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    *memory = 7;
    on_no_process(win);
    CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, win) == MPI_SUCCESS);
    on_no_process(win);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win) == MPI_SUCCESS);
    on_no_process(win);
    without_data(win, next);
    CHECK(MPI_Win_unlock(MPI_PROC_NULL, win) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(next, win) == MPI_SUCCESS);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    on_no_process(win);
    without_data(win, next);
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    CHECK(*memory == 7);
    MPI_Win_free(&win);
}

static void groups(void)
{
    MPI_Comm reversed;
    MPI_Group group, all;
    MPI_Win win;
    int result;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Win_create_dynamic(MPI_INFO_NULL, reversed, &win);
    MPI_Win_get_group(win, &group);
    MPI_Comm_group(reversed, &all);
    MPI_Comm_free(&reversed);
    MPI_Group_compare(group, all, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
}

/* ---- Shared memory ---- */

/* Ranks with different sizes: their memory is one row, unless they ask for another. */
static void shared(int apart)
{
    MPI_Comm node;
    MPI_Info info;
    MPI_Win win;
    int me, members, unit;
    char *own, *others, *next = NULL;
    MPI_Aint bytes;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &me);
    MPI_Comm_size(node, &members);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
    MPI_Win_allocate_shared(me * 24, 8, info, node, &own, &win);
    MPI_Info_free(&info);
    memset(own, me, (size_t)me * 24);
    MPI_Win_fence(0, win);
    for (int i = 0; i < members; i++) {
        MPI_Win_shared_query(win, i, &bytes, &unit, &others);
        CHECK(bytes == i * 24 && unit == 8);
        CHECK(apart || !next || others == next);
        next = others + bytes;
        for (int k = 0; k < i * 24; k++) {
            CHECK(others[k] == i);
        }
    }
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &others);
    CHECK(bytes == (members > 1 ? 24 : 0));
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
}

/* Processes of several nodes cannot share memory. */
static void shared_apart(void)
{
    MPI_Comm node, comm;
    MPI_Win win = MPI_WIN_NULL;
    char *own;
    int members;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &members);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int error = MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, comm, &own, &win);
    CHECK(error == (members == size ? MPI_SUCCESS : MPI_ERR_RMA_SHARED));
    CHECK((win == MPI_WIN_NULL) == (error != MPI_SUCCESS));
    if (win != MPI_WIN_NULL) {
        MPI_Win_free(&win);
    }
    MPI_Comm_free(&node);
    MPI_Comm_free(&comm);
}

/* ---- Dynamic memory ---- */

static void dynamic(void)
{
    static int parts[8][16];
    MPI_Aint at, places[64];
    MPI_Win win;
    int value = rank + 1, target = (rank + 1) % size, before = (rank + size - 1) % size;
    CHECK(size <= 64);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int i = 0; i < 8; i++) {
        CHECK(MPI_Win_attach(win, parts[i], sizeof(parts[i])) == MPI_SUCCESS);
    }
    MPI_Get_address(&parts[3][5], &at);
    MPI_Allgather(&at, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(&value, 1, MPI_INT, target, places[target], 1, MPI_INT, win) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    CHECK(parts[3][5] == before + 1);
    /* To an address that is not there. */
    int error = MPI_Put(&value, 1, MPI_INT, target, 64, 1, MPI_INT, win);
    int later = MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(class_of(error) == MPI_ERR_RMA_RANGE || class_of(later) == MPI_ERR_RMA_RANGE);
    for (int i = 0; i < 8; i++) {
        CHECK(MPI_Win_detach(win, parts[i]) == MPI_SUCCESS);
    }
    MPI_Win_free(&win);
}

/* Ranks of a node have agreed on a way for short collective operations; then a window starts a
 * thread in some of them. */
static void threads_come(void)
{
    MPI_Comm node, some;
    MPI_Win win = MPI_WIN_NULL;
    int me, sum, members;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &me);
    MPI_Comm_size(node, &members);
    MPI_Comm_split(MPI_COMM_WORLD, me == 0, 0, &some);
    for (int i = 0; i < 20; i++) {
        if (i == 10 && me == 0) {
            MPI_Win_create_dynamic(MPI_INFO_NULL, some, &win);
        }
        MPI_Barrier(node);
        int mine = me + i;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, node);
        CHECK(sum == members * (members - 1) / 2 + i * members);
    }
    if (win != MPI_WIN_NULL) {
        MPI_Win_free(&win);
    }
    MPI_Comm_free(&node);
    MPI_Comm_free(&some);
}

static void many(int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Win win;
        char *memory;
        MPI_Win_allocate(100000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        memset(memory, 1, 100000);
        MPI_Win_free(&win);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    threads_come();
    attributes();
    names_and_handlers();
    nothing();
    groups();
    shared(0);
    shared(1);
    shared_apart();
    dynamic();
    many(200); /* lists of what ended have a bound */
    struct use before = use_of(getpid());
    many(100);
    has_not_grown("windows", getpid(), before);
    MPI_Finalize();
    return 0;
}
