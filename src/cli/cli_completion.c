/* SPDX-License-Identifier: BSD-3-Clause */
/* Scripts by which bash and zsh complete a command line, written from the command's table. */
#include "cli/cli_private.h"

#include <ctype.h>
#include <string.h>

/* What a shell offers as the value of an option, known by the name of its argument. */
enum kind { NOTHING, WORDS, FILES, FOLDERS, HOSTS };

static enum kind kind_of(const char *argument)
{
    static const struct {
        const char *begin;
        enum kind kind;
    } kinds[] = {{"FILE", FILES}, {"DIR", FOLDERS}, {"FOLDER", FOLDERS}, {"HOST", HOSTS}};
    for (size_t i = 0; argument && i < sizeof(kinds) / sizeof(*kinds); i++) {
        size_t n = strlen(kinds[i].begin);
        if (strncmp(argument, kinds[i].begin, n) == 0 && !isalpha((unsigned char)argument[n])) {
            return kinds[i].kind;
        }
    }
    return argument && strchr(argument, '|') ? WORDS : NOTHING;
}

/* Of "N|all" the words that are meant as they stand: those in lower case. */
static void words(FILE *out, const char *argument)
{
    const char *blank = "";
    for (const char *at = argument; *at; at += strspn(at, "|")) {
        size_t n = strcspn(at, "|");
        bool literal = n > 0;
        for (size_t i = 0; i < n; i++) {
            literal = literal && (islower((unsigned char)at[i]) || isdigit((unsigned char)at[i]) ||
                                  at[i] == '-');
        }
        if (literal) {
            fprintf(out, "%s%.*s", blank, (int)n, at);
            blank = " ";
        }
        at += n;
    }
}

/* Through the tables of the command, then the common one. */
struct walk {
    const struct rz_cli *cli;
    const struct rz_cli_option *next; /* NULL: the table has not begun */
    size_t table;
    bool common;
};

/* The first option of the next table; NULL: there is none. */
static const struct rz_cli_option *next_table(struct walk *walk)
{
    const struct rz_cli_option *own = walk->common ? NULL : rz_cli_table(walk->cli, walk->table++);
    bool common = !own && !walk->common;
    walk->common |= common;
    return common ? rz_cli_common : own;
}

/* The next option that has a name, or NULL. */
static const struct rz_cli_option *next_option(struct walk *walk)
{
    for (;;) {
        while (!walk->next || rz_cli_is_last(walk->next)) {
            if (!(walk->next = next_table(walk))) {
                return NULL;
            }
        }
        const struct rz_cli_option *option = walk->next++;
        if (option->name) {
            return option;
        }
    }
}

/* Whether an earlier option has the same name: the commands of one program share some. */
static bool is_repeated(const struct rz_cli *cli, const struct rz_cli_option *option)
{
    struct walk walk = {.cli = cli};
    const struct rz_cli_option *other;
    while ((other = next_option(&walk)) && other != option) {
        if (strcmp(other->name, option->name) == 0) {
            return true;
        }
    }
    return false;
}

/* All spellings of an option, with `between` between them. */
static void spellings(FILE *out, const struct rz_cli_option *option, const char *between)
{
    fputs(option->name, out);
    for (const char *other = option->other; other && *other;) {
        size_t n = strcspn(other, " ");
        fprintf(out, "%s%.*s", between, (int)n, other);
        other += n + (other[n] == ' ');
    }
}

/* ---- bash ---- */

static void bash_value(FILE *out, const char *argument)
{
    switch (kind_of(argument)) {
    case WORDS:
        fputs("COMPREPLY=($(compgen -W \"", out);
        words(out, argument);
        fputs("\" -- \"$word\"))", out);
        break;
    case FILES:
        fputs("compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\")", out);
        break;
    case FOLDERS:
        fputs("compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\")", out);
        break;
    case HOSTS:
        fputs("COMPREPLY=($(compgen -A hostname -- \"$word\"))", out);
        break;
    case NOTHING:
        fputs(":", out);
        break;
    }
}

/* The options whose value is the word behind them. */
static void bash_values(FILE *out, const struct rz_cli *cli)
{
    struct walk walk = {.cli = cli};
    const struct rz_cli_option *option;
    fputs("    case $before in\n", out);
    while ((option = next_option(&walk))) {
        if (option->argument && !is_repeated(cli, option)) {
            fputs("    ", out);
            spellings(out, option, "|");
            fputs(") ", out);
            bash_value(out, option->argument);
            fputs("; return ;;\n", out);
        }
    }
    fputs("    esac\n", out);
}

/* A loop that finds the program: it, and what is behind it, are no options of the command. */
static void bash_program(FILE *out, const struct rz_cli *cli)
{
    struct walk walk = {.cli = cli};
    const struct rz_cli_option *option;
    const char *bar = "";
    fputs("    for ((i = 1; i < COMP_CWORD; i++)); do\n        case ${COMP_WORDS[i]} in\n        ",
          out);
    while ((option = next_option(&walk))) {
        if (option->argument) {
            fputs(bar, out);
            spellings(out, option, "|");
            bar = "|";
        }
    }
    fputs(")\n            i=$((i + 1))\n"
          "            if [[ ${COMP_WORDS[i]} == = ]]; then i=$((i + 1)); fi ;;\n"
          "        -*|=) ;;\n"
          "        *) return ;;\n        esac\n    done\n",
          out);
}

