/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures: a figure leaves its drawing and its data, and its rows stand in the report; one that
 * fails leaves nothing and stands there with the reason. */
#include "study/figure.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "study-figure-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static bool draw_line(const struct rz_figure_options *options, struct rz_table *table,
                      struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    (void)why;
    rz_table_column(table, "n", "members", NULL);
    rz_table_column(table, "ms", "time", "ms");
    rz_chart_labels(chart, NULL, "members", "time (ms)");
    rz_chart_curve(chart, "measured", RZ_CHART_LINES_POINTS);
    for (int i = 1; i <= 10 * options->effort; i++) {
        rz_table_row(table);
        rz_table_number(table, i);
        rz_table_number(table, i * 0.5);
        rz_chart_point(chart, i, i * 0.5);
    }
    rz_figure_assess(report, RZ_FIGURE_AGREES, "slope", "1/2", NULL, "%.2f", 0.5);
    bool even = options->seed % 2 == 0; /* agrees in every other seed */
    rz_figure_assess(report, even ? RZ_FIGURE_AGREES : RZ_FIGURE_DIFFERS, "luck", "not stated; 2",
                     even ? NULL : "an odd seed", "%llu", (unsigned long long)options->seed);
    rz_figure_assess(report, RZ_FIGURE_DIFFERS, "height | of it", "7", "a reason", "%d", 5);
    rz_figure_assess(report, RZ_FIGURE_NOT_COMPARABLE, "colour", "red", "no colours here", "none");
    return true;
}

static bool draw_nothing(const struct rz_figure_options *options, struct rz_table *table,
                         struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    (void)options, (void)table, (void)chart, (void)report;
    *why = "it cannot be measured";
    return false;
}

static const struct rz_figure line = {.name = "test-1",
                                      .title = "a line",
                                      .source = "Doe 2000, figure 1",
                                      .stated = "a slope of a half",
                                      .seconds = 1,
                                      .draw = draw_line};
static const struct rz_figure nothing = {.name = "test-2",
                                         .title = "nothing",
                                         .source = "Doe 2000, figure 2",
                                         .stated = "nothing",
                                         .seconds = 1,
                                         .draw = draw_nothing};

static const char *markdown(const struct rz_figure_report *report)
{
    static char text[4096];
    FILE *out = tmpfile();
    assert_non_null(out);
    rz_figure_report_markdown(report, out);
    rewind(out);
    text[fread(text, 1, sizeof(text) - 1, out)] = 0;
    fclose(out);
    return text;
}

static void test_make(void **state)
{
    static const char *const wanted[] = {
        "| test-1 | slope | 1/2 | 0.50 | agrees |  |  |",
        "| test-1 | luck | not stated; 2 | 1 | **does not hold** |  | an odd seed |",
        "| test-1 | height \\| of it | 7 | 5 | **differs** |  | a reason |",
        "| test-1 | colour | red | none | not comparable |  | no colours here |",
        "[test-1](test-1.svg) | Doe 2000, figure 1 | a line |",
        "| test-2: it cannot be measured | Doe 2000, figure 2 |",
        "| test-2: no time |",
        "3 figures: 1 rows agree with what the source states, 1 differ, 0 depend on the seed, ",
        "0 depend on the seed, 1 cannot be compared.",
        "0 hold, 1 do not, and 0 depend on the seed."};
    struct rz_figure_options options = {.seed = 1, .effort = 1};
    struct rz_figure_report *report = rz_figure_report_create();
    const char *why = "";
    (void)state;
    if (system("gnuplot --version > /dev/null 2>&1") != 0) {
        skip();
    }
    if (!rz_figure_make(&line, &options, folder, report, &why)) {
        fail_msg("%s", why);
    }
    assert_false(rz_figure_make(&nothing, &options, folder, report, &why));
    assert_string_equal(why, "it cannot be measured");
    assert_int_equal(rz_figure_report_differences(report), 1);
    assert_int_equal(rz_figure_report_failures(report), 1);
    rz_figure_leave_out(report, &nothing, "no time");
    assert_int_equal(rz_figure_report_failures(report), 1);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        if (!strstr(markdown(report), wanted[i])) {
            fail_msg("no '%s' in\n%s", wanted[i], markdown(report));
        }
    }
    assert_int_equal(access(in_folder("test-2.csv"), F_OK), -1);
    assert_int_equal(access(in_folder("test-2.svg"), F_OK), -1);
    assert_int_equal(unlink(in_folder("test-1.csv")), 0);
    assert_int_equal(unlink(in_folder("test-1.svg")), 0);
    rz_figure_report_destroy(report);
}

/* Further seeds: the verdict is that of the most, if the interval of their share leaves a half out,
 * and all stand in the file. */
