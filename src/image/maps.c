/* SPDX-License-Identifier: BSD-3-Clause */
/* The mappings of this process, as /proc says them. Also in the restore program. */
#include "image/area.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/mman.h>

int rz_image_next_number(const char *list, long bytes, long *at)
{
    while (*at < bytes) {
        const char *c = list + *at + 19; /* struct linux_dirent64: the name */
        int number = 0;
        *at += *(const uint16_t *)(const void *)(list + *at + 16);
        for (; *c >= '0' && *c <= '9'; c++) {
            number = number * 10 + *c - '0';
        }
        if (*c == '\0') {
            return number;
        }
    }
    return -1;
}

long rz_image_read_file(const char *path, char *to, size_t max)
{
    long fd = RZ_RAW4(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        return fd;
    }
    size_t n = 0;
    long more = 1;
    while (n < max && more > 0) {
        more = RZ_RAW3(read, fd, to + n, max - n);
        n += more > 0 ? (size_t)more : 0;
    }
    RZ_RAW1(close, fd);
    return more < 0 ? more : (long)n;
}

uint64_t rz_image_made_ns(int fd, const char *path, int flags)
{
    struct statx st;
    long result = RZ_RAW5(statx, fd, path, flags, STATX_BTIME, &st);
    return result == 0 && st.stx_mask & STATX_BTIME
               ? (uint64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec
               : 0;
}

const char *rz_image_take_number(const char *c, uint64_t *value)
{
    *value = 0;
    while ((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'f')) {
        *value = *value << 4 | (uint64_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
        c++;
    }
    return c + 1;
}

/* A line of /proc/self/maps: start-end rwxp offset device inode path */
static const char *take_line(const char *c, struct rz_image_tables *tables)
{
    struct rz_image_region *r = &tables->region[tables->head.n_regions++];
    rz_raw_zero(r, sizeof(*r));
    c = rz_image_take_number(c, &r->start);
    c = rz_image_take_number(c, &r->end);
    r->protection = (uint8_t)((c[0] == 'r' ? PROT_READ : 0) | (c[1] == 'w' ? PROT_WRITE : 0) |
                              (c[2] == 'x' ? PROT_EXEC : 0));
    r->shared = c[3] == 's';
    c = rz_image_take_number(c + 5, &r->offset);
    for (int blanks = 0; blanks < 2; c++) {
        blanks += *c == ' ';
    }
    while (*c == ' ') {
        c++;
    }
    r->path = tables->head.n_text;
    while (*c != '\n') {
        bool newline = rz_raw_begins(c, "\\012"); /* the only character that is written so */
        tables->text[tables->head.n_text++] = newline ? '\n' : *c;
        c += newline ? 4 : 1;
    }
    tables->text[tables->head.n_text++] = '\0';
    return c + 1;
}

rz_status_t rz_image_read_maps(struct rz_image_tables *tables)
{
    /* Of this thread: the kernel's first one may have ended. */
    long n = rz_image_read_file("/proc/thread-self/maps", RZ_AREA->maps, sizeof(RZ_AREA->maps));
    tables->head.n_regions = tables->head.n_text = 0;
    if (n <= 0) {
        const char *why = rz_image_why_unread(n);
        rz_raw_copy(RZ_AREA->why, why, rz_raw_length(why) + 1);
        return RZ_ERR_SYSTEM;
    }
    const char *end = RZ_AREA->maps + n;
    for (const char *c = RZ_AREA->maps; c < end;) {
        if (n == (long)sizeof(RZ_AREA->maps) || tables->head.n_regions == RZ_IMAGE_REGIONS) {
            rz_raw_copy(RZ_AREA->why, "there are too many mappings", 28);
            return RZ_ERR_UNSUPPORTED;
        }
        c = take_line(c, tables);
    }
    return RZ_OK;
}

const struct rz_image_region *rz_image_named(const struct rz_image_tables *tables, const char *name)
{
    for (uint32_t i = 0; i < tables->head.n_regions; i++) {
        if (rz_raw_same(tables->text + tables->region[i].path, name)) {
            return &tables->region[i];
        }
    }
    return NULL;
}
