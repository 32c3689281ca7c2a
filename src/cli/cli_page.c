/* SPDX-License-Identifier: BSD-3-Clause */
/* The help page and the manual page, written from a command's table. */
#include "cli/cli_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 96
#define INDENT 30

/* Text, wrapped at WIDTH, each new line indented. */
static void wrap(FILE *out, const char *text, int column, int indent)
{
    int blank = 0; /* before the next word, unless it begins a line */
    while (*text) {
        size_t n = strcspn(text, " \n");
        bool wanted = *text == '\n';
        if (wanted || (column + blank + (int)n > WIDTH && column > indent)) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            blank = 0;
        }
        column += fprintf(out, "%*s%.*s", blank, "", (int)n, text);
        text += wanted ? 1 : n;
        blank = column > indent && *text == ' ';
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

/* All spellings and the argument. */
static int names(FILE *out, const struct rz_cli_option *option)
{
    int written = 0;
    for (const char *other = option->other; other && *other; other++) {
        written += *other == ' ' ? fprintf(out, ", ") : fprintf(out, "%c", *other);
    }
    return written + fprintf(out, "%s%s%s%s", option->other ? ", " : "", option->name,
                             option->argument ? " " : "", option->argument ? option->argument : "");
}

static void help_option(FILE *out, const struct rz_cli_option *option)
{
    int column = fprintf(out, "  ") + names(out, option);
    if (column >= INDENT - 1) {
        fputc('\n', out);
        column = 0;
    }
    column += fprintf(out, "%*s", INDENT - column, "");
    wrap(out, option->help, column, INDENT);
}

static void help_options(FILE *out, const struct rz_cli_option *options)
{
    for (; options->name || options->help; options++) {
        if (options->name) {
            help_option(out, options);
        } else {
            fprintf(out, "\n%s\n", options->help);
        }
    }
}

const struct rz_cli_option rz_cli_common[] = {
    {"--help", "-h", NULL, "Print this text.", NULL},
    {"--version", "-V", NULL, "Print the version.", NULL},
    {"--man", NULL, NULL, "Print the manual page as man(7) source.", NULL},
    {"--completion", NULL, "bash|zsh", "Print what completes command lines in this shell.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

void rz_cli_help(const struct rz_cli *cli, FILE *out)
{
    fprintf(out, "%s: %s\n\nusage: %s %s\n\n", cli->name, cli->summary, cli->name, cli->synopsis);
    wrap(out, cli->description, 0, 0);
    help_options(out, cli->options);
    for (size_t i = 0; cli->more && cli->more[i]; i++) {
        help_options(out, cli->more[i]);
    }
    fprintf(out, "\nOther\n");
    help_options(out, rz_cli_common);
    if (cli->epilogue) {
        fprintf(out, "\n%s\n", cli->epilogue);
    }
}

/* Escapes n characters that man(7) would read as requests or escapes. */
static void manual_part(FILE *out, const char *text, size_t n)
{
    bool start = true;
    for (const char *end = text + n; text < end; text++) {
        if (start && (*text == '.' || *text == '\'')) {
            fputs("\\&", out);
        }
        if (*text == '\\') {
            fputs("\\e", out);
        } else if (*text == '-') {
            fputs("\\-", out);
        } else {
            fputc(*text, out);
        }
        start = *text == '\n';
    }
    fputc('\n', out);
}

static void manual_text(FILE *out, const char *text)
{
    manual_part(out, text, strlen(text));
}

/* Paragraphs are filled; lines that begin with a blank are a table, and stay as they are. */
static void manual_epilogue(FILE *out, const char *text)
{
    bool table = false, paragraph = false;
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        if (n == 0) {
            paragraph = true;
            continue;
        }
        if (table != (*text == ' ')) {
            table = !table;
            fputs(table ? ".nf\n" : ".fi\n", out);
        }
        if (paragraph) {
            fputs(".PP\n", out);
            paragraph = false;
        }
        manual_part(out, text, n);
    }
    if (table) {
        fputs(".fi\n", out);
    }
}

static void manual_option(FILE *out, const struct rz_cli_option *option)
{
    fputs(".TP\n.B ", out);
    char *text = NULL;
    size_t bytes;
    FILE *name = open_memstream(&text, &bytes);
    if (name) {
        names(name, option);
        fclose(name);
        manual_text(out, text);
    }
    free(text);
    manual_text(out, option->help);
}

static void manual_options(FILE *out, const struct rz_cli_option *options)
{
    for (; options->name || options->help; options++) {
        if (options->name) {
            manual_option(out, options);
        } else {
            fputs(".SS ", out);
            manual_text(out, options->help);
        }
    }
}

void rz_cli_manual(const struct rz_cli *cli, FILE *out)
{
    fputs(".TH ", out);
    for (const char *c = cli->name; *c; c++) {
        fputc(toupper((unsigned char)*c), out);
    }
    fprintf(out, " 1 \"\" \"Rhizome %s\"\n.SH NAME\n%s \\- ", RZ_VERSION, cli->name);
    manual_text(out, cli->summary);
    fprintf(out, ".SH SYNOPSIS\n.B %s\n", cli->name);
    manual_text(out, cli->synopsis);
    fputs(".SH DESCRIPTION\n", out);
    manual_text(out, cli->description);
    fputs(".SH OPTIONS\n", out);
    manual_options(out, cli->options);
    for (size_t i = 0; cli->more && cli->more[i]; i++) {
        manual_options(out, cli->more[i]);
    }
    fputs(".SS Other\n", out);
    manual_options(out, rz_cli_common);
    if (cli->epilogue) {
        fputs(".SH NOTES\n", out);
        manual_epilogue(out, cli->epilogue);
    }
}
