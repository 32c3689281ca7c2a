/*
 * A checkpoint piece by pages: their checksums, and from these that of the whole. Who knows the
 * checksums of what lies in a place writes only those pages there that are different now, and can
 * tell others which ones (a bitmap: bit p % 8 of byte p / 8 for page p).
 *
 * The checksum of a piece is one over its size and the checksums of its pages, in order: so it
 * comes for nothing where pages are looked at one by one, and can be had from the bytes alone.
 */
#ifndef RZ_CKPT_PAGES_H
#define RZ_CKPT_PAGES_H

#include <rhizome/types.h>

/* Not the system's page: where a piece is cut. Measured: docs/decisions/0017. */
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

/* Of one page, or of the rest behind the last whole one. */
struct rz_page_hash rz_page_hash(const void *at, size_t bytes);

/* The checksum of a piece of so many bytes, from those of its pages: [rz_pages_of(bytes)]. */
uint64_t rz_pages_hash(const struct rz_page_hash *hashes, size_t bytes);

/* The same from the piece itself; hashes: NULL, or where those of its pages go. */
uint64_t rz_pages_look(const void *at, size_t bytes, struct rz_page_hash *hashes);

/* The first run of pages in the bitmap at or behind *page: true, *page its first one and *n how
 * many; false: there is none up to `pages`. */
bool rz_pages_next_run(const uint8_t *bitmap, size_t pages, size_t *page, size_t *n);

/* Copies bytes to where they are not soon read again: past the caches, for pieces larger than
 * these; meanwhile what lies `ahead` bytes further on is called, to be there when it is read next.
 * After the last one rz_pages_settle, before anybody is told that they are there. */
void rz_pages_copy_past(void *to, const void *from, size_t bytes, size_t ahead);
void rz_pages_settle(void);

#endif
