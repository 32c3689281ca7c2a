/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared memory of windows: each member makes one nameless memory object with its control block
 * and, behind it, the memory of the window if the library is to make that. The other processes of
 * its node open it through /proc while the window is made. After that only the mappings hold it, so
 * that nothing is left when the processes have ended in any way.
 */
#ifndef RZ_MPI_WINDOW_MEMORY_H
#define RZ_MPI_WINDOW_MEMORY_H

#include "mpi/rma/window.h"

/* auto (or unset): the fastest way; message: no other process is reached but by messages, except in
 * windows of MPI_Win_allocate_shared. For tests, and to look for errors. */
#define RZ_RMA_ENVIRONMENT "RZ_RMA"

/* What each member tells all others. */
struct rz_win_offer {
    uint64_t node, pid, fd, bytes, address, identity_at;
    int64_t size, disp_unit;
    int64_t error; /* MPI_SUCCESS: the member can make the window */
};

/* Makes the memory object of this process with `bytes` of memory behind the control block, and sets
 * win->control. *memory: where they begin. MPI_ERR_NO_MEM. */
int rz_win_memory_make(struct rz_win *win, MPI_Aint bytes, char **memory);

/* What this process tells the others: of its memory object, and of its win->base, size, unit. */
void rz_win_memory_offer(const struct rz_win *win, int error, struct rz_win_offer *offer);

/* Opens what member `rank` offers, and decides how it is reached. */
void rz_win_memory_take(struct rz_win *win, int rank, const struct rz_win_offer *offer);

/* The mapped object of member `rank` behind its control block; NULL: it is not mapped. */
char *rz_win_memory_behind(const struct rz_win *win, int rank);

/* All members have opened what they can. */
void rz_win_memory_taken(struct rz_win *win);

void rz_win_memory_end(struct rz_win *win);

#endif