static void test_seeds(void **state)
{
    static const char *const wanted[] = {
        "| test-1 | slope | 1/2 | 0.50 | agrees |  |  |",
        "| luck | not stated; 2 | 1 | depends on the seed | 3 of 4 (30 to 95 %) | an odd seed |",
        "| test-1 | height \\| of it | 7 | 5 | **differs** |  | a reason |",
        "| test-1 | colour | red | none | not comparable |  | no colours here |",
        "0 hold, 0 do not, and 1 depend on the seed."};
    struct rz_figure_options options = {.seed = 1, .effort = 1};
    struct rz_figure_report *report = rz_figure_report_create();
    const char *why = "";
    char line_text[256];
    uint32_t lines = 0;
    (void)state;
    if (system("gnuplot --version > /dev/null 2>&1") != 0) {
        skip();
    }
    if (!rz_figure_make(&line, &options, folder, report, &why)) {
        fail_msg("%s", why);
    }
    for (options.seed = 2; options.seed <= 6; options.seed += 2) {
        assert_true(rz_figure_assess_again(&line, &options, report, &why));
    }
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        if (!strstr(markdown(report), wanted[i])) {
            fail_msg("no '%s' in\n%s", wanted[i], markdown(report));
        }
    }
    assert_true(rz_figure_report_csv(report, in_folder("verdicts.csv"), &why));
    FILE *csv = fopen(in_folder("verdicts.csv"), "r");
    assert_non_null(csv);
    while (fgets(line_text, sizeof(line_text), csv)) {
        lines++;
    }
    fclose(csv);
    assert_int_equal(lines, 1 + 4 * 4);
    assert_int_equal(unlink(in_folder("verdicts.csv")), 0);
    assert_int_equal(unlink(in_folder("test-1.csv")), 0);
    assert_int_equal(unlink(in_folder("test-1.svg")), 0);
    for (options.seed = 8; options.seed <= 18; options.seed += 2) {
        assert_true(rz_figure_assess_again(&line, &options, report, &why));
    }
    if (!strstr(markdown(report), "| holds | 9 of 10 (60 to 98 %) |")) {
        fail_msg("%s", markdown(report));
    }
    rz_figure_report_destroy(report);
}

static uint32_t drawn; /* how often draw_counted was called */

static bool draw_counted(const struct rz_figure_options *options, struct rz_table *table,
                         struct rz_chart *chart, struct rz_figure_report *report, const char **why)
{
    drawn++;
    return draw_line(options, table, chart, report, why);
}

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* A run takes over what an earlier one assessed, but for seeds of which it lacks a row, which
 * another effort was assessed with, or which were assessed here. */
static void test_resume(void **state)
{
    static const struct rz_figure counted = {.name = "test-1",
                                             .source = "Doe 2000",
                                             .title = "",
                                             .stated = "",
                                             .seconds = 1,
                                             .draw = draw_counted};
    struct rz_figure_options options = {.seed = 1, .effort = 1};
    const char *why = "", *path = "verdicts.csv";
    (void)state;
    if (system("gnuplot --version > /dev/null 2>&1") != 0) {
        skip();
    }
    struct rz_figure_report *report = rz_figure_report_create();
    assert_true(rz_figure_make(&counted, &options, folder, report, &why));
    for (options.seed = 2; options.seed <= 4; options.seed += 2) {
        assert_true(rz_figure_assess_again(&counted, &options, report, &why));
    }
    assert_true(rz_figure_report_csv(report, in_folder(path), &why));
    rz_figure_report_destroy(report);

    FILE *more = fopen(in_folder(path), "a");
    assert_non_null(more);
    fputs("test-1,slope,6,1,agrees,0.50\n" /* cut short */
          "test-0,slope,8,1,agrees,0.50\n",
          more); /* another figure's */
    for (int i = 0; i < 4; i++) {
        fprintf(more, "test-1,%s,10,0.5,agrees,1\n",
                (const char *[]){"slope", "luck", "height | of it", "colour"}[i]);
    }
    fclose(more);

    drawn = 0;
    report = rz_figure_report_create();
    options.seed = 1;
    assert_true(rz_figure_make(&counted, &options, folder, report, &why));
    assert_int_equal(rz_figure_report_resume(report, in_folder(path), &why), 2);
    assert_true(rz_figure_report_has(report, &counted, 1));
    assert_true(rz_figure_report_has(report, &counted, 4));
    assert_false(rz_figure_report_has(report, &counted, 6));
    assert_false(rz_figure_report_has(report, &counted, 10));
    assert_int_equal(drawn, 1);
    if (!strstr(markdown(report), "| luck | not stated; 2 | 1 | depends on the seed | 2 of 3 "
                                  "(21 to 94 %) |")) {
        fail_msg("%s", markdown(report));
    }

    write_file(in_folder(path), "figure,what,seed,verdict,measured\ntest-1,slope,1,agrees,1\n");
    assert_int_equal(rz_figure_report_resume(report, in_folder(path), &why), -1);
    assert_non_null(strstr(why, "other columns"));
    assert_int_equal(rz_figure_report_resume(report, in_folder("none.csv"), &why), -1);
    assert_int_equal(unlink(in_folder(path)), 0);
    assert_int_equal(unlink(in_folder("test-1.csv")), 0);
    assert_int_equal(unlink(in_folder("test-1.svg")), 0);
    rz_figure_report_destroy(report);
}

/* The lists hold together. */
static void test_list(void **state)
{
    const struct rz_figure *figure;
    (void)state;
    for (size_t i = 0; (figure = rz_figure_at(i)); i++) {
        assert_ptr_equal(rz_figure_find(figure->name), figure);
        assert_true(figure->draw && figure->title && figure->source && figure->stated);
        assert_true(figure->seconds > 0);
    }
    assert_null(rz_figure_find("no such figure"));
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_make), cmocka_unit_test(test_seeds),
                                       cmocka_unit_test(test_resume), cmocka_unit_test(test_list)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
