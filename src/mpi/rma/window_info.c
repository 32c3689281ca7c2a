/* SPDX-License-Identifier: BSD-3-Clause */
/* Info, names, error handlers and attributes of windows, and what they are made of. */
#include "mpi/rma/window_info.h"

#include "mpi/core/errhandler.h"
#include "mpi/engine/waiting.h"
#include "mpi/type/attribute.h"

/* ---- Info ---- */

static const struct {
    const char *key, *off, *on;
    bool fixed; /* by the making of the window */
} hints[RZ_WIN_HINT_COUNT] = {
    [RZ_WIN_HINT_NO_LOCKS] = {"no_locks", "false", "true", true},
    [RZ_WIN_HINT_SAME_SIZE] = {"same_size", "false", "true", false},
    [RZ_WIN_HINT_SAME_DISP_UNIT] = {"same_disp_unit", "false", "true", false},
    [RZ_WIN_HINT_NONCONTIG] = {"alloc_shared_noncontig", "false", "true", true},
    [RZ_WIN_HINT_SAME_OP] = {"accumulate_ops", "same_op_no_op", "same_op", false},
};

void rz_win_take_hints(struct rz_win *win, struct rz_info *info, bool made)
{
    char value[32];
    int there;
    for (int i = 0; info && i < RZ_WIN_HINT_COUNT; i++) {
        there = 0;
        if ((hints[i].fixed && !made) ||
            rzm_info_get(info, hints[i].key, (int)sizeof(value) - 1, value, &there) !=
                MPI_SUCCESS ||
            !there) {
            continue;
        }
        if (strcmp(value, hints[i].on) == 0) {
            win->hints |= UINT32_C(1) << i;
        } else if (strcmp(value, hints[i].off) == 0) {
            win->hints &= ~(UINT32_C(1) << i);
        }
    }
}

int rzm_win_set_info(struct rz_win *win, struct rz_info *info)
{
    rz_win_take_hints(win, info, false);
    return MPI_SUCCESS;
}

int rzm_win_get_info(struct rz_win *win, struct rz_info **info_used)
{
    struct rz_info *made;
    int error = rzm_info_create(&made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (int i = 0; i < RZ_WIN_HINT_COUNT && error == MPI_SUCCESS; i++) {
        if (i == RZ_WIN_HINT_NONCONTIG && win->flavor != MPI_WIN_FLAVOR_SHARED) {
            continue;
        }
        bool on = rz_win_hint(win, (enum rz_win_hint)i);
        error = rzm_info_set(made, hints[i].key, on ? hints[i].on : hints[i].off);
    }
    if (error == MPI_SUCCESS) {
        error = rzm_info_set(made, "accumulate_ordering", "rar,raw,war,waw");
    }
    if (error == MPI_SUCCESS) {
        error = rzm_info_set(made, "mpi_accumulate_granularity", "0");
    }
    if (error != MPI_SUCCESS) {
        rzm_info_free(made);
        return error;
    }
    *info_used = made;
    return MPI_SUCCESS;
}

/* ---- Names ---- */

int rzm_win_set_name(struct rz_win *win, const char *win_name)
{
    rz_object_name_set(win->name, win_name);
    return MPI_SUCCESS;
}

int rzm_win_get_name(struct rz_win *win, char *win_name, int *resultlen)
{
    rz_object_name_get(win ? win->name : "MPI_WIN_NULL", win_name, resultlen);
    return MPI_SUCCESS;
}

/* ---- Error handlers ---- */

int rzm_win_create_errhandler(MPI_Win_errhandler_function *win_errhandler_fn,
                              struct rz_errhandler **errhandler)
{
    int error = rz_errhandler_new(RZ_OBJECT_WIN, errhandler);
    if (error == MPI_SUCCESS) {
        (*errhandler)->function.win = win_errhandler_fn;
    }
    return error;
}

int rzm_win_set_errhandler(struct rz_win *win, struct rz_errhandler *errhandler)
{
    return rz_errhandler_set(&win->errhandler, RZ_OBJECT_WIN, errhandler);
}

int rzm_win_get_errhandler(struct rz_win *win, struct rz_errhandler **errhandler)
{
    rz_errhandler_retain(win->errhandler);
    *errhandler = win->errhandler;
    return MPI_SUCCESS;
}

/* ---- Attributes ---- */

int rzm_win_create_keyval(MPI_Win_copy_attr_function *win_copy_attr_fn,
                          MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval,
                          void *extra_state)
{
    struct rz_keyval keyval = {.of = RZ_OBJECT_WIN,
                               .copy.win = win_copy_attr_fn,
                               .delete.win = win_delete_attr_fn,
                               .extra = extra_state};
    return rz_keyval_make(&keyval, win_keyval);
}

int rzm_win_free_keyval(int *win_keyval)
{
    return rz_keyval_free(RZ_OBJECT_WIN, win_keyval);
}

int rzm_win_set_attr(struct rz_win *win, int win_keyval, void *attribute_val)
{
    return rz_attribute_set(&win->object, &win->attributes, win_keyval, attribute_val);
}

int rzm_win_delete_attr(struct rz_win *win, int win_keyval)
{
    return rz_attribute_delete(&win->object, &win->attributes, win_keyval);
}

/* The value of a predefined attribute: the base itself, a pointer to the others. */
static void *predefined_of(struct rz_win *win, int keyval, bool *known)
{
    *known = true;
    switch (keyval) {
    case MPI_WIN_BASE:
        return win->base;
    case MPI_WIN_SIZE:
        return &win->size;
    case MPI_WIN_DISP_UNIT:
        return &win->disp_unit;
    case MPI_WIN_CREATE_FLAVOR:
        return &win->flavor;
    case MPI_WIN_MODEL:
        return &win->model;
    default:
        *known = false;
        return NULL;
    }
}

int rzm_win_get_attr(struct rz_win *win, int win_keyval, void *attribute_val, int *flag)
{
    bool known;
    void *value = predefined_of(win, win_keyval, &known);
    if (!known) {
        return rz_attribute_get(&win->object, &win->attributes, win_keyval, attribute_val, flag);
    }
    *flag = 1;
    *(void **)attribute_val = value;
    return MPI_SUCCESS;
}

/* ---- Members and their memory ---- */

int rzm_win_get_group(struct rz_win *win, struct rz_group **group)
{
    rz_group_retain(win->comm->group);
    *group = win->comm->group;
    return MPI_SUCCESS;
}

/* The lowest rank with memory, for MPI_PROC_NULL; 0 if there is none. */
static int lowest_with_memory(const struct rz_win *win)
{
    int rank = 0, size = win->members;
    while (rank < size && rz_win_target(win, rank)->size == 0) {
        rank++;
    }
    return rank < size ? rank : 0;
}

int rzm_win_shared_query(struct rz_win *win, int rank, MPI_Aint *size, MPI_Count *disp_unit,
                         void *baseptr)
{
    if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        return rzm_error(MPI_ERR_RMA_FLAVOR, "the window is dynamic");
    }
    const struct rz_win_target *target =
        rz_win_target(win, rank == MPI_PROC_NULL ? lowest_with_memory(win) : rank);
    bool shared = target->reach == RZ_REACH_MEMORY;
    *size = shared ? target->size : 0;
    *disp_unit = target->disp_unit;
    *(void **)baseptr = shared ? target->memory : NULL;
    return MPI_SUCCESS;
}
