/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of windows, and how calls on them wait. */
#include "mpi/rma/window.h"

#include "mpi/engine/waiting.h"

static struct rz_win *first;

struct rz_win *rz_wins_first(void)
{
    return first;
}

struct rz_win *rz_win_by_context(uint64_t context)
{
    struct rz_win *win = first;
    while (win && win->comm->context != context) {
        win = win->next;
    }
    return win;
}

/* ---- For the entry points ---- */

int rz_win_size(const struct rz_win *win)
{
    return win->members;
}

struct rz_comm *rz_win_comm(const struct rz_win *win)
{
    return win->comm;
}

struct rz_errhandler *rz_win_errhandler(const struct rz_win *win)
{
    return win->errhandler;
}

struct rz_win *rz_comm_window(const struct rz_comm *comm)
{
    return comm->window;
}

/* ---- The list ---- */

void rz_win_begin(struct rz_win *win)
{
    win->prev = NULL;
    win->next = first;
    if (first) {
        first->prev = win;
    }
    first = win;
}

void rz_win_unlist(struct rz_win *win)
{
    if (win->prev || win->next || first == win) {
        *(win->prev ? &win->prev->next : &first) = win->next;
        if (win->next) {
            win->next->prev = win->prev;
        }
    }
}

/* ---- Waiting ---- */

static int check_member(const struct rz_win *win, int rank, const char *role)
{
    if (win->comm->revoked) {
        return MPI_ERR_REVOKED;
    }
    if (rz_win_lost(win, rank)) {
        return rzm_error(MPI_ERR_PROC_FAILED, "the %s, rank %d of the window, %s", role, rank,
                         rz_process_failed(rz_win_target(win, rank)->process)
                             ? "has failed"
                             : "could not make the window");
    }
    return MPI_SUCCESS;
}

int rz_win_check(const struct rz_win *win, int rank)
{
    return check_member(win, rank, "target");
}

int rz_win_check_origin(const struct rz_win *win, int rank)
{
    return check_member(win, rank, "origin");
}

static struct rz_blocked waits_for(struct rz_win *win, int rank, const char *call)
{
    return (struct rz_blocked){.call = call,
                               .comm = win->comm,
                               .peer = rank < 0 ? -1 : (int64_t)rz_win_target(win, rank)->process,
                               .tag = MPI_ANY_TAG};
}

int rz_win_wait(struct rz_win *win, int rank, const char *call, bool (*done)(void *arg), void *arg)
{
    struct rz_blocked blocked = waits_for(win, rank, call);
    return rz_engine_wait(&blocked, done, arg);
}

int rz_win_await_lock(struct rz_win *win, int rank, bool (*done)(void *arg), void *arg)
{
    struct rz_blocked blocked = waits_for(win, rank, "MPI_Win_lock");
    blocked.others = true;
    return rz_engine_wait(&blocked, done, arg);
}
