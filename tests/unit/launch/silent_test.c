/* SPDX-License-Identifier: BSD-3-Clause */
/* When a daemon has been silent for too long, with times that are handed in. */
#include "launch/silent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define LOOK RZ_SILENT_LOOK

static void test_looks_add_up_until_something_is_heard(void **state)
{
    struct rz_silent silence = {0};
    (void)state;
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(rz_silent_look(&silence, LOOK, 'S'), i * LOOK);
    }
    silence.heard = true;
    assert_int_equal(rz_silent_look(&silence, LOOK, 'S'), 0);
    assert_int_equal(rz_silent_look(&silence, LOOK, 'T'), LOOK);
}

/* An hour of Ctrl-Z, or of a machine that does not let rzrun run. */
static void test_a_late_look_counts_as_one(void **state)
{
    struct rz_silent silence = {0};
    (void)state;
    assert_int_equal(rz_silent_look(&silence, 3600 * RZ_SECOND, 'T'), LOOK);
    assert_int_equal(rz_silent_look(&silence, LOOK / 2, 'T'), LOOK + LOOK / 2);
}

static void test_a_process_that_waits_for_a_processor_cannot_speak(void **state)
{
    struct rz_silent silence = {0};
    (void)state;
    for (unsigned i = 0; i < RZ_SILENT_STARVED; i++) {
        rz_silent_look(&silence, LOOK, 'R');
    }
    assert_int_equal(silence.lasted, LOOK); /* and yet it does not wait for ever */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks_add_up_until_something_is_heard),
        cmocka_unit_test(test_a_late_look_counts_as_one),
        cmocka_unit_test(test_a_process_that_waits_for_a_processor_cannot_speak)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
