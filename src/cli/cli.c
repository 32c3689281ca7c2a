#include "cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 128 /* of which one unknown may be meant to be one */

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

/* Whether word is this option, alone or as --name=VALUE; *value leads to VALUE or is NULL. */
static bool matches(const struct rz_cli_option *option, const char *word, const char **value)
{
    *value = NULL;
    if (!option->name)
        return false;
    if (strcmp(word, option->name) == 0 || (option->other && strcmp(word, option->other) == 0))
        return true;
    size_t n = strlen(option->name);
    if (n > 2 && strncmp(word, option->name, n) == 0 && word[n] == '=') {
        *value = word + n + 1;
        return true;
    }
    return false;
}

static _Noreturn void refuse_unknown(const struct rz_cli *cli, const char *word)
{
    const char *names[OPTIONS_MAX + 1] = {NULL}, *nearest;
    size_t n = 0;
    for (const struct rz_cli_option *o = cli->options; (o->name || o->help) && n < OPTIONS_MAX; o++)
        if (o->name)
            names[n++] = o->name;
    nearest = strlen(word) > 3 ? rz_cli_nearest(word, names) : NULL;
    if (nearest)
        rz_cli_refuse(cli, "unknown option '%s'; did you mean '%s'?", word, nearest);
    rz_cli_refuse(cli, "unknown option '%s'", word);
}

static void common_options(const struct rz_cli *cli, const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        rz_cli_help(cli, stdout);
    else if (strcmp(word, "--man") == 0)
        rz_cli_manual(cli, stdout);
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        printf("%s (Rhizome) %s\n", cli->name, RZ_VERSION);
    else
        refuse_unknown(cli, word);
    exit(0);
}

int rz_cli_parse(const struct rz_cli *cli, int argc, char **argv, void *target)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        const char *value = NULL, *why = "it has a bad value";
        const struct rz_cli_option *option = cli->options;
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        while ((option->name || option->help) && !matches(option, argv[i], &value))
            option++;
        if (!option->name) {
            common_options(cli, argv[i]);
            continue;
        }
        const char *word = option->name;
        if (option->argument && !value) {
            if (++i == argc)
                rz_cli_refuse(cli, "option '%s' wants %s behind it", word, option->argument);
            value = argv[i];
        } else if (!option->argument && value) {
            rz_cli_refuse(cli, "option '%s' takes no value", word);
        }
        if (!option->take(target, value, &why))
            rz_cli_refuse(cli, "%s '%s': %s", word, value ? value : "", why);
    }
    return i;
}
