/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in the place of open, fopen, read, ftruncate, rename and the like: does the same, and
 * tells of what is read, written and cut. */
#include "mpi/rewind/file_opens.h"

#include "port/redirect.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static const struct rz_file_opens *told;

static int led_open(const char *path, int flags, ...);
static int led_openat(int folder, const char *path, int flags, ...);
static int led_open_2(const char *path, int flags);
static int led_openat_2(int folder, const char *path, int flags);
static FILE *led_fopen(const char *path, const char *mode);
static FILE *led_freopen(const char *path, const char *mode, FILE *stream);
static int led_creat(const char *path, mode_t mode);
static int led_truncate(const char *path, off_t bytes);
static int led_ftruncate(int fd, off_t bytes);
static int led_rename(const char *from, const char *to);
static int led_renameat(int from_folder, const char *from, int to_folder, const char *to);
static int led_renameat2(int from_folder, const char *from, int to_folder, const char *to,
                         unsigned flags);
static int led_unlink(const char *path);
static int led_unlinkat(int folder, const char *path, int flags);
static int led_remove(const char *path);
static ssize_t led_read(int fd, void *data, size_t bytes);
static ssize_t led_read_chk(int fd, void *data, size_t bytes, size_t room);
static ssize_t led_pread(int fd, void *data, size_t bytes, off_t at);
static ssize_t led_pread_chk(int fd, void *data, size_t bytes, off_t at, size_t room);
static ssize_t led_readv(int fd, const struct iovec *parts, int n);
static ssize_t led_preadv(int fd, const struct iovec *parts, int n, off_t at);
static ssize_t led_preadv2(int fd, const struct iovec *parts, int n, off_t at, int flags);
static ssize_t led_sendfile(int to, int fd, off_t *at, size_t bytes);
static ssize_t led_copy_file_range(int fd, off64_t *at, int to, off64_t *to_at, size_t bytes,
                                   unsigned flags);
static ssize_t led_splice(int fd, off64_t *at, int to, off64_t *to_at, size_t bytes,
                          unsigned flags);
static int led_aio_read(struct aiocb *request);
static void *led_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t at);
static FILE *led_fdopen(int fd, const char *mode);
static ssize_t led_write(int fd, const void *data, size_t bytes);
static ssize_t led_pwrite(int fd, const void *data, size_t bytes, off_t at);

/* Files of any size: on this processor there is no difference. The names with 2 are those of
 * programs that were compiled with checks (_FORTIFY_SOURCE). */
