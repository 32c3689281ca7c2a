/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of what is excluded: asked. Also in the restore program. */
#include "image/area.h"

/* The first range that ends behind `at`. */
static uint32_t first_after(uint64_t at)
{
    uint32_t low = 0, high = RZ_AREA->n_excluded;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (RZ_AREA->excluded[middle].end > at) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

bool rz_image_excluded(uint64_t start, uint64_t end)
{
    uint32_t i = first_after(start);
    return i < RZ_AREA->n_excluded && RZ_AREA->excluded[i].start < end;
}

bool rz_image_excluded_whole(uint64_t start, uint64_t end)
{
    uint32_t i = first_after(start);
    return i < RZ_AREA->n_excluded && RZ_AREA->excluded[i].start <= start &&
           RZ_AREA->excluded[i].end >= end;
}

bool rz_image_next_included(uint64_t *at, uint64_t end, uint64_t *stop)
{
    uint32_t i = first_after(*at);
    while (i < RZ_AREA->n_excluded && RZ_AREA->excluded[i].start <= *at) {
        *at = RZ_AREA->excluded[i++].end;
    }
    if (*at >= end) {
        return false;
    }
    *stop = i < RZ_AREA->n_excluded && RZ_AREA->excluded[i].start < end ? RZ_AREA->excluded[i].start
                                                                        : end;
    return true;
}
