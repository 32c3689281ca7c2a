/* SPDX-License-Identifier: BSD-3-Clause */
/* A file is told by its inode and the time at which it was made; on one host by its device, too. */
#include "port/file_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* Not in linux/magic.h. */
#define ZFS_MAGIC 0x2fc12fc1

/* Of files that another process restores, too. Whoever else has a lock holds it for longer. */
#define LOCKED_FOR_MS 2000

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

static uint64_t in_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

static struct timespec of_ns(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
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
                                  .bytes = (uint64_t)st.st_size,
                                  .changed_ns = in_ns(&st.st_mtim),
                                  .mode = st.st_mode & 0777};
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
                              .made_ns = in_ns(&now),
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

bool rz_file_mark_miss(int folder, const char *name, struct rz_file_mark *mark,
                       char path[RZ_FILE_PATH_BYTES])
{
    enum { LINKS_MAX = 40 }; /* as the system follows */
    char next[RZ_FILE_PATH_BYTES];
    bool marked = rz_file_mark_want(folder, name, mark, path);
    for (int i = 0; marked && i < LINKS_MAX; i++) {
        size_t above = (size_t)(strrchr(path, '/') + 1 - path);
        ssize_t n = readlink(path, next, sizeof(next) - above);
        if (n < 0) {
            return true;
        }
        if (n > 0 && next[0] != '/') {
            memmove(next + above, next, (size_t)n);
            memcpy(next, path, above);
            n += (ssize_t)above;
        }
        next[n < (ssize_t)sizeof(next) ? n : (ssize_t)sizeof(next) - 1] = '\0';
        marked = n > 0 && rz_file_mark_want(AT_FDCWD, next, mark, path);
    }
    return marked;
}

/* Who closes a file loses the locks that the process has on it (F_SETLK), also those that it has
 * got through another descriptor. */
static bool locked_by_us(uint64_t inode)
{
    char line[256];
    FILE *locks = fopen("/proc/locks", "re");
    bool locked = !locks;
    while (!locked && fgets(line, sizeof(line), locks)) {
        char kind[16];
        long pid;
        unsigned long long of;
        locked = sscanf(line, "%*s %15s %*s %*s %ld %*x:%*x:%llu", kind, &pid, &of) == 3 &&
                 strcmp(kind, "POSIX") == 0 && pid == (long)getpid() && of == inode;
    }
    if (locks) {
        fclose(locks);
    }
    return locked;
}

static ssize_t read_whole(int fd, uint8_t *content, size_t max)
{
    size_t done = 0;
    while (done < max) {
        ssize_t n = pread(fd, content + done, max - done, (off_t)done);
        if (n < 0 && errno != EINTR) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)done;
}

/* By that descriptor, or by another one: that one may be for writing only, or a mere name. */
static bool read_content(int fd, struct rz_file_mark *mark, uint8_t content[RZ_FILE_CONTENT_MAX])
{
    char link[40];
    ssize_t n = -1;
    if (mark->bytes <= RZ_FILE_CONTENT_MAX) {
        n = read_whole(fd, content, mark->bytes);
    }
    if (n < 0 && (mark->bytes > RZ_FILE_CONTENT_MAX || locked_by_us(mark->inode))) {
        mark->flags |= RZ_FILE_EMPTIED;
        return true;
    }
    if (n < 0) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        int again = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        n = again >= 0 ? read_whole(again, content, mark->bytes) : -1;
        if (again >= 0) {
            close(again);
        }
    }
    if (n >= 0) {
        mark->bytes = (uint64_t)n;
        mark->content = content;
        mark->content_length = (uint32_t)n;
    }
    return n >= 0;
}

bool rz_file_mark_hold(int folder, const char *name, bool follow, struct rz_file_mark *mark,
                       char path[RZ_FILE_PATH_BYTES], uint8_t content[RZ_FILE_CONTENT_MAX])
{
    int fd = name ? openat(folder, name, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW)) : folder;
    bool held = fd >= 0 && rz_file_mark_take(fd, mark, path);
    if (held) {
        mark->flags |= RZ_FILE_CONTENT;
        held = read_content(fd, mark, content);
    }
    if (name && fd >= 0) {
        close(fd);
    }
    return held;
}

