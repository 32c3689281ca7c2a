/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces made, and read, at one go, for tests. */
#ifndef RZ_TEST_PIECE_MADE_H
#define RZ_TEST_PIECE_MADE_H

#include "ckpt/piece.h"

#include <stdlib.h>

/* Writes the regions to `at`, whatever lies there. */
static inline void piece_write(void *at, const struct rz_region *regions, uint32_t n)
{
    size_t pages = rz_pages_of(rz_piece_bytes(regions, n));
    struct rz_piece_copy copy = {.to = at,
                                 .regions = regions,
                                 .n = n,
                                 .hashes = calloc(pages, sizeof(*copy.hashes)),
                                 .changed = malloc(rz_pages_bitmap_bytes(pages))};
    rz_piece_copy_begin(&copy);
    while (rz_piece_copy_some(&copy, 1)) {
        ;
    }
    free(copy.hashes);
    free(copy.changed);
}

/* All that reading one takes: opened, compared, and copied back. */
static inline rz_status_t piece_read(const void *at, size_t bytes, const struct rz_region *regions,
                                     uint32_t n, uint32_t *id)
{
    struct rz_piece_table table;
    rz_status_t status = rz_piece_open(at, bytes, &table);
    *id = 0;
    if (status == RZ_OK) {
        status = rz_piece_fits(&table, regions, n, id);
    }
    if (status == RZ_OK) {
        rz_piece_take(at, &table, regions, n);
    }
    return status;
}

#endif
