/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of figures, the making of one, and the report of agreement. */
#include "study/figure.h"

#include "base/assert.h"

#include "study_protocols.h" /* made by CMakeLists.txt: RZ_FIGURE_SOURCES(X), an X(SOURCE) for each figure_SOURCE.c */

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the list ---- */

#define DECLARE(paper)                                                                             \
    extern const struct rz_figure rz_##paper##_figures[];                                          \
    extern const size_t rz_##paper##_figures_count;
RZ_FIGURE_SOURCES(DECLARE)
#undef DECLARE

#define LIST(paper) {rz_##paper##_figures, &rz_##paper##_figures_count},
static const struct {
    const struct rz_figure *v;
    const size_t *count;
} papers[] = {RZ_FIGURE_SOURCES(LIST){NULL, NULL}};
#undef LIST

const struct rz_figure *rz_figure_at(size_t i)
{
    for (size_t paper = 0; papers[paper].v; paper++) {
        if (i < *papers[paper].count) {
            return &papers[paper].v[i];
        }
        i -= *papers[paper].count;
    }
    return NULL;
}

const struct rz_figure *rz_figure_find(const char *name)
{
    const struct rz_figure *figure;
    for (size_t i = 0; (figure = rz_figure_at(i)); i++) {
        if (strcmp(figure->name, name) == 0) {
            return figure;
        }
    }
    return NULL;
}

/* ---- the report ---- */

struct row {
    enum rz_figure_verdict verdict;          /* of the first seed */
    char *what, *stated, *reason, *measured; /* reason: NULL where there is none */
    uint32_t assessed, agreed; /* seeds in which it could be compared, and in which it agreed */
};

struct entry {
    const struct rz_figure *figure;
    double seconds, effort;
    bool left_out;
    char *failed; /* why it could not be drawn, or was omitted; otherwise NULL */
    struct row *rows;
    uint32_t n_rows;
};

struct rz_figure_report {
    struct entry *entries;
    uint32_t n_entries;
    struct rz_table *seeds; /* each row in each seed */
};

#define OWN "not stated" /* the beginning of `stated` if the source does not state it */

static void *memory(void *old, size_t bytes)
{
    void *grown = realloc(old, bytes);
    rz_assert(grown);
    return grown;
}

static char *copy(const char *text)
{
    return text ? strcpy(memory(NULL, strlen(text) + 1), text) : NULL;
}

struct rz_figure_report *rz_figure_report_create(void)
{
    struct rz_figure_report *report = memory(NULL, sizeof(*report));
    *report = (struct rz_figure_report){.seeds = rz_table_create("Verdicts")};
    rz_table_column(report->seeds, "figure", "figure", NULL);
    rz_table_column(report->seeds, "what", "what", NULL);
    rz_table_column(report->seeds, "seed", "seed", NULL);
    rz_table_column(report->seeds, "effort", "effort", NULL);
    rz_table_column(report->seeds, "verdict", "verdict", NULL);
    rz_table_column(report->seeds, "measured", "measured", NULL);
    return report;
}

static void free_rows(struct entry *entry)
{
    for (uint32_t i = 0; i < entry->n_rows; i++) {
        free(entry->rows[i].what);
        free(entry->rows[i].stated);
        free(entry->rows[i].reason);
        free(entry->rows[i].measured);
    }
    free(entry->rows);
    free(entry->failed);
}

void rz_figure_report_destroy(struct rz_figure_report *report)
{
    if (!report) {
        return;
    }
    for (uint32_t i = 0; i < report->n_entries; i++) {
        free_rows(&report->entries[i]);
    }
    free(report->entries);
    rz_table_destroy(report->seeds);
    free(report);
}

static struct entry *new_entry(struct rz_figure_report *report, const struct rz_figure *figure)
{
    size_t bytes = (report->n_entries + 1) * sizeof(*report->entries);
    report->entries = memory(report->entries, bytes);
    report->entries[report->n_entries] = (struct entry){.figure = figure};
    return &report->entries[report->n_entries++];
}

