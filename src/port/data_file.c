/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of users, by POSIX calls. A held file has a shared lock (flock), which ends with the last
 * process that has it open; the sweeper removes what it can lock exclusively. */
#include "port/data_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Linux moves at most 2^31 - 4096 bytes in one call. */
#define CALL_MAX ((size_t)1 << 30)

/* Opens without waiting for the other end of a pipe. A file that is leased to another process (a
 * file server) is waited for: the system ends the lease. */
static int open_at_once(const char *path, int flags, mode_t mode)
{
    int opened;
    do {
        opened = open(path, flags | O_NONBLOCK, mode);
        if (opened < 0 && errno == EWOULDBLOCK) {
            opened = open(path, flags, mode);
        }
    } while (opened < 0 && errno == EINTR);
    return opened;
}

/* Pipes are not opened at all: a process at the other end would notice it. */
static bool is_stream(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

int rz_data_file_open(const char *path, unsigned how, unsigned mode, int *fd)
{
    bool reads = how & RZ_DATA_FILE_READ, writes = how & RZ_DATA_FILE_WRITE;
    int flags = O_CLOEXEC | O_NOCTTY | (reads && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY);
    flags |= how & RZ_DATA_FILE_CREATE ? O_CREAT : 0;
    flags |= how & RZ_DATA_FILE_EXCLUSIVE ? O_EXCL : 0;
    flags |= how & RZ_DATA_FILE_EMPTY ? O_TRUNC : 0;
    if (!(how & RZ_DATA_FILE_EXCLUSIVE) && is_stream(path)) {
        return ESPIPE;
    }
    int opened = open_at_once(path, flags, (mode_t)mode);
    if (opened < 0) {
        return errno;
    }
    struct stat status;
    bool folder = fstat(opened, &status) == 0 && S_ISDIR(status.st_mode);
    if (folder || lseek(opened, 0, SEEK_CUR) < 0) {
        close(opened);
        return folder ? EISDIR : ESPIPE;
    }
    *fd = opened;
    return 0;
}

int rz_data_file_close(int fd)
{
    return close(fd) == 0 || errno == EINTR ? 0 : errno;
}

int rz_data_file_read(int fd, void *to, size_t bytes, int64_t offset, size_t *done)
{
    *done = 0;
    while (*done < bytes) {
        size_t rest = bytes - *done;
        ssize_t n = pread(fd, (char *)to + *done, rest < CALL_MAX ? rest : CALL_MAX,
                          offset + (int64_t)*done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errno;
        }
        if (n == 0) {
            return 0;
        }
        *done += (size_t)n;
    }
    return 0;
}

int rz_data_file_write(int fd, const void *from, size_t bytes, int64_t offset, size_t *done)
{
    *done = 0;
    while (*done < bytes) {
        size_t rest = bytes - *done;
        ssize_t n = pwrite(fd, (const char *)from + *done, rest < CALL_MAX ? rest : CALL_MAX,
                           offset + (int64_t)*done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errno;
        }
        if (n == 0) {
            return ENOSPC;
        }
        *done += (size_t)n;
    }
    return 0;
}

int rz_data_file_size(int fd, int64_t *bytes)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return errno;
    }
    *bytes = status.st_size;
    return 0;
}

int rz_data_file_set_size(int fd, int64_t bytes)
{
    int result;
    do {
        result = ftruncate(fd, bytes);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

int rz_data_file_allocate(int fd, int64_t bytes)
{
    int error;
    do {
        error = bytes > 0 ? posix_fallocate(fd, 0, bytes) : 0;
    } while (error == EINTR);
    return error;
}

int rz_data_file_sync(int fd)
{
    int result;
    do {
        result = fsync(fd);
    } while (result != 0 && errno == EINTR);
    /* A pipe or a device has nothing to keep. */
    return result == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

static int set_lock(int fd, int how, short type, int64_t offset, int64_t bytes)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = bytes};
    int result;
    do {
        result = fcntl(fd, how, &lock);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno == EACCES ? EAGAIN : errno;
}

int rz_data_file_lock(int fd, bool alone, int64_t offset, int64_t bytes)
{
    return set_lock(fd, F_OFD_SETLKW, alone ? F_WRLCK : F_RDLCK, offset, bytes);
}

int rz_data_file_try_lock(int fd, bool alone, int64_t offset, int64_t bytes)
{
    return set_lock(fd, F_OFD_SETLK, alone ? F_WRLCK : F_RDLCK, offset, bytes);
}

bool rz_data_file_may_lock(int fd, bool alone, int64_t offset, int64_t bytes)
{
    struct flock lock = {.l_type = alone ? F_WRLCK : F_RDLCK,
                         .l_whence = SEEK_SET,
                         .l_start = offset,
                         .l_len = bytes};
    return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK;
}

int rz_data_file_unlock(int fd, int64_t offset, int64_t bytes)
{
    return set_lock(fd, F_OFD_SETLKW, F_UNLCK, offset, bytes);
}

int rz_data_file_block(int fd, int64_t *bytes)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return errno;
    }
    *bytes = status.st_blksize;
    return 0;
}

int rz_data_file_mode(int fd, unsigned *mode)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return errno;
    }
    *mode = status.st_mode & 07777;
    return 0;
}

int rz_data_file_set_mode(int fd, unsigned mode)
{
    return fchmod(fd, (mode_t)mode) == 0 ? 0 : errno;
}

int rz_data_file_remove(const char *path)
{
    return unlink(path) == 0 ? 0 : errno;
}

/* The folder of path. */
static void folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) : 0;
    snprintf(folder, PATH_MAX, "%.*s", length > 0 ? length : 1,
             length > 0 ? path
             : slash    ? "/"
                        : ".");
}

int rz_data_file_rename(const char *from, const char *to)
{
    char folder[PATH_MAX];
    if (rename(from, to) != 0) {
        return errno;
    }
    folder_of(to, folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return 0; /* a folder that may not be read: the file system keeps the name when it will */
    }
    int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return error;
}

int rz_data_file_hold(int fd)
{
    return flock(fd, LOCK_SH | LOCK_NB) == 0 ? 0 : errno;
}

static void remove_if_left(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    struct stat ours, there;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &ours) == 0 && S_ISREG(ours.st_mode) &&
        fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && ours.st_ino == there.st_ino) {
        unlinkat(folder, name, 0);
    }
    close(fd);
}

void rz_data_file_sweep(const char *path)
{
    char folder[PATH_MAX];
    folder_of(path, folder);
    const char *slash = strrchr(path, '/');
    const char *begin = slash ? slash + 1 : path;
    DIR *open_folder = opendir(folder);
    for (struct dirent *entry; open_folder && (entry = readdir(open_folder));) {
        if (strncmp(entry->d_name, begin, strlen(begin)) == 0) {
            remove_if_left(dirfd(open_folder), entry->d_name);
        }
    }
    if (open_folder) {
        closedir(open_folder);
    }
}