bool rz_file_mark_rename(const struct rz_file_names *names, struct rz_file_mark *mark,
                         char path[RZ_FILE_PATH_BYTES], uint8_t content[RZ_FILE_PATH_BYTES])
{
    struct rz_file_mark wanted;
    int fd = openat(names->from_folder, names->from, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    bool marked = fd >= 0 && rz_file_mark_take(fd, mark, path) &&
                  rz_file_mark_want(names->to_folder, names->to, &wanted, (char *)content);
    if (marked) {
        mark->flags |= RZ_FILE_RENAMED;
        mark->content = content;
        mark->content_length = (uint32_t)strlen((const char *)content);
    }
    if (fd >= 0) {
        close(fd);
    }
    return marked;
}

/* A mark has the name that leads to the file without a link. Since then others, who may write to a
 * folder on the way, may have put one there: none is followed. */
static int open_marked(const char *path, int flags, mode_t mode)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
                           .mode = mode,
                           .resolve = RESOLVE_NO_SYMLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) { /* an old kernel, or a filter of calls */
        fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    }
    return fd;
}

/* The folder of a marked file, and its name there. */
static int open_folder_of(const char *path, const char **name)
{
    char folder[RZ_FILE_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (!slash || length >= sizeof(folder)) {
        errno = ENOENT;
        return -1;
    }
    snprintf(folder, sizeof(folder), "%.*s", length ? (int)length : 1, path);
    *name = slash + 1;
    return open_marked(folder, O_PATH | O_DIRECTORY, 0);
}

static bool remove_marked(const char *path)
{
    const char *name;
    int folder = open_folder_of(path, &name);
    bool done = (folder >= 0 && unlinkat(folder, name, 0) == 0) || errno == ENOENT;
    if (folder >= 0) {
        close(folder);
    }
    return done;
}

bool rz_file_mark_same(const struct rz_file_mark *a, const struct rz_file_mark *b)
{
    return a->inode == b->inode &&
           (a->made_ns == b->made_ns || a->made_ns == 0 || b->made_ns == 0) &&
           (a->host != b->host || a->device == b->device);
}

bool rz_file_mark_named(const char *path, uint64_t *inode, uint64_t *made_ns)
{
    struct statx now;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &now) != 0) {
        return false;
    }
    *inode = now.stx_ino;
    *made_ns = made_at(&now);
    return true;
}

bool rz_file_mark_is_gone(const struct rz_file_mark *mark, uint64_t host)
{
    uint64_t inode, made;
    if (mark->flags & RZ_FILE_WANTED) {
        return true;
    }
    if (!(mark->flags & RZ_FILE_LOCAL) || !(mark->flags & RZ_FILE_CREATED) || mark->made_ns == 0 ||
        host == 0 || mark->host != host) {
        return false;
    }
    if (!rz_file_mark_named(mark->path, &inode, &made)) {
        return errno == ENOENT || errno == ENOTDIR;
    }
    return inode != mark->inode || (made != 0 && made != mark->made_ns);
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
    const char *name;
    int folder = is_elsewhere(mark) ? -1 : open_folder_of(mark->path, &name);
    bool there = folder >= 0 && fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
                 is_as_made(mark, &now);
    bool removed = !there || !cut || unlinkat(folder, name, 0) == 0 || errno == ENOENT;
    if (folder >= 0) {
        close(folder);
    }
    return !there ? RZ_FILE_AS_MARKED : removed ? RZ_FILE_CUT : RZ_FILE_CLOSED;
}

/* The time of access of a file that was restored in this round says so, and its time of change how
 * old its content is: whoever has newer content leaves it alone. */
static struct timespec time_of_round(uint64_t round)
{
    return (struct timespec){(time_t)(round >> 34), (long)(round % 1000000000)};
}

static bool is_of_round(const struct stat *now, uint64_t round)
{
    const struct timespec access = time_of_round(round);
    return round != 0 && in_ns(&now->st_atim) == in_ns(&access);
}

/* Against others that restore the file, no more: a byte at the end of all possible ones. Where that
 * cannot be had, the file system has no locks, or they are the program's, or those of somebody who
 * wants to be waited for: of all files a process waits for so long. */
static void lock_for_restoring(int fd)
{
    static int waited_ms;
    struct flock last = {.l_type = F_WRLCK, .l_start = INT64_MAX - 1, .l_len = 1};
    const struct timespec while_locked = {.tv_nsec = 10000000};
    while (fcntl(fd, F_OFD_SETLK, &last) != 0 && (errno == EAGAIN || errno == EACCES) &&
           waited_ms < LOCKED_FOR_MS) {
        nanosleep(&while_locked, NULL);
        waited_ms += 10;
    }
}