void rz_figure_assess(struct rz_figure_report *report, enum rz_figure_verdict verdict,
                      const char *what, const char *stated, const char *reason,
                      const char *measured_format, ...)
{
    char measured[512];
    va_list arguments;
    va_start(arguments, measured_format);
    vsnprintf(measured, sizeof(measured), measured_format, arguments);
    va_end(arguments);
    struct entry *entry =
        report->n_entries > 0 ? &report->entries[report->n_entries - 1] : new_entry(report, NULL);
    entry->rows = memory(entry->rows, (entry->n_rows + 1) * sizeof(*entry->rows));
    entry->rows[entry->n_rows++] = (struct row){.verdict = verdict,
                                                .what = copy(what),
                                                .stated = copy(stated),
                                                .reason = copy(reason),
                                                .measured = copy(measured),
                                                .assessed = verdict != RZ_FIGURE_NOT_COMPARABLE,
                                                .agreed = verdict == RZ_FIGURE_AGREES};
}

uint32_t rz_figure_report_failures(const struct rz_figure_report *report)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < report->n_entries; i++) {
        n += report->entries[i].failed && !report->entries[i].left_out;
    }
    return n;
}

double rz_figure_report_seconds(const struct rz_figure_report *report)
{
    return report->n_entries > 0 ? report->entries[report->n_entries - 1].seconds : 0;
}

/* Wilson's interval of a share, 95 %. */
static void share_interval(uint32_t part, uint32_t of, double *low, double *high)
{
    double z = 1.96, n = of, p = part / n;
    double middle = p + z * z / (2 * n), half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    *low = fmax(0, (middle - half) / (1 + z * z / n));
    *high = (middle + half) / (1 + z * z / n);
}

/* Over all seeds: the result of most of those that can be compared, if the interval excludes one
 * half. */
enum outcome { AGREES, DIFFERS, NOT_COMPARABLE, DEPENDS };

static enum outcome outcome_of(const struct row *row)
{
    double low, high;
    if (row->assessed == 0) {
        return NOT_COMPARABLE;
    }
    share_interval(row->agreed, row->assessed, &low, &high);
    if (row->agreed > 0 && row->agreed < row->assessed && low <= 0.5 && high >= 0.5) {
        return DEPENDS;
    }
    return 2 * row->agreed > row->assessed ? AGREES : DIFFERS;
}

/* Whether it is compared with an expectation of this project, because the source does not state it.
 */
static bool is_own(const struct row *row)
{
    return row->stated && strncmp(row->stated, OWN, strlen(OWN)) == 0;
}

static const char *outcome_text(enum outcome outcome, bool own)
{
    if (outcome == NOT_COMPARABLE) {
        return "not comparable";
    }
    if (outcome == DEPENDS) {
        return "depends on the seed";
    }
    if (own) {
        return outcome == AGREES ? "holds" : "**does not hold**";
    }
    return outcome == AGREES ? "agrees" : "**differs**";
}

/* all: seeds of the row that has most; nothing where so many are of one mind. */
static void seeds_text(struct rz_table *table, const struct row *row, uint32_t all)
{
    double low, high;
    if (row->assessed == 0 || (row->assessed == all && (row->agreed == all || row->agreed == 0))) {
        rz_table_text(table, "%s", "");
        return;
    }
    share_interval(row->agreed, row->assessed, &low, &high);
    rz_table_text(table, "%u of %u (%.0f to %.0f %%)", row->agreed, row->assessed, 100 * low,
                  100 * high);
}

static void overview(const struct rz_figure_report *report, struct rz_table *table)
{
    rz_table_column(table, "figure", "figure", NULL);
    rz_table_column(table, "source", "source", NULL);
    rz_table_column(table, "title", "what it shows", NULL);
    rz_table_column(table, "took", "took", "s");
    for (uint32_t i = 0; i < report->n_entries; i++) {
        const struct entry *entry = &report->entries[i];
        const struct rz_figure *figure = entry->figure;
        if (!figure) {
            continue;
        }
        rz_table_row(table);
        if (entry->failed) {
            rz_table_text(table, "%s: %s", figure->name, entry->failed);
        } else {
            rz_table_text(table, "[%s](%s.svg)%s", figure->name, figure->name,
                          entry->effort < 1 ? " (reduced)" : "");
        }
        rz_table_text(table, "%s", figure->source);
        rz_table_text(table, "%s", figure->title);
        rz_table_text(table, "%.1f", entry->seconds);
    }
}

