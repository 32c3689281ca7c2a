/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables: what goes in comes out again, to the last bit, in each of the three forms. */
#include "chart/chart.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static struct rz_table *sample(void)
{
    struct rz_table *table = rz_table_create("Failures");
    rz_table_column(table, "set", "set", NULL);
    rz_table_column(table, "detect_ms", "detection", "ms");
    rz_table_row(table);
    rz_table_text(table, "plain %d", 7);
    rz_table_number(table, 0.1);
    rz_table_row(table);
    rz_table_text(table, "a \"b\", | c");
    rz_table_number(table, NAN);
    rz_table_row(table);
    rz_table_text(table, "größer");
    rz_table_number(table, 1048576);
    return table;
}

static char *shown(void (*show)(const struct rz_table *, FILE *), const struct rz_table *table)
{
    static char text[2048];
    FILE *out = tmpfile();
    assert_non_null(out);
    show(table, out);
    rewind(out);
    text[fread(text, 1, sizeof(text) - 1, out)] = 0;
    fclose(out);
    return text;
}

static void test_cells(void **state)
{
    struct rz_table *table = sample();
    (void)state;
    assert_int_equal(rz_table_rows(table), 3);
    assert_true(rz_table_at(table, 0, "detect_ms") == 0.1);
    assert_true(isnan(rz_table_at(table, 1, "detect_ms")));
    assert_true(isnan(rz_table_at(table, 0, "set")));
    assert_true(isnan(rz_table_at(table, 9, "detect_ms")));
    assert_true(isnan(rz_table_at(table, 0, "nothing")));
    assert_string_equal(rz_table_text_at(table, 0, "set"), "plain 7");
    assert_null(rz_table_text_at(table, 0, "detect_ms"));
    rz_table_destroy(table);
}

static void test_spread(void **state)
{
    static const double values[] = {7, NAN, 1, 4, 10};
    struct rz_table *table = rz_table_create("");
    (void)state;
    rz_table_column(table, "x", "x", NULL);
    assert_int_equal(rz_table_spread(table, "x").n, 0);
    assert_true(isnan(rz_table_spread(table, "x").median));
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        rz_table_row(table);
        rz_table_number(table, values[i]);
    }
    struct rz_table_spread spread = rz_table_spread(table, "x");
    assert_int_equal(spread.n, 4);
    assert_true(spread.median == 5.5 && spread.mean == 5.5);
    assert_true(spread.least == 1 && spread.most == 10);
    rz_table_destroy(table);
}

static void test_summary(void **state)
{
    struct rz_table *table = rz_table_create("");
    (void)state;
    rz_table_column(table, "trial", "trial", NULL);
    rz_table_column(table, "x", "the x", "ms");
    rz_table_column(table, "word", "word", NULL);
    for (int i = 0; i < 3; i++) {
        rz_table_row(table);
        rz_table_number(table, i);
        rz_table_number(table, i * 2);
        rz_table_text(table, "w");
    }
    struct rz_table *summary = rz_table_summary(table, "sum", "trial");
    assert_int_equal(rz_table_rows(summary), 1);
    assert_string_equal(rz_table_text_at(summary, 0, "column"), "the x");
    assert_true(rz_table_at(summary, 0, "median") == 2 && rz_table_at(summary, 0, "most") == 4);
    rz_table_destroy(summary);
    rz_table_destroy(table);
}

static void test_text(void **state)
{
    struct rz_table *table = sample();
    (void)state;
    assert_string_equal(shown(rz_table_print, table), "Failures\n\n"
                                                      "set         detection (ms)\n"
                                                      "plain 7             0.1000\n"
                                                      "a \"b\", | c               -\n"
                                                      "größer             1048576\n");
    rz_table_destroy(table);
}

static void second_row(const struct rz_table *table, FILE *out)
{
    rz_table_print_row(table, 2, out);
}

static void test_row(void **state)
{
    struct rz_table *table = sample();
    (void)state;
    assert_string_equal(shown(second_row, table), "Failures\n\n"
                                                  "set        größer\n"
                                                  "detection  1048576 ms\n");
    rz_table_destroy(table);
}

static void test_markdown(void **state)
{
    struct rz_table *table = sample();
    (void)state;
    assert_string_equal(shown(rz_table_markdown, table), "### Failures\n\n"
                                                         "| set | detection (ms) |\n"
                                                         "|---|---:|\n"
                                                         "| plain 7 | 0.1000 |\n"
                                                         "| a \"b\", \\| c | - |\n"
                                                         "| größer | 1048576 |\n");
    rz_table_destroy(table);
}

/* A column that is the same in all of these rows stands above the table. */
static void test_markdown_rows(void **state)
{
    struct rz_table *table = rz_table_create("Failures");
    char text[256];
    FILE *out = tmpfile();
    (void)state;
    assert_non_null(out);
    rz_table_column(table, "set", "set", NULL);
    rz_table_column(table, "case", "case", NULL);
    rz_table_column(table, "detect_ms", "detection", "ms");
    for (int i = 0; i < 4; i++) {
        rz_table_row(table);
        rz_table_text(table, "set %d", i);
        rz_table_text(table, "%s", i < 3 ? "" : "other");
        rz_table_number(table, i == 0 ? 2 : 7);
    }
    rz_table_markdown_rows(table, "Some", 1, 3, out);
    rz_table_markdown_rows(table, "", 3, 4, out);
    rewind(out);
    text[fread(text, 1, sizeof(text) - 1, out)] = 0;
    fclose(out);
    assert_string_equal(text, "### Some\n\nIn all rows: case: none; detection (ms): 7.\n\n"
                              "| set |\n|---|\n| set 1 |\n| set 2 |\n"
                              "| set | case | detection (ms) |\n|---|---|---:|\n"
                              "| set 3 | other | 7 |\n");
    rz_table_destroy(table);
}

