/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs write to streams instead of protecting memory (rhizome/checkpoint.h): the contents
 * of regions, and the FILEs that write and read them. Used by checkpoint.c only.
 *
 * Contents are reference-counted, so that a reader, a checkpoint and a new content do not disturb
 * one another: writes and reads of a FILE do not hold the engine lock, and its end (fclose) is no
 * call of this library. A lock of this module protects the regions; no function of another module
 * is called with it held.
 */
#ifndef RZ_MPI_CHECKPOINT_STREAM_H
#define RZ_MPI_CHECKPOINT_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ckpt/piece.h"

/* forget: what is written to the stream is discarded. Returns as impl.h says. */
int rz_stream_open(int id, const char *mode, bool forget, FILE **stream);

/* Removes the content of the region. False: it is being written. */
bool rz_stream_take_out(int id);

/* MPI_SUCCESS if no region is being written and no writer ran out of memory; otherwise an error
 * that names the region. */
int rz_streams_settled(void);

/* MPIX_Reinit is entered: after each roll-back the contents will be those of now. */
void rz_streams_enter_reinit(void);

/* A roll-back: discards what was written since MPIX_Reinit was entered, and cuts off open
 * streams. */
void rz_streams_forget(void);

/*
 * Sets the entries of regions [RZ_CHECKPOINT_REGIONS_MAX] that have a content, and holds the
 * contents until rz_streams_release; one caller at a time. Returns the number of regions up to the
 * last one that is set, of either kind.
 */
uint32_t rz_streams_hold(struct rz_region *regions);
void rz_streams_release(void);

/* Sets the contents of regions to the streams in a piece; all other contents are removed. False: no
 * memory, and nothing was changed. */
bool rz_streams_restore(const void *piece, const struct rz_piece_table *table);

#endif