enum {
    OPEN,
    OPENAT,
    FOPEN,
    FREOPEN,
    TRUNCATE,
    FTRUNCATE,
    RENAME,
    RENAMEAT,
    RENAMEAT2,
    UNLINK,
    UNLINKAT,
    REMOVE,
    READ,
    READ_CHK,
    PREAD,
    PREAD_CHK,
    READV,
    PREADV,
    PREADV2,
    SENDFILE,
    COPY_FILE_RANGE,
    SPLICE,
    AIO_READ,
    MMAP,
    FDOPEN,
    WRITE,
    PWRITE
};
static struct rz_redirect calls[] = {
    [OPEN] = {.name = "open", .to = (void (*)(void))led_open},
    [OPENAT] = {.name = "openat", .to = (void (*)(void))led_openat},
    [FOPEN] = {.name = "fopen", .to = (void (*)(void))led_fopen},
    [FREOPEN] = {.name = "freopen", .to = (void (*)(void))led_freopen},
    [TRUNCATE] = {.name = "truncate", .to = (void (*)(void))led_truncate},
    [FTRUNCATE] = {.name = "ftruncate", .to = (void (*)(void))led_ftruncate},
    [RENAME] = {.name = "rename", .to = (void (*)(void))led_rename},
    [RENAMEAT] = {.name = "renameat", .to = (void (*)(void))led_renameat},
    [RENAMEAT2] = {.name = "renameat2", .to = (void (*)(void))led_renameat2},
    [UNLINK] = {.name = "unlink", .to = (void (*)(void))led_unlink},
    [UNLINKAT] = {.name = "unlinkat", .to = (void (*)(void))led_unlinkat},
    [REMOVE] = {.name = "remove", .to = (void (*)(void))led_remove},
    [READ] = {.name = "read", .to = (void (*)(void))led_read},
    [READ_CHK] = {.name = "__read_chk", .to = (void (*)(void))led_read_chk},
    [PREAD] = {.name = "pread", .to = (void (*)(void))led_pread},
    [PREAD_CHK] = {.name = "__pread_chk", .to = (void (*)(void))led_pread_chk},
    [READV] = {.name = "readv", .to = (void (*)(void))led_readv},
    [PREADV] = {.name = "preadv", .to = (void (*)(void))led_preadv},
    [PREADV2] = {.name = "preadv2", .to = (void (*)(void))led_preadv2},
    [SENDFILE] = {.name = "sendfile", .to = (void (*)(void))led_sendfile},
    [COPY_FILE_RANGE] = {.name = "copy_file_range", .to = (void (*)(void))led_copy_file_range},
    [SPLICE] = {.name = "splice", .to = (void (*)(void))led_splice},
    [AIO_READ] = {.name = "aio_read", .to = (void (*)(void))led_aio_read},
    [MMAP] = {.name = "mmap", .to = (void (*)(void))led_mmap},
    [FDOPEN] = {.name = "fdopen", .to = (void (*)(void))led_fdopen},
    [WRITE] = {.name = "write", .to = (void (*)(void))led_write},
    [PWRITE] = {.name = "pwrite", .to = (void (*)(void))led_pwrite},
    {.name = "open64", .to = (void (*)(void))led_open},
    {.name = "openat64", .to = (void (*)(void))led_openat},
    {.name = "fopen64", .to = (void (*)(void))led_fopen},
    {.name = "freopen64", .to = (void (*)(void))led_freopen},
    {.name = "creat", .to = (void (*)(void))led_creat},
    {.name = "creat64", .to = (void (*)(void))led_creat},
    {.name = "truncate64", .to = (void (*)(void))led_truncate},
    {.name = "ftruncate64", .to = (void (*)(void))led_ftruncate},
    {.name = "__open_2", .to = (void (*)(void))led_open_2},
    {.name = "__open64_2", .to = (void (*)(void))led_open_2},
    {.name = "__openat_2", .to = (void (*)(void))led_openat_2},
    {.name = "__openat64_2", .to = (void (*)(void))led_openat_2},
    {.name = "pread64", .to = (void (*)(void))led_pread},
    {.name = "__pread64_chk", .to = (void (*)(void))led_pread_chk},
    {.name = "preadv64", .to = (void (*)(void))led_preadv},
    {.name = "preadv64v2", .to = (void (*)(void))led_preadv2},
    {.name = "sendfile64", .to = (void (*)(void))led_sendfile},
    {.name = "aio_read64", .to = (void (*)(void))led_aio_read},
    {.name = "mmap64", .to = (void (*)(void))led_mmap},
    {.name = "pwrite64", .to = (void (*)(void))led_pwrite},
    {.name = NULL},
};

static struct rz_redirects redirects = {.calls = calls};

/* Anew in a process that was restored, where libc is where it was. */
void rz_file_opens_lead(const struct rz_file_opens *opens)
{
    told = opens;
    rz_redirect_lead(&redirects);
}

/* ---- Which calls are told ---- */

/* What is open in the call; `tells` false: it is no business of ours. */
struct opening {
    bool tells;
    enum rz_file_opening how;
    bool reads;
    enum rz_file_reading reading;
    int folder;
    const char *path;
};

/* What the caller wants. */
enum { WRITES = 1, CREATES = 2, EMPTIES = 4, READS = 8, APPENDS = 16, EXCLUSIVE = 32 };

static enum rz_file_opening how_opened(bool there, int wants)
{
    return wants & EMPTIES ? (there ? RZ_FILE_SHORTENED : RZ_FILE_BEGUN)
                           : (there ? RZ_FILE_OPENED : RZ_FILE_WAS_MADE);
}

static bool looks_for_missing(void)
{
    return atomic_load_explicit(told->looks_for_missing, memory_order_relaxed);
}

static struct opening opening_begins(int folder, const char *path, int wants)
{
    struct opening opening = {.tells = false, .folder = folder, .path = path};
    struct stat st;
    int error = errno;
    opening.reads = wants & READS;
    opening.reading = wants & (WRITES | EMPTIES) ? RZ_FILE_READ_AND_WRITTEN : RZ_FILE_READ_ONLY;
    if (wants & (WRITES | EMPTIES) && path && told->begin()) {
        bool there = fstatat(folder, path, &st, 0) == 0;
        bool created = !there && errno == ENOENT && wants & CREATES;
        opening.tells = created || (there && S_ISREG(st.st_mode) && !(wants & EXCLUSIVE));
        opening.how = how_opened(there, wants);
        if (created && !(wants & EMPTIES)) {
            if (!(wants & EXCLUSIVE) && looks_for_missing()) {
                told->misses(&(struct rz_file_names){folder, path, -1, NULL});
            }
            told->makes(folder, path);
        } else if (opening.tells && there && !(wants & APPENDS && !(wants & EMPTIES))) {
            told->changes(folder, path, &st, wants & EMPTIES ? RZ_FILE_CUT_SHORT : RZ_FILE_WRITTEN);
        } else if (!opening.tells) { /* to open a pipe may take any time */
            told->end(-1, opening.how);
        }
    }
    errno = error;
    return opening;
}

