/* SPDX-License-Identifier: BSD-3-Clause */
/* What must hold before anything is changed: the same program and libraries, processor and kernel,
 * and nothing in the way of the image's addresses, descriptors and files. */
#include "image/area.h"
#include "image/raw_call.h"

#include "port/file_mark.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Three seconds. */
#define WRITTEN_BACK_NAP_NS 10000000
#define WRITTEN_BACK_NAPS_MAX 300

static bool same_identity(const struct rz_image_tables *image, const struct rz_image_region *r,
                          const char *path, const struct stat *st)
{
    uint8_t id[20];
    if (r->id_bytes == 0) {
        struct rz_image_identity is = rz_image_identity_of(st, rz_image_made_ns(AT_FDCWD, path, 0));
        return rz_image_same_content(&image->head, &r->file, &is);
    }
    if (rz_image_build_id_of(path, id) != r->id_bytes) {
        return false;
    }
    for (uint32_t i = 0; i < r->id_bytes; i++) {
        if (id[i] != r->id[i]) {
            return false;
        }
    }
    return true;
}

/* Whether the image has the file open to append to it: then it is cut, and what was there before is
 * what it was. */
static bool is_appended_to(const struct rz_image_tables *image, const char *path)
{
    for (uint32_t i = 0; i < image->head.n_files; i++) {
        const struct rz_image_file *file = &image->file[i];
        if (file->fd >= 0 && file->given < 0 && (file->flags & O_ACCMODE) != O_RDONLY &&
            file->flags & O_APPEND && rz_raw_same(image->text + file->path, path)) {
            return true;
        }
    }
    return false;
}

/* A file's first mapping has its build id; of the others only the size can be compared, unless none
 * is of the beginning. */
static rz_status_t check_mapped_files(const struct rz_image_tables *image)
{
    const struct rz_image_region *first = NULL;
    for (uint32_t i = 0; i < image->head.n_regions; i++) {
        const struct rz_image_region *r = &image->region[i];
        const char *path = image->text + r->path;
        struct stat st;
        if (r->kind != RZ_IMAGE_MAPPED) {
            continue;
        }
        if (RZ_RAW4(newfstatat, AT_FDCWD, path, &st, 0) != 0) {
            return rz_image_refuse(RZ_ERR_UNSUPPORTED, "%s, which the image maps, is missing",
                                   path);
        }
        bool identified =
            first && first->id_bytes > 0 && rz_raw_same(image->text + first->path, path);
        bool same =
            identified ? (uint64_t)st.st_size == r->file.bytes : same_identity(image, r, path, &st);
        bool longer = !identified && r->id_bytes == 0 && st.st_ino == r->file.inode &&
                      (uint64_t)st.st_size >= r->file.bytes;
        if (!same && !(longer && is_appended_to(image, path))) {
            return rz_image_refuse(RZ_ERR_UNSUPPORTED, "%s is another file than the image maps",
                                   path);
        }
        first = r->id_bytes > 0 ? r : first;
    }
    return RZ_OK;
}

static rz_status_t check_program(const struct rz_image_tables *image)
{
    char path[4096];
    long n = RZ_RAW4(readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    return rz_raw_same(path, image->text + image->head.program)
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED, "the image is of another program: %s",
                                 image->text + image->head.program);
}

/* The end of the heap cannot be below its beginning, which address space randomisation chooses. */
static rz_status_t check_heap(const struct rz_image_tables *image)
{
    const struct rz_image_region *heap = rz_image_named(&RZ_AREA->here, "[heap]");
    return (uint64_t)RZ_RAW1(brk, 0) <= image->head.brk || (heap && heap->start <= image->head.brk)
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED, "the heap of this process lies above that of "
                                                     "the image: start the program again");
}

/* The program may have raised its limit up to the launcher's hard one, and used it. */
static rz_status_t check_stack(const struct rz_image_tables *image)
{
    const struct rz_image_region *stack = rz_image_named(image, "[stack]");
    uint64_t limit[2];
    return !stack || RZ_RAW4(prlimit64, 0, RLIMIT_STACK, 0, limit) != 0 ||
                   stack->end - stack->start <= limit[1]
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                 "the stack of the image has %lu bytes, and this process may have "
                                 "only %lu (ulimit -s)",
                                 stack->end - stack->start, limit[1]);
}

