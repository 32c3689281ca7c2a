/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow, each in a place of its own; and places for descriptors of callers. */
#include "image/area.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

static bool map_at(uintptr_t at, uint64_t bytes, int protection)
{
    long got = RZ_RAW6(mmap, at, bytes, protection,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    if (got != (long)at && !rz_raw_failed(got)) {
        RZ_RAW2(munmap, got, bytes);
    }
    return got == (long)at;
}

bool rz_image_pool_need(enum rz_image_pool pool, uint64_t bytes)
{
    uint64_t have = RZ_AREA->pool_bytes[pool], want = have ? have : 1 << 16;
    while (want < bytes) {
        want *= 2;
    }
    if (want > RZ_IMAGE_POOL_MAX || (want > have && !map_at((uintptr_t)rz_image_pool(pool) + have,
                                                            want - have, PROT_READ | PROT_WRITE))) {
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