static uint32_t most_seeds(const struct rz_figure_report *report)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < report->n_entries; i++) {
        for (uint32_t row = 0; row < report->entries[i].n_rows; row++) {
            uint32_t n = report->entries[i].rows[row].assessed;
            most = n > most ? n : most;
        }
    }
    return most;
}

static void agreement(const struct rz_figure_report *report, struct rz_table *table)
{
    uint32_t all = most_seeds(report);
    rz_table_column(table, "figure", "figure", NULL);
    rz_table_column(table, "what", "what", NULL);
    rz_table_column(table, "stated", "stated", NULL);
    rz_table_column(table, "measured", "measured here", NULL);
    rz_table_column(table, "verdict", "verdict", NULL);
    rz_table_column(table, "seeds", "seeds, if not all (95 %)", NULL);
    rz_table_column(table, "reason", "reason where it differs", NULL);
    for (uint32_t i = 0; i < report->n_entries; i++) {
        for (uint32_t r = 0; r < report->entries[i].n_rows; r++) {
            const struct row *row = &report->entries[i].rows[r];
            rz_table_row(table);
            rz_table_text(table, "%s",
                          report->entries[i].figure ? report->entries[i].figure->name : "");
            rz_table_text(table, "%s", row->what);
            rz_table_text(table, "%s", row->stated ? row->stated : "");
            rz_table_text(table, "%s", row->measured);
            rz_table_text(table, "%s", outcome_text(outcome_of(row), is_own(row)));
            seeds_text(table, row, all);
            rz_table_text(table, "%s", row->reason ? row->reason : "");
        }
    }
}

static uint32_t rows_with(const struct rz_figure_report *report, enum outcome outcome, bool own)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < report->n_entries; i++) {
        for (uint32_t row = 0; row < report->entries[i].n_rows; row++) {
            n += outcome_of(&report->entries[i].rows[row]) == outcome &&
                 is_own(&report->entries[i].rows[row]) == own;
        }
    }
    return n;
}

uint32_t rz_figure_report_differences(const struct rz_figure_report *report)
{
    return rows_with(report, DIFFERS, false);
}

void rz_figure_report_markdown(const struct rz_figure_report *report, FILE *out)
{
    fprintf(out,
            "%u figures: %u rows agree with what the source states, %u differ, %u depend on the "
            "seed, %u cannot be compared. Of rows that the source says nothing of, held against an "
            "expectation of this project, %u hold, %u do not, and %u depend on the seed.\n\n",
            report->n_entries, rows_with(report, AGREES, false), rows_with(report, DIFFERS, false),
            rows_with(report, DEPENDS, false),
            rows_with(report, NOT_COMPARABLE, false) + rows_with(report, NOT_COMPARABLE, true),
            rows_with(report, AGREES, true), rows_with(report, DIFFERS, true),
            rows_with(report, DEPENDS, true));
    struct rz_table *rows = rz_table_create("Agreement");
    struct rz_table *figures = rz_table_create("Figures");
    agreement(report, rows);
    overview(report, figures);
    rz_table_markdown(rows, out);
    fputc('\n', out);
    rz_table_markdown(figures, out);
    rz_table_destroy(rows);
    rz_table_destroy(figures);
}

void rz_figure_report_print(const struct rz_figure_report *report, FILE *out)
{
    struct rz_table *rows = rz_table_create("Agreement");
    for (uint32_t i = 0; i < report->n_entries; i++) {
        const struct rz_figure *figure = report->entries[i].figure;
        if (figure) {
            fprintf(out, "%s: %s\n%s\n\n", figure->name, figure->source, figure->stated);
        }
    }
    agreement(report, rows);
    rz_table_print(rows, out);
    rz_table_destroy(rows);
}

/* The position of a figure in the list; figures that are not in it come last. */
static size_t place_of(const struct rz_figure *figure)
{
    const struct rz_figure *other;
    size_t i = 0;
    while ((other = rz_figure_at(i)) && other != figure) {
        i++;
    }
    return i;
}

static int by_place(const void *a, const void *b)
{
    size_t x = place_of(((const struct entry *)a)->figure);
    size_t y = place_of(((const struct entry *)b)->figure);
    return (x > y) - (x < y);
}

