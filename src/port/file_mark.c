/* SPDX-License-Identifier: BSD-3-Clause */
/* A file is told by its inode and the time at which it was made; on one host by its device, too. */
#include "port/file_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* Not in linux/magic.h. */
#define ZFS_MAGIC 0x2fc12fc1

/* The file server's clock may be another one. */
#define MADE_WITHIN_S 60

/* Not kept: a process that was restored may be on another host. */
uint64_t rz_file_mark_host(void)
{
    char text[64] = "";
    uint64_t host = 0;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0) {
        close(fd);
    }
    for (ssize_t i = 0; i < n; i++) {
        host = (host ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    }
    return host;
}

/* A file system that is not in the list may be shared. */
static bool is_of_one_host(int fd)
{
    static const uint32_t kinds[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                     TMPFS_MAGIC,      RAMFS_MAGIC,     OVERLAYFS_SUPER_MAGIC,
                                     F2FS_SUPER_MAGIC, ZFS_MAGIC};
    struct statfs of;
    bool found = false;
    for (size_t i = 0; fstatfs(fd, &of) == 0 && i < sizeof(kinds) / sizeof(*kinds); i++) {
        found = found || (uint32_t)of.f_type == kinds[i];
    }
    return found;
}

/* 0: the file system does not say. */
static uint64_t made_at(const struct statx *file)
{
    return file->stx_mask & STATX_BTIME
               ? (uint64_t)file->stx_btime.tv_sec * 1000000000 + file->stx_btime.tv_nsec
               : 0;
}

static bool identify(int fd, struct rz_file_mark *mark)
{
    struct stat st;
    struct statx more;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink == 0) {
        return false;
    }
    bool known = statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0;
    *mark = (struct rz_file_mark){.host = rz_file_mark_host(),
                                  .device = st.st_dev,
                                  .inode = st.st_ino,
                                  .made_ns = known ? made_at(&more) : 0,
                                  .bytes = (uint64_t)st.st_size};
    return true;
}

bool rz_file_mark_take(int fd, struct rz_file_mark *mark, char path[RZ_FILE_PATH_BYTES])
{
    char link[40];
    if (!identify(fd, mark)) {
        return false;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, RZ_FILE_PATH_BYTES - 1);
    path[n > 0 ? n : 0] = '\0';
    mark->path = path;
    mark->flags = is_of_one_host(fd) ? RZ_FILE_LOCAL : 0;
    return path[0] == '/' && strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0;
}

/* The folder's own name, and the last part of the given one. */
bool rz_file_mark_want(int folder, const char *name, struct rz_file_mark *mark,
                       char path[RZ_FILE_PATH_BYTES])
{
    char link[40], above[RZ_FILE_PATH_BYTES];
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    size_t length = (size_t)(last - name);
    struct timespec now;
    if (length >= sizeof(above)) {
        return false;
    }
    snprintf(above, sizeof(above), "%.*s", length ? (int)length : 1, length ? name : ".");
    int fd = openat(folder, above, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, RZ_FILE_PATH_BYTES - 1);
    size_t bytes = n > 0 ? (size_t)n : 0;
    clock_gettime(CLOCK_REALTIME, &now);
    *mark =
        (struct rz_file_mark){.host = rz_file_mark_host(),
                              .made_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
                              .flags = RZ_FILE_WANTED | (is_of_one_host(fd) ? RZ_FILE_LOCAL : 0),
                              .path = path};
    close(fd);
    const char *between = bytes > 1 ? "/" : "";
    size_t needed = bytes + strlen(between) + strlen(last) + 1;
    if (bytes == 0 || path[0] != '/' || needed > RZ_FILE_PATH_BYTES) {
        return false;
    }
    snprintf(path + bytes, RZ_FILE_PATH_BYTES - bytes, "%s%s", between, last);
    return true;
}

static bool same_file(const struct rz_file_mark *a, const struct rz_file_mark *b)
{
    return a->inode == b->inode &&
           (a->made_ns == b->made_ns || a->made_ns == 0 || b->made_ns == 0) &&
           (a->host != b->host || a->device == b->device);
}

bool rz_file_mark_is_gone(const struct rz_file_mark *mark, uint64_t host)
{
    struct statx now;
    if (mark->flags & RZ_FILE_WANTED) {
        return true;
    }
    if (!(mark->flags & RZ_FILE_LOCAL) || !(mark->flags & RZ_FILE_CREATED) || mark->made_ns == 0 ||
        host == 0 || mark->host != host) {
        return false;
    }
    if (statx(AT_FDCWD, mark->path, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &now) != 0) {
        return errno == ENOENT || errno == ENOTDIR;
    }
    uint64_t made = made_at(&now);
    return now.stx_ino != mark->inode || (made != 0 && made != mark->made_ns);
}

/* This host cannot see the file. */
static bool is_elsewhere(const struct rz_file_mark *mark)
{
    return mark->host != rz_file_mark_host() && mark->flags & RZ_FILE_LOCAL;
}

/* The one that was about to be made, and is as its maker has left it. */
static bool is_as_made(const struct rz_file_mark *mark, const struct stat *now)
{
    int64_t wanted_s = (int64_t)(mark->made_ns / 1000000000), changed_s = now->st_mtim.tv_sec;
    return S_ISREG(now->st_mode) && now->st_size == 0 && now->st_uid == geteuid() &&
           changed_s >= wanted_s - MADE_WITHIN_S && changed_s <= wanted_s + MADE_WITHIN_S;
}

static enum rz_file_mark_result restore_wanted(const struct rz_file_mark *mark, bool cut)
{
    struct stat now;
    if (is_elsewhere(mark) || lstat(mark->path, &now) != 0 || !is_as_made(mark, &now)) {
        return RZ_FILE_AS_MARKED;
    }
    return !cut || unlink(mark->path) == 0 || errno == ENOENT ? RZ_FILE_CUT : RZ_FILE_CLOSED;
}

enum rz_file_mark_result rz_file_mark_restore(const struct rz_file_mark *mark, bool cut)
{
    struct rz_file_mark now;
    if (mark->flags & RZ_FILE_WANTED) {
        return restore_wanted(mark, cut);
    }
    if (mark->flags & RZ_FILE_EMPTIED) {
        return RZ_FILE_LOST;
    }
    bool created = mark->flags & RZ_FILE_CREATED;
    int fd = open(mark->path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR ? RZ_FILE_AS_MARKED : RZ_FILE_CLOSED;
    }
    bool same = identify(fd, &now) && same_file(mark, &now);
    bool elsewhere = is_elsewhere(mark);
    enum rz_file_mark_result result = same                   ? RZ_FILE_CUT
                                      : created || elsewhere ? RZ_FILE_AS_MARKED
                                                             : RZ_FILE_ANOTHER;
    if (same && !created && now.bytes <= mark->bytes) {
        result = RZ_FILE_AS_MARKED;
    }
    if (result == RZ_FILE_CUT && cut) {
        /* Several processes may restore a file. */
        bool done = created ? unlink(mark->path) == 0 || errno == ENOENT
                            : ftruncate(fd, (off_t)mark->bytes) == 0;
        result = done ? RZ_FILE_CUT : RZ_FILE_CLOSED;
    }
    close(fd);
    return result;
}