static bool has_content(int fd, const struct stat *now, const struct rz_file_mark *mark)
{
    uint8_t content[RZ_FILE_CONTENT_MAX];
    return (uint64_t)now->st_size == mark->content_length &&
           read_whole(fd, content, mark->content_length) == (ssize_t)mark->content_length &&
           (mark->content_length == 0 || memcmp(content, mark->content, mark->content_length) == 0);
}

static bool write_content(int fd, const struct rz_file_mark *mark)
{
    for (size_t done = 0; done < mark->content_length;) {
        ssize_t n = pwrite(fd, mark->content + done, mark->content_length - done, (off_t)done);
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return ftruncate(fd, (off_t)mark->content_length) == 0;
}

static enum rz_file_mark_result put_content(int fd, const struct rz_file_mark *mark, uint64_t round)
{
    const struct timespec times[2] = {time_of_round(round), of_ns(mark->changed_ns)};
    struct stat now;
    if (fstat(fd, &now) != 0) {
        return RZ_FILE_CLOSED;
    }
    if (is_of_round(&now, round) && in_ns(&now.st_mtim) <= mark->changed_ns) {
        return RZ_FILE_AS_MARKED;
    }
    bool same = has_content(fd, &now, mark);
    if (round != 0 && ((!same && !write_content(fd, mark)) || futimens(fd, times) != 0)) {
        return RZ_FILE_CLOSED;
    }
    return same ? RZ_FILE_AS_MARKED : RZ_FILE_CUT;
}

static int make_again(const struct rz_file_mark *mark)
{
    int fd = open_marked(mark->path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 && fchmod(fd, mark->mode & 0777) != 0) {
        close(fd);
        remove_marked(mark->path);
        return -1;
    }
    return fd;
}

/* The one that has its name, or a new one. */
static int open_or_make(const struct rz_file_mark *mark, uint64_t round)
{
    enum { HOW = O_RDWR | O_NONBLOCK };
    int fd = open_marked(mark->path, HOW, 0);
    if (fd < 0 && errno == ENOENT && round != 0 && !(mark->flags & RZ_FILE_NEW)) {
        fd = make_again(mark);
        if (fd < 0 && errno == EEXIST) { /* another process has made it */
            fd = open_marked(mark->path, HOW, 0);
        }
    }
    return fd;
}

/* Another one must not show to more users what the file had, and not lose what nobody keeps. */
static bool may_get_content(int fd, const struct rz_file_mark *mark, uint64_t round)
{
    struct rz_file_mark now;
    struct stat st;
    if (!identify(fd, &now) || fstat(fd, &st) != 0) {
        return false;
    }
    if (rz_file_mark_same(mark, &now)) {
        return true;
    }
    bool succeeded = mark->flags & RZ_FILE_SUCCEEDED;
    bool ours = st.st_uid == geteuid() && st.st_nlink == 1 &&
                (succeeded || now.bytes <= RZ_FILE_CONTENT_MAX);
    bool wider = st.st_mode & 0777 & ~mark->mode;
    if (ours && wider && succeeded) {
        wider = round != 0 && fchmod(fd, mark->mode & 0777) != 0;
    }
    return ours && !wider;
}

static enum rz_file_mark_result restore_content(const struct rz_file_mark *mark, uint64_t round)
{
    enum { TRIES = 100 };
    if (is_elsewhere(mark)) {
        return RZ_FILE_AS_MARKED;
    }
    for (int i = 0; i < TRIES; i++) {
        struct stat st;
        int fd = open_or_make(mark, round);
        if (fd < 0 && errno == ENOENT && (mark->flags & RZ_FILE_NEW || round == 0)) {
            return mark->flags & RZ_FILE_NEW ? RZ_FILE_AS_MARKED : RZ_FILE_CUT;
        }
        if (fd < 0) {
            return RZ_FILE_CLOSED;
        }
        if (round != 0) {
            lock_for_restoring(fd); /* it goes with the descriptor */
        }
        bool removed = fstat(fd, &st) == 0 && st.st_nlink == 0; /* by another process, meanwhile */
        enum rz_file_mark_result result = removed ? RZ_FILE_CLOSED
                                          : may_get_content(fd, mark, round)
                                              ? put_content(fd, mark, round)
                                              : RZ_FILE_ANOTHER;
        close(fd);
        if (!removed) {
            return result;
        }
    }
    return RZ_FILE_CLOSED;
}

/* What is left was written before the mark was made, if the file was only appended to. st: of it.
 */
static bool cut_back(int fd, const struct rz_file_mark *mark, const struct stat *st)
{
    bool anywhere = mark->flags & RZ_FILE_ANYWHERE;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      anywhere ? st->st_mtim : of_ns(mark->changed_ns)};
    bool cut = ftruncate(fd, (off_t)mark->bytes) == 0;
    if (cut) {
        futimens(fd, times); /* only the owner may */
    }
    return cut;
}

