/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is behind rhizome/checkpoint.h. Called by the entry points with the engine lock held;
 * returns as impl.h says.
 */
#ifndef RZ_MPI_CHECKPOINT_H
#define RZ_MPI_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct rz_win;

int rzm_checkpoint_protect(int id, void *memory, size_t bytes);
int rzm_checkpoint_protect_win(int id, struct rz_win *win);
int rzm_checkpoint_region_bytes(int id, size_t *bytes);
int rzm_checkpoint_stream_open(int id, const char *mode, FILE **stream);
int rzm_checkpoint(uint64_t *generation);
int rzm_restore(uint64_t *generation);
int rzm_progress_mark(uint64_t iteration);
int rzm_alive(void);

/* MPIX_Reinit is entered: after each roll-back the regions will be those of now. Engine lock
 * held. */
void rz_checkpoints_enter_reinit(void);

#endif