/* The call has found no such file. */
static void open_missed(const struct opening *opening)
{
    int error = errno;
    if (opening->path && looks_for_missing() && told->begin()) {
        told->misses(&(struct rz_file_names){opening->folder, opening->path, -1, NULL});
        told->end(-1, opening->how);
    }
    errno = error;
}

static void opening_ends(const struct opening *opening, int fd)
{
    if (opening->tells) {
        told->end(fd, opening->how);
    }
    if (fd < 0 && errno == ENOENT) {
        open_missed(opening);
    }
    if (opening->reads && fd >= 0) {
        told->reads(fd, opening->reading);
    }
}

/* Also for an open file that has no name that is known here. */
static void cutting_begins(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        told->changes(fd, NULL, &st, RZ_FILE_CUT_SHORT);
    }
}

static int flags_want(int flags)
{
    enum { ALONE = O_CREAT | O_EXCL };
    if (flags & (O_PATH | O_DIRECTORY) || (flags & O_TMPFILE) == O_TMPFILE) {
        return 0;
    }
    int creates = (flags & O_CREAT ? CREATES : 0) | ((flags & ALONE) == ALONE ? EXCLUSIVE : 0) |
                  (flags & O_APPEND ? APPENDS : 0) | ((flags & O_ACCMODE) != O_WRONLY ? READS : 0);
    return creates | (flags & O_TRUNC ? EMPTIES : (flags & O_ACCMODE) != O_RDONLY ? WRITES : 0);
}

static int mode_wants(const char *mode)
{
    if (!mode) {
        return 0;
    }
    int more = (strchr(mode, '+') ? READS : 0) | (strchr(mode, 'x') ? EXCLUSIVE : 0);
    return mode[0] == 'w'   ? EMPTIES | CREATES | more
           : mode[0] == 'a' ? WRITES | CREATES | APPENDS | more
           : mode[0] == 'r' ? READS | (more & READS ? WRITES : 0)
                            : 0;
}

/* ---- The calls ---- */

static mode_t mode_of(int flags, va_list more)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    struct opening opening = opening_begins(folder, path, flags_want(flags));
    int fd = ((int (*)(int, const char *, int, ...))calls[OPENAT].was)(folder, path, flags, mode);
    opening_ends(&opening, fd);
    return fd;
}

static int open_here(const char *path, int flags, mode_t mode)
{
    struct opening opening = opening_begins(AT_FDCWD, path, flags_want(flags));
    int fd = ((int (*)(const char *, int, ...))calls[OPEN].was)(path, flags, mode);
    opening_ends(&opening, fd);
    return fd;
}

static int led_open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return open_here(path, flags, mode);
}

static int led_openat(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return open_at(folder, path, flags, mode);
}

static int led_open_2(const char *path, int flags)
{
    return open_here(path, flags, 0);
}

static int led_openat_2(int folder, const char *path, int flags)
{
    return open_at(folder, path, flags, 0);
}

static struct opening stream_begins(const char *path, const char *mode)
{
    struct opening opening = opening_begins(AT_FDCWD, path, mode_wants(mode));
    opening.reading =
        opening.reading == RZ_FILE_READ_ONLY ? RZ_FILE_READ_ONLY_STREAM : RZ_FILE_STREAM;
    return opening;
}

static FILE *led_fopen(const char *path, const char *mode)
{
    struct opening opening = stream_begins(path, mode);
    FILE *file = ((FILE * (*)(const char *, const char *)) calls[FOPEN].was)(path, mode);
    opening_ends(&opening, file ? fileno(file) : -1);
    return file;
}

/* Without a path it is the file that the stream has. */
static FILE *led_freopen(const char *path, const char *mode, FILE *stream)
{
    struct opening opening = stream_begins(path, mode);
    if (!path && mode_wants(mode) & EMPTIES) {
        opening = (struct opening){.tells = told->begin(), .how = RZ_FILE_SHORTENED};
    }
    if (!path && opening.tells) {
        cutting_begins(fileno(stream));
    }
    FILE *file =
        ((FILE * (*)(const char *, const char *, FILE *)) calls[FREOPEN].was)(path, mode, stream);
    opening_ends(&opening, file ? fileno(file) : -1);
    return file;
}

