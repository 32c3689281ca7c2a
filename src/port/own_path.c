/* SPDX-License-Identifier: BSD-3-Clause */
/* Every step is made from an open folder, and looks at what it has opened: nothing can be exchanged
 * between the look and the use. */
#include "port/own_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Links on one way, as in Linux. */
#define OWN_LINKS_MAX 40
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

__attribute__((format(printf, 3, 4))) static rz_status_t
own_say(struct rz_own_why *why, rz_status_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof(why->text), format, arguments);
    va_end(arguments);
    return status;
}

static rz_status_t own_failed(struct rz_own_why *why, const char *what, const char *name)
{
    rz_status_t status = errno == ENOENT || errno == ENOTDIR ? RZ_ERR_NOT_FOUND : RZ_ERR_SYSTEM;
    if (errno == ELOOP) {
        return own_say(why, RZ_ERR_INVALID, "%.380s is a symbolic link, which is not followed here",
                       name);
    }
    return own_say(why, status, "cannot %s %.380s: %s", what, name, strerror(errno));
}

/* ---- whose ---- */

static rz_status_t own_check(int fd, const char *name, struct rz_own_why *why)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return own_failed(why, "look at", name);
    }
    if (facts.st_uid != geteuid()) {
        return own_say(why, RZ_ERR_INVALID,
                       "%.380s belongs to uid %u, not to uid %u, which runs this job", name,
                       (unsigned)facts.st_uid, (unsigned)geteuid());
    }
    if ((facts.st_mode & OTHERS_WRITE) && !S_ISFIFO(facts.st_mode)) {
        return own_say(why, RZ_ERR_INVALID,
                       "others may write to %.380s (its mode is %04o): if none did, "
                       "`chmod -R go-w` makes it usable",
                       name, (unsigned)(facts.st_mode & 07777));
    }
    return RZ_OK;
}

/* The owner of what another user namespace owns: root there cannot be told from others, and a
 * container has the folders above its own from there. */
static bool unmapped(uid_t uid)
{
    unsigned first, to, n;
    unsigned overflow = 0;
    FILE *file = fopen("/proc/sys/kernel/overflowuid", "re");
    bool is_overflow = file && fscanf(file, "%u", &overflow) == 1 && uid == (uid_t)overflow;
    if (file) {
        fclose(file);
    }
    file = is_overflow ? fopen("/proc/self/uid_map", "re") : NULL;
    bool mapped = !file;
    while (file && fscanf(file, "%u %u %u", &first, &to, &n) == 3) {
        mapped |= uid >= first && uid - first < n;
    }
    if (file) {
        fclose(file);
    }
    return !mapped;
}

static bool own_trusts(uid_t uid)
{
    return uid == 0 || uid == geteuid() || unmapped(uid);
}

/* A folder above the last, or a link on the way. */
static rz_status_t own_check_way(const struct stat *facts, const char *name, struct rz_own_why *why)
{
    if (!own_trusts(facts->st_uid)) {
        return own_say(why, RZ_ERR_INVALID,
                       "%.380s belongs to uid %u, and this user could exchange what is in it: use "
                       "a folder below one of your own",
                       name, (unsigned)facts->st_uid);
    }
    if (S_ISDIR(facts->st_mode) && (facts->st_mode & S_IWOTH) && !(facts->st_mode & S_ISVTX)) {
        return own_say(why, RZ_ERR_INVALID,
                       "everyone may write to %.380s and exchange what is in it (its mode is "
                       "%04o): use a folder of your own, or `chmod o-w` it",
                       name, (unsigned)(facts->st_mode & 07777));
    }
    return RZ_OK;
}

/* ---- the way to a folder ---- */

struct own_way {
    int at;              /* the folder reached, O_PATH */
    char done[PATH_MAX]; /* its name, for messages */
    char rest[PATH_MAX]; /* the names that follow */
    unsigned links;
};

static rz_status_t own_restart(struct own_way *way, const char *where, struct rz_own_why *why)
{
    struct stat facts;
    int fd = open(where, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) != 0) {
        rz_status_t status = own_failed(why, "open", where);
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    if (way->at >= 0) {
        close(way->at);
    }
    way->at = fd;
    snprintf(way->done, sizeof(way->done), "%s", where);
    return own_check_way(&facts, where, why);
}

/* The link `fd` stands before the rest from now on. */
static rz_status_t own_follow(struct own_way *way, int fd, const char *name, struct rz_own_why *why)
{
    char target[PATH_MAX], rest[PATH_MAX];
    ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);
    errno = n < 0 ? errno : ENAMETOOLONG;
    if (n < 0 || ++way->links > OWN_LINKS_MAX) {
        return own_failed(why, "follow", name);
    }
    target[n] = 0;
    memcpy(rest, way->rest, sizeof(rest));
    if (snprintf(way->rest, sizeof(way->rest), "%s/%.*s", target, (int)sizeof(rest) - 1, rest) >=
        (int)sizeof(way->rest)) {
        return own_failed(why, "follow", name);
    }
    return target[0] == '/' ? own_restart(way, "/", why) : RZ_OK;
}

