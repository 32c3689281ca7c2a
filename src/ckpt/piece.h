/* The layout of a checkpoint piece: number of regions, their ids and sizes, then their bytes, each
 * aligned to 64. */
#ifndef RZ_CKPT_PIECE_H
#define RZ_CKPT_PIECE_H

#include "base/status.h"

#include <rhizome/types.h>

struct rz_region {
    void *memory;
    size_t bytes; /* 0: not protected */
};

/* Bytes of a piece of these regions (region i has id i). */
size_t rz_piece_bytes(const struct rz_region *regions, uint32_t n);

/* Writes the regions to `at`, which has room for rz_piece_bytes. */
void rz_piece_write(void *at, const struct rz_region *regions, uint32_t n);

/*
 * Copies a piece back into the regions. RZ_ERR_MALFORMED: it is no piece, or was cut;
 * RZ_ERR_INVALID: it holds other regions or sizes than these (*id: the first that differs). Nothing
 * is copied then.
 */
rz_status_t rz_piece_read(const void *at, size_t bytes, const struct rz_region *regions, uint32_t n,
                          uint32_t *id);

/* The checksum that travels with a piece (XXH3, 64 bits). */
uint64_t rz_piece_hash(const void *at, size_t bytes);

#endif
