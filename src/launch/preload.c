/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the files of --preload: each is opened at once, so that what is brought is what was
 * there at the start, also if the file is replaced by another one. */
#include "launch/preload.h"

#include "base/no_memory.h"
#include "launch/program.h"
#include "outcome/exit_codes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMPARED_BYTES 4096

/* What collect goes through. */
struct file_collection {
    struct rz_preload *preload;
    const char *option; /* that wants the file, for messages */
    const char *own_libraries;
    int status; /* 0, or the exit status after the first message */
};

__attribute__((format(printf, 3, 4))) static void refuse_file(struct file_collection *all,
                                                              int status, const char *format, ...)
{
    va_list arguments;
    if (all->status) {
        return;
    }
    all->status = status;
    fprintf(stderr, "rzrun: %s: ", all->option);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool same_content(const struct rz_preload_file *a, const struct rz_preload_file *b)
{
    uint8_t in_a[COMPARED_BYTES], in_b[COMPARED_BYTES];
    bool same = a->bytes == b->bytes;
    for (uint64_t at = 0; same && at < a->bytes; at += COMPARED_BYTES) {
        size_t n = a->bytes - at < COMPARED_BYTES ? (size_t)(a->bytes - at) : COMPARED_BYTES;
        same = rz_preload_read(a, at, in_a, n) && rz_preload_read(b, at, in_b, n) &&
               memcmp(in_a, in_b, n) == 0;
    }
    return same;
}

static bool open_file(struct file_collection *all, struct rz_preload_file *file)
{
    struct stat facts;
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd < 0 || fstat(file->fd, &facts) != 0) {
        bool missing = errno == ENOENT || errno == ENOTDIR;
        refuse_file(all, missing ? RZ_EXIT_BAD_LINE : RZ_EXIT_START, "cannot read %s: %s%s",
                    file->path, missing ? "there is no such file" : strerror(errno),
                    errno == EACCES ? "; chmod +r allows it" : "");
    } else if (!S_ISREG(facts.st_mode)) {
        refuse_file(all, RZ_EXIT_BAD_LINE, "%s is no file%s", file->path,
                    S_ISDIR(facts.st_mode) ? " but a directory; name its files, or an archive of it"
                                           : "");
    } else {
        file->mode = facts.st_mode & 0777;
        file->bytes = (uint64_t)facts.st_size;
        file->changed = facts.st_mtim;
    }
    return all->status == 0;
}

static void file_clear(struct rz_preload_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    free(file->path);
    free(file->name);
}

/* A file that was collected under this name; NULL: none. */
static const struct rz_preload_file *find_file(const struct rz_preload *preload, const char *name)
{
    for (uint32_t i = 0; i < preload->n; i++) {
        if (strcmp(preload->files[i].name, name) == 0) {
            return &preload->files[i];
        }
    }
    return NULL;
}

static void add_file(struct file_collection *all, const char *path, const char *name)
{
    struct rz_preload *preload = all->preload;
    struct rz_preload_file file = {.path = strdup(path), .name = strdup(name), .fd = -1};
    rz_need_memory(file.path && file.name, "for the files of --preload");
    const struct rz_preload_file *before = find_file(preload, name);
    bool again = before && strcmp(before->path, path) == 0;
    if (again || all->status || !open_file(all, &file)) {
        file_clear(&file);
        return;
    }
    if (before || preload->n == RZ_PRELOAD_FILES_MAX) {
        if (!before) {
            refuse_file(all, RZ_EXIT_BAD_LINE, "there are more than %d files; bring an archive",
                        RZ_PRELOAD_FILES_MAX);
        } else if (!same_content(before, &file)) {
            refuse_file(
                all, RZ_EXIT_BAD_LINE,
                "%s and %s have the same name and different content, and all files go into one "
                "folder; rename one of them",
                before->path, path);
        }
        file_clear(&file);
        return;
    }
    preload->files = realloc(preload->files, (preload->n + 1) * sizeof(*preload->files));
    rz_need_memory(preload->files, "for the files of --preload");
    preload->files[preload->n++] = file;
}

/* ---- libraries ---- */

static bool lies_in_folder(const char *path, const char *folder)
{
    char parent[PATH_MAX];
    int n = (int)(last_component(path) - path);
    if (!folder || n == 0) {
        return false;
    }
    snprintf(parent, sizeof(parent), "%.*s", n, path);
    char *real = realpath(parent, NULL);
    bool same = real && strcmp(real, folder) == 0;
    free(real);
    return same;
}

static bool is_of_system(const char *path)
{
    static const char *const folders[] = {"/lib/",       "/lib32/",     "/lib64/",
                                          "/libx32/",    "/usr/lib/",   "/usr/lib32/",
                                          "/usr/lib64/", "/usr/libx32/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void on_library(void *arg, const char *name, const char *path, const char *loader_folder)
{
    struct file_collection *all = arg;
    /* The loader fits to the C library beside it alone. */
    if (!is_of_system(path) && !lies_in_folder(path, all->own_libraries) &&
        !lies_in_folder(path, loader_folder)) {
        add_file(all, path, last_component(name));
    }
}

/* ---- all ---- */

int rz_preload_collect(struct rz_preload *preload, const struct rz_context *contexts, uint32_t n,
                       const char *own_libraries)
{
    struct file_collection all = {
        .preload = preload, .option = "--preload", .own_libraries = own_libraries};
    for (uint32_t i = 0; preload->programs && i < n; i++) {
        const char *program = contexts[i].program[0];
        add_file(&all, program, last_component(program));
        rz_program_libraries(program, rz_context_library_path(&contexts[i]), on_library, &all);
    }
    all.option = "--preload-files";
    for (uint32_t i = 0; i < preload->names.n; i++) {
        const char *path = preload->names.texts[i];
        add_file(&all, path, last_component(path));
        if (all.status == 0) {
            rz_program_libraries(path, rz_context_library_path(&contexts[0]), on_library, &all);
        }
    }
    return all.status;
}

void rz_preload_close(struct rz_preload *preload)
{
    for (uint32_t i = 0; i < preload->n; i++) {
        file_clear(&preload->files[i]);
    }
    free(preload->files);
    rz_texts_clear(&preload->names);
    *preload = (struct rz_preload){0};
}

bool rz_preload_read(const struct rz_preload_file *file, uint64_t offset, void *buffer,
                     size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t n = pread(file->fd, (uint8_t *)buffer + at, bytes - at, (off_t)(offset + at));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool rz_preload_unchanged(const struct rz_preload_file *file)
{
    struct stat facts;
    return fstat(file->fd, &facts) == 0 && (uint64_t)facts.st_size == file->bytes &&
           facts.st_mtim.tv_sec == file->changed.tv_sec &&
           facts.st_mtim.tv_nsec == file->changed.tv_nsec;
}

uint64_t rz_preload_bytes(const struct rz_preload *preload)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < preload->n; i++) {
        bytes += preload->files[i].bytes;
    }
    return bytes;
}
