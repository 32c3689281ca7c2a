/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files that appear whole or not at all: written without a name, linked at the end. */
#include "chart/chart_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A device, a pipe or a link must be written in place: a rename would replace it by a file. */
static bool must_stay(const char *path)
{
    struct stat there;
    return lstat(path, &there) == 0 && !S_ISREG(there.st_mode);
}

static bool release(struct rz_outfile *out, bool good)
{
    free(out->path);
    free(out->temporary);
    *out = (struct rz_outfile){0};
    return good;
}

/* A file of this folder without a name; -1 if the file system has none, or nothing (/proc) could
 * give it one. */
static int open_nameless(const char *path)
{
    if (access("/proc/self/fd", X_OK) != 0) {
        return -1;
    }
    char *folder = rz_chart_copy(path);
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
    *out = (struct rz_outfile){.path = rz_chart_copy(path)};
    int fd = -1;
    if (!must_stay(path)) {
        out->temporary = rz_chart_memory(NULL, bytes, 1);
        snprintf(out->temporary, bytes, "%s.%ld.part", path, (long)getpid());
        fd = open_nameless(path);
        out->nameless = fd >= 0;
    }
    if (fd < 0) {
        fd = open(out->temporary ? out->temporary : path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                  0666);
    }
    if (fd >= 0 && (out->file = fdopen(fd, "w"))) {
        return true;
    }
    rz_chart_say(why, "cannot write '%s': %s", path, strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    return release(out, false);
}

static bool appear(struct rz_outfile *out)
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
        written = appear(out);
    }
    int reason = errno;
    if (fclose(out->file) != 0 && written) {
        reason = errno;
        written = false;
    }
    if (good && !written) {
        good = rz_chart_say(why, "cannot write '%s': %s", out->path, strerror(reason));
    }
    if (!good && out->temporary && !out->nameless) {
        unlink(out->temporary);
    }
    return release(out, good);
}
