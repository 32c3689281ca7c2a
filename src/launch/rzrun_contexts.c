/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the parts of a command line, and the files of --app, into words. */
#include "launch/rzrun_contexts.h"

#include "base/no_memory.h"
#include "launch/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rz_texts_add(struct rz_texts *list, const char *text)
{
    list->texts = realloc(list->texts, (list->n + 2) * sizeof(*list->texts));
    rz_need_memory(list->texts, "for the command line");
    list->texts[list->n] = strdup(text);
    rz_need_memory(list->texts[list->n], "for the command line");
    list->texts[++list->n] = NULL;
}

void rz_texts_clear(struct rz_texts *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        free(list->texts[i]);
    }
    free(list->texts);
    *list = (struct rz_texts){0};
}

const char *rz_context_library_path(const struct rz_context *part)
{
    static const char name[] = "LD_LIBRARY_PATH=";
    const char *own = getenv("LD_LIBRARY_PATH");
    for (uint32_t i = 0; i < part->environment.n; i++) {
        if (strncmp(part->environment.texts[i], name, sizeof(name) - 1) == 0) {
            own = part->environment.texts[i] + sizeof(name) - 1;
        }
    }
    return own;
}

int rz_context_words(char *const *words, int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(words[i], ":") == 0) {
            return i;
        }
    }
    return n;
}

/* The next word of a line, written over its beginning; NULL: none, or (*open) a quote is not
 * closed. */
static char *next_word(char **at, bool *open)
{
    char *in = *at + strspn(*at, " \t\r\n"), *word = in, *out = in, quote = 0;
    if (!*in || *in == '#') {
        return NULL;
    }
    for (; *in && (quote || !strchr(" \t\r\n", *in)); in++) {
        if (quote ? *in == quote : *in == '\'' || *in == '"') {
            quote = quote ? 0 : *in;
        } else {
            *out++ = *in;
        }
    }
    *open = quote != 0;
    *at = *in ? in + 1 : in;
    *out = 0;
    return *open ? NULL : word;
}

static bool read_words(struct rz_texts *words, char *line)
{
    bool open = false, first = true;
    char *word;
    while ((word = next_word(&line, &open))) {
        if (first && words->n > 0) {
            rz_texts_add(words, ":");
        }
        first = false;
        rz_texts_add(words, word);
    }
    return !open;
}

static bool take_context_line(void *arg, char *line, const char **why)
{
    *why = "a quote does not end";
    return read_words(arg, line);
}

char **rz_context_file(const char *file, int *n_words, const char **why)
{
    struct rz_texts words = {0};
    bool good = rz_text_file_lines(file, take_context_line, &words, why);
    if (good && words.n == 0) {
        *why = "it names no program; a line is [-n N] PROGRAM [ARGUMENT]...";
        good = false;
    }
    *n_words = (int)words.n;
    if (!good) {
        rz_texts_clear(&words);
    }
    return good ? words.texts : NULL;
}
