/* SPDX-License-Identifier: BSD-3-Clause */
/* The three formats of a table: aligned text, Markdown, CSV. */
#include "chart/chart_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 64

/* For readers: whole numbers in full, else four significant digits. */
static void number_for_people(double value, char out[TEXT_MAX])
{
    double size = fabs(value);
    if (isnan(value)) {
        snprintf(out, TEXT_MAX, "-");
    } else if (isinf(value)) {
        snprintf(out, TEXT_MAX, "%sinfinite", value < 0 ? "-" : "");
    } else if (value == floor(value) && size < 1e15) {
        snprintf(out, TEXT_MAX, "%.0f", value);
    } else if (size >= 1e15 || size < 1e-3) {
        snprintf(out, TEXT_MAX, "%.3e", value);
    } else {
        snprintf(out, TEXT_MAX, "%.*f",
                 size < 0.1    ? 5
                 : size < 1    ? 4
                 : size < 10   ? 3
                 : size < 100  ? 2
                 : size < 1000 ? 1
                               : 0,
                 value);
    }
}

/* The shortest text that reads back as the same number. */
static void number_in_full(double value, char out[TEXT_MAX])
{
    out[0] = 0;
    for (int digits = 15; digits <= 17 && !isnan(value); digits++) {
        snprintf(out, TEXT_MAX, "%.*g", digits, value);
        if (strtod(out, NULL) == value) {
            return;
        }
    }
}

static const char *cell_for_people(const struct rz_table_cell *cell, char number[TEXT_MAX])
{
    if (cell->text) {
        return cell->text;
    }
    number_for_people(cell->number, number);
    return number;
}