static rz_status_t own_step(struct own_way *way, const char *step, struct rz_own_why *why)
{
    char name[2 * PATH_MAX + 1];
    struct stat facts;
    size_t n = strlen(way->done);
    bool slash = n > 0 && way->done[n - 1] == '/';
    snprintf(name, sizeof(name), "%s%s%s", way->done, slash ? "" : "/", step);
    int fd = openat(way->at, step, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) != 0) {
        rz_status_t status = own_failed(why, "open", name);
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    rz_status_t status = own_check_way(&facts, name, why);
    if (status == RZ_OK && S_ISLNK(facts.st_mode)) {
        status = own_follow(way, fd, name, why);
        close(fd);
        return status;
    }
    if (status == RZ_OK && !S_ISDIR(facts.st_mode)) {
        errno = ENOTDIR;
        status = own_failed(why, "open", name);
    }
    close(way->at);
    way->at = fd;
    snprintf(way->done, sizeof(way->done), "%.*s", PATH_MAX - 1, name);
    return status;
}

/* Takes the next name from the rest. */
static bool own_next(struct own_way *way, char step[PATH_MAX])
{
    size_t from = strspn(way->rest, "/"), n = strcspn(way->rest + from, "/");
    memcpy(step, way->rest + from, n);
    step[n] = 0;
    memmove(way->rest, way->rest + from + n, strlen(way->rest + from + n) + 1);
    return n > 0;
}

rz_status_t rz_own_walk(const char *path, bool ours, int *fd, struct rz_own_why *why)
{
    struct own_way way = {.at = -1};
    char step[PATH_MAX];
    int end = -1;
    if (snprintf(way.rest, sizeof(way.rest), "%s", path) >= (int)sizeof(way.rest)) {
        errno = ENAMETOOLONG;
        return own_failed(why, "open", path);
    }
    rz_status_t status = own_restart(&way, path[0] == '/' ? "/" : ".", why);
    while (status == RZ_OK && own_next(&way, step)) {
        status = own_step(&way, step, why);
    }
    if (status == RZ_OK) {
        end = openat(way.at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        status = end >= 0 ? RZ_OK : own_failed(why, "open", path);
    }
    if (status == RZ_OK && ours) {
        status = own_check(end, path, why);
    }
    if (way.at >= 0) {
        close(way.at);
    }
    if (status != RZ_OK && end >= 0) {
        close(end);
    }
    if (status == RZ_OK) {
        *fd = end;
    }
    return status;
}

/* ---- below it ---- */

static const char *own_last(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static rz_status_t own_opened(int opened, const char *path, int *fd, struct rz_own_why *why)
{
    rz_status_t status = opened < 0 ? own_failed(why, "open", path) : own_check(opened, path, why);
    if (status == RZ_OK) {
        *fd = opened;
    } else if (opened >= 0) {
        close(opened);
    }
    return status;
}

rz_status_t rz_own_enter(int at, const char *path, bool make, int *fd, struct rz_own_why *why)
{
    struct stat facts;
    const char *name = own_last(path);
    if (make && mkdirat(at, name, 0700) != 0 && errno != EEXIST) {
        return own_failed(why, "make the directory", path);
    }
    /* ENOTDIR does not tell a link from a file. */
    if (fstatat(at, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(facts.st_mode)) {
        errno = ELOOP;
        return own_failed(why, "open", path);
    }
    int opened = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0 && errno == ENOTDIR && make) {
        return own_say(why, RZ_ERR_SYSTEM, "cannot open %.380s: %s", path, strerror(errno));
    }
    rz_status_t status = own_opened(opened, path, fd, why);
    if (status == RZ_OK && make) {
        fchmod(*fd, 0700); /* an older version made it readable by others */
    }
    return status;
}

rz_status_t rz_own_create(int at, const char *path, int *fd, struct rz_own_why *why)
{
    const char *name = own_last(path);
    unlinkat(at, name, 0);
    int made = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (made < 0) {
        return own_failed(why, "create", path);
    }
    fchmod(made, 0600);
    return own_opened(made, path, fd, why);
}

rz_status_t rz_own_open(int at, const char *path, bool writes, int *fd, struct rz_own_why *why)
{
    int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (writes ? O_RDWR | O_CREAT : O_RDONLY);
    return own_opened(openat(at, own_last(path), flags, 0600), path, fd, why);
}
