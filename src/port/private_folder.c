/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder is held by a shared lock of the folder itself. To find out whether it is held, the
 * sweeper asks for an exclusive lock, and removes the folder while it has the lock. */
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

static bool is_there(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && lstat(path, &there) == 0 && ours.st_ino == there.st_ino &&
           ours.st_dev == there.st_dev;
}

/* EEXIST: a sweeper has it. A file system without locks has no sweeper either. */
static int make_and_lock(const char *path, int *held)
{
    if (mkdir(path, 0700) != 0) {
        return errno;
    }
    *held = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*held < 0) {
        int error = errno;
        rmdir(path);
        return error == ENOENT ? EEXIST : error;
    }
    bool swept = flock(*held, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!swept && is_there(*held, path)) {
        return 0;
    }
    close(*held);
    return EEXIST;
}

rz_status_t rz_private_folder_make(const char *path, int *held)
{
    const struct timespec while_it_is_removed = {.tv_nsec = TRY_AGAIN_NS};
    int error = make_and_lock(path, held);
    for (int i = 1; error == EEXIST && i < TRIES_MAX; i++) {
        nanosleep(&while_it_is_removed, NULL);
        error = make_and_lock(path, held);
    }
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
        remove_it(path);
    }
    close(fd);
}

void rz_private_folder_sweep(const char *parent, const char *prefix, unsigned digits,
                             void (*remove_it)(const char *path))
{
    DIR *all = opendir(parent);
    if (!all) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(all));) {
        if (has_name(entry->d_name, prefix, digits)) {
            sweep(dirfd(all), parent, entry->d_name, remove_it);
        }
    }
    closedir(all);
}
