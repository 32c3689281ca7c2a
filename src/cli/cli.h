/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines from one table: parsing, --help, and the manual page. */
#ifndef RZ_CLI_CLI_H
#define RZ_CLI_CLI_H

#include "base/status.h"

#include <rhizome/types.h>

#include <stdio.h>

/* Exit status of each of our commands after a bad command line. */
#define RZ_EXIT_USAGE 2
/* Exit status of each of our commands if standard output could not be written. */
#define RZ_EXIT_UNWRITTEN 9

struct rz_cli_option {
    const char *name;  /* "--hostfile"; NULL: a heading in the help, its text in `help` */
    const char *other; /* other spellings, "-H -host", or NULL */
    /* "FILE", or NULL: takes none. `--name=VALUE` and `--name VALUE` are the same, and `-n4` and
     * `-n 4`. "NAME VALUE": takes two arguments, and passes them as `NAME=VALUE`, which exists
     * until `take` returns. */
    const char *argument;
    const char *help;
    /* Takes the value (NULL without argument). False: *why is one clause that says what is
     * wrong. */
    bool (*take)(void *target, const char *value, const char **why);
};

/* Defines take_NAME for a table; the body follows, or the name says what it does: it stores the
 * value, which exists as long as argv, or records that the option was given. */
#define RZ_CLI_TAKE(name) static bool take_##name(void *target, const char *value, const char **why)
#define RZ_CLI_TAKE_TEXT(name, place)                                                              \
    RZ_CLI_TAKE(name)                                                                              \
    {                                                                                              \
        (void)why;                                                                                 \
        (place) = value;                                                                           \
        return true;                                                                               \
    }
#define RZ_CLI_TAKE_FLAG(name, place)                                                              \
    RZ_CLI_TAKE(name)                                                                              \
    {                                                                                              \
        (void)value, (void)why;                                                                    \
        return (place) = true;                                                                     \
    }

struct rz_cli {
    const char *name;     /* "rzrun" */
    const char *summary;  /* one line */
    const char *synopsis; /* "[OPTION]... PROGRAM [ARGUMENT]..." */
    const char *description;
    const struct rz_cli_option *options; /* ends with an entry whose name and help are NULL */
    /* further tables, after the first; NULL at the end; or NULL */
    const struct rz_cli_option *const *more;
    const char *words;              /* the first words it knows, "check features"; or NULL */
    const char *epilogue;           /* exit status, examples; or NULL */
    const struct rz_cli *elsewhere; /* its options are not accepted here; or NULL */
    const char *where;              /* and the text about them */
};

/*
 * Takes options from argv[1] on, up to the first argument that is none (or past "--"); returns its
 * index. --help, --version, --man and --completion are handled here (exit 0). A bad option prints
 * one line and exits with RZ_EXIT_USAGE.
 */
int rz_cli_parse(const struct rz_cli *cli, int argc, char **argv, void *target);

/*
 * The end of a command's main: flushes stdout. The exit status: `status`, or, if any output to
 * stdout is lost, RZ_EXIT_UNWRITTEN after a message that says why.
 */
int rz_cli_finish(const char *name, int status);

/* Prints `name: message` and a hint at --help, and exits with RZ_EXIT_USAGE. */
_Noreturn void rz_cli_refuse(const struct rz_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Of the names (up to NULL) the one that was probably intended, or NULL. */
const char *rz_cli_nearest(const char *word, const char *const *names);

void rz_cli_help(const struct rz_cli *cli, FILE *out);
void rz_cli_manual(const struct rz_cli *cli, FILE *out); /* man(7) source */
/* What completes command lines in a shell, "bash" or "zsh"; false: it is another one (or NULL). */
bool rz_cli_completion(const struct rz_cli *cli, const char *shell, FILE *out);

#endif
