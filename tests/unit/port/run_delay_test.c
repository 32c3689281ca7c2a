/* SPDX-License-Identifier: BSD-3-Clause */
/* What is seen of how long a process waits for a processor. */
#include "port/run_delay.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void a_wait_that_lasts_is_all_of_the_gap(void **state)
{
    (void)state;
    const struct rz_run_look earlier = {.ran = 100, .waited = 50, .ready = false};
    const struct rz_run_look waits = {.ran = 100, .waited = 50, .ready = true};
    const struct rz_run_look sleeps = {.ran = 100, .waited = 50, .ready = false};
    const struct rz_run_look runs = {.ran = 101, .waited = 50, .ready = true};
    assert_true(rz_run_delay_lasts(&earlier, &waits));
    assert_false(rz_run_delay_lasts(&earlier, &sleeps));
    assert_false(rz_run_delay_lasts(&earlier, &runs));
    assert_int_equal(rz_run_delay_between(&earlier, &waits, 1000), 1000);
    assert_int_equal(rz_run_delay_between(&earlier, &sleeps, 1000), 0);
    assert_int_equal(rz_run_delay_between(&earlier, &runs, 1000), 0);
}

static void a_wait_that_is_over_counts_within_the_gap(void **state)
{
    (void)state;
    const struct rz_run_look earlier = {.ran = 100, .waited = 50, .ready = true};
    const struct rz_run_look later = {.ran = 200, .waited = 450, .ready = false};
    assert_int_equal(rz_run_delay_between(&earlier, &later, 1000), 400);
    assert_int_equal(rz_run_delay_between(&earlier, &later, 300), 300);
    assert_int_equal(rz_run_delay_between(&later, &earlier, 1000), 0);
}

static void nothing_is_told_of_no_process(void **state)
{
    (void)state;
    const struct rz_run_look none = rz_run_delay_look(0);
    assert_int_equal(none.ran, 0);
    assert_int_equal(none.waited, 0);
    assert_false(none.ready);
    assert_false(rz_run_delay_look(getpid() + (1 << 28)).ready);
}

static void a_running_process_is_ready_and_a_stopped_one_is_not(void **state)
{
    (void)state;
    int status;
    if (access("/proc/self/schedstat", R_OK) != 0) {
        skip();
    }
    while (rz_run_delay_look(getpid()).ran == 0) {
        /* the kernel counts at its ticks */
    }
    assert_true(rz_run_delay_look(getpid()).ready);
    pid_t child = fork();
    if (child == 0) {
        raise(SIGSTOP);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    const struct rz_run_look earlier = rz_run_delay_look(child), later = rz_run_delay_look(child);
    assert_false(later.ready);
    assert_int_equal(rz_run_delay_between(&earlier, &later, RZ_SECOND), 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_that_lasts_is_all_of_the_gap),
        cmocka_unit_test(a_wait_that_is_over_counts_within_the_gap),
        cmocka_unit_test(nothing_is_told_of_no_process),
        cmocka_unit_test(a_running_process_is_ready_and_a_stopped_one_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
