/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files that appear whole or not at all: written without a name, linked at the end. */
#include "port/outfile.h"

#include "base/no_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A device, a pipe or a link must be written in place: a rename would replace it by a file. */
static bool outfile_in_place(const char *path)
{
    struct stat there;
    return lstat(path, &there) == 0 && !S_ISREG(there.st_mode);
}

/* False, with *why, which lives until the next one of this thread. */
static bool outfile_say(const char **why, const char *path, int reason)
{
    static _Thread_local char text[1024];
    snprintf(text, sizeof(text), "cannot write '%s': %s", path, strerror(reason));
    *why = text;
    return false;
}

static bool outfile_release(struct rz_outfile *out, bool good)
{
    free(out->path);
    free(out->temporary);
    *out = (struct rz_outfile){0};
    return good;
}

/* A file of this folder without a name; -1 if the file system has none, or nothing (/proc) could
 * give it one. */
static int outfile_nameless(const char *path)
{
    if (access("/proc/self/fd", X_OK) != 0) {
        return -1;
    }
    char *folder = rz_need_copy(path, strlen(path) + 1, "for the name of a file");
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder] = 0;
    }
    int fd = open(slash ? folder : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    free(folder);
    return fd;
}

bool rz_outfile_open(struct rz_outfile *out, const char *path, const char **why)
{
    size_t bytes = strlen(path) + 32;
    *out =
        (struct rz_outfile){.path = rz_need_copy(path, strlen(path) + 1, "for the name of a file")};
    int fd = -1;
    if (!outfile_in_place(path)) {
        out->temporary = malloc(bytes);
        rz_need_memory(out->temporary, "for the name of a file");
        snprintf(out->temporary, bytes, "%s.%ld.part", path, (long)getpid());
        fd = outfile_nameless(path);
        out->nameless = fd >= 0;
    }
    if (fd < 0) {
        fd = open(out->temporary ? out->temporary : path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                  0666);
    }
    if (fd >= 0 && (out->file = fdopen(fd, "w"))) {
        return true;
    }
    outfile_say(why, path, errno);
    if (fd >= 0) {
        close(fd);
    }
    return outfile_release(out, false);
}

static bool outfile_appear(struct rz_outfile *out)
{
    char self[64];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(out->file));
    if (out->nameless && linkat(AT_FDCWD, self, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW) != 0) {
        return false;
    }
    out->nameless = false;
    return rename(out->temporary, out->path) == 0;
}

bool rz_outfile_close(struct rz_outfile *out, bool good, const char **why)
{
    bool written = fflush(out->file) == 0 && !ferror(out->file);
    if (written && good && out->temporary) {
        written = outfile_appear(out);
    }
    int reason = errno;
    if (fclose(out->file) != 0 && written) {
        reason = errno;
        written = false;
    }
    if (good && !written) {
        good = outfile_say(why, out->path, reason);
    }
    if (!good && out->temporary && !out->nameless) {
        unlink(out->temporary);
    }
    return outfile_release(out, good);
}
