/* SPDX-License-Identifier: BSD-3-Clause */
/* Where this module does not work: another processor than x86-64, or a sanitizer, whose memory is
 * no program's. Everything that saves or restores is refused. */
#include "image/image.h"

#include <stdio.h>

static rz_status_t refuse(char *why, size_t max)
{
    if (why && max > 0) {
        snprintf(why, max, "this build saves no processes: that is for x86-64 without sanitizers");
    }
    return RZ_ERR_UNSUPPORTED;
}

rz_status_t rz_image_exclude(const void *address, size_t bytes)
{
    (void)address, (void)bytes;
    return RZ_OK;
}

rz_status_t rz_image_include(const void *address, size_t bytes)
{
    (void)address, (void)bytes;
    return RZ_OK;
}

rz_status_t rz_image_exclude_descriptor(int fd)
{
    return fd >= 0 ? RZ_OK : RZ_ERR_INVALID;
}

rz_status_t rz_image_include_descriptor(int fd)
{
    return fd >= 0 ? RZ_OK : RZ_ERR_INVALID;
}

rz_status_t rz_image_exclude_thread(int tid)
{
    (void)tid;
    return RZ_OK;
}

rz_status_t rz_image_include_thread(int tid)
{
    (void)tid;
    return RZ_OK;
}

void rz_image_set_owners(struct rz_lock_owners *owners)
{
    (void)owners;
}

void rz_image_set_given(const struct rz_image_given given[3])
{
    (void)given;
}

int rz_image_descriptor_aside(int fd)
{
    (void)fd;
    return -1;
}

rz_status_t rz_image_check(char *why, size_t max)
{
    return refuse(why, max);
}

uint64_t rz_image_bytes(void)
{
    return 0;
}

enum rz_image_result rz_image_save(const struct rz_image_place *place, uint64_t *bytes, char *why,
                                   size_t max)
{
    (void)place, (void)bytes;
    refuse(why, max);
    return RZ_IMAGE_REFUSED;
}

const uint8_t *rz_image_written(uint64_t *pages)
{
    *pages = 0;
    return NULL;
}

bool rz_image_next_open(uint32_t *i, struct rz_image_open *open)
{
    (void)i, (void)open;
    return false;
}

rz_status_t rz_image_restore(int fd, uint64_t bytes, const void *handover, size_t handover_bytes,
                             char *why, size_t max)
{
    (void)fd, (void)bytes, (void)handover, (void)handover_bytes;
    return refuse(why, max);
}

uint64_t rz_image_note(int fd, int which)
{
    (void)fd, (void)which;
    return 0;
}

const void *rz_image_handover(size_t *bytes)
{
    *bytes = 0;
    return NULL;
}
