/* What the study recovery computes: intervals, claims, the verdict, and what it reads from reports
 * and programs. */
#include "cmd/rzbench_interval.h"
#include "cmd/rzbench_recovery.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static bool near(double a, double b, double within)
{
    return fabs(a - b) <= within;
}

static struct rz_bench_samples samples_of(const double *values, unsigned n)
{
    struct rz_bench_samples samples = {0};
    for (unsigned i = 0; i < n; i++)
        rz_bench_put(&samples, i, values[i]);
    return samples;
}

/* Tabulated values; the table and the expansion meet without a step. */
static void test_quantiles(void **state)
{
    (void)state;
    assert_true(isnan(rz_bench_t95(0)));
    assert_true(near(rz_bench_t95(1), 12.706, 1e-3));
    assert_true(near(rz_bench_t95(9), 2.262, 1e-3));
    assert_true(near(rz_bench_t95(20), 2.086, 1e-3));
    assert_true(near(rz_bench_t95(21), 2.0796, 5e-4));
    assert_true(near(rz_bench_t95(30), 2.0423, 5e-4));
    assert_true(near(rz_bench_t95(60), 2.0003, 5e-4));
    assert_true(near(rz_bench_t95(1000000), 1.95996, 1e-4));
    for (unsigned i = 2; i < 100; i++)
        assert_true(rz_bench_t95(i) < rz_bench_t95(i - 1));
}

static void test_intervals(void **state)
{
    const double values[] = {10, NAN, 12, 14, INFINITY};
    struct rz_bench_samples samples = samples_of(values, 5), one = samples_of(values, 1),
                            none = {0};
    struct rz_bench_interval interval = rz_bench_interval(&samples);
    char text[64];
    (void)state;
    assert_true(interval.n == 3 && near(interval.mean, 12, 1e-9));
    assert_true(
        near(interval.half, 4.3027 * 2 / sqrt(3), 1e-3)); /* two degrees of freedom, s = 2 */
    rz_bench_interval_text(&(struct rz_bench_interval){3, 12, 12, 5}, text, sizeof text);
    assert_string_equal(text, "12.0 (7.00..17.0)");
    interval = rz_bench_interval(&one);
    assert_true(interval.n == 1 && interval.median == 10 && isnan(interval.half));
    rz_bench_interval_text(&interval, text, sizeof text);
    assert_string_equal(text, "10.0");
    interval = rz_bench_interval(&none);
    rz_bench_interval_text(&interval, text, sizeof text);
    assert_string_equal(text, "-");
}

/* Repetition by repetition: one that the other lacks does not count. */
static void test_ratios(void **state)
{
    const double a[] = {20, 30, NAN, 100}, b[] = {10, 10, 10};
    struct rz_bench_samples above = samples_of(a, 4), below = samples_of(b, 3);
    struct rz_bench_interval ratio = rz_bench_interval_ratio(&above, &below);
    (void)state;
    assert_true(ratio.n == 2 && near(ratio.median, 2.5, 1e-9) && near(ratio.mean, 2.5, 1e-9));
}

