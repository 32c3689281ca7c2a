/* SPDX-License-Identifier: BSD-3-Clause */
/* Which page goes to which slot of the file, and which must be written. From ascending lists: the
 * pages of this process, when they were last found changed, and where the older image has them. */
#include "image/area.h"

#include "image/raw_call.h"

static bool bits_need(enum rz_image_pool pool, uint64_t bits)
{
    uint64_t bytes = rz_pages_bitmap_bytes(bits), had = RZ_AREA->pool_used[pool];
    if (!rz_image_pool_need(pool, bytes)) {
        return false;
    }
    if (bytes > had) {
        rz_raw_zero((uint8_t *)rz_image_pool(pool) + had, bytes - had);
        RZ_AREA->pool_used[pool] = bytes;
    }
    return true;
}

static void set_bits(enum rz_image_pool pool, uint64_t first, uint64_t n)
{
    uint8_t *bits = rz_image_pool(pool);
    for (uint64_t i = first; i < first + n;) {
        if (i % 8 == 0 && first + n - i >= 8) {
            bits[i / 8] = 0xff, i += 8;
        } else {
            bits[i / 8] |= (uint8_t)(1 << i % 8), i++;
        }
    }
}

static bool is_set(enum rz_image_pool pool, uint64_t bit)
{
    return ((const uint8_t *)rz_image_pool(pool))[bit / 8] >> bit % 8 & 1;
}

bool rz_image_mark(uint64_t first, uint64_t n)
{
    if (!bits_need(RZ_POOL_WRITTEN, first + n)) {
        return false;
    }
    set_bits(RZ_POOL_WRITTEN, first, n);
    return true;
}

/* Page 0 of the file is the head: slot s is page 1 + s. */
static void mark_slots(uint64_t slot, uint64_t n)
{
    set_bits(RZ_POOL_WRITTEN, 1 + slot, n);
}

/* A piece of a run of own pages, alike in all lists. */
static bool place_piece(const struct rz_image_run *piece, uint64_t slot, uint64_t older_save)
{
    bool counts = slot != RZ_NO_SLOT;
    if (counts) {
        set_bits(RZ_POOL_USED, slot, piece->pages);
        if (piece->value > older_save) {
            mark_slots(slot, piece->pages);
        }
    }
    return rz_image_pool_append(RZ_POOL_KNOWN + (1 - RZ_AREA->turn), *piece, false) &&
           rz_image_pool_append(RZ_POOL_PLACED,
                                (struct rz_image_run){piece->page, piece->pages, slot}, counts);
}

/* The new KNOWN, and PLACED: pages with the slot that they have in the older image, or none. */
static bool place(uint64_t older_save)
{
    enum rz_image_pool known_pool = RZ_POOL_KNOWN + RZ_AREA->turn;
    struct rz_image_cursor scanned = rz_image_cursor_of(RZ_POOL_SCANNED),
                           known = rz_image_cursor_of(known_pool);
    struct rz_image_cursor older = rz_image_cursor_of(RZ_POOL_OLDER);
    RZ_AREA->pool_used[RZ_POOL_PLACED] = RZ_AREA->pool_used[RZ_POOL_KNOWN + (1 - RZ_AREA->turn)] =
        0;
    for (; scanned.run < scanned.end; scanned.run++) {
        uint64_t page = scanned.run->page, end = page + scanned.run->pages;
        while (page < end) {
            struct rz_image_run piece = {page, end - page, RZ_AREA->saves};
            if (rz_image_look(&known, page, &piece.pages) && !scanned.run->value) {
                piece.value = known.run->value;
            }
            uint64_t slot = RZ_NO_SLOT;
            if (rz_image_look(&older, page, &piece.pages)) {
                slot = older.run->value + (page - older.run->page);
            }
            if (!place_piece(&piece, slot, older_save)) {
                return false;
            }
            page += piece.pages;
        }
    }
    return true;
}

/* INDEX: PLACED, in which pages without a slot get free ones, the lowest first. */
static bool assign_slots(uint64_t older_slots, uint64_t *slots)
{
    struct rz_image_cursor placed = rz_image_cursor_of(RZ_POOL_PLACED);
    uint64_t free = 0, last = 0;
    RZ_AREA->pool_used[RZ_POOL_INDEX] = 0;
    for (; placed.run < placed.end; placed.run++) {
        struct rz_image_run run = *placed.run;
        while (run.pages > 0) {
            struct rz_image_run part = run;
            if (run.value == RZ_NO_SLOT) {
                while (free < older_slots && is_set(RZ_POOL_USED, free)) {
                    free++;
                }
                part.value = free, part.pages = 1;
                while (part.pages < run.pages && (free + part.pages >= older_slots ||
                                                  !is_set(RZ_POOL_USED, free + part.pages))) {
                    part.pages++;
                }
                free += part.pages;
                if (!rz_image_mark(1 + part.value, part.pages)) {
                    return false;
                }
            }
            if (!rz_image_pool_append(RZ_POOL_INDEX, part, true)) {
                return false;
            }
            last = part.value + part.pages > last ? part.value + part.pages : last;
            run.page += part.pages, run.pages -= part.pages;
        }
    }
    *slots = last;
    return true;
}

static uint64_t pages_in(enum rz_image_pool pool)
{
    uint64_t pages = 0;
    for (struct rz_image_cursor cursor = rz_image_cursor_of(pool); cursor.run < cursor.end;
         cursor.run++) {
        pages += cursor.run->pages;
    }
    return pages;
}

/* older_slots, older_save: of the image in the file, whose index is OLDER; 0: there is none. */
rz_status_t rz_image_plan(uint64_t older_slots, uint64_t older_save)
{
    if (older_slots > 2 * pages_in(RZ_POOL_SCANNED) + 1024) { /* mostly of pages that have gone */
        older_slots = older_save = 0;
        RZ_AREA->pool_used[RZ_POOL_OLDER] = 0;
    }
    RZ_AREA->pool_used[RZ_POOL_USED] = RZ_AREA->pool_used[RZ_POOL_WRITTEN] = 0;
    bool done = bits_need(RZ_POOL_USED, older_slots) &&
                bits_need(RZ_POOL_WRITTEN, 1 + older_slots) && place(older_save) &&
                assign_slots(older_slots, &RZ_AREA->image.head.slots);
    if (!done) {
        rz_image_forget_changes();
        return RZ_ERR_NO_MEMORY;
    }
    RZ_AREA->turn = 1 - RZ_AREA->turn;
    return RZ_OK;
}

rz_status_t rz_image_know_changes(void)
{
    RZ_AREA->saves++; /* one that no image is of */
    RZ_AREA->pool_used[RZ_POOL_OLDER] = RZ_AREA->pool_used[RZ_POOL_USED] = 0;
    if (!place(UINT64_MAX)) {
        rz_image_forget_changes();
        return RZ_ERR_NO_MEMORY;
    }
    RZ_AREA->turn = 1 - RZ_AREA->turn;
    return RZ_OK;
}