/* What is excluded here, where the image has a mapping. Memory of the program that is excluded in
 * this process stays in its mapping; all else is in the way. */
static rz_status_t check_overlap(const struct rz_image_region *r)
{
    const struct rz_image_tables *here = &RZ_AREA->here;
    for (uint32_t i = 0; i < RZ_AREA->n_excluded; i++) {
        uint64_t start = RZ_AREA->excluded[i].start, end = RZ_AREA->excluded[i].end;
        start = start > r->start ? start : r->start;
        end = end < r->end ? end : r->end;
        for (uint32_t k = 0; start < end && k < here->head.n_regions; k++) {
            const struct rz_image_region *h = &here->region[k];
            if (h->end <= start || h->start >= end) {
                continue;
            }
            if (!RZ_AREA->in_place || h->shared != r->shared || h->start > start) {
                break;
            }
            start = h->end;
        }
        if (start < end) {
            return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                   "excluded memory at 0x%lx is where the image has a mapping",
                                   start);
        }
    }
    return RZ_OK;
}

static rz_status_t check_addresses(const struct rz_image_tables *image)
{
    for (uint32_t i = 0; i < image->head.n_regions; i++) {
        const struct rz_image_region *r = &image->region[i];
        if (rz_image_excluded(r->start, r->end)) {
            rz_status_t status = check_overlap(r);
            if (status != RZ_OK) {
                return status;
            }
        }
    }
    return RZ_OK;
}

/* Whether another file has the name, which is no link. The device does not count: of one that
 * several hosts share each has its own number. */
static bool is_another(const struct rz_image_file *file, const char *path, const struct stat *st)
{
    return st->st_ino != file->is.inode ||
           !rz_image_same_made(file->is.made_ns,
                               rz_image_made_ns(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW));
}

/* One that is gone is made again when the program opens it again, and one that is shorter was begun
 * anew. */
static rz_status_t check_closed(const struct rz_image_file *file, const char *path)
{
    struct stat st;
    if (RZ_RAW4(newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return RZ_OK;
    }
    if (st.st_dev == file->is.device && is_another(file, path, &st)) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                               "%s, which had been written to, is another file now", path);
    }
    return (uint64_t)st.st_size <= file->is.bytes || st.st_ino != file->is.inode ||
                   RZ_RAW3(faccessat, AT_FDCWD, path, 2) == 0
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                 "%s must not be opened, and has to be cut to its length", path);
}

/* Files of /proc and /sys are made for each process that opens them. */
static bool is_of_system(const char *path)
{
    return rz_raw_begins(path, "/proc/") || rz_raw_begins(path, "/sys/");
}

static bool same_reading(const struct rz_image_tables *image, const struct rz_image_file *file,
                         const char *path, const struct stat *st)
{
    struct rz_image_identity is =
        rz_image_identity_of(st, rz_image_made_ns(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW));
    return rz_image_same_reading(&image->head, &file->is, &is);
}

/* st: of the name. Another rank may be restoring a small file under it. */
static rz_status_t check_reading(const struct rz_image_tables *image,
                                 const struct rz_image_file *file, const char *path,
                                 struct stat *st)
{
    const int64_t nap[2] = {0, WRITTEN_BACK_NAP_NS};
    bool small = file->is.bytes <= RZ_FILE_CONTENT_MAX;
    bool same = same_reading(image, file, path, st);
    for (int i = 0; !same && small && i < WRITTEN_BACK_NAPS_MAX; i++) {
        RZ_RAW2(nanosleep, nap, 0);
        same = RZ_RAW4(newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW) == 0 &&
               same_reading(image, file, path, st);
    }
    return same ? RZ_OK
                : rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                  "%s, which was open for reading, is another file now", path);
}