/* Columns on a terminal, for UTF-8: continuation bytes take none. */
static int width(const char *text)
{
    int n = 0;
    for (; *text; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return n;
}

static void heading(const struct rz_table_column *column, char *out, size_t bytes)
{
    if (column->unit[0]) {
        snprintf(out, bytes, "%s (%s)", column->heading, column->unit);
    } else {
        snprintf(out, bytes, "%s", column->heading);
    }
}

/* Text is aligned left, numbers right. */
static bool is_text(const struct rz_table *table, uint32_t column)
{
    for (uint32_t row = 0; row < table->n_rows; row++) {
        if (rz_table_cell(table, row, column)->text) {
            return true;
        }
    }
    return false;
}

static int column_width(const struct rz_table *table, uint32_t column)
{
    char text[256], number[TEXT_MAX];
    heading(&table->columns[column], text, sizeof(text));
    int most = width(text);
    for (uint32_t row = 0; row < table->n_rows; row++) {
        int n = width(cell_for_people(rz_table_cell(table, row, column), number));
        most = n > most ? n : most;
    }
    return most;
}

static void pad(FILE *out, const char *text, int columns, bool left, bool last)
{
    int blanks = columns - width(text);
    if (left) {
        fprintf(out, "%s%*s", text, last ? 0 : blanks, "");
    } else {
        fprintf(out, "%*s%s", blanks, "", text);
    }
    fputs(last ? "\n" : "  ", out);
}

void rz_table_print(const struct rz_table *table, FILE *out)
{
    char text[256], number[TEXT_MAX];
    if (table->title[0]) {
        fprintf(out, "%s\n\n", table->title);
    }
    int *widths = rz_chart_memory(NULL, table->n_columns, sizeof(*widths));
    for (uint32_t i = 0; i < table->n_columns; i++) {
        widths[i] = column_width(table, i);
    }
    for (uint32_t i = 0; i < table->n_columns; i++) {
        heading(&table->columns[i], text, sizeof(text));
        pad(out, text, widths[i], is_text(table, i), i + 1 == table->n_columns);
    }
    for (uint32_t row = 0; row < table->n_rows; row++) {
        for (uint32_t i = 0; i < table->n_columns; i++) {
            pad(out, cell_for_people(rz_table_cell(table, row, i), number), widths[i],
                is_text(table, i), i + 1 == table->n_columns);
        }
    }
    free(widths);
}

void rz_table_print_row(const struct rz_table *table, uint32_t row, FILE *out)
{
    char number[TEXT_MAX];
    int widest = 0;
    if (table->title[0]) {
        fprintf(out, "%s\n\n", table->title);
    }
    for (uint32_t i = 0; i < table->n_columns; i++) {
        widest =
            width(table->columns[i].heading) > widest ? width(table->columns[i].heading) : widest;
    }
    for (uint32_t i = 0; i < table->n_columns; i++) {
        pad(out, table->columns[i].heading, widest, true, false);
        fprintf(out, "%s%s%s\n", cell_for_people(rz_table_cell(table, row, i), number),
                table->columns[i].unit[0] ? " " : "", table->columns[i].unit);
    }
}

/* A bar would end the cell, a line break the row. */
static void markdown_cell(FILE *out, const char *text)
{
    fputc(' ', out);
    for (; *text; text++) {
        if (*text == '|') {
            fputc('\\', out);
        }
        fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputs(" |", out);
}

/* Some rows and columns of a table. */
struct part {
    const struct rz_table *table;
    uint32_t first, end;
    bool *shown; /* of each column */
};

/* Whether the column is not the same in all of several rows. */
static bool varies(const struct part *part, uint32_t column)
{
    char one[TEXT_MAX], other[TEXT_MAX];
    for (uint32_t row = part->first + 1; row < part->end; row++) {
        if (strcmp(cell_for_people(rz_table_cell(part->table, part->first, column), one),
                   cell_for_people(rz_table_cell(part->table, row, column), other)) != 0) {
            return true;
        }
    }
    return part->first + 2 > part->end;
}

/* What columns say that are not shown. */
static void markdown_constants(const struct part *part, FILE *out)
{
    char text[256], number[TEXT_MAX];
    const char *before = "In all rows: ";
    for (uint32_t i = 0; i < part->table->n_columns; i++) {
        if (!part->shown[i]) {
            heading(&part->table->columns[i], text, sizeof(text));
            const char *value = cell_for_people(rz_table_cell(part->table, part->first, i), number);
            fprintf(out, "%s%s: %s", before, text, value[0] ? value : "none");
            before = "; ";
        }
    }
    fputs(before[0] == ';' ? ".\n\n" : "", out);
}

static void markdown_part(const struct part *part, const char *title, FILE *out)
{
    char text[256], number[TEXT_MAX];
    const struct rz_table *table = part->table;
    if (title[0]) {
        fprintf(out, "### %s\n\n", title);
    }
    markdown_constants(part, out);
    fputc('|', out);
    for (uint32_t i = 0; i < table->n_columns; i++) {
        heading(&table->columns[i], text, sizeof(text));
        if (part->shown[i]) {
            markdown_cell(out, text);
        }
    }
    fputs("\n|", out);
    for (uint32_t i = 0; i < table->n_columns; i++) {
        fputs(!part->shown[i] ? "" : is_text(table, i) ? "---|" : "---:|", out);
    }
    fputc('\n', out);
    for (uint32_t row = part->first; row < part->end; row++) {
        fputc('|', out);
        for (uint32_t i = 0; i < table->n_columns; i++) {
            if (part->shown[i]) {
                markdown_cell(out, cell_for_people(rz_table_cell(table, row, i), number));
            }
        }
        fputc('\n', out);
    }
}

void rz_table_markdown_rows(const struct rz_table *table, const char *title, uint32_t first,
                            uint32_t end, FILE *out)
{
    struct part part = {table, first, end, NULL};
    part.shown = rz_chart_memory(NULL, table->n_columns, sizeof(*part.shown));
    for (uint32_t i = 0; i < table->n_columns; i++) {
        part.shown[i] = varies(&part, i);
    }
    markdown_part(&part, title, out);
    free(part.shown);
}

void rz_table_markdown(const struct rz_table *table, FILE *out)
{
    struct part part = {table, 0, table->n_rows, NULL};
    part.shown = rz_chart_memory(NULL, table->n_columns, sizeof(*part.shown));
    memset(part.shown, true, table->n_columns * sizeof(*part.shown));
    markdown_part(&part, table->title, out);
    free(part.shown);
}

/* By RFC 4180. */
static void csv_cell(FILE *out, const char *text, bool last)
{
    bool quoted = text[strcspn(text, ",\"\r\n")] != 0;
    if (quoted) {
        fputc('"', out);
    }
    for (; *text; text++) {
        if (*text == '"') {
            fputc('"', out);
        }
        fputc(*text, out);
    }
    fputs(quoted ? (last ? "\"\n" : "\",") : (last ? "\n" : ","), out);
}

bool rz_table_write_csv(const struct rz_table *table, const char *path, const char **why)
{
    struct rz_outfile out;
    char number[TEXT_MAX];
    if (!rz_outfile_open(&out, path, why)) {
        return false;
    }
    for (uint32_t i = 0; i < table->n_columns; i++) {
        csv_cell(out.file, table->columns[i].name, i + 1 == table->n_columns);
    }
    for (uint32_t row = 0; row < table->n_rows; row++) {
        for (uint32_t i = 0; i < table->n_columns; i++) {
            const struct rz_table_cell *cell = rz_table_cell(table, row, i);
            number_in_full(cell->number, number);
            csv_cell(out.file, cell->text ? cell->text : number, i + 1 == table->n_columns);
        }
    }
    return rz_outfile_close(&out, true, why);
}