void rz_figure_report_sort(struct rz_figure_report *report)
{
    if (report->n_entries > 0) {
        qsort(report->entries, report->n_entries, sizeof(*report->entries), by_place);
    }
}

/* ---- one figure ---- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* folder: NULL to assess only. */
static bool draw(const struct rz_figure *figure, const struct rz_figure_options *options,
                 const char *folder, struct rz_figure_report *report, const char **why)
{
    char path[PATH_MAX];
    struct rz_table *table = rz_table_create(figure->title);
    struct rz_chart *chart = rz_chart_create(figure->source, "", "");
    bool good = figure->draw(options, table, chart, report, why);
    if (folder) {
        snprintf(path, sizeof(path), "%s/%s.csv", folder, figure->name);
        good = good && rz_table_write_csv(table, path, why);
        snprintf(path, sizeof(path), "%s/%s.svg", folder, figure->name);
        good = good && rz_chart_draw(chart, path, why);
    }
    rz_table_destroy(table);
    rz_chart_destroy(chart);
    return good;
}

static const char *const verdict_names[] = {[RZ_FIGURE_AGREES] = "agrees",
                                            [RZ_FIGURE_DIFFERS] = "differs",
                                            [RZ_FIGURE_NOT_COMPARABLE] = "not comparable"};

static void note_seed(struct rz_figure_report *report, const struct entry *entry,
                      const struct row *row, uint64_t seed)
{
    rz_table_row(report->seeds);
    rz_table_text(report->seeds, "%s", entry->figure->name);
    rz_table_text(report->seeds, "%s", row->what);
    rz_table_number(report->seeds, (double)seed);
    rz_table_number(report->seeds, entry->effort);
    rz_table_text(report->seeds, "%s", verdict_names[row->verdict]);
    rz_table_text(report->seeds, "%s", row->measured);
}

bool rz_figure_make(const struct rz_figure *figure, const struct rz_figure_options *options,
                    const char *folder, struct rz_figure_report *report, const char **why)
{
    double begin = now();
    new_entry(report, figure)->effort = options->effort;
    bool good = draw(figure, options, folder, report, why);
    struct entry *entry = &report->entries[report->n_entries - 1];
    entry->seconds = now() - begin;
    if (!good) {
        entry->failed = copy(*why);
    }
    for (uint32_t i = 0; i < entry->n_rows; i++) {
        note_seed(report, entry, &entry->rows[i], options->seed);
    }
    return good;
}

static struct entry *entry_of(const struct rz_figure_report *report, const struct rz_figure *figure)
{
    for (uint32_t i = 0; i < report->n_entries; i++) {
        if (report->entries[i].figure == figure) {
            return &report->entries[i];
        }
    }
    return NULL;
}

/* Adds the result of a further seed to a row. */
static void add_seed(struct entry *entry, const struct row *again)
{
    for (uint32_t i = 0; i < entry->n_rows; i++) {
        struct row *row = &entry->rows[i];
        if (strcmp(row->what, again->what) != 0) {
            continue;
        }
        row->assessed += again->assessed;
        row->agreed += again->agreed;
        if (!row->reason) {
            row->reason = copy(again->reason);
        }
        return;
    }
}

bool rz_figure_assess_again(const struct rz_figure *figure, const struct rz_figure_options *options,
                            struct rz_figure_report *report, const char **why)
{
    struct entry *entry = entry_of(report, figure);
    rz_assert(entry);
    struct rz_figure_report *again = rz_figure_report_create();
    struct rz_figure_options same = *options;
    same.effort = entry->effort;
    new_entry(again, figure);
    bool good = draw(figure, &same, NULL, again, why);
    for (uint32_t i = 0; good && i < again->entries[0].n_rows; i++) {
        add_seed(entry, &again->entries[0].rows[i]);
        note_seed(report, entry, &again->entries[0].rows[i], options->seed);
    }
    rz_figure_report_destroy(again);
    return good;
}

/* ---- what an earlier run assessed ---- */

/* A line of an earlier run; its pointers refer to its table. */
struct assessed {
    struct row row;
    const char *figure;
    uint64_t seed;
    double effort;
};

