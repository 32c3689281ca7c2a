/* SPDX-License-Identifier: BSD-3-Clause */
/* Charts: gnuplot takes every kind of curve, and no words of a title for commands; what cannot be
 * drawn says why and leaves nothing behind. */
#include "chart/chart.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <dirent.h>
#include <cmocka.h>

static char folder[] = "chart-draw-XXXXXX";
static bool gnuplot_is_there;

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static size_t files(void)
{
    size_t n = 0;
    DIR *listing = opendir(folder);
    for (struct dirent *entry; (entry = readdir(listing));) {
        n += entry->d_name[0] != '.';
    }
    closedir(listing);
    return n;
}

static size_t contents(const char *path, char *out, size_t bytes)
{
    FILE *in = fopen(path, "r");
    size_t n = in ? fread(out, 1, bytes - 1, in) : 0;
    out[n] = 0;
    if (in) {
        fclose(in);
    }
    return n;
}

static struct rz_chart *sample(void)
{
    static const char *const names[] = {"lines", "points", "both",  "steps",
                                        "bars",  "dashed", "stated"};
    struct rz_chart *chart = rz_chart_create("Zeroth", "nothing", "nothing");
    rz_chart_panel(chart, "First", "members", "time (ms)");
    rz_chart_scales(chart, RZ_CHART_LOG2, RZ_CHART_LOG10);
    for (int style = RZ_CHART_LINES; style <= RZ_CHART_STATED; style++) {
        rz_chart_curve(chart, names[style], (enum rz_chart_style)style);
        for (int i = 0; i <= 20; i += 5) {
            rz_chart_point_spread(chart, ldexp(1, i), i * (style + 1.0), i, 300);
        }
    }
    rz_chart_panel(chart, "Second", "x", "y");
    rz_chart_range_x(chart, 0, NAN);
    rz_chart_curve(chart, "a", RZ_CHART_BARS);
    rz_chart_point(chart, 1, 2);
    rz_chart_point(chart, 2, NAN);
    rz_chart_curve(chart, "b", RZ_CHART_BARS);
    rz_chart_point(chart, 1, 3);
    rz_chart_curve(chart, "nothing in it", RZ_CHART_LINES);
    rz_chart_panel(chart, "Third", "x", "y");
    rz_chart_panel(chart, "Fourth, left of 'it'", "x", "y");
    rz_chart_curve(chart, "c", RZ_CHART_LINES_POINTS);
    rz_chart_point_spread(chart, 0, 3, 2, 4);
    rz_chart_point_spread(chart, 1, 5, 4, 8);
    return chart;
}

static void test_svg(void **state)
{
    static char text[1 << 18];
    static const char *const wanted[] = {"<svg",   "</svg>", "First", "Second",  "Third",
                                         "dashed", "stated", "bars",  "left of", "members"};
    struct rz_chart *chart = sample();
    const char *why = "";
    (void)state;
    if (!gnuplot_is_there) {
        skip();
    }
    if (!rz_chart_draw(chart, in_folder("a.svg"), &why)) {
        fail_msg("%s", why);
    }
    assert_in_range(contents(in_folder("a.svg"), text, sizeof(text)), 1000, sizeof(text) - 2);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        if (!strstr(text, wanted[i])) {
            fail_msg("no '%s' in the drawing", wanted[i]);
        }
    }
    assert_null(strstr(text, "Zeroth"));
    assert_int_equal(files(), 1);
    unlink(in_folder("a.svg"));
    rz_chart_destroy(chart);
}

static void test_png_and_pdf(void **state)
{
    char text[64];
    struct rz_chart *chart = sample();
    const char *why = "";
    (void)state;
    if (!gnuplot_is_there) {
        skip();
    }
    if (!rz_chart_draw(chart, in_folder("a.png"), &why)) {
        fail_msg("%s", why);
    }
    contents(in_folder("a.png"), text, sizeof(text));
    assert_memory_equal(text, "\x89PNG", 4);
    unlink(in_folder("a.png"));
    if (!rz_chart_draw(chart, in_folder("a.pdf"), &why)) {
        fail_msg("%s", why);
    }
    contents(in_folder("a.pdf"), text, sizeof(text));
    assert_memory_equal(text, "%PDF", 4);
    unlink(in_folder("a.pdf"));
    rz_chart_destroy(chart);
}

