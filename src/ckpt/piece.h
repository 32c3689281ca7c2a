/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout of a checkpoint piece, and how one is written and read. A piece is a table (number of
 * regions, then the kind and the size of each) followed by the bytes of each region; table and
 * regions begin at multiples of 64, the gaps between them are zero.
 */
#ifndef RZ_CKPT_PIECE_H
#define RZ_CKPT_PIECE_H

#include "base/status.h"
#include "ckpt/pages.h"

#include <rhizome/types.h>

#define RZ_PIECE_REGIONS_MAX 256

/* Bytes of the table of this number of regions. */
#define RZ_PIECE_TABLE_BYTES(n) ((8 + (size_t)(n)*12 + 63) / 64 * 64)

enum rz_region_kind {
    RZ_REGION_MEMORY, /* with 0 bytes: there is none of this id */
    RZ_REGION_STREAM, /* also with 0 bytes */
    RZ_REGION_KINDS
};

struct rz_region {
    void *memory;
    size_t bytes;
    enum rz_region_kind kind;
};

/* Bytes of a piece of these regions (region i has id i). */
size_t rz_piece_bytes(const struct rz_region *regions, uint32_t n);

/*
 * Writing a piece to a place that may hold an older one, from the first page to the last: pages
 * that are there already are left alone. The caller fills in the upper part; regions and all memory
 * named here stay unchanged until the end.
 */
struct rz_piece_copy {
    void *to;                        /* of at least rz_piece_bytes */
    const struct rz_region *regions; /* [n] */
    uint32_t n;
    struct rz_page_hash *hashes; /* [pages]: checksums of what is stored there, then of the piece */
    /* Number of hashes that are valid; 0: anything may be stored there. */
    size_t known;
    uint8_t *changed; /* the bitmap of pages that were written */

    size_t bytes, pages; /* of the piece */
    size_t page;         /* the next one */
    size_t n_changed;
    uint32_t region;  /* the first one that is not completely before the next page */
    size_t region_at; /* where it begins in the piece */
    uint8_t table[RZ_PIECE_TABLE_BYTES(RZ_PIECE_REGIONS_MAX)];
};

void rz_piece_copy_begin(struct rz_piece_copy *copy);

/* Writes about this number of pages more; false: all is written. */
bool rz_piece_copy_some(struct rz_piece_copy *copy, size_t pages);

/* The content of a piece. */
struct rz_piece_entry {
    enum rz_region_kind kind;
    size_t at, bytes; /* in the piece */
};

struct rz_piece_table {
    uint32_t n;
    struct rz_piece_entry entry[RZ_PIECE_REGIONS_MAX];
};

/* RZ_ERR_MALFORMED: it is no piece, or was truncated. */
rz_status_t rz_piece_open(const void *at, size_t bytes, struct rz_piece_table *table);

/* Whether the memory among these regions matches the piece; RZ_ERR_INVALID: no (*id: the first that
 * differs). Streams in the piece are handled by the caller. */
rz_status_t rz_piece_fits(const struct rz_piece_table *table, const struct rz_region *regions,
                          uint32_t n, uint32_t *id);

/* Copies a piece that matches back into the memory among these regions. */
void rz_piece_take(const void *at, const struct rz_piece_table *table,
                   const struct rz_region *regions, uint32_t n);

/* The checksum that is sent with a piece: rz_pages_look. */
uint64_t rz_piece_hash(const void *at, size_t bytes);

#endif
