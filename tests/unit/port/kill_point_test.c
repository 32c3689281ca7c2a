/* SPDX-License-Identifier: BSD-3-Clause */
/* What RZ_KILL_AT may say, and that a process fails where it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/kill_point.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void plans_are_understood_or_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "nowhere", "send:",     "send:0", "send:x",     "send:1x",
        "send@",   "send@-1",   "sen",    "send:1@2@3", "send:99999999999999999999",
        "send+",   "send+stopp"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(rz_kill_arm(bad[i], 0));
        assert_null(rz_kill_plan);
    }
    for (unsigned point = 0; rz_kill_point_name(point); point++) {
        char text[64];
        snprintf(text, sizeof(text), "%s:7@3", rz_kill_point_name(point));
        assert_true(rz_kill_arm(text, 3));
        assert_int_equal(rz_kill_plan->point, point);
        assert_int_equal(rz_kill_plan->left, 7);
        assert_false(rz_kill_arm("nonsense", 3)); /* changes nothing */
        assert_non_null(rz_kill_plan);
        assert_true(rz_kill_arm(text, 2)); /* meant for another */
        assert_null(rz_kill_plan);
    }
    assert_true(rz_kill_arm("fetch", 5));
    assert_int_equal(rz_kill_plan->left, 1);
    assert_int_equal(rz_kill_plan->signal, SIGKILL);
    assert_true(rz_kill_arm("fetch:2@5+stop", 5));
    assert_true(rz_kill_plan->signal == SIGSTOP && rz_kill_plan->left == 2);
    assert_true(rz_kill_arm("", 5));
    assert_null(rz_kill_plan);
}

/* How often the child reached the place before it failed; -1: it did not fail there. */
static int times_reached(const char *plan)
{
    int fds[2], status;
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        rz_kill_arm(plan, 0);
        for (int i = 0; i < 10; i++) {
            rz_kill_here(RZ_KILL_STEP);
            rz_kill_here(RZ_KILL_SEND);
            if (write(fds[1], "x", 1) != 1) {
                _exit(1);
            }
        }
        _exit(0);
    }
    close(fds[1]);
    int n = 0;
    char byte;
    while (read(fds[0], &byte, 1) == 1) {
        n++;
    }
    close(fds[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? n : -1;
}

static void fails_there_and_only_there(void **state)
{
    (void)state;
    assert_int_equal(times_reached("send"), 0);
    assert_int_equal(times_reached("send:4"), 3);
    assert_int_equal(times_reached("step:10@0"), 9);
    assert_int_equal(times_reached("step:11"), -1);
    assert_int_equal(times_reached("send@1"), -1);
    assert_int_equal(times_reached("fetch"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_understood_or_refused),
        cmocka_unit_test(fails_there_and_only_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
