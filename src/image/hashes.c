/* SPDX-License-Identifier: BSD-3-Clause */
/* Which pages have changed, by their hashes: where the kernel does not say it. */
#include "image/area.h"

#include "image/raw_call.h"

#include <sys/mman.h>

#define WORD_PRESENT_OR_SWAPPED (UINT64_C(3) << 62)
#define WORD_OF_FILE (UINT64_C(1) << 61)
#define WORDS (sizeof(RZ_AREA->words) / sizeof(RZ_AREA->words[0]))

/* Through the pages of the save before, ascending. */
struct hash_cursor {
    const struct rz_image_run *run, *end;
    const struct rz_page_hash *hashes; /* of the run's pages */
};

static const struct rz_page_hash *hash_before(struct hash_cursor *cursor, uint64_t page)
{
    while (cursor->run < cursor->end && cursor->run->page + cursor->run->pages <= page) {
        cursor->hashes += cursor->run->pages;
        cursor->run++;
    }
    bool inside = cursor->run < cursor->end && cursor->run->page <= page;
    return inside ? &cursor->hashes[page - cursor->run->page] : NULL;
}

/* Appends the page to the list, and its hash to those of this save. */
static bool add_page(struct hash_cursor *cursor, uint64_t page, uint64_t *n)
{
    enum rz_image_pool hashes = RZ_POOL_HASHES + (1 - RZ_AREA->turn);
    if (!rz_image_pool_need(hashes, (*n + 1) * sizeof(struct rz_page_hash))) {
        return false;
    }
    struct rz_page_hash *now = (struct rz_page_hash *)rz_image_pool(hashes) + (*n)++;
    const struct rz_page_hash *before = hash_before(cursor, page);
    *now = rz_page_hash((const void *)(page * RZ_IMAGE_PAGE), RZ_IMAGE_PAGE);
    bool changed = !before || before->low != now->low || before->high != now->high;
    return rz_image_pool_append(RZ_POOL_SCANNED, (struct rz_image_run){page, 1, changed}, false);
}

static rz_status_t hash_region(struct hash_cursor *cursor, const struct rz_image_region *r,
                               uint64_t *n)
{
    uint64_t *word = RZ_AREA->words;
    for (uint64_t at = r->start; at < r->end;) {
        uint64_t pages = (r->end - at) / RZ_IMAGE_PAGE;
        pages = pages < WORDS ? pages : WORDS;
        if (RZ_RAW4(pread64, RZ_AREA->pagemap, word, pages * 8, at / RZ_IMAGE_PAGE * 8) !=
            (long)(pages * 8)) {
            return rz_image_refuse(RZ_ERR_SYSTEM, "the pages at 0x%lx cannot be listed", at);
        }
        for (uint64_t i = 0; i < pages; i++, at += RZ_IMAGE_PAGE) {
            bool own = r->kind == RZ_IMAGE_WHOLE
                           ? at - r->start < r->file_bytes
                           : (word[i] & WORD_PRESENT_OR_SWAPPED) && !(word[i] & WORD_OF_FILE);
            if (own && !rz_image_excluded(at, at + RZ_IMAGE_PAGE) &&
                !add_page(cursor, at / RZ_IMAGE_PAGE, n)) {
                return RZ_ERR_NO_MEMORY;
            }
        }
    }
    return RZ_OK;
}

rz_status_t rz_image_scan_hashes(const struct rz_image_tables *image)
{
    enum rz_image_pool known = RZ_POOL_KNOWN + RZ_AREA->turn;
    const struct rz_image_run *runs = rz_image_pool(known);
    struct hash_cursor cursor = {runs, runs + rz_image_pool_runs(known),
                                 rz_image_pool(RZ_POOL_HASHES + RZ_AREA->turn)};
    rz_status_t status = RZ_OK;
    uint64_t n = 0;
    for (uint32_t i = 0; status == RZ_OK && i < image->head.n_regions; i++) {
        const struct rz_image_region *r = &image->region[i];
        uint64_t bytes = r->end - r->start;
        if (r->shared) {
            continue;
        }
        if (!(r->protection & PROT_READ)) {
            RZ_RAW3(mprotect, r->start, bytes, r->protection | PROT_READ);
        }
        status = hash_region(&cursor, r, &n);
        if (!(r->protection & PROT_READ)) {
            RZ_RAW3(mprotect, r->start, bytes, r->protection);
        }
    }
    return status;
}
