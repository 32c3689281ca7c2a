/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows among the regions of a checkpoint. The memory of one is copied while no member of the
 * window works on it: each member completes its operations and meets the others before the copy,
 * and again after it. A window that was freed is no region any more.
 *
 * All functions: engine lock held.
 */
#ifndef RZ_MPI_CHECKPOINT_WINDOW_H
#define RZ_MPI_CHECKPOINT_WINDOW_H

#include "mpi/rma/window.h"

/* Region id is the memory of this window from now on; NULL: of none. */
void rz_ckpt_window_set(int id, const struct rz_win *win);

/* Whether region id is a window; which region the window is, -1: none. */
bool rz_ckpt_window_is(int id);
int rz_ckpt_window_id(const struct rz_win *win);

/* All windows have ended with their epoch. */
void rz_ckpt_windows_forget(void);

/* Calls ended(id) for each region whose window was freed. */
void rz_ckpt_windows_look(void (*ended)(int id));

/* Before memory of windows is copied: when it returns MPI_SUCCESS all operations of all members are
 * done, and no member that calls it begins others before rz_ckpt_windows_go. It has no effect
 * between its success and that call. MPI_ERR_PROC_FAILED, MPI_ERR_REVOKED, RZM_ROLLBACK. */
int rz_ckpt_windows_stop(const char *call);

/* Waits until all members of each window have called this. Errors as above. */
int rz_ckpt_windows_go(const char *call);

#endif
