/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where pieces are written: memory that the daemon maps as well, so that it outlives this process.
 * Two slots are used in turn. Used by checkpoint.c only.
 */
#ifndef RZ_MPI_CHECKPOINT_SLOT_H
#define RZ_MPI_CHECKPOINT_SLOT_H

#include "base/status.h"
#include "ckpt/piece.h"

struct rz_slot {
    int fd;          /* valid when at != NULL */
    void *at;        /* mapped: a piece, followed by the bitmap of the pages that are new in it */
    size_t capacity; /* mapped bytes */
    struct rz_page_hash *hashes; /* of the pages in the slot */
    size_t known, hashes_max;    /* number of valid hashes, and length of the array */

    /* The last piece written; generation 0: none, or not completely. */
    uint64_t generation, hash;
    size_t bytes;
    uint32_t epoch;
};

/* Makes the slot large enough for a piece of so many bytes. If its content is lost, the slot says
 * so. */
rz_status_t rz_slot_reserve(struct rz_slot *slot, size_t bytes);

/* Writes the piece of these regions over the content. Afterwards hash and bytes of the slot are
 * set; the caller sets generation and epoch. */
void rz_slot_write(struct rz_slot *slot, const struct rz_region *regions, uint32_t n);

#endif