static int led_creat(const char *path, mode_t mode)
{
    return open_here(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

/* Which file it is, without a right to read it. */
static int led_truncate(const char *path, off_t bytes)
{
    struct opening opening = opening_begins(AT_FDCWD, path, EMPTIES);
    int result = ((int (*)(const char *, off_t))calls[TRUNCATE].was)(path, bytes);
    int error = errno;
    int fd = opening.tells && result == 0
                 ? ((int (*)(const char *, int, ...))calls[OPEN].was)(path, O_PATH | O_CLOEXEC)
                 : -1;
    opening_ends(&opening, fd);
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    return result;
}

static int led_ftruncate(int fd, off_t bytes)
{
    bool tells = told->begin();
    if (tells) {
        cutting_begins(fd);
    }
    int result = ((int (*)(int, off_t))calls[FTRUNCATE].was)(fd, bytes);
    if (tells) {
        told->end(result == 0 ? fd : -1, RZ_FILE_SHORTENED);
    }
    return result;
}

/* A file may lose its content with its name, and its name alone. Names are told last, so that they
 * are restored first. */
static bool renaming_begins(int from_folder, const char *from, int to_folder, const char *to,
                            unsigned flags)
{
    struct stat moved, replaced;
    int error = errno;
    bool exchange = flags & RENAME_EXCHANGE;
    const struct rz_file_names names = {from_folder, from, to_folder, to};
    bool tells = from && to && told->begin();
    bool is = tells && fstatat(from_folder, from, &moved, AT_SYMLINK_NOFOLLOW) == 0;
    if (tells && !is && errno == ENOENT) {
        told->misses(&names);
    }
    if (is) {
        bool there = fstatat(to_folder, to, &replaced, AT_SYMLINK_NOFOLLOW) == 0;
        bool same = there && moved.st_ino == replaced.st_ino && moved.st_dev == replaced.st_dev;
        bool fails = same || (there ? flags & RENAME_NOREPLACE : exchange);
        bool moves = !fails && S_ISREG(moved.st_mode);
        bool replaces = !fails && there && S_ISREG(replaced.st_mode);
        if (replaces) {
            told->changes(to_folder, to, &replaced,
                          exchange ? RZ_FILE_EXCHANGED : RZ_FILE_REPLACED);
        }
        if (moves) {
            told->changes(from_folder, from, &moved, exchange ? RZ_FILE_EXCHANGED : RZ_FILE_MOVED);
            told->renames(&names, &moved);
        }
        if (replaces && exchange) {
            told->renames(&(struct rz_file_names){to_folder, to, from_folder, from}, &replaced);
        }
    }
    errno = error;
    return tells;
}

static int name_changed(bool tells, int result)
{
    int error = errno;
    if (tells) {
        told->end(-1, result == 0 ? RZ_FILE_NAMED : RZ_FILE_OPENED);
    }
    errno = error;
    return result;
}

static int led_rename(const char *from, const char *to)
{
    bool tells = renaming_begins(AT_FDCWD, from, AT_FDCWD, to, 0);
    return name_changed(tells, ((int (*)(const char *, const char *))calls[RENAME].was)(from, to));
}

static int led_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    bool tells = renaming_begins(from_folder, from, to_folder, to, 0);
    return name_changed(tells, ((int (*)(int, const char *, int, const char *))calls[RENAMEAT].was)(
                                   from_folder, from, to_folder, to));
}

static int led_renameat2(int from_folder, const char *from, int to_folder, const char *to,
                         unsigned flags)
{
    bool tells = renaming_begins(from_folder, from, to_folder, to, flags);
    return name_changed(
        tells, ((int (*)(int, const char *, int, const char *, unsigned))calls[RENAMEAT2].was)(
                   from_folder, from, to_folder, to, flags));
}

/* ---- Removing ---- */

static bool removing_begins(int folder, const char *path)
{
    struct stat st;
    int error = errno;
    bool tells = path && told->begin();
    if (tells && fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
        told->changes(folder, path, &st, RZ_FILE_REMOVED);
    }
    errno = error;
    return tells;
}

static int led_unlink(const char *path)
{
    bool tells = removing_begins(AT_FDCWD, path);
    return name_changed(tells, ((int (*)(const char *))calls[UNLINK].was)(path));
}

static int led_unlinkat(int folder, const char *path, int flags)
{
    bool tells = !(flags & AT_REMOVEDIR) && removing_begins(folder, path);
    return name_changed(
        tells, ((int (*)(int, const char *, int))calls[UNLINKAT].was)(folder, path, flags));
}

static int led_remove(const char *path)
{
    bool tells = removing_begins(AT_FDCWD, path);
    return name_changed(tells, ((int (*)(const char *))calls[REMOVE].was)(path));
}

/* ---- Reading ---- */

static void reads_from(int fd)
{
    if (atomic_load_explicit(told->wary, memory_order_relaxed)) {
        told->reads_from(fd);
    }
}

static ssize_t led_read(int fd, void *data, size_t bytes)
{
    reads_from(fd);
    return ((ssize_t(*)(int, void *, size_t))calls[READ].was)(fd, data, bytes);
}

static ssize_t led_read_chk(int fd, void *data, size_t bytes, size_t room)
{
    reads_from(fd);
    return ((ssize_t(*)(int, void *, size_t, size_t))calls[READ_CHK].was)(fd, data, bytes, room);
}

static ssize_t led_pread(int fd, void *data, size_t bytes, off_t at)
{
    reads_from(fd);
    return ((ssize_t(*)(int, void *, size_t, off_t))calls[PREAD].was)(fd, data, bytes, at);
}

static ssize_t led_pread_chk(int fd, void *data, size_t bytes, off_t at, size_t room)
{
    reads_from(fd);
    return ((ssize_t(*)(int, void *, size_t, off_t, size_t))calls[PREAD_CHK].was)(fd, data, bytes,
                                                                                  at, room);
}

static ssize_t led_readv(int fd, const struct iovec *parts, int n)
{
    reads_from(fd);
    return ((ssize_t(*)(int, const struct iovec *, int))calls[READV].was)(fd, parts, n);
}

static ssize_t led_preadv(int fd, const struct iovec *parts, int n, off_t at)
{
    reads_from(fd);
    return ((ssize_t(*)(int, const struct iovec *, int, off_t))calls[PREADV].was)(fd, parts, n, at);
}

static ssize_t led_preadv2(int fd, const struct iovec *parts, int n, off_t at, int flags)
{
    reads_from(fd);
    return ((ssize_t(*)(int, const struct iovec *, int, off_t, int))calls[PREADV2].was)(
        fd, parts, n, at, flags);
}

static ssize_t led_sendfile(int to, int fd, off_t *at, size_t bytes)
{
    reads_from(fd);
    return ((ssize_t(*)(int, int, off_t *, size_t))calls[SENDFILE].was)(to, fd, at, bytes);
}

static ssize_t led_copy_file_range(int fd, off64_t *at, int to, off64_t *to_at, size_t bytes,
                                   unsigned flags)
{
    reads_from(fd);
    return (
        (ssize_t(*)(int, off64_t *, int, off64_t *, size_t, unsigned))calls[COPY_FILE_RANGE].was)(
        fd, at, to, to_at, bytes, flags);
}

static void *led_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t at)
{
    if (!(flags & MAP_ANONYMOUS)) {
        reads_from(fd);
    }
    return ((void *(*)(void *, size_t, int, int, int, off_t))calls[MMAP].was)(
        address, bytes, protection, flags, fd, at);
}

