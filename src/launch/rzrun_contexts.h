/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a command line between its `:` (and the lines of an --app FILE): each starts ranks
 * of its own program (MPMD). The number of a part is MPI_APPNUM.
 */
#ifndef RZ_LAUNCH_RZRUN_CONTEXTS_H
#define RZ_LAUNCH_RZRUN_CONTEXTS_H

#include <rhizome/types.h>

#include <stddef.h>

struct rz_texts {
    char **texts; /* NULL-terminated, or NULL: none; owned by the list */
    uint32_t n;
};

struct rz_context {
    uint32_t n_ranks;      /* 0: not given */
    char **program;        /* NULL-terminated: program and arguments */
    char *executable;      /* the program's path, once it was found; in `program`, too */
    const char *directory; /* "": rzrun's own */
    const char *path;      /* searched first for the program, like PATH; or NULL */
    struct rz_texts environment;
};

/* Appends a copy. */
void rz_texts_add(struct rz_texts *texts, const char *text);
void rz_texts_clear(struct rz_texts *texts);

/* The LD_LIBRARY_PATH of the processes of a part; NULL: they have none. */
const char *rz_context_library_path(const struct rz_context *part);

/* The number of words before the first that is ":" alone, or n. */
int rz_context_words(char *const *words, int n);

/*
 * Reads a file of parts: a line is [OPTION]... PROGRAM [ARGUMENT]..., with words in '' or "" where
 * they hold blanks, and # to the end of the line as a comment. The words of all parts, with ":"
 * between; NULL with *why (static text, which names the line). They live until the program ends.
 */
char **rz_context_file(const char *file, int *n_words, const char **why);

#endif
