/* SPDX-License-Identifier: BSD-3-Clause */
/* Which mappings are part of the image, and which cannot be. */
#include "image/area.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Ticks are of at most 10 ms. */
#define TICK_NAP_NS 1000000
#define TICK_NAPS_MAX 20

/* As /proc/self/maps names what has no file. */
static const char *name_of(const char *path)
{
    return *path ? path : "shared memory without a name";
}

static rz_status_t refuse_shared(const struct rz_image_region *r, const char *path)
{
    return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                           "%s is mapped at 0x%lx, shared with the kernel or other processes",
                           name_of(path), r->start);
}

/* A file that was written to in this very tick of the clock may get the same time again, from a
 * process that goes on after the snapshot. One whose host has another clock is not waited for. */
static void outlast_tick(const struct rz_image_identity *file)
{
    const int64_t nap[2] = {0, TICK_NAP_NS};
    for (int i = 0; i < TICK_NAPS_MAX && file->written_ns >= rz_image_now_ns(); i++) {
        RZ_RAW2(nanosleep, nap, 0);
    }
}

/* Only the page with the head of a file has its build id. */
static void note_identity(struct rz_image_region *r, const char *path)
{
    struct stat st;
    if (RZ_RAW4(newfstatat, AT_FDCWD, path, &st, 0) != 0) {
        return; /* the restore will say that the file is missing */
    }
    r->file = rz_image_identity_of(&st, rz_image_made_ns(AT_FDCWD, path, 0));
    if (r->offset == 0 && r->file.bytes > 0) {
        r->id_bytes =
            (uint8_t)(r->protection & PROT_READ && rz_raw_readable(r->start)
                          ? rz_image_build_id((const void *)r->start,
                                              r->end - r->start < RZ_IMAGE_PAGE ? r->end - r->start
                                                                                : RZ_IMAGE_PAGE,
                                              r->id)
                          : rz_image_build_id_of(path, r->id));
    }
    if (r->id_bytes == 0) {
        outlast_tick(&r->file);
    }
}

/* How much of the mapping lies before the end of its file, which has no name to ask for. */
static uint64_t bytes_of_file(const struct rz_image_region *r)
{
    uint64_t has = 0, none = (r->end - r->start) / RZ_IMAGE_PAGE; /* pages; the end is between */
    bool open = r->protection & PROT_READ;
    if (!open) {
        RZ_RAW3(mprotect, r->start, r->end - r->start, r->protection | PROT_READ);
    }
    if (rz_raw_readable(r->end - RZ_IMAGE_PAGE)) {
        has = none;
    }
    while (has < none) {
        uint64_t middle = has + (none - has) / 2;
        if (rz_raw_readable(r->start + middle * RZ_IMAGE_PAGE)) {
            has = middle + 1;
        } else {
            none = middle;
        }
    }
    if (!open) {
        RZ_RAW3(mprotect, r->start, r->end - r->start, r->protection);
    }
    return has * RZ_IMAGE_PAGE;
}

/* What the mapping is in the image. *in: whether it is. */
static rz_status_t classify_region(struct rz_image_region *r, const char *path, bool *in)
{
    bool named = *path == '/', deleted = rz_raw_ends(path, " (deleted)");
    *in = false;
    if (rz_image_in_region(r->start, r->end) || rz_image_of_kernel(path) ||
        (r->shared && rz_image_excluded_whole(r->start, r->end))) {
        return RZ_OK;
    }
    bool device = rz_raw_begins(path, "/dev/") && !rz_raw_begins(path, "/dev/shm/") &&
                  !(rz_raw_same(path, "/dev/zero") && !r->shared);
    if (rz_raw_begins(path, "anon_inode:") || device ||
        (r->shared && (!named || deleted || (r->protection & PROT_WRITE)))) {
        return refuse_shared(r, path);
    }
    *in = true;
    r->kind = !named || rz_raw_same(path, "/dev/zero") ? RZ_IMAGE_ANONYMOUS
              : deleted                                ? RZ_IMAGE_WHOLE
                                                       : RZ_IMAGE_MAPPED;
    r->file_bytes = r->kind == RZ_IMAGE_WHOLE ? bytes_of_file(r) : 0;
    return RZ_OK;
}

rz_status_t rz_image_choose_regions(struct rz_image_tables *image)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < image->head.n_regions; i++) {
        struct rz_image_region *r = &image->region[i];
        const char *path = image->text + r->path;
        bool in;
        rz_status_t status = classify_region(r, path, &in);
        if (status != RZ_OK) {
            return status;
        }
        if (in) {
            image->region[n++] = *r;
        }
    }
    image->head.n_regions = n;
    return RZ_OK;
}

void rz_image_note_identities(struct rz_image_tables *image)
{
    for (uint32_t i = 0; i < image->head.n_regions; i++) {
        struct rz_image_region *r = &image->region[i];
        if (r->kind == RZ_IMAGE_MAPPED) {
            note_identity(r, image->text + r->path);
        }
    }
}