static ssize_t led_splice(int fd, off64_t *at, int to, off64_t *to_at, size_t bytes, unsigned flags)
{
    reads_from(fd);
    return ((ssize_t(*)(int, off64_t *, int, off64_t *, size_t, unsigned))calls[SPLICE].was)(
        fd, at, to, to_at, bytes, flags);
}

static int led_aio_read(struct aiocb *request)
{
    reads_from(request->aio_fildes);
    return ((int (*)(struct aiocb *))calls[AIO_READ].was)(request);
}

static FILE *led_fdopen(int fd, const char *mode)
{
    FILE *file = ((FILE * (*)(int, const char *)) calls[FDOPEN].was)(fd, mode);
    int wants = mode_wants(mode);
    if (file && wants & READS) {
        told->reads(fd, wants & (WRITES | EMPTIES) ? RZ_FILE_STREAM : RZ_FILE_READ_ONLY_STREAM);
    }
    return file;
}

/* ---- Writing ---- */

/* at below 0: where the file stands now, behind it. */
static ssize_t written_to(int fd, off_t at, ssize_t bytes)
{
    if (bytes > 0 && atomic_load_explicit(told->wary, memory_order_relaxed)) {
        told->writes_to(fd, at, (size_t)bytes);
    }
    return bytes;
}

static ssize_t led_write(int fd, const void *data, size_t bytes)
{
    return written_to(fd, -1,
                      ((ssize_t(*)(int, const void *, size_t))calls[WRITE].was)(fd, data, bytes));
}

static ssize_t led_pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    return written_to(
        fd, at,
        ((ssize_t(*)(int, const void *, size_t, off_t))calls[PWRITE].was)(fd, data, bytes, at));
}
