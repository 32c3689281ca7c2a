/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of RDaemon#: trend lines are right, and what must agree does, also in small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "study/figure_rdaemon_sweep.h"

#include <math.h>

static void trend_lines_are_least_squares(void **state)
{
    (void)state;
    struct rz_rdaemon_points points = {.n = 5};
    for (uint32_t i = 0; i < 5; i++) {
        points.x[i] = 2 << i;
        points.y[i] = (struct rz_table_spread){.n = 1, .mean = 3.5 * (i + 1) - 2};
    }
    struct rz_rdaemon_fit fit = rz_rdaemon_fit(&points, true);
    assert_true(fabs(fit.a - 3.5) < 1e-9 && fabs(fit.b + 2) < 1e-9 && fit.r2 > 1 - 1e-9);
    assert_true(rz_rdaemon_fit(&points, false).r2 < 0.95);
    points.y[2].mean = NAN; /* a point without a result */
    fit = rz_rdaemon_fit(&points, true);
    assert_true(fabs(fit.a - 3.5) < 1e-9 && fit.r2 > 1 - 1e-9);

    /* By hand: (1, 1), (2, 3), (3, 2): slope 1/2 through (2, 2), r2 = 1/4. */
    points = (struct rz_rdaemon_points){.n = 3, .x = {1, 2, 3}};
    points.y[0].mean = 1, points.y[1].mean = 3, points.y[2].mean = 2;
    fit = rz_rdaemon_fit(&points, false);
    assert_true(fabs(fit.a - 0.5) < 1e-9 && fabs(fit.b - 1) < 1e-9 && fabs(fit.r2 - 0.25) < 1e-9);
}

/* Failures that no member finds must not vanish from "every trial". */
static void a_trial_without_a_result_is_no_point(void **state)
{
    (void)state;
    struct rz_figure_options options = {.seed = 7, .effort = 0.1};
    struct rz_table *table = rz_table_create("");
    struct rz_chart *chart = rz_chart_create("", "", "");
    const char *why = "";
    struct rz_rdaemon figure = rz_rdaemon_begin(&options, table, chart, NULL, &why,
                                                &(struct rz_rdaemon_axis){"x", "x", NULL});
    struct rz_rdaemon_points points = {0};
    struct rz_study_options ring = rz_rdaemon_options(&figure);
    ring.members = 8;
    rz_rdaemon_curve(&figure, "ring");
    assert_true(rz_rdaemon_point(&figure, "ring", &ring, "known_ms", 1, &points));
    ring.kill_during = true; /* at any time from 0.2 to 1.4 s */
    ring.until = RZ_SECOND;  /* some are found by then, and some are not */
    ring.trials = 20;
    assert_false(rz_rdaemon_point(&figure, "ring", &ring, "known_ms", 2, &points));
    assert_true(points.y[1].n > 0 && points.y[1].n < 20);
    assert_string_equal(why, "a trial ended without a result");
    rz_table_destroy(table);
    rz_chart_destroy(chart);
}

/* How many rows of a figure differ from the source. */
static uint32_t differences(const char *name, double effort)
{
    const struct rz_figure *figure = rz_figure_find(name);
    struct rz_figure_options options = {.seed = 7, .effort = effort};
    struct rz_figure_report *report = rz_figure_report_create();
    struct rz_table *table = rz_table_create(name);
    struct rz_chart *chart = rz_chart_create("", "", "");
    const char *why = "";
    if (!figure->draw(&options, table, chart, report, &why)) {
        fail_msg("%s: %s", name, why);
    }
    uint32_t n = rz_figure_report_differences(report);
    assert_true(rz_table_rows(table) > 4);
    assert_true(rz_table_at(table, 0, "trials") >= 3);
    rz_figure_report_destroy(report);
    rz_table_destroy(table);
    rz_chart_destroy(chart);
    return n;
}

static void what_the_ring_promises_is_seen(void **state)
{
    (void)state;
    assert_int_equal(differences("rdaemon-11", 0.1), 1); /* the ratio of two assumed networks */
    assert_int_equal(differences("rdaemon-12", 0.1), 0);
    assert_int_equal(differences("rdaemon-13", 0.1),
                     1); /* ULFM's flat ring finds neighbours singly */
    assert_int_equal(differences("rdaemon-14", 0.1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trend_lines_are_least_squares),
        cmocka_unit_test(a_trial_without_a_result_is_no_point),
        cmocka_unit_test(what_the_ring_promises_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
