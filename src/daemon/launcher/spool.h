/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a detached job has written, as frames for rzrun: the newest, up to a bound of bytes. Readers
 * hold a place; what was dropped before they came is counted for them.
 */
#ifndef RZ_DAEMON_SPOOL_H
#define RZ_DAEMON_SPOOL_H

#include "base/status.h"

#include <rhizome/types.h>

struct rz_spool;

/* A reader's place: {0} is before everything. */
struct rz_spool_place {
    uint64_t frame; /* number of the next one */
    uint64_t bytes; /* of output before it */
};

/* Keeps at most bytes_max, what keeping takes included, but always the newest frame. */
rz_status_t rz_spool_open(struct rz_spool **spool, uint64_t bytes_max);
void rz_spool_close(struct rz_spool *spool); /* NULL: nothing */

/* Appends a copy of a frame that carries `output` bytes of output. RZ_ERR_NO_MEMORY: it counts as
 * dropped. */
rz_status_t rz_spool_put(struct rz_spool *spool, const void *frame, size_t n, uint64_t output);

/* The frame at place, which moves behind it; valid until the next put. *missed: bytes of output
 * that were dropped since the place was taken. False: nothing is there yet. */
bool rz_spool_next(const struct rz_spool *spool, struct rz_spool_place *place, const void **frame,
                   size_t *n, uint64_t *missed);

#endif
