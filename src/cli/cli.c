/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses a command line by its table, and reports errors with a hint at the likely intended
 * option. */
#include "cli/cli_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 128 /* one unknown letter of which may be intended as one */

_Noreturn void rz_cli_refuse(const struct rz_cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", cli->name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (%s --help lists everything)\n", cli->name);
    va_end(arguments);
    exit(RZ_EXIT_USAGE);
}

int rz_cli_finish(const char *name, int status)
{
    bool lost = ferror(stdout), pending = __fpending(stdout) > 0;
    errno = 0;
    if (fclose(stdout) == 0 && !lost) {
        return status;
    }
    if (!lost && !pending && errno == EBADF) { /* it was closed, and nothing had to be written */
        return status;
    }
    fprintf(stderr, "%s: standard output cannot be written%s%s\n", name, errno ? ": " : "",
            errno ? strerror(errno) : "");
    return RZ_EXIT_UNWRITTEN;
}

/* Whether word is `name`, alone or followed by its value; *value points to that or is NULL. */
static bool is_name(const char *word, const char *name, size_t n, bool counts, const char **value)
{
    *value = NULL;
    if (strncmp(word, name, n) != 0) {
        return false;
    }
    if (word[n] == '=') {
        *value = word + n + 1;
    } else if (n == 2 && counts && isdigit((unsigned char)word[n])) {
        *value = word + n;
    }
    return *value || !word[n];
}

static bool matches(const struct rz_cli_option *option, const char *word, const char **value)
{
    bool counts = option->argument && strcmp(option->argument, "N") == 0;
    if (!option->name) {
        return false;
    }
    if (is_name(word, option->name, strlen(option->name), counts, value)) {
        return true;
    }
    for (const char *other = option->other; other && *other;) {
        size_t n = strcspn(other, " ");
        if (is_name(word, other, n, counts, value)) {
            return true;
        }
        other += n + (other[n] == ' ');
    }
    return false;
}

static const struct rz_cli_option *find(const struct rz_cli *cli, const char *word,
                                        const char **value)
{
    const struct rz_cli_option *option;
    for (size_t k = 0; (option = rz_cli_table(cli, k)); k++) {
        for (; !rz_cli_is_last(option); option++) {
            if (matches(option, word, value)) {
                return option;
            }
        }
    }
    return NULL;
}

static _Noreturn void refuse_unknown(const struct rz_cli *cli, const char *word)
{
    const char *names[OPTIONS_MAX + 1] = {NULL}, *nearest;
    const struct rz_cli_option *option;
    size_t n = 0;
    if (cli->elsewhere && find(cli->elsewhere, word, &nearest)) {
        rz_cli_refuse(cli, "option '%s' %s", word, cli->where);
    }
    for (size_t k = 0; (option = rz_cli_table(cli, k)); k++) {
        for (; !rz_cli_is_last(option) && n < OPTIONS_MAX; option++) {
            if (option->name) {
                names[n++] = option->name;
            }
        }
    }
    nearest = strlen(word) > 3 ? rz_cli_nearest(word, names) : NULL;
    if (nearest) {
        rz_cli_refuse(cli, "unknown option '%s'; did you mean '%s'?", word, nearest);
    }
    rz_cli_refuse(cli, "unknown option '%s'", word);
}

/* `--completion SHELL` or `--completion=SHELL`; `next` is the word behind, or NULL. */
static void print_completion(const struct rz_cli *cli, const char *value, const char *next)
{
    if (!rz_cli_completion(cli, value ? value : next, stdout)) {
        rz_cli_refuse(cli, "option '--completion' needs bash or zsh after it");
    }
}

static void common_options(const struct rz_cli *cli, const char *word, const char *next)
{
    static const char completion[] = "--completion";
    const char *value;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        rz_cli_help(cli, stdout);
    } else if (strcmp(word, "--man") == 0) {
        rz_cli_manual(cli, stdout);
    } else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("%s (Rhizome) %s\n", cli->name, RZ_VERSION);
    } else if (is_name(word, completion, sizeof(completion) - 1, false, &value)) {
        print_completion(cli, value, next);
    } else {
        refuse_unknown(cli, word);
    }
    exit(rz_cli_finish(cli->name, 0));
}

/* The argument that follows argv[*i], or the next two as one; NULL: there are too few. The result
 * is valid until the next call. */
static const char *words_behind(const struct rz_cli_option *option, int argc, char **argv, int *i)
{
    bool two = strchr(option->argument, ' ') != NULL;
    if (argc - *i <= 1 + two) {
        return NULL;
    }
    const char *first = argv[++*i];
    if (!two) {
        return first;
    }
    const char *second = argv[++*i];
    static char *both;
    size_t bytes = strlen(first) + strlen(second) + 2;
    free(both);
    both = malloc(bytes);
    if (both) {
        snprintf(both, bytes, "%s=%s", first, second);
    }
    return both;
}

int rz_cli_parse(const struct rz_cli *cli, int argc, char **argv, void *target)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        const char *value = NULL, *why = "it has a bad value";
        if (strcmp(argv[i], "--") == 0) {
            return i + 1;
        }
        const struct rz_cli_option *option = find(cli, argv[i], &value);
        if (!option) {
            common_options(cli, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
            continue;
        }
        const char *word = option->name;
        if (option->argument && !value) {
            if (!(value = words_behind(option, argc, argv, &i))) {
                rz_cli_refuse(cli, "option '%s' needs %s after it", word, option->argument);
            }
        } else if (!option->argument && value) {
            rz_cli_refuse(cli, "option '%s' takes no value", word);
        }
        if (!option->take(target, value, &why)) {
            rz_cli_refuse(cli, "%s '%s': %s", word, value ? value : "", why);
        }
    }
    return i;
}
