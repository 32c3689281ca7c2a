/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs write to streams instead of protecting memory (rhizome/checkpoint.h): contents of
 * regions, and the FILEs that write and read them. Used by checkpoint.c only.
 *
 * Contents are counted, so that a reader, a checkpoint and a new content go past each other: what
 * is written and read through a FILE is not under the engine lock, and its end (fclose) is no call
 * of ours. A lock of their own guards the regions; nothing is called with it held.
 */
#ifndef RZ_MPI_CHECKPOINT_STREAM_H
#define RZ_MPI_CHECKPOINT_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ckpt/piece.h"

/* forget: what is written to it becomes nothing. Returns as chapters do. */
int rz_stream_open(int id, const char *mode, bool forget, FILE **stream);

/* The region has no content any more. False: it is being written. */
bool rz_stream_take_out(int id);

/* MPI_SUCCESS if no region is being written and none was spoilt, else an error that names it. */
int rz_streams_settled(void);

/* MPIX_Reinit is entered: the contents of now are those after each roll-back. */
void rz_streams_enter_reinit(void);

/* A roll-back: what was written since then goes, and open streams are cut off. */
void rz_streams_forget(void);

/* Sets those of regions [RZ_CHECKPOINT_REGIONS_MAX] that have a content, and holds the contents
 * until release; one holder at a time. Returns the number of regions up to the last one that is of
 * either kind. */
uint32_t rz_streams_hold(struct rz_region *regions);
void rz_streams_release(void);

/* Makes the streams in a piece the contents of their regions; all others go. False: no memory, and
 * nothing was changed. */
bool rz_streams_restore(const void *piece, const struct rz_piece_table *table);

#endif
