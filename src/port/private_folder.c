/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder is held by a shared lock of the folder itself. To find out whether it is held, the
 * sweeper asks for an exclusive lock, and removes the folder while it has the lock. Both begin from
 * the directory around it, walked as port/own_path does. */
#include "port/private_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A sweeper may take a folder that was made and is not locked yet for one that was left over. It
 * removes the empty folder at once, and the folder is made again. */
#define TRIES_MAX 100
#define TRY_AGAIN_NS 10000000

static bool is_there(int fd, int parent, const char *name)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

/* EEXIST: a sweeper has it. A file system without locks has no sweeper either. */
static int make_and_lock(int parent, const char *name, int *held)
{
    if (mkdirat(parent, name, 0700) != 0) {
        return errno;
    }
    *held = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*held < 0) {
        int error = errno;
        unlinkat(parent, name, AT_REMOVEDIR);
        return error == ENOENT ? EEXIST : error;
    }
    bool swept = flock(*held, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!swept && is_there(*held, parent, name)) {
        return 0;
    }
    close(*held);
    return EEXIST;
}

static int put_mark(int parent, const char *name, int held)
{
    int mark;
    if (rz_private_folder_create(held, RZ_PRIVATE_FOLDER_MARK, &mark) == RZ_OK) {
        close(mark);
        return 0;
    }
    int error = errno;
    unlinkat(parent, name, AT_REMOVEDIR);
    close(held);
    return error;
}

rz_status_t rz_private_folder_make(const char *path, int *held, struct rz_own_why *why)
{
    const struct timespec while_it_is_removed = {.tv_nsec = TRY_AGAIN_NS};
    char above[PATH_MAX];
    int parent = -1;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (snprintf(above, sizeof(above), "%.*s", (int)(name - path), path) >= (int)sizeof(above)) {
        errno = ENAMETOOLONG;
        return RZ_ERR_SYSTEM;
    }
    rz_status_t status = rz_own_walk(above, false, &parent, why);
    if (status != RZ_OK) {
        errno = status == RZ_ERR_NOT_FOUND ? ENOENT : errno;
        return status == RZ_ERR_INVALID ? status : RZ_ERR_SYSTEM;
    }
    int error = make_and_lock(parent, name, held);
    for (int i = 1; error == EEXIST && i < TRIES_MAX; i++) {
        nanosleep(&while_it_is_removed, NULL);
        error = make_and_lock(parent, name, held);
    }
    error = error == 0 ? put_mark(parent, name, *held) : error;
    close(parent);
    errno = error;
    return error == 0 ? RZ_OK : RZ_ERR_SYSTEM;
}

rz_status_t rz_private_folder_create(int held, const char *name, int *fd)
{
    *fd = openat(held, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return *fd >= 0 ? RZ_OK : RZ_ERR_SYSTEM;
}

static bool has_name(const char *name, const char *prefix, unsigned digits)
{
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 && strlen(name + n) == digits &&
           strspn(name + n, "0123456789abcdef") == digits;
}

static bool has_mark(int fd)
{
    struct stat facts;
    return fstatat(fd, RZ_PRIVATE_FOLDER_MARK, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
}

static void sweep(int parent_fd, const char *parent, const char *name,
                  void (*remove_it)(const char *path))
{
    char path[PATH_MAX];
    struct stat facts;
    int n = snprintf(path, sizeof(path), "%s/%s", parent, name);
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    if (n < (int)sizeof(path) && fstat(fd, &facts) == 0 && facts.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0) {
        if (has_mark(fd)) {
            remove_it(path);
        } else {
            unlinkat(parent_fd, name, AT_REMOVEDIR); /* its process ended before it had a mark */
        }
    }
    close(fd);
}

void rz_private_folder_sweep(const char *parent, const char *prefix, unsigned digits,
                             void (*remove_it)(const char *path))
{
    struct rz_own_why why;
    int fd = -1;
    if (rz_own_walk(parent, false, &fd, &why) != RZ_OK) {
        return;
    }
    DIR *all = fdopendir(fd);
    if (!all) {
        close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(all));) {
        if (has_name(entry->d_name, prefix, digits)) {
            sweep(dirfd(all), parent, entry->d_name, remove_it);
        }
    }
    closedir(all);
}
