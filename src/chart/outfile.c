#include "chart/chart_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A device, a pipe or a link must be written into: a rename would put a file in its place. */
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

bool rz_outfile_open(struct rz_outfile *out, const char *path, const char **why)
{
    size_t bytes = strlen(path) + 32;
    out->path = rz_chart_copy(path);
    out->temporary = NULL;
    if (!must_stay(path)) {
        out->temporary = rz_chart_memory(NULL, bytes, 1);
        snprintf(out->temporary, bytes, "%s.%ld.part", path, (long)getpid());
    }
    out->file = fopen(out->temporary ? out->temporary : path, "we");
    if (out->file)
        return true;
    rz_chart_say(why, "cannot write '%s': %s", path, strerror(errno));
    return release(out, false);
}

bool rz_outfile_close(struct rz_outfile *out, bool good, const char **why)
{
    bool written = !ferror(out->file);
    written = fclose(out->file) == 0 && written;
    if (good && !written)
        good = rz_chart_say(why, "cannot write '%s': %s", out->path, strerror(errno));
    if (good && out->temporary && rename(out->temporary, out->path) != 0)
        good = rz_chart_say(why, "cannot write '%s': %s", out->path, strerror(errno));
    if (!good && out->temporary)
        unlink(out->temporary);
    return release(out, good);
}
