/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where pieces are written: memory that the daemon holds, too, so that it outlives this process.
 * Two of them take turns. Used by checkpoint.c only.
 */
#ifndef RZ_MPI_CHECKPOINT_SLOT_H
#define RZ_MPI_CHECKPOINT_SLOT_H

#include "base/status.h"
#include "ckpt/piece.h"

struct rz_slot {
    int fd;          /* valid when at != NULL */
    void *at;        /* mapped; a piece, and behind it the bitmap of pages that are new in it */
    size_t capacity; /* bytes that are mapped */
    struct rz_page_hash *hashes; /* of the pages that lie there */
    size_t known, hashes_max;    /* so many; there is room for so many */

    /* What was written there last; generation 0: nothing, or not to its end. */
    uint64_t generation, hash;
    size_t bytes;
    uint32_t epoch;
};

/* Makes room for a piece of so many bytes; what lies there may be lost, and is known to be then. */
rz_status_t rz_slot_reserve(struct rz_slot *slot, size_t bytes);

/* Writes the piece of these regions, in place of what lies there. Afterwards the slot says hash and
 * bytes; generation and epoch are the caller's to set. */
void rz_slot_write(struct rz_slot *slot, const struct rz_region *regions, uint32_t n);

#endif