static rz_status_t check_content(const struct rz_image_tables *image,
                                 const struct rz_image_file *file, const char *path,
                                 struct stat *st)
{
    if (!S_ISREG(st->st_mode) || is_of_system(path)) {
        return RZ_OK;
    }
    if ((file->flags & O_ACCMODE) == O_RDONLY) {
        rz_status_t status = check_reading(image, file, path, st);
        if (status != RZ_OK) {
            return status;
        }
    } else if (is_another(file, path, st)) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                               "%s, which was open for writing, is another file now", path);
    }
    return (uint64_t)st->st_size >= file->is.bytes
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED, "%s is shorter than when it was saved", path);
}

static rz_status_t check_file(const struct rz_image_tables *image, const struct rz_image_file *file,
                              const char *path, int fd)
{
    struct stat st;
    if (file->fd < 0) {
        return check_closed(file, path);
    }
    if (file->fd == fd || rz_image_excluded_descriptor(file->fd) ||
        file->fd == RZ_AREA->protector) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                               "descriptor %d, where the image has %s, is in use", file->fd, path);
    }
    if (file->given >= 0 && RZ_AREA->given_at[file->given] < 0) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                               "descriptor %d, where the image has what the launcher gave as %d, "
                               "cannot be had: that is closed",
                               file->fd, file->given);
    }
    if (file->same_as >= 0 || file->given >= 0) {
        return RZ_OK;
    }
    if (RZ_RAW4(newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        (st.st_mode & S_IFMT) != (file->mode & S_IFMT)) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED, "%s, which was open, is missing", path);
    }
    rz_status_t status = check_content(image, file, path, &st);
    if (status != RZ_OK) {
        return status;
    }
    long may = (file->flags & O_ACCMODE) == O_RDONLY   ? 4
               : (file->flags & O_ACCMODE) == O_WRONLY ? 2
                                                       : 6;
    return RZ_RAW3(faccessat, AT_FDCWD, path, may) == 0
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED, "%s must not be opened", path);
}

static rz_status_t check_files(const struct rz_image_tables *image, int fd)
{
    for (uint32_t i = 0; i < image->head.n_files; i++) {
        const struct rz_image_file *file = &image->file[i];
        rz_status_t status = check_file(image, file, image->text + file->path, fd);
        if (status != RZ_OK) {
            return status;
        }
    }
    const char *folder = image->text + image->head.folder;
    return RZ_RAW3(faccessat, AT_FDCWD, folder, 1) == 0
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED, "the working directory %s is missing", folder);
}

static rz_status_t check_memory(const struct rz_image_tables *image)
{
    char text[4096];
    long n = rz_image_read_file("/proc/meminfo", text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    for (const char *c = text; *c; c++) {
        if (rz_raw_begins(c, "\nMemAvailable:")) {
            uint64_t available = 0, need = image->head.slots * (RZ_IMAGE_PAGE / 1024);
            for (c += 14; *c && *c != 'k'; c++) {
                available =
                    *c >= '0' && *c <= '9' ? available * 10 + (uint64_t)(*c - '0') : available;
            }
            return need <= available
                       ? RZ_OK
                       : rz_image_refuse(RZ_ERR_NO_MEMORY,
                                         "the image needs %lu KiB of memory; %lu are available",
                                         need, available);
        }
    }
    return RZ_OK;
}

/* image: as it was read, with its index. fd: its file. */
rz_status_t rz_image_check_restore(const struct rz_image_tables *image, int fd)
{
    rz_status_t status = rz_image_read_maps(&RZ_AREA->here);
    RZ_AREA->host = rz_image_host();
    status = status == RZ_OK ? check_program(image) : status;
    status = status == RZ_OK ? rz_image_check_process(image) : status;
    status = status == RZ_OK ? check_mapped_files(image) : status;
    status = status == RZ_OK ? check_heap(image) : status;
    status = status == RZ_OK ? check_stack(image) : status;
    status = status == RZ_OK ? check_addresses(image) : status;
    status = status == RZ_OK ? check_files(image, fd) : status;
    return status == RZ_OK && !RZ_AREA->in_place ? check_memory(image) : status;
}
