/* SPDX-License-Identifier: BSD-3-Clause */
/* What RZ_KILL_AT may say, that the points of all components are known, and that a process fails
 * where it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/kill_point.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
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

/* The points of each component; a component that has some stands here. */
static void all_components_points_are_listed_once(void **state)
{
    (void)state;
    static const struct {
        enum rz_kill_point point;
        const char *name;
    } listed[] = {
#define RZ_KILL_POINT(point, name) {RZ_KILL_##point, (name)},
#include "ckpt/kill_points.def"
#include "daemon/kill_points.def"
#include "image/kill_points.def"
#include "launch/kill_points.def"
#include "mpi/kill_points.def"
#include "net/kill_points.def"
#undef RZ_KILL_POINT
    };
    bool seen[RZ_KILL_POINTS] = {0};
    assert_int_equal(sizeof(listed) / sizeof(listed[0]), RZ_KILL_POINTS);
    for (unsigned i = 0; i < RZ_KILL_POINTS; i++) {
        assert_false(seen[listed[i].point]);
        seen[listed[i].point] = true;
        assert_string_equal(rz_kill_point_name(listed[i].point), listed[i].name);
        size_t length = strlen(listed[i].name);
        assert_true(length > 0 && strspn(listed[i].name, "abcdefghijklmnopqrstuvwxyz-") == length);
        for (unsigned k = 0; k < i; k++) {
            assert_string_not_equal(listed[i].name, listed[k].name);
        }
    }
    assert_null(rz_kill_point_name(RZ_KILL_POINTS));
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
        cmocka_unit_test(all_components_points_are_listed_once),
        cmocka_unit_test(fails_there_and_only_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
