/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces: written page by page; read with all checks. */
#include "ckpt/piece.h"

#include "base/assert.h"
#include "wire/cursor.h"

#include <string.h>

#define PIECE_MAGIC UINT32_C(0x325a5243) /* "CRZ2" */
#define ALIGNMENT 64

/* Number of pages that are checked before the changed ones among them are written: they are still
 * in the nearest cache then, and so is the next batch afterwards. */
#define PAGE_BATCH 4

/* Larger pieces would evict everything else from the caches. */
#define PAST_CACHES_BYTES ((size_t)4 << 20)

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t rz_piece_bytes(const struct rz_region *regions, uint32_t n)
{
    size_t bytes = RZ_PIECE_TABLE_BYTES(n);
    for (uint32_t i = 0; i < n; i++) {
        bytes += aligned(regions[i].bytes);
    }
    return bytes;
}

/* ---- writing ---- */

static void write_table(struct rz_piece_copy *copy)
{
    struct rz_wire_writer w;
    memset(copy->table, 0, sizeof(copy->table));
    rz_wire_writer_init(&w, copy->table, sizeof(copy->table));
    rz_wire_put_u32(&w, PIECE_MAGIC);
    rz_wire_put_u32(&w, copy->n);
    for (uint32_t i = 0; i < copy->n; i++) {
        rz_wire_put_u32(&w, copy->regions[i].kind);
        rz_wire_put_u64(&w, copy->regions[i].bytes);
    }
    rz_assert(!w.overflow);
}

void rz_piece_copy_begin(struct rz_piece_copy *copy)
{
    rz_assert(copy->n <= RZ_PIECE_REGIONS_MAX);
    write_table(copy);
    copy->bytes = rz_piece_bytes(copy->regions, copy->n);
    copy->pages = rz_pages_of(copy->bytes);
    copy->known = copy->known < copy->pages ? copy->known : copy->pages;
    copy->page = copy->n_changed = copy->region = 0;
    copy->region_at = RZ_PIECE_TABLE_BYTES(copy->n);
    memset(copy->changed, 0, rz_pages_bitmap_bytes(copy->pages));
}

/* The part of [from, from + bytes), which begins at `at` in the piece, that is in the page at
 * offset. */
static void put_part(uint8_t *page, size_t offset, size_t page_bytes, const void *from, size_t at,
                     size_t bytes)
{
    size_t begin = at > offset ? at : offset;
    size_t end = at + bytes < offset + page_bytes ? at + bytes : offset + page_bytes;
    if (begin < end) {
        memcpy(page + (begin - offset), (const uint8_t *)from + (begin - at), end - begin);
    }
}

/* Assembles a page that contains parts of several regions, of the table, or of none. */
static void put_together(const struct rz_piece_copy *copy, size_t offset, size_t bytes,
                         uint8_t *page)
{
    size_t at = copy->region_at;
    memset(page, 0, bytes);
    put_part(page, offset, bytes, copy->table, 0, RZ_PIECE_TABLE_BYTES(copy->n));
    for (uint32_t i = copy->region; i < copy->n && at < offset + bytes; i++) {
        put_part(page, offset, bytes, copy->regions[i].memory, at, copy->regions[i].bytes);
        at += aligned(copy->regions[i].bytes);
    }
}

/* Where the next page's bytes are: in a region, or in scratch. */
static const uint8_t *next_page(struct rz_piece_copy *copy, size_t offset, size_t bytes,
                                uint8_t *scratch)
{
    const struct rz_region *region = &copy->regions[copy->region];
    while (copy->region < copy->n && copy->region_at + region->bytes <= offset) {
        copy->region_at += aligned(region->bytes);
        copy->region++;
        region++;
    }
    if (copy->region < copy->n && copy->region_at <= offset &&
        copy->region_at + region->bytes >= offset + bytes) {
        return (const uint8_t *)region->memory + (offset - copy->region_at);
    }
    put_together(copy, offset, bytes, scratch);
    return scratch;
}

static bool same(const struct rz_page_hash *a, const struct rz_page_hash *b)
{
    return a->low == b->low && a->high == b->high;
}