static void test_csv(void **state)
{
    struct rz_table *table = sample();
    const char *why = NULL;
    char text[512], path[] = "chart-table-XXXXXX";
    (void)state;
    close(mkstemp(path));
    assert_true(rz_table_write_csv(table, path, &why));
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof(text) - 1, in)] = 0;
    fclose(in);
    unlink(path);
    assert_string_equal(text, "set,detect_ms\n"
                              "plain 7,0.1\n"
                              "\"a \"\"b\"\", | c\",\n"
                              "größer,1048576\n");
    assert_false(rz_table_write_csv(table, "no-such-folder/x.csv", &why));
    assert_non_null(strstr(why, "no-such-folder/x.csv"));
    rz_table_destroy(table);
}

/* Numbers of many sizes, also such as need all 17 digits. */
/* What was written reads back, whatever stands in its cells; half a file does not. */
static void test_csv_read(void **state)
{
    static const char *const cells[] = {"a,b", "say \"x\"", "two\nlines", "", "plain"};
    static const char *const bad[] = {"",         "a,b",          "a,b\n1\n", "a,b\n1,2,3\n",
                                      "a,b\n1,2", "a,b\n1,\"2\n", "a,\n1,2\n"};
    char path[] = "table-XXXXXX";
    const char *why = NULL;
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct rz_table *table = rz_table_create("t");
    rz_table_column(table, "cell", "a heading", "ms");
    rz_table_column(table, "number", "number", NULL);
    for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
        rz_table_row(table);
        rz_table_text(table, "%s", cells[i]);
        rz_table_number(table, 0.1);
    }
    assert_true(rz_table_write_csv(table, path, &why));
    struct rz_table *read = rz_table_read_csv(path, &why);
    assert_non_null(read);
    assert_int_equal(rz_table_rows(read), sizeof(cells) / sizeof(*cells));
    for (uint32_t i = 0; i < rz_table_rows(read); i++) {
        assert_string_equal(rz_table_text_at(read, i, "cell"), cells[i]);
        assert_string_equal(rz_table_text_at(read, i, "number"), "0.1");
    }
    rz_table_destroy(read);
    rz_table_destroy(table);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(bad[i], out);
        fclose(out);
        if (rz_table_read_csv(path, &why)) {
            fail_msg("'%s' is read", bad[i]);
        }
    }
    assert_int_equal(unlink(path), 0);
    assert_null(rz_table_read_csv(path, &why));
}

static void test_csv_numbers(void **state)
{
    static const double values[] = {1.0 / 3, 1e300, 5e-324, -2.5, 123456789012345680.0, 0.1 + 0.2};
    enum { N = sizeof(values) / sizeof(*values) };
    struct rz_table *table = rz_table_create("");
    const char *why = NULL;
    char line[64], path[] = "chart-numbers-XXXXXX";
    (void)state;
    rz_table_column(table, "x", "x", NULL);
    for (size_t i = 0; i < N; i++) {
        rz_table_row(table);
        rz_table_number(table, values[i]);
    }
    close(mkstemp(path));
    assert_true(rz_table_write_csv(table, path, &why));
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_non_null(fgets(line, sizeof(line), in));
    for (size_t i = 0; i < N; i++) {
        assert_non_null(fgets(line, sizeof(line), in));
        assert_true(strtod(line, NULL) == values[i]);
    }
    fclose(in);
    unlink(path);
    rz_table_destroy(table);
}

/* A link stays a link, and a device a device; a full one is told. */
static void test_csv_in_place(void **state)
{
    struct rz_table *table = sample();
    struct stat there;
    const char *why = "";
    char target[] = "chart-target-XXXXXX", name[] = "chart-link-XXXXXX";
    (void)state;
    close(mkstemp(target));
    close(mkstemp(name));
    unlink(name);
    assert_int_equal(symlink(target, name), 0);
    assert_true(rz_table_write_csv(table, name, &why));
    assert_int_equal(lstat(name, &there), 0);
    assert_true(S_ISLNK(there.st_mode));
    assert_int_equal(stat(target, &there), 0);
    assert_true(there.st_size > 20);
    unlink(target);
    assert_int_equal(symlink("/dev/full", target), 0); /* never itself: it could be lost */
    assert_false(rz_table_write_csv(table, name, &why));
    assert_non_null(strstr(why, "No space left"));
    assert_int_equal(stat(target, &there), 0);
    assert_true(S_ISCHR(there.st_mode));
    unlink(name);
    unlink(target);
    rz_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv_in_place), cmocka_unit_test(test_cells),
        cmocka_unit_test(test_spread),       cmocka_unit_test(test_summary),
        cmocka_unit_test(test_text),         cmocka_unit_test(test_row),
        cmocka_unit_test(test_markdown),     cmocka_unit_test(test_markdown_rows),
        cmocka_unit_test(test_csv),          cmocka_unit_test(test_csv_read),
        cmocka_unit_test(test_csv_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
