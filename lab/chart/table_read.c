/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables read back from CSV. */
#include "chart/chart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    FILE *in;
    char *cell; /* the last one */
    size_t length, room;
};

enum end { END_CELL, END_ROW, END_FILE };

static void put(struct reader *reader, int c)
{
    if (reader->length + 1 >= reader->room) {
        size_t room = reader->room > 0 ? 2 * reader->room : 256;
        char *grown = realloc(reader->cell, room);
        if (!grown) {
            abort();
        }
        reader->cell = grown;
        reader->room = room;
    }
    reader->cell[reader->length++] = (char)c;
    reader->cell[reader->length] = 0;
}

/* The text after the opening quotation mark; false: the file ends before the closing one. */
static bool read_quoted(struct reader *reader)
{
    for (int c; (c = fgetc(reader->in)) != EOF;) {
        if (c == '"' && (c = fgetc(reader->in)) != '"') {
            ungetc(c, reader->in);
            return true;
        }
        put(reader, c);
    }
    return false;
}

/* Reads a cell by RFC 4180. False: not such a file. */
static bool read_cell(struct reader *reader, enum end *end)
{
    reader->length = 0;
    if (reader->cell) {
        reader->cell[0] = 0;
    }
    int c = fgetc(reader->in);
    if (c == '"') {
        if (!read_quoted(reader)) {
            return false;
        }
        c = fgetc(reader->in);
    }
    for (; c != ',' && c != '\n' && c != EOF; c = fgetc(reader->in)) {
        if (c == 0) {
            return false;
        } else if (c != '\r') {
            put(reader, c);
        }
    }
    *end = c == ',' ? END_CELL : c == '\n' ? END_ROW : END_FILE;
    return true;
}

/* The heading; false: it is incomplete. */
static bool read_columns(struct reader *reader, struct rz_table *table, uint32_t *n)
{
    enum end end = END_CELL;
    for (*n = 0; end == END_CELL; ++*n) {
        if (!read_cell(reader, &end) || reader->length == 0) {
            return false;
        }
        rz_table_column(table, reader->cell, reader->cell, NULL);
    }
    return end == END_ROW;
}

static bool read_rows(struct reader *reader, struct rz_table *table, uint32_t n)
{
    enum end end = END_ROW;
    for (;;) {
        int c = fgetc(reader->in);
        if (c == EOF) {
            return end == END_ROW;
        }
        ungetc(c, reader->in);
        rz_table_row(table);
        for (uint32_t i = 0; i < n; i++) {
            if (!read_cell(reader, &end) || (end == END_CELL) != (i + 1 < n)) {
                return false;
            }
            rz_table_text(table, "%s", reader->length > 0 ? reader->cell : "");
        }
    }
}

struct rz_table *rz_table_read_csv(const char *path, const char **why)
{
    struct reader reader = {.in = fopen(path, "r")};
    uint32_t n;
    if (!reader.in) {
        *why = strerror(errno);
        return NULL;
    }
    struct rz_table *table = rz_table_create(path);
    bool good = read_columns(&reader, table, &n) && read_rows(&reader, table, n);
    if (!good) {
        *why = "it is no CSV file, or not a whole one";
        rz_table_destroy(table);
        table = NULL;
    }
    fclose(reader.in);
    free(reader.cell);
    return table;
}