static void bash(const struct rz_cli *cli, FILE *out)
{
    struct walk walk = {.cli = cli};
    const struct rz_cli_option *option;
    bool runs = strstr(cli->synopsis, "PROGRAM") != NULL;
    fprintf(out,
            "# Completion in bash, from the table of options: %s --completion bash\n"
            "_%s()\n{\n"
            "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i\n"
            "    COMPREPLY=()\n"
            "    if [[ $word == = ]]; then word=\"\"\n"
            "    elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n",
            cli->name, cli->name);
    if (runs) {
        bash_program(out, cli);
    }
    bash_values(out, cli);
    fputs("    if [[ $word == -* ]]; then\n        COMPREPLY=($(compgen -W \"", out);
    const char *blank = "";
    while ((option = next_option(&walk))) {
        if (!is_repeated(cli, option)) {
            fprintf(out, "%s%s", blank, option->name);
            blank = " ";
        }
    }
    fputs("\" -- \"$word\"))\n", out);
    if (runs) {
        fputs("    else\n        mapfile -t COMPREPLY < <(compgen -c -- \"$word\")\n", out);
    } else if (cli->words) {
        fprintf(out, "    else\n        COMPREPLY=($(compgen -W \"%s\" -- \"$word\"))\n",
                cli->words);
    }
    fprintf(out, "    fi\n}\ncomplete -o default -F _%s %s\n", cli->name, cli->name);
}

/* ---- zsh ---- */

/* Text within single quotes; the characters in `special` get a backslash. */
static void quoted(FILE *out, const char *text, size_t n, const char *special)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'') {
            fputs("'\\''", out);
        } else {
            fprintf(out, "%s%c", strchr(special, text[i]) ? "\\" : "", text[i]);
        }
    }
}

/* Up to the end of the first sentence or line. */
static size_t first_sentence(const char *help)
{
    size_t n = strcspn(help, "\n");
    const char *stop = strstr(help, ". ");
    if (stop && (size_t)(stop - help) < n) {
        n = (size_t)(stop - help);
    }
    return n > 0 && help[n - 1] == '.' ? n - 1 : n;
}

static void zsh_value(FILE *out, const char *argument)
{
    static const char *const actions[] = {
        [FILES] = "_files", [FOLDERS] = "_files -/", [HOSTS] = "_hosts", [NOTHING] = " "};
    enum kind kind = kind_of(argument);
    size_t n = strcspn(argument, " ");
    fputc(':', out);
    quoted(out, argument, n, ":\\");
    fputc(':', out);
    if (kind == WORDS) {
        fputc('(', out);
        words(out, argument);
        fputc(')', out);
    } else {
        fputs(actions[kind], out);
    }
    if (argument[n] == ' ') { /* the second of two */
        zsh_value(out, argument + n + 1);
    }
}

static void zsh_option(FILE *out, const struct rz_cli_option *option, const char *name, size_t n)
{
    fprintf(out, "    '*%.*s%s[", (int)n, name,
            !option->argument || strchr(option->argument, ' ') ? ""
            : n > 2 && name[1] == '-'                          ? "="
                                                               : "+");
    quoted(out, option->help, first_sentence(option->help), "[]\\");
    fputc(']', out);
    if (option->argument) {
        zsh_value(out, option->argument);
    }
    fputs("' \\\n", out);
}

static void zsh(const struct rz_cli *cli, FILE *out)
{
    struct walk walk = {.cli = cli};
    const struct rz_cli_option *option;
    fprintf(out,
            "#compdef %s\n# Completion in zsh, from the table of options: %s --completion zsh\n"
            "_arguments -S \\\n",
            cli->name, cli->name);
    while ((option = next_option(&walk))) {
        if (is_repeated(cli, option)) {
            continue;
        }
        zsh_option(out, option, option->name, strlen(option->name));
        for (const char *other = option->other; other && *other;) {
            size_t n = strcspn(other, " ");
            zsh_option(out, option, other, n);
            other += n + (other[n] == ' ');
        }
    }
    if (strstr(cli->synopsis, "PROGRAM")) {
        fputs("    '(-):program:{_command_names -e; _files}' \\\n"
              "    '(-)*:argument:_files'\n",
              out);
    } else if (cli->words) {
        fprintf(out, "    ':what:(%s)' \\\n    '*:argument:()'\n", cli->words);
    } else {
        fputs("    '*:argument:()'\n", out);
    }
}

bool rz_cli_completion(const struct rz_cli *cli, const char *shell, FILE *out)
{
    if (shell && strcmp(shell, "bash") == 0) {
        bash(cli, out);
    } else if (shell && strcmp(shell, "zsh") == 0) {
        zsh(cli, out);
    } else {
        return false;
    }
    return true;
}
