/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that no restore changes: in the upper half of the region that no image has. */
#ifndef TESTS_IMAGE_APART_H
#define TESTS_IMAGE_APART_H

#include "image/image.h"

#include <errno.h>
#include <sys/mman.h>

/* flags: MAP_SHARED or MAP_PRIVATE. fd: of a file, or -1. NULL: there is none. */
static inline void *map_apart(size_t bytes, int flags, int fd)
{
    uintptr_t at = RZ_IMAGE_REGION + RZ_IMAGE_REGION_BYTES / 2;
    void *memory;
    do {
        memory = mmap((void *)at, bytes, PROT_READ | PROT_WRITE,
                      flags | MAP_FIXED_NOREPLACE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
        at += (bytes + 4095) / 4096 * 4096;
    } while (memory == MAP_FAILED && errno == EEXIST);
    return memory == MAP_FAILED ? NULL : memory;
}

#endif
