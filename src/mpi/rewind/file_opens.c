/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in the place of open, fopen and the like: does the same, and tells of what is written. */
#include "mpi/rewind/file_opens.h"

#include "port/redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct rz_file_opens *told;

static int led_open(const char *path, int flags, ...);
static int led_openat(int folder, const char *path, int flags, ...);
static int led_open_2(const char *path, int flags);
static int led_openat_2(int folder, const char *path, int flags);
static FILE *led_fopen(const char *path, const char *mode);
static FILE *led_freopen(const char *path, const char *mode, FILE *stream);

/* Files of any size: on this processor there is no difference. The names with 2 are those of
 * programs that were compiled with checks (_FORTIFY_SOURCE). */
enum { OPEN, OPENAT, FOPEN, FREOPEN };
static struct rz_redirect calls[] = {
    [OPEN] = {.name = "open", .to = (void (*)(void))led_open},
    [OPENAT] = {.name = "openat", .to = (void (*)(void))led_openat},
    [FOPEN] = {.name = "fopen", .to = (void (*)(void))led_fopen},
    [FREOPEN] = {.name = "freopen", .to = (void (*)(void))led_freopen},
    {.name = "open64", .to = (void (*)(void))led_open},
    {.name = "openat64", .to = (void (*)(void))led_openat},
    {.name = "fopen64", .to = (void (*)(void))led_fopen},
    {.name = "freopen64", .to = (void (*)(void))led_freopen},
    {.name = "__open_2", .to = (void (*)(void))led_open_2},
    {.name = "__open64_2", .to = (void (*)(void))led_open_2},
    {.name = "__openat_2", .to = (void (*)(void))led_openat_2},
    {.name = "__openat64_2", .to = (void (*)(void))led_openat_2},
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
    bool tells, created;
};

static struct opening opening_begins(int folder, const char *path, bool writes, bool creates)
{
    struct opening opening = {.tells = false};
    struct stat st;
    int error = errno;
    if (writes && path && told->begin()) {
        bool there = fstatat(folder, path, &st, 0) == 0;
        opening.tells = true;
        opening.created = !there && errno == ENOENT && creates;
        if (!opening.created && !(there && S_ISREG(st.st_mode))) {
            told->end(-1, false); /* to open a pipe may take any time */
            opening.tells = false;
        }
    }
    errno = error;
    return opening;
}

static void opening_ends(const struct opening *opening, int fd)
{
    if (opening->tells) {
        told->end(fd, opening->created);
    }
}

static bool flags_write(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY && !(flags & (O_TRUNC | O_PATH | O_DIRECTORY)) &&
           (flags & O_TMPFILE) != O_TMPFILE;
}

static bool mode_writes(const char *mode)
{
    return mode && (mode[0] == 'a' || (mode[0] == 'r' && strchr(mode, '+')));
}

/* ---- The calls ---- */

static mode_t mode_of(int flags, va_list more)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    struct opening opening =
        opening_begins(folder, path, flags_write(flags), (flags & O_CREAT) != 0);
    int fd = ((int (*)(int, const char *, int, ...))calls[OPENAT].was)(folder, path, flags, mode);
    opening_ends(&opening, fd);
    return fd;
}

static int open_here(const char *path, int flags, mode_t mode)
{
    struct opening opening =
        opening_begins(AT_FDCWD, path, flags_write(flags), (flags & O_CREAT) != 0);
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

static FILE *led_fopen(const char *path, const char *mode)
{
    struct opening opening = opening_begins(AT_FDCWD, path, mode_writes(mode), *mode == 'a');
    FILE *file = ((FILE * (*)(const char *, const char *)) calls[FOPEN].was)(path, mode);
    opening_ends(&opening, file ? fileno(file) : -1);
    return file;
}

static FILE *led_freopen(const char *path, const char *mode, FILE *stream)
{
    struct opening opening = opening_begins(AT_FDCWD, path, mode_writes(mode), *mode == 'a');
    FILE *file =
        ((FILE * (*)(const char *, const char *, FILE *)) calls[FREOPEN].was)(path, mode, stream);
    opening_ends(&opening, file ? fileno(file) : -1);
    return file;
}
