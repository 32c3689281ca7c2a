/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of a detached job as frames for rzrun: the newest frames, up to a bound of bytes. Each
 * reader has a place; for a reader the bytes dropped before it read them are counted.
 */
#ifndef RZ_DAEMON_SPOOL_H
#define RZ_DAEMON_SPOOL_H

#include "base/status.h"

#include <rhizome/types.h>

struct rz_spool;

/* A reader's place; {0} is the beginning. */
struct rz_spool_place {
    uint64_t frame; /* number of the next frame */
    uint64_t bytes; /* bytes of output before it */
};

/* Keeps at most bytes_max, including the overhead of keeping, but always the newest frame. */
rz_status_t rz_spool_open(struct rz_spool **spool, uint64_t bytes_max);
void rz_spool_close(struct rz_spool *spool); /* NULL: nothing */

/* Appends a copy of a frame that carries `output` bytes of output. After RZ_ERR_NO_MEMORY the frame
 * counts as dropped. */
rz_status_t rz_spool_put(struct rz_spool *spool, const void *frame, size_t n, uint64_t output);

/* Returns the frame at place and moves place behind it; the frame is valid until the next put.
 * *missed: bytes of output that were dropped since the last call with this place. False: there is
 * no further frame yet. */
bool rz_spool_next(const struct rz_spool *spool, struct rz_spool_place *place, const void **frame,
                   size_t *n, uint64_t *missed);

#endif
