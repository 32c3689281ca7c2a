/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of what is excluded: changed by callers. */
#include "image/area.h"

#include "image/raw_call.h"

#include <signal.h>

/* The lists are short, and changed rarely: one thread at a time, in turn. With all signals blocked,
 * so that no thread is stopped by a save while it has the lists, which the save needs. */
static void lists_lock(uint64_t *mask)
{
    uint64_t all = ~UINT64_C(0);
    RZ_RAW4(rt_sigprocmask, SIG_SETMASK, &all, mask, 8);
    while (atomic_flag_test_and_set(&RZ_AREA->lists)) {
        RZ_RAW0(sched_yield);
    }
}

static void lists_unlock(const uint64_t *mask)
{
    atomic_flag_clear(&RZ_AREA->lists);
    RZ_RAW4(rt_sigprocmask, SIG_SETMASK, mask, 0, 8);
}

/* Whole pages inside. */
static struct rz_image_range pages_of(const void *address, size_t bytes)
{
    uint64_t at = (uintptr_t)address, mask = RZ_IMAGE_PAGE - 1;
    uint64_t end = at + bytes < at ? UINT64_MAX : at + bytes;
    return (struct rz_image_range){(at + mask) & ~mask, end & ~mask};
}

static void insert(uint32_t at, struct rz_image_range range)
{
    for (uint32_t i = RZ_AREA->n_excluded++; i > at; i--) {
        RZ_AREA->excluded[i] = RZ_AREA->excluded[i - 1];
    }
    RZ_AREA->excluded[at] = range;
}

static void drop(uint32_t from, uint32_t to)
{
    for (uint32_t i = to; i < RZ_AREA->n_excluded; i++) {
        RZ_AREA->excluded[from + i - to] = RZ_AREA->excluded[i];
    }
    RZ_AREA->n_excluded -= to - from;
}

/* Those that overlap the range, or with `touch` adjoin it: [*from, *to). */
static void overlapping(const struct rz_image_range *range, bool touch, uint32_t *from,
                        uint32_t *to)
{
    const struct rz_image_range *list = RZ_AREA->excluded;
    *from = 0;
    while (*from < RZ_AREA->n_excluded && list[*from].end + touch <= range->start) {
        ++*from;
    }
    *to = *from;
    while (*to < RZ_AREA->n_excluded && list[*to].start < range->end + touch) {
        ++*to;
    }
}

rz_status_t rz_image_exclude(const void *address, size_t bytes)
{
    struct rz_image_range range = pages_of(address, bytes);
    if (!rz_image_area_ready() || range.start >= range.end) {
        return RZ_OK;
    }
    uint64_t signals;
    lists_lock(&signals);
    uint32_t from, to;
    overlapping(&range, true, &from, &to);
    bool full = from == to && RZ_AREA->n_excluded == RZ_IMAGE_RANGES;
    if (from < to) {
        const struct rz_image_range *first = &RZ_AREA->excluded[from];
        const struct rz_image_range *last = &RZ_AREA->excluded[to - 1];
        range.start = first->start < range.start ? first->start : range.start;
        range.end = last->end > range.end ? last->end : range.end;
        drop(from, to);
    }
    if (!full) {
        insert(from, range);
    }
    lists_unlock(&signals);
    return full ? RZ_ERR_NO_MEMORY : RZ_OK;
}

rz_status_t rz_image_include(const void *address, size_t bytes)
{
    /* A page that is included in part is included. */
    uint64_t at = (uintptr_t)address, mask = RZ_IMAGE_PAGE - 1;
    struct rz_image_range range = {at & ~mask, (at + bytes + mask) & ~mask};
    if (!rz_image_area_ready() || range.start >= range.end) {
        return RZ_OK;
    }
    uint64_t signals;
    lists_lock(&signals);
    uint32_t from, to;
    overlapping(&range, false, &from, &to);
    bool full = false;
    if (from < to) {
        struct rz_image_range before = {RZ_AREA->excluded[from].start, range.start};
        struct rz_image_range after = {range.end, RZ_AREA->excluded[to - 1].end};
        bool two = before.start < before.end && after.start < after.end;
        full = two && to - from == 1 && RZ_AREA->n_excluded == RZ_IMAGE_RANGES;
        if (!full) {
            drop(from, to);
            if (after.start < after.end) {
                insert(from, after);
            }
            if (before.start < before.end) {
                insert(from, before);
            }
        }
    }
    lists_unlock(&signals);
    return full ? RZ_ERR_NO_MEMORY : RZ_OK;
}

static rz_status_t set_descriptor(int fd, bool excluded)
{
    if (fd < 0 || fd >= RZ_IMAGE_DESCRIPTORS) {
        return RZ_ERR_INVALID;
    }
    if (rz_image_area_ready()) {
        uint64_t signals;
        lists_lock(&signals);
        uint8_t bit = (uint8_t)(1 << fd % 8), *byte = &RZ_AREA->excluded_fd[fd / 8];
        *byte = (uint8_t)(excluded ? *byte | bit : *byte & ~bit);
        lists_unlock(&signals);
    }
    return RZ_OK;
}

/* If it was the protector's number the program has closed that: it is the caller's now. */
rz_status_t rz_image_exclude_descriptor(int fd)
{
    if (rz_image_area_ready() && fd == RZ_AREA->protector) {
        RZ_AREA->protector = -1;
    }
    return set_descriptor(fd, true);
}

rz_status_t rz_image_include_descriptor(int fd)
{
    return set_descriptor(fd, false);
}

rz_status_t rz_image_exclude_thread(int tid)
{
    if (!rz_image_area_ready()) {
        return RZ_OK;
    }
    uint64_t signals;
    lists_lock(&signals);
    bool full = RZ_AREA->n_excluded_threads == RZ_IMAGE_EXCLUDED_THREADS;
    if (!full) {
        RZ_AREA->excluded_thread[RZ_AREA->n_excluded_threads++] = tid;
    }
    lists_unlock(&signals);
    return full ? RZ_ERR_NO_MEMORY : RZ_OK;
}

rz_status_t rz_image_include_thread(int tid)
{
    if (!rz_image_area_ready()) {
        return RZ_OK;
    }
    uint64_t signals;
    lists_lock(&signals);
    int *list = RZ_AREA->excluded_thread;
    for (uint32_t i = 0; i < RZ_AREA->n_excluded_threads; i++) {
        if (list[i] == tid) {
            list[i] = list[--RZ_AREA->n_excluded_threads];
            break;
        }
    }
    lists_unlock(&signals);
    return RZ_OK;
}