/* Some file systems can do neither of the first two. */
static bool exchange_names(int from_folder, const char *from, int to_folder, const char *to)
{
    struct stat there;
    if (renameat2(from_folder, from, to_folder, to, RENAME_NOREPLACE) == 0 ||
        renameat2(from_folder, from, to_folder, to, RENAME_EXCHANGE) == 0) {
        return true;
    }
    return fstatat(to_folder, to, &there, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT &&
           renameat(from_folder, from, to_folder, to) == 0;
}

/* The folders are those that the names lead to without a link, as in open_marked. */
static bool give_name_back(const char *old, const char *now)
{
    const char *old_name, *name;
    int old_folder = open_folder_of(old, &old_name), folder = open_folder_of(now, &name);
    bool given =
        old_folder >= 0 && folder >= 0 && exchange_names(folder, name, old_folder, old_name);
    if (old_folder >= 0) {
        close(old_folder);
    }
    if (folder >= 0) {
        close(folder);
    }
    return given;
}

static bool carries_name(const struct rz_file_mark *mark, const char *name)
{
    struct rz_file_mark now;
    int fd = open_marked(name, O_PATH, 0);
    bool has = fd >= 0 && identify(fd, &now) && rz_file_mark_same(mark, &now);
    if (fd >= 0) {
        close(fd);
    }
    return has;
}

static enum rz_file_mark_result restore_name(const struct rz_file_mark *mark, bool change)
{
    char to[RZ_FILE_PATH_BYTES];
    if (is_elsewhere(mark)) {
        return RZ_FILE_AS_MARKED;
    }
    if (mark->content_length >= sizeof(to)) {
        return RZ_FILE_CLOSED;
    }
    snprintf(to, sizeof(to), "%.*s", (int)mark->content_length, (const char *)mark->content);
    if (!carries_name(mark, to)) {
        return RZ_FILE_AS_MARKED; /* it has got a third name, or is gone */
    }
    bool given = !change || give_name_back(mark->path, to);
    return given || !carries_name(mark, to) ? RZ_FILE_CUT : RZ_FILE_CLOSED;
}

enum rz_file_mark_result rz_file_mark_restore(const struct rz_file_mark *mark, uint64_t round)
{
    struct rz_file_mark now;
    struct stat st;
    bool cut = round != 0, created = mark->flags & RZ_FILE_CREATED;
    if (mark->flags & RZ_FILE_WANTED) {
        return restore_wanted(mark, cut);
    }
    if (mark->flags & RZ_FILE_EMPTIED) {
        return RZ_FILE_LOST;
    }
    if (mark->flags & RZ_FILE_RENAMED) {
        return restore_name(mark, cut);
    }
    if (mark->flags & RZ_FILE_CONTENT && !created) {
        return restore_content(mark, round);
    }
    int fd = open_marked(mark->path, O_WRONLY | O_NONBLOCK, 0);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR ? RZ_FILE_AS_MARKED : RZ_FILE_CLOSED;
    }
    if (created && cut) {
        lock_for_restoring(fd);
    }
    /* One that another process has made again meanwhile is another one, and yet the same. */
    bool restored = fstat(fd, &st) == 0 && is_of_round(&st, round);
    bool same = identify(fd, &now) && (rz_file_mark_same(mark, &now) || restored);
    bool older = restored && in_ns(&st.st_mtim) < (created ? mark->made_ns : mark->changed_ns);
    bool elsewhere = is_elsewhere(mark);
    /* Where there was none another one does no harm to an image, but a program may find it. */
    bool may_be = elsewhere || (created && cut);
    enum rz_file_mark_result result = same     ? RZ_FILE_CUT
                                      : may_be ? RZ_FILE_AS_MARKED
                                               : RZ_FILE_ANOTHER;
    if (same && (older || (!created && now.bytes <= mark->bytes))) {
        result = RZ_FILE_AS_MARKED; /* what it has is older than the mark */
    }
    if (result == RZ_FILE_CUT && cut) {
        /* Several processes may restore a file. */
        bool done = created ? remove_marked(mark->path) : cut_back(fd, mark, &st);
        result = done ? RZ_FILE_CUT : RZ_FILE_CLOSED;
    }
    close(fd);
    return result;
}
