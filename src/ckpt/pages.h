/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A checkpoint piece by pages: their checksums, and from these that of the whole. A writer that
 * knows the checksums of what is stored in a place writes only those pages that differ, and can
 * tell others which ones (a bitmap: bit p % 8 of byte p / 8 for page p).
 *
 * The checksum of a piece is one over its size and the checksums of its pages, in order: so it
 * costs nothing where pages are checked one by one, and can be computed from the bytes alone.
 */
#ifndef RZ_CKPT_PAGES_H
#define RZ_CKPT_PAGES_H

#include <rhizome/types.h>

/* The unit in which a piece is divided; not the system's page. Measured: docs/decisions/0017. */
#define RZ_PAGE_BYTES ((size_t)4096)

/* XXH3, 128 bits: two different pages are not taken for the same one. */
struct rz_page_hash {
    uint64_t low, high;
};

static inline size_t rz_pages_of(size_t bytes)
{
    return bytes / RZ_PAGE_BYTES + (bytes % RZ_PAGE_BYTES != 0);
}

static inline size_t rz_pages_bitmap_bytes(size_t pages)
{
    return (pages + 7) / 8;
}

/* Of one page, or of the rest after the last whole one. */
struct rz_page_hash rz_page_hash(const void *at, size_t bytes);

/* The checksum of a piece of this size, from those of its pages: [rz_pages_of(bytes)]. */
uint64_t rz_pages_hash(const struct rz_page_hash *hashes, size_t bytes);

/* The checksum of a piece, from the piece itself. hashes: NULL, or the array for the checksums of
 * its pages. */
uint64_t rz_pages_look(const void *at, size_t bytes, struct rz_page_hash *hashes);

/* The same in parts: the checksums of the next n pages, in order; at last the checksum, which frees
 * the sum. NULL: no memory. rz_pages_sum_free: without its end; NULL: nothing. */
struct rz_pages_sum;
struct rz_pages_sum *rz_pages_sum_begin(size_t bytes);
void rz_pages_sum_add(struct rz_pages_sum *sum, const struct rz_page_hash *hashes, size_t n);
uint64_t rz_pages_sum_end(struct rz_pages_sum *sum);
void rz_pages_sum_free(struct rz_pages_sum *sum);

/* The first run of pages in the bitmap at or after *page: true, *page its first one and *n their
 * number; false: there is none up to `pages`. */
bool rz_pages_next_run(const uint8_t *bitmap, size_t pages, size_t *page, size_t *n);

/* Copies bytes to memory that is not read soon: past the caches, for pieces larger than these.
 * Meanwhile it prefetches the memory `ahead` bytes further on. After the last call, rz_pages_settle
 * must be called before any process is told that the bytes are there. */
void rz_pages_copy_past(void *to, const void *from, size_t bytes, size_t ahead);
void rz_pages_settle(void);

#endif
