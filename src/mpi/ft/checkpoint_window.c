/* SPDX-License-Identifier: BSD-3-Clause */
/* See checkpoint_window.h. */
#include "mpi/ft/checkpoint_window.h"

#include "mpi/rma/rma_origin.h"

#include <rhizome/checkpoint.h>

/* The context of the window that is region id; 0: it is none. Contexts are never used again, so
 * this one tells whether the window is still there. */
static uint64_t contexts[RZ_CHECKPOINT_REGIONS_MAX];
static bool stopped;

void rz_ckpt_window_set(int id, const struct rz_win *win)
{
    contexts[id] = win ? win->comm->context : 0;
}

bool rz_ckpt_window_is(int id)
{
    return contexts[id] != 0;
}

int rz_ckpt_window_id(const struct rz_win *win)
{
    int id = RZ_CHECKPOINT_REGIONS_MAX - 1;
    while (id >= 0 && contexts[id] != win->comm->context) {
        id--;
    }
    return id;
}

void rz_ckpt_windows_forget(void)
{
    memset(contexts, 0, sizeof(contexts));
    stopped = false;
}

void rz_ckpt_windows_look(void (*ended)(int id))
{
    for (int id = 0; id < RZ_CHECKPOINT_REGIONS_MAX; id++) {
        if (contexts[id] && !rz_win_by_context(contexts[id])) {
            rz_ckpt_window_set(id, NULL);
            ended(id);
        }
    }
}

/* The window with the lowest context above this one; NULL: none. The order of contexts is the same
 * at all members: so members of several windows meet in the same order. */
static struct rz_win *next_window(uint64_t context)
{
    struct rz_win *next = NULL;
    for (int id = 0; id < RZ_CHECKPOINT_REGIONS_MAX; id++) {
        bool nearer = contexts[id] > context && (!next || contexts[id] < next->comm->context);
        struct rz_win *win = nearer ? rz_win_by_context(contexts[id]) : NULL;
        next = win ? win : next; /* one that was freed is passed over */
    }
    return next;
}

/* The errors of operations stay where they are: the program gets them at its synchronisation. */
int rz_ckpt_windows_stop(const char *call)
{
    int error = MPI_SUCCESS;
    uint64_t context = 0;
    struct rz_win *win;
    while (!stopped && error == MPI_SUCCESS && (win = next_window(context)) != NULL) {
        context = win->comm->context;
        error = rz_rma_await(win, -1, call);
        atomic_thread_fence(memory_order_seq_cst);
        error = error != MPI_SUCCESS ? error : rz_win_barrier(win, call);
    }
    stopped = error == MPI_SUCCESS;
    return error;
}

int rz_ckpt_windows_go(const char *call)
{
    int error = MPI_SUCCESS;
    uint64_t context = 0;
    struct rz_win *win;
    stopped = false;
    while (error == MPI_SUCCESS && (win = next_window(context)) != NULL) {
        context = win->comm->context;
        error = rz_win_barrier(win, call);
    }
    return error;
}
