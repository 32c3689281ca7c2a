/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of paths, each with a mark that has the content. */
#include "mpi/rewind/state_files.h"

#include "port/file_mark.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct state_file {
    char *path;
    struct rz_file_mark mark; /* its path and content are these */
    uint8_t *content;         /* NULL: none */
} files[RZ_STATE_FILES_MAX];
static uint32_t n_files;

void rz_state_files_note(const char *path)
{
    for (uint32_t i = 0; i < n_files; i++) {
        if (strcmp(files[i].path, path) == 0) {
            return;
        }
    }
    char *copy = n_files < RZ_STATE_FILES_MAX ? strdup(path) : NULL;
    if (copy) {
        files[n_files++] = (struct state_file){.path = copy};
    }
}

/* False: it is no such file any more. */
static bool keep(struct state_file *file)
{
    static uint8_t content[RZ_FILE_CONTENT_MAX];
    char name[RZ_FILE_PATH_BYTES];
    free(file->content);
    file->content = NULL;
    if (!rz_file_mark_hold(AT_FDCWD, file->path, false, &file->mark, name, content) ||
        file->mark.bytes > RZ_FILE_CONTENT_MAX) {
        return false;
    }
    size_t bytes = file->mark.content_length;
    file->content = file->mark.flags & RZ_FILE_EMPTIED ? NULL : malloc(bytes + 1);
    if (file->content) {
        memcpy(file->content, content, bytes);
    }
    file->mark.path = file->path;
    file->mark.content = file->content;
    return true;
}

void rz_state_files_keep(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_files; i++) {
        if (keep(&files[i])) {
            files[kept++] = files[i];
        } else {
            free(files[i].path);
        }
    }
    n_files = kept;
}

void rz_state_files_restore(uint64_t round)
{
    for (uint32_t i = 0; i < n_files; i++) {
        if (files[i].content) {
            rz_file_mark_restore(&files[i].mark, round);
        }
    }
}
