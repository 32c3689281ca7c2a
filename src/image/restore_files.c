/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of the image, under their descriptors. Part of the restore program. */
#include "image/restore_program.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

/* Three seconds. */
#define LOCK_NAP_NS 10000000
#define LOCK_NAPS_MAX 300

static bool stays(int fd)
{
    return fd == RZ_AREA->fd || fd == RZ_AREA->protector || rz_image_excluded_descriptor(fd);
}

static bool in_image(int fd)
{
    for (uint32_t i = 0; i < RZ_AREA->image.head.n_files; i++) {
        if (RZ_AREA->image.file[i].fd == fd) {
            return true;
        }
    }
    return false;
}

static void close_others(void)
{
    long folder =
        RZ_RAW4(openat, AT_FDCWD, "/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    char *list = RZ_AREA->maps;
    long bytes;
    while ((bytes = RZ_RAW3(getdents64, folder, list, sizeof(RZ_AREA->maps))) > 0) {
        long at = 0;
        int fd;
        while ((fd = rz_image_next_number(list, bytes, &at)) >= 0) {
            if (fd != folder && !stays(fd) && !in_image(fd)) {
                RZ_RAW1(close, fd);
            }
        }
    }
    RZ_RAW1(close, folder);
}

/* Whether the descriptor is open for this file in the same way. */
static bool is_open(const struct rz_image_file *file, const char *path)
{
    struct stat of_name, of_fd;
    return RZ_RAW2(fstat, file->fd, &of_fd) == 0 &&
           RZ_RAW4(newfstatat, AT_FDCWD, path, &of_name, 0) == 0 &&
           of_name.st_dev == of_fd.st_dev && of_name.st_ino == of_fd.st_ino &&
           ((RZ_RAW2(fcntl, file->fd, F_GETFL) ^ file->flags) & (O_ACCMODE | O_APPEND)) == 0;
}

/* A limit of this process may be below the number. */
static void give_number(long fd, const struct rz_image_file *file, const char *path)
{
    if (RZ_RAW3(dup3, fd, file->fd, 0) < 0) {
        rz_restore_fail("the system gives no such descriptor to ", path);
    }
}

static void open_file(const struct rz_image_file *file, const char *path)
{
    int flags = (file->flags & ~(O_CREAT | O_TRUNC | O_EXCL)) | O_NOFOLLOW;
    long fd = RZ_RAW4(openat, AT_FDCWD, path, flags, 0);
    if (fd < 0) {
        rz_restore_fail("the system does not open ", path);
    }
    if (fd != file->fd) {
        give_number(fd, file, path);
        RZ_RAW1(close, fd);
    }
}

static long lock_file(const struct rz_image_file *file)
{
    const struct flock region = {.l_type = (short)file->lock_type,
                                 .l_whence = SEEK_SET,
                                 .l_start = (off_t)file->lock_start,
                                 .l_len = (off_t)file->lock_bytes};
    if (file->lock == RZ_LOCK_FLOCK) {
        return RZ_RAW2(flock, file->fd, (file->lock_type == F_RDLCK ? LOCK_SH : LOCK_EX) | LOCK_NB);
    }
    return RZ_RAW3(fcntl, file->fd, file->lock == RZ_LOCK_FILE ? F_OFD_SETLK : F_SETLK, &region);
}

/* When no more descriptors are closed: a process loses its locks of a file (F_SETLK) when it closes
 * any descriptor of that file. The process that was saved is ending, or has ended, and has no locks
 * then; but another node may learn of that later. */
static void restore_lock(const struct rz_image_file *file)
{
    const char *path = RZ_AREA->image.text + file->path;
    const int64_t nap[2] = {0, LOCK_NAP_NS};
    for (int i = 0; file->lock != RZ_LOCK_NONE && lock_file(file) != 0; i++) {
        if (i == LOCK_NAPS_MAX) {
            rz_restore_fail("another process has the lock of ", path);
        }
        RZ_RAW2(nanosleep, nap, 0);
    }
}

/* What was only appended to has then what it had, and the time at which it was written to; of
 * another file nobody knows. A process that reads it sees by its time whether it is newer than the
 * image (mpi/rewind/undone_files.h). st: of the file. */
static bool cut_file(int fd, const struct rz_image_file *file, const struct stat *st)
{
    const uint64_t ns = 1000000000, at = file->is.written_ns;
    bool appended = file->flags & O_APPEND;
    const int64_t times[4] = {0, UTIME_OMIT, appended ? (int64_t)(at / ns) : st->st_mtim.tv_sec,
                              appended ? (int64_t)(at % ns) : st->st_mtim.tv_nsec};
    bool cut = RZ_RAW2(ftruncate, fd, file->is.bytes) == 0;
    if (cut) {
        RZ_RAW4(utimensat, fd, 0, times, 0); /* only the owner may */
    }
    return cut;
}

/* Of a file system that several hosts share the device has another number on each. */
static void cut_closed(const struct rz_image_file *file, const char *path)
{
    struct stat st;
    long fd = RZ_RAW4(openat, AT_FDCWD, path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd >= 0 && RZ_RAW2(fstat, fd, &st) == 0 && st.st_ino == file->is.inode &&
        rz_image_same_made(file->is.made_ns, rz_image_made_ns((int)fd, "", AT_EMPTY_PATH)) &&
        (uint64_t)st.st_size > file->is.bytes && !cut_file((int)fd, file, &st)) {
        rz_restore_fail("the system does not cut ", path);
    }
    if (fd >= 0) {
        RZ_RAW1(close, fd);
    }
}

/* ext4 reads a folder as empty, once, if a new descriptor has been set to its end and then to its
 * beginning. One that has come there by reading is as the one was that was saved. */
static void read_folder(const struct rz_image_file *file)
{
    while (file->offset != 0 &&
           RZ_RAW3(getdents64, file->fd, RZ_AREA->maps, sizeof(RZ_AREA->maps)) > 0) {
    }
}

/* st: of the file that is open. */
static void restore_content(const struct rz_image_file *file, const char *path,
                            const struct stat *st)
{
    bool reads = (file->flags & O_ACCMODE) == O_RDONLY;
    struct rz_image_identity is =
        rz_image_identity_of(st, rz_image_made_ns(file->fd, "", AT_EMPTY_PATH));
    bool same = reads ? rz_image_same_reading(&RZ_AREA->image.head, &file->is, &is)
                      : is.inode == file->is.inode;
    if (!same && !rz_raw_begins(path, "/proc/") && !rz_raw_begins(path, "/sys/")) {
        rz_restore_fail("another file has the name of ", path);
    }
    if (!reads && is.bytes > file->is.bytes) {
        cut_file(file->fd, file, st);
    }
}

static void restore_file(const struct rz_image_file *file)
{
    const char *path = RZ_AREA->image.text + file->path;
    struct stat st;
    if (file->fd < 0) {
        cut_closed(file, path);
        return;
    }
    if (file->given >= 0) {
        give_number(RZ_AREA->given_at[file->given], file, path);
    } else if (file->same_as >= 0) {
        give_number(file->same_as, file, path);
    } else if (!RZ_AREA->in_place || !is_open(file, path)) {
        open_file(file, path);
    }
    RZ_RAW3(fcntl, file->fd, F_SETFD, file->close_on_exec ? FD_CLOEXEC : 0);
    if (file->same_as >= 0) {
        return;
    }
    RZ_RAW3(fcntl, file->fd, F_SETFL, file->flags);
    if (file->given >= 0) {
        return;
    }
    if (S_ISREG(file->mode) && RZ_RAW2(fstat, file->fd, &st) == 0) {
        restore_content(file, path, &st);
    }
    if (S_ISDIR(file->mode)) {
        read_folder(file);
    }
    RZ_RAW3(lseek, file->fd, file->offset, SEEK_SET);
}

/* What the launcher gave has its numbers. */
void rz_restore_files_end(void)
{
    for (int i = 0; i < RZ_IMAGE_GIVEN; i++) {
        int fd = RZ_AREA->given_at[i];
        if (fd >= 0) {
            RZ_RAW1(close, fd);
            RZ_AREA->excluded_fd[fd / 8] &= (uint8_t) ~(1 << fd % 8);
        }
    }
}

void rz_restore_files(void)
{
    close_others();
    for (uint32_t i = 0; i < RZ_AREA->image.head.n_files; i++) {
        restore_file(&RZ_AREA->image.file[i]);
    }
    for (uint32_t i = 0; i < RZ_AREA->image.head.n_files; i++) {
        restore_lock(&RZ_AREA->image.file[i]);
    }
}