/* False: it is not such a line, or has the columns of another version. */
static bool read_assessed(const struct rz_table *table, uint32_t line, struct assessed *out)
{
    const char *cells[6];
    static const char *const columns[] = {"figure", "what",    "seed",
                                          "effort", "verdict", "measured"};
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        if (!(cells[i] = rz_table_text_at(table, line, columns[i]))) {
            return false;
        }
    }
    *out = (struct assessed){
        .figure = cells[0], .seed = strtoull(cells[2], NULL, 10), .effort = strtod(cells[3], NULL)};
    out->row.what = (char *)(uintptr_t)cells[1]; /* not written to */
    out->row.measured = (char *)(uintptr_t)cells[5];
    size_t verdict = 0;
    while (verdict <= RZ_FIGURE_NOT_COMPARABLE && strcmp(cells[4], verdict_names[verdict]) != 0) {
        verdict++;
    }
    out->row.verdict = (enum rz_figure_verdict)verdict;
    out->row.assessed = verdict != RZ_FIGURE_NOT_COMPARABLE;
    out->row.agreed = verdict == RZ_FIGURE_AGREES;
    return verdict <= RZ_FIGURE_NOT_COMPARABLE;
}

bool rz_figure_report_has(const struct rz_figure_report *report, const struct rz_figure *figure,
                          uint64_t seed)
{
    for (uint32_t i = 0; i < rz_table_rows(report->seeds); i++) {
        if (rz_table_at(report->seeds, i, "seed") == (double)seed &&
            strcmp(rz_table_text_at(report->seeds, i, "figure"), figure->name) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_row(const struct entry *entry, const char *what)
{
    for (uint32_t i = 0; i < entry->n_rows; i++) {
        if (strcmp(entry->rows[i].what, what) == 0) {
            return true;
        }
    }
    return false;
}

/* The lines of one figure and seed, starting with the first. */
static bool take_seed(struct rz_figure_report *report, struct entry *entry,
                      const struct rz_table *table, uint32_t first)
{
    struct assessed of, line;
    uint32_t found = 0;
    if (!read_assessed(table, first, &of) || rz_figure_report_has(report, entry->figure, of.seed)) {
        return false;
    }
    for (int take = 0; take < 2; take++) { /* first whether all rows are there */
        if (take && found != entry->n_rows) {
            return false;
        }
        for (uint32_t i = first; i < rz_table_rows(table) && read_assessed(table, i, &line); i++) {
            if (line.seed != of.seed || strcmp(line.figure, of.figure) != 0 ||
                line.effort != entry->effort || !has_row(entry, line.row.what)) {
                continue;
            }
            found += !take;
            if (take) {
                add_seed(entry, &line.row);
                note_seed(report, entry, &line.row, line.seed);
            }
        }
    }
    return true;
}

static struct entry *entry_named(const struct rz_figure_report *report, const char *name)
{
    for (uint32_t i = 0; i < report->n_entries; i++) {
        if (report->entries[i].figure && strcmp(report->entries[i].figure->name, name) == 0) {
            return &report->entries[i];
        }
    }
    return NULL;
}

long rz_figure_report_resume(struct rz_figure_report *report, const char *path, const char **why)
{
    struct assessed line;
    long taken = 0;
    struct rz_table *table = rz_table_read_csv(path, why);
    bool good = table != NULL;
    for (uint32_t i = 0; good && i < rz_table_rows(table); i++) {
        if (!(good = read_assessed(table, i, &line))) {
            *why = "it has other columns or verdicts than rzsim figure writes";
        }
    }
    for (uint32_t i = 0; good && i < rz_table_rows(table) && read_assessed(table, i, &line); i++) {
        struct entry *entry = entry_named(report, line.figure);
        taken += entry && !entry->failed && take_seed(report, entry, table, i);
    }
    rz_table_destroy(table);
    return good ? taken : -1;
}

bool rz_figure_report_csv(const struct rz_figure_report *report, const char *path, const char **why)
{
    return rz_table_write_csv(report->seeds, path, why);
}

void rz_figure_leave_out(struct rz_figure_report *report, const struct rz_figure *figure,
                         const char *why)
{
    struct entry *entry = new_entry(report, figure);
    entry->left_out = true;
    entry->failed = copy(why);
}
