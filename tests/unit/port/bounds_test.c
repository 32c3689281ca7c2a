/* SPDX-License-Identifier: BSD-3-Clause */
/* RZ_BOUNDS: what a bound is with each of its values. */
#include "port/bounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void a_bound_is_usual_or_least(void **state)
{
    (void)state;
    unsetenv(RZ_BOUNDS_ENVIRONMENT);
    assert_int_equal(rz_bound("a", 60, 1), 60);
    setenv(RZ_BOUNDS_ENVIRONMENT, "", 1);
    assert_int_equal(rz_bound("a", 60, 1), 60);
    setenv(RZ_BOUNDS_ENVIRONMENT, "least", 1);
    assert_int_equal(rz_bound("a", 60, 1), 1);
}

static void a_seed_draws_each_bound(void **state)
{
    (void)state;
    char text[32];
    uint64_t least = 60, most = 0;
    for (unsigned seed = 0; seed < 1000; seed++) {
        snprintf(text, sizeof(text), "odd:%u", seed);
        setenv(RZ_BOUNDS_ENVIRONMENT, text, 1);
        uint64_t bound = rz_bound("a", 60, 1);
        assert_in_range(bound, 1, 60);
        assert_int_equal(rz_bound("a", 60, 1), bound);
        assert_int_equal(rz_bound("a", 7, 7), 7);
        least = bound < least ? bound : least;
        most = bound > most ? bound : most;
    }
    assert_int_equal(least, 1);
    assert_int_equal(most, 60);
}

static void a_wrong_value_ends_the_process(void **state)
{
    (void)state;
    const char *const wrong[] = {"most", "odd:", "odd:1x", "leastest"};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            setenv(RZ_BOUNDS_ENVIRONMENT, wrong[i], 1);
            rz_bound("a", 60, 1);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_bound_is_usual_or_least),
                                       cmocka_unit_test(a_seed_draws_each_bound),
                                       cmocka_unit_test(a_wrong_value_ends_the_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