static void test_verdicts(void **state)
{
    static struct rz_bench_claims claims;
    const struct rz_bench_interval seven = {.n = 10, .median = 7, .mean = 7, .half = 1}, none = {0},
                                   chance = {.n = 3, .median = 0.9, .mean = 0.95, .half = 0.2},
                                   slower = {.n = 10, .median = 0.9, .mean = 0.9, .half = 0.05};
    char line[128];
    (void)state;
    claims.n = 0;
    assert_false(rz_bench_claims_verdict(&claims, line, sizeof line));
    assert_string_equal(line, "verdict: nothing was measured (0 of 0)");
    rz_bench_claim_least(&claims, "six times", 6, &none, "");
    assert_false(rz_bench_claims_verdict(&claims, line, sizeof line));
    rz_bench_claim_least(&claims, "six times", 6, &seven, "");
    rz_bench_claim_most(&claims, "fifty", 50, &seven, " ms");
    rz_bench_claim_not_less(&claims, "not slower", 1, &chance, "");
    rz_bench_claim_all(&claims, "runs", 4, 4);
    assert_true(rz_bench_claims_verdict(&claims, line, sizeof line));
    assert_string_equal(line, "verdict: holds (4 of 4; 1 not measured)");
    assert_true(claims.claims[1].holds == RZ_BENCH_HOLDS);
    assert_true(claims.claims[3].holds == RZ_BENCH_HOLDS_WITHIN); /* not by its median */
    assert_string_equal(claims.claims[2].measured, "7.00 (6.00..8.00) ms, n = 10");
    rz_bench_claim_least(&claims, "eight times", 8, &seven, "");
    assert_false(rz_bench_claims_verdict(&claims, line, sizeof line));
    assert_string_equal(line, "verdict: does not hold (4 of 5; 1 not measured)");
    claims.n = 0;
    rz_bench_claim_not_less(&claims, "not slower", 1, &slower, "");
    rz_bench_claim_all(&claims, "runs", 3, 4);
    rz_bench_claim_most(&claims, "six", 6, &seven, "");
    assert_false(rz_bench_claims_verdict(&claims, line, sizeof line));
    assert_string_equal(line, "verdict: does not hold (0 of 3)");
    rz_bench_claim_least(&claims, "eight times", 8, &seven, "");
    rz_bench_claim_excuse(&claims, "it cannot");
    assert_false(rz_bench_claims_verdict(&claims, line, sizeof line));
    assert_string_equal(line, "verdict: does not hold (0 of 3; 1 excused)");
    claims.n = 0;
    rz_bench_claim_excuse(&claims, "there is none");
    rz_bench_claim_least(&claims, "six times", 6, &seven, "");
    rz_bench_claim_excuse(&claims, "it need not be");
    rz_bench_claim_least(&claims, "eight times", 8, &seven, "");
    rz_bench_claim_excuse(&claims, "it cannot");
    assert_true(rz_bench_claims_verdict(&claims, line, sizeof line));
    assert_string_equal(line, "verdict: holds (1 of 1; 1 excused)");
    assert_string_equal(claims.claims[0].why, "");
    assert_string_equal(claims.claims[1].why, "it cannot");
    assert_string_equal(claims.claims[1].measured, "7.00 (6.00..8.00), n = 10");
    rz_bench_claim_all(&claims, "none was run", 0, 0);
    assert_true(claims.claims[2].holds == RZ_BENCH_NOT_MEASURED);
}

static void test_reports(void **state)
{
    const char *report = "event=run epoch=1\n"
                         "event=recovery way=reinit epoch=2 detect_ms=0.5 whole_ms=6.5\n"
                         "event=recovery way=reinit epoch=3 start_ms=4.25 whole_ms=9.5\n"
                         "event=exit status=0 detect_ms=7\n";
    (void)state;
    assert_true(rz_bench_report_value(report, "whole_ms") == 9.5); /* of the last one */
    assert_true(rz_bench_report_value(report, "start_ms") == 4.25);
    assert_true(isnan(rz_bench_report_value(report, "detect_ms"))); /* not of another line */
    assert_true(isnan(rz_bench_report_value("event=run\n", "whole_ms")));
}

static void test_times(void **state)
{
    const char *line =
        "total 1.5 application 1.25 checkpoint 0.125 restore 0 recovery 0.0625\ntotal 9";
    (void)state;
    assert_true(rz_bench_times_value(line, "total") == 1.5);
    assert_true(rz_bench_times_value(line, "recovery") == 0.0625);
    assert_true(rz_bench_times_value(line, "restore") == 0);
    assert_true(isnan(rz_bench_times_value(line, "rest")));
    assert_true(isnan(rz_bench_times_value("", "total")));
}

static void test_dimensions(void **state)
{
    static const unsigned cases[][4] = {{1, 1, 1, 1},   {4, 2, 2, 1},  {8, 2, 2, 2},
                                        {64, 4, 4, 4},  {27, 3, 3, 3}, {128, 8, 4, 4},
                                        {256, 8, 8, 4}, {12, 3, 2, 2}, {7, 7, 1, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned n[3];
        rz_bench_dimensions(cases[i][0], n);
        assert_int_equal(n[0] * n[1] * n[2], cases[i][0]);
        unsigned most = n[0] > n[1] ? n[0] : n[1];
        most = most > n[2] ? most : n[2];
        assert_int_equal(most, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles), cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_ratios),    cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_reports),   cmocka_unit_test(test_times),
        cmocka_unit_test(test_dimensions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
