/* SPDX-License-Identifier: BSD-3-Clause */
/* The line of --progress: rates, the estimated end, roll-backs. */
#include "launch/progress_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *text_of(const struct rz_progress *progress, rz_time now)
{
    static char text[200];
    rz_progress_text(progress, now, now, text, sizeof(text));
    return text;
}

static void a_steady_program(void **state)
{
    struct rz_progress progress = {.total = 600};
    (void)state;
    assert_string_equal(text_of(&progress, 0), "   0.000 s  no iteration yet");
    for (unsigned i = 0; i <= 100; i++) {
        rz_progress_mark(&progress, i, 1, RZ_SECOND + i * RZ_SECOND / 10);
    }
    rz_progress_committed(&progress, 8, 10 * RZ_SECOND);
    rz_progress_committed(&progress, 8, 11 * RZ_SECOND); /* another node says so */
    progress.failures = 2;
    assert_string_equal(
        text_of(&progress, 12 * RZ_SECOND),
        "  12.000 s  iteration 100 of 600, 10 per second, ends in 50 s; 2 failures; "
        "checkpoint 8 2.0 s ago");
    assert_string_equal(text_of(&progress, 60 * RZ_SECOND),
                        "  60.000 s  iteration 100 of 600, 10 per second; 2 failures; "
                        "checkpoint 8 50 s ago");
}

static void a_roll_back(void **state)
{
    struct rz_progress progress = {.total = 0};
    (void)state;
    for (unsigned i = 0; i <= 20; i++) {
        rz_progress_mark(&progress, i, 1, RZ_SECOND + i * RZ_SECOND / 10);
    }
    rz_progress_mark(&progress, 15, 2, 4 * RZ_SECOND);
    assert_int_equal(progress.newest, 15);
    rz_progress_mark(&progress, 21, 1, 4 * RZ_SECOND); /* late, of the time before */
    assert_int_equal(progress.newest, 15);
    rz_progress_mark(&progress, 25, 2, 5 * RZ_SECOND);
    assert_string_equal(text_of(&progress, 5 * RZ_SECOND),
                        "   5.000 s  iteration 25, 10 per second");
}

static void a_high_rate(void **state)
{
    struct rz_progress progress = {.newest = 9, .rated_at = 1, .per_second = 999.4};
    (void)state;
    assert_string_equal(text_of(&progress, RZ_SECOND), "   1.000 s  iteration 9, 999 per second");
    progress.per_second = 1623456;
    assert_string_equal(text_of(&progress, RZ_SECOND),
                        "   1.000 s  iteration 9, 1623456 per second");
}

static void a_terminal_of_80_columns_shows_all(void **state)
{
    struct rz_progress progress = {.total = 2000000,
                                   .newest = 123456,
                                   .failures = 12,
                                   .generation = 3,
                                   .rated_at = 110 * RZ_SECOND,
                                   .committed_at = 110 * RZ_SECOND,
                                   .per_second = 1620};
    char text[80];
    (void)state;
    rz_progress_text(&progress, 119 * RZ_SECOND, 119 * RZ_SECOND, text, sizeof(text));
    assert_string_equal(
        text, "119 s: 123456 of 2000000, 1620/s, ends in 19 min; 12 failures; saved 9.0 s ago");
}

static void a_narrow_place(void **state)
{
    struct rz_progress progress = {.total = 600, .failures = 1, .generation = 3, .rated_at = 1};
    char text[16];
    (void)state;
    rz_progress_text(&progress, RZ_SECOND, RZ_SECOND, text, sizeof(text));
    assert_string_equal(text, "1.0 s: 0 of 600");
    rz_progress_text(&progress, RZ_SECOND, RZ_SECOND, text, 1);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_steady_program),
                                       cmocka_unit_test(a_roll_back), cmocka_unit_test(a_high_rate),
                                       cmocka_unit_test(a_terminal_of_80_columns_shows_all),
                                       cmocka_unit_test(a_narrow_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