/* Nothing in a title is a command to gnuplot or to a shell. */
static void test_titles_are_no_commands(void **state)
{
    static char text[1 << 18];
    static const char *const evil[] = {"`touch chart-evil`",
                                       "'; system('touch chart-evil'); '",
                                       "\"; system \"touch chart-evil\"",
                                       "it's\n!touch chart-evil\n",
                                       "END\nsystem('touch chart-evil')\n",
                                       "a_b^{c} @d \\ ~e 1,024.05 (7)"};
    const char *why = "";
    (void)state;
    if (!gnuplot_is_there) {
        skip();
    }
    for (size_t i = 0; i < sizeof(evil) / sizeof(*evil); i++) {
        struct rz_chart *chart = rz_chart_create(evil[i], evil[i], evil[i]);
        rz_chart_curve(chart, evil[i], RZ_CHART_LINES);
        rz_chart_point(chart, 1, 1);
        rz_chart_point(chart, 2, 2);
        if (!rz_chart_draw(chart, in_folder("evil.svg"), &why)) {
            fail_msg("title %zu: %s", i, why);
        }
        assert_int_not_equal(access("chart-evil", F_OK), 0);
        rz_chart_destroy(chart);
    }
    contents(in_folder("evil.svg"), text, sizeof(text));
    assert_non_null(strstr(text, "a_b^{c} @d \\ ~e 1,024.05 (7)"));
    unlink(in_folder("evil.svg"));
}

static void test_what_cannot_be_drawn(void **state)
{
    struct rz_chart *chart = rz_chart_create("t", "x", "y");
    const char *why = "";
    (void)state;
    assert_false(rz_chart_draw(chart, in_folder("a.svg"), &why));
    assert_non_null(strstr(why, "no points"));
    rz_chart_curve(chart, "c", RZ_CHART_LINES);
    rz_chart_point(chart, 1, 1);
    assert_false(rz_chart_draw(chart, in_folder("a.gif"), &why));
    assert_non_null(strstr(why, ".svg"));
    assert_false(rz_chart_draw(chart, "no-such-folder/a.svg", &why));
    assert_non_null(strstr(why, "no-such-folder/a.svg"));
    assert_int_equal(files(), 0);
    rz_chart_destroy(chart);
}

/* The old picture stays when gnuplot fails or is missing, and nothing lies beside it. */
static void test_gnuplot_missing(void **state)
{
    static char path_before[4096];
    char text[64];
    struct rz_chart *chart = rz_chart_create("t", "x", "y");
    const char *why = "";
    (void)state;
    rz_chart_curve(chart, "c", RZ_CHART_LINES);
    rz_chart_point(chart, 1, 1);
    FILE *old = fopen(in_folder("a.svg"), "w");
    fputs("old", old);
    fclose(old);
    snprintf(path_before, sizeof(path_before), "%s", getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    assert_false(rz_chart_draw(chart, in_folder("a.svg"), &why));
    setenv("PATH", path_before, 1);
    assert_string_equal(why, "gnuplot is not installed");
    assert_int_equal(files(), 1);
    contents(in_folder("a.svg"), text, sizeof(text));
    assert_string_equal(text, "old");
    unlink(in_folder("a.svg"));
    rz_chart_destroy(chart);
}

static int set_up(void **state)
{
    (void)state;
    gnuplot_is_there = system("gnuplot --version > /dev/null 2>&1") == 0;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_svg),
        cmocka_unit_test(test_png_and_pdf),
        cmocka_unit_test(test_titles_are_no_commands),
        cmocka_unit_test(test_what_cannot_be_drawn),
        cmocka_unit_test(test_gnuplot_missing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
