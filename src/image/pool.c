/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow, each in a place of its own; and places for descriptors of callers. */
#include "image/area.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <sys/resource.h>

bool rz_image_pool_need(enum rz_image_pool pool, uint64_t bytes)
{
    uint64_t have = RZ_AREA->pool_bytes[pool], want = have ? have : 1 << 16;
    while (want < bytes) {
        want *= 2;
    }
    if (want > RZ_IMAGE_POOL_MAX ||
        (want > have && !rz_image_map_at((uintptr_t)rz_image_pool(pool) + have, want - have))) {
        rz_image_refuse(RZ_ERR_NO_MEMORY, "no memory for a list of %lu bytes", bytes);
        return false;
    }
    RZ_AREA->pool_bytes[pool] = want;
    return true;
}

bool rz_image_pool_add(enum rz_image_pool pool, const struct rz_image_run *run)
{
    uint64_t used = RZ_AREA->pool_used[pool];
    if (used + sizeof(*run) > RZ_AREA->pool_bytes[pool] &&
        !rz_image_pool_need(pool, used + sizeof(*run))) {
        return false;
    }
    *(struct rz_image_run *)((uint8_t *)rz_image_pool(pool) + used) = *run;
    RZ_AREA->pool_used[pool] = used + sizeof(*run);
    return true;
}

bool rz_image_pool_append(enum rz_image_pool pool, struct rz_image_run run, bool counts)
{
    uint64_t n = rz_image_pool_runs(pool);
    struct rz_image_run *last = (struct rz_image_run *)rz_image_pool(pool) + n - 1;
    bool continues =
        n > 0 && last->page + last->pages == run.page && (!counts || last->value != RZ_NO_SLOT);
    if (continues && last->value + (counts ? last->pages : 0) == run.value) {
        last->pages += run.pages;
        return true;
    }
    return rz_image_pool_add(pool, &run);
}

/* ---- For callers ---- */

int rz_image_descriptor_aside(int fd)
{
    struct rlimit limit;
    if (!rz_image_area_ready() || RZ_RAW4(prlimit64, 0, RLIMIT_NOFILE, 0, &limit) != 0) {
        return -1;
    }
    uint64_t max = limit.rlim_cur < RZ_IMAGE_DESCRIPTORS ? limit.rlim_cur : RZ_IMAGE_DESCRIPTORS;
    uint64_t from = max - (max / 4 < 4096 ? max / 4 : 4096); /* the kernel's table is as long */
    long moved = RZ_RAW3(fcntl, fd, F_DUPFD_CLOEXEC, from < 65536 ? from : 65536);
    if (rz_raw_failed(moved)) {
        return -1;
    }
    rz_image_include_descriptor(fd);
    rz_image_exclude_descriptor((int)moved);
    RZ_RAW1(close, fd);
    return (int)moved;
}
