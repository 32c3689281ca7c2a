/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a text file that the user names into memory, up to a bound. */
#include "launch/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies at most RZ_TEXT_FILE_MAX bytes and one, by which a larger file is recognised. */
static size_t copy(FILE *from, FILE *to)
{
    char part[65536];
    size_t all = 0, n;
    while (all <= RZ_TEXT_FILE_MAX && (n = fread(part, 1, sizeof(part), from)) > 0) {
        fwrite(part, 1, n, to);
        all += n;
    }
    return all;
}

/* Opens `file` for reading lines. NULL: *why. The caller ends with fclose and then frees *text. */
static FILE *text_file_open(const char *file, char **text, const char **why)
{
    static char reason[128];
    size_t n = 0, all = 0;
    FILE *in = fopen(file, "r"), *memory = in ? open_memstream(text, &n) : NULL;
    bool good = memory;
    *why = reason;
    snprintf(reason, sizeof(reason), "it cannot be read: %s", strerror(errno));
    if (good) {
        errno = 0;
        all = copy(in, memory);
        good = !ferror(in) && !ferror(memory);
        snprintf(reason, sizeof(reason), "it cannot be read: %s", strerror(errno));
    }
    if (good && all > RZ_TEXT_FILE_MAX) {
        snprintf(reason, sizeof(reason), "it has more than %d MiB", RZ_TEXT_FILE_MAX >> 20);
        good = false;
    }
    if (in) {
        fclose(in);
    }
    if (memory) {
        good = fclose(memory) == 0 && good;
    }
    FILE *lines = good ? fmemopen(*text, n, "r") : NULL;
    if (memory && !lines) {
        free(*text);
    }
    return lines;
}

bool rz_text_file_lines(const char *file, bool (*take)(void *arg, char *line, const char **why),
                        void *arg, const char **why)
{
    static char reason[256];
    char *line = NULL, *text;
    size_t room = 0;
    unsigned number = 0;
    bool good = true;
    FILE *in = text_file_open(file, &text, why);
    if (!in) {
        return false;
    }
    for (ssize_t n; good && (n = getline(&line, &room, in)) >= 0;) {
        number++;
        *why = "there is a zero byte in it"; /* what is behind it would be lost, unseen */
        good = !memchr(line, 0, (size_t)n) && take(arg, line, why);
    }
    if (!good) {
        snprintf(reason, sizeof(reason), "line %u: %s", number, *why);
        *why = reason;
    }
    free(line);
    fclose(in);
    free(text);
    return good;
}