static void copy_batch(struct rz_piece_copy *copy)
{
    uint8_t scratch[PAGE_BATCH][RZ_PAGE_BYTES];
    const uint8_t *from[PAGE_BATCH];
    size_t bytes[PAGE_BATCH], n = 0;
    for (; n < PAGE_BATCH && copy->page < copy->pages; copy->page++) {
        size_t offset = copy->page * RZ_PAGE_BYTES, rest = copy->bytes - offset;
        size_t page_bytes = rest < RZ_PAGE_BYTES ? rest : RZ_PAGE_BYTES;
        const uint8_t *page = next_page(copy, offset, page_bytes, scratch[n]);
        struct rz_page_hash hash = rz_page_hash(page, page_bytes);
        from[n] = page, bytes[n] = page_bytes;
        n++;
        if (copy->page < copy->known && same(&hash, &copy->hashes[copy->page])) {
            from[n - 1] = NULL;
            continue;
        }
        copy->hashes[copy->page] = hash;
        copy->changed[copy->page / 8] |= (uint8_t)(1u << copy->page % 8);
        copy->n_changed++;
    }
    for (size_t i = 0; i < n; i++) {
        uint8_t *to = (uint8_t *)copy->to + (copy->page - n + i) * RZ_PAGE_BYTES;
        if (from[i] && copy->bytes >= PAST_CACHES_BYTES) {
            rz_pages_copy_past(to, from[i], bytes[i], PAGE_BATCH * RZ_PAGE_BYTES);
        } else if (from[i]) {
            memcpy(to, from[i], bytes[i]);
        }
    }
}

bool rz_piece_copy_some(struct rz_piece_copy *copy, size_t pages)
{
    size_t end = copy->pages - copy->page > pages ? copy->page + pages : copy->pages;
    while (copy->page < end) {
        copy_batch(copy);
    }
    rz_pages_settle();
    return copy->page < copy->pages;
}

/* ---- reading ---- */

rz_status_t rz_piece_open(const void *at, size_t bytes, struct rz_piece_table *table)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, at, bytes);
    if (rz_wire_get_u32(&r) != PIECE_MAGIC) {
        return RZ_ERR_MALFORMED;
    }
    table->n = rz_wire_get_u32(&r);
    if (r.malformed || table->n > RZ_PIECE_REGIONS_MAX || bytes < RZ_PIECE_TABLE_BYTES(table->n)) {
        return RZ_ERR_MALFORMED;
    }
    size_t offset = RZ_PIECE_TABLE_BYTES(table->n);
    for (uint32_t i = 0; i < table->n; i++) {
        uint32_t kind = rz_wire_get_u32(&r);
        uint64_t size = rz_wire_get_u64(&r);
        if (kind >= RZ_REGION_KINDS || size > bytes - offset || aligned(size) > bytes - offset) {
            return RZ_ERR_MALFORMED;
        }
        table->entry[i] =
            (struct rz_piece_entry){.kind = (enum rz_region_kind)kind, .at = offset, .bytes = size};
        offset += aligned(size);
    }
    return offset == bytes ? RZ_OK : RZ_ERR_MALFORMED;
}

/* Whether a region can take what is stored under its id. */
static bool fits(const struct rz_region *region, const struct rz_piece_entry *entry)
{
    size_t wanted = region && region->kind == RZ_REGION_MEMORY ? region->bytes : 0;
    size_t stored = entry && entry->kind == RZ_REGION_MEMORY ? entry->bytes : 0;
    return wanted == stored;
}

rz_status_t rz_piece_fits(const struct rz_piece_table *table, const struct rz_region *regions,
                          uint32_t n, uint32_t *id)
{
    for (*id = 0; *id < n || *id < table->n; (*id)++) {
        if (!fits(*id < n ? &regions[*id] : NULL, *id < table->n ? &table->entry[*id] : NULL)) {
            return RZ_ERR_INVALID;
        }
    }
    return RZ_OK;
}

void rz_piece_take(const void *at, const struct rz_piece_table *table,
                   const struct rz_region *regions, uint32_t n)
{
    for (uint32_t i = 0; i < n && i < table->n; i++) {
        if (regions[i].kind == RZ_REGION_MEMORY && regions[i].bytes > 0) {
            memcpy(regions[i].memory, (const uint8_t *)at + table->entry[i].at, regions[i].bytes);
        }
    }
}

uint64_t rz_piece_hash(const void *at, size_t bytes)
{
    return rz_pages_look(at, bytes, NULL);
}
