/* SPDX-License-Identifier: BSD-3-Clause */
/* Which pages have changed, by their hashes: of files, and where the kernel does not say it. */
#include "image/area.h"

#include "image/raw_call.h"

#include <sys/mman.h>

#define WORD_PRESENT (UINT64_C(1) << 63)
#define WORD_SWAPPED (UINT64_C(1) << 62)
#define WORD_OF_FILE (UINT64_C(1) << 61)
#define WORDS (sizeof(RZ_AREA->words) / sizeof(RZ_AREA->words[0]))

/* A page's hash before; NULL: it was in no such list. */
static const struct rz_page_hash *hash_before(struct rz_image_hashing *hashing, uint64_t page)
{
    while (hashing->before < hashing->end && hashing->before->page < page) {
        hashing->before++;
    }
    bool there = hashing->before < hashing->end && hashing->before->page == page;
    return there ? &hashing->before->hash : NULL;
}

/* Appends the page to the list, and its hash to those of this save. */
static bool add_page(struct rz_image_hashing *hashing, uint64_t page)
{
    enum rz_image_pool pool = RZ_POOL_HASHES + (1 - RZ_AREA->turn);
    uint64_t used = RZ_AREA->pool_used[pool];
    if (!rz_image_pool_need(pool, used + sizeof(struct rz_image_hashed))) {
        return false;
    }
    struct rz_image_hashed *now = (void *)((uint8_t *)rz_image_pool(pool) + used);
    const struct rz_page_hash *before = hash_before(hashing, page);
    RZ_AREA->pool_used[pool] = used + sizeof(*now);
    now->page = page;
    now->hash = rz_page_hash((const void *)(page * RZ_IMAGE_PAGE), RZ_IMAGE_PAGE);
    bool changed = !before || before->low != now->hash.low || before->high != now->hash.high;
    return rz_image_pool_append(RZ_POOL_SCANNED, (struct rz_image_run){page, 1, changed}, false);
}

/* What is not there, and not where it was moved to either, is asked for: a guard page is listed as
 * one that was moved out, and an access to it ends the process. */
static bool is_own(const struct rz_image_region *r, uint64_t at, uint64_t word)
{
    bool whole = r->kind == RZ_IMAGE_WHOLE;
    bool there = whole ? at - r->start < r->file_bytes
                       : (word & (WORD_PRESENT | WORD_SWAPPED)) && !(word & WORD_OF_FILE);
    return there && !rz_image_excluded(at, at + RZ_IMAGE_PAGE) &&
           (!(word & WORD_SWAPPED) || rz_raw_readable(at));
}

static rz_status_t hash_pages(struct rz_image_hashing *hashing, const struct rz_image_region *r,
                              bool readable)
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
            bool own = is_own(r, at, word[i]);
            if (own && !readable) {
                return rz_image_refuse_unreadable(r);
            }
            if (own && !add_page(hashing, at / RZ_IMAGE_PAGE)) {
                return RZ_ERR_NO_MEMORY;
            }
        }
    }
    return RZ_OK;
}

void rz_image_hash_begin(struct rz_image_hashing *hashing)
{
    enum rz_image_pool pool = RZ_POOL_HASHES + RZ_AREA->turn;
    hashing->before = rz_image_pool(pool);
    hashing->end = hashing->before + RZ_AREA->pool_used[pool] / sizeof(struct rz_image_hashed);
    RZ_AREA->pool_used[RZ_POOL_HASHES + (1 - RZ_AREA->turn)] = 0;
}

rz_status_t rz_image_hash_region(struct rz_image_hashing *hashing, const struct rz_image_region *r)
{
    bool open = r->protection & PROT_READ;
    bool opened =
        !open && RZ_RAW3(mprotect, r->start, r->end - r->start, r->protection | PROT_READ) == 0;
    rz_status_t status = hash_pages(hashing, r, open || opened);
    if (opened) {
        RZ_RAW3(mprotect, r->start, r->end - r->start, r->protection);
    }
    return status;
}
