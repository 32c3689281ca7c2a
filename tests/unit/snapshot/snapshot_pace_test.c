/* SPDX-License-Identifier: BSD-3-Clause */
/* When the next snapshot is due, in virtual time. */
#include "proto/snapshot/snapshot_pace.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS RZ_MILLISECOND
#define BEGIN (1000 * MS)

static struct rz_snapshot_pace begun(rz_time every)
{
    struct rz_snapshot_pace pace;
    rz_snapshot_pace_init(&pace, every, BEGIN - every);
    assert_true(rz_snapshot_pace_due(&pace) == BEGIN);
    rz_snapshot_pace_begins(&pace, BEGIN);
    assert_true(rz_snapshot_pace_due(&pace) == RZ_TIME_NEVER);
    return pace;
}

static void a_quick_one_is_followed_after_the_interval(void **state)
{
    struct rz_snapshot_pace pace = begun(100 * MS);
    (void)state;
    rz_snapshot_pace_ends(&pace, 1, BEGIN + 2 * MS);
    rz_snapshot_pace_commits(&pace, 1, BEGIN + 30 * MS);
    assert_true(rz_snapshot_pace_due(&pace) == BEGIN + 102 * MS);
}

static void none_is_due_before_the_commit(void **state)
{
    struct rz_snapshot_pace pace = begun(10 * MS);
    (void)state;
    rz_snapshot_pace_ends(&pace, 1, BEGIN + 2 * MS);
    assert_true(rz_snapshot_pace_due(&pace) == RZ_TIME_NEVER);
    rz_snapshot_pace_commits(&pace, 1, BEGIN + 500 * MS);
    assert_true(rz_snapshot_pace_due(&pace) == BEGIN + 1000 * MS);
    rz_snapshot_pace_begins(&pace, BEGIN + 1000 * MS);
    rz_snapshot_pace_ends(&pace, 2, BEGIN + 1001 * MS);
    rz_snapshot_pace_commits(&pace, 1, BEGIN + 1002 * MS); /* again: not that one */
    assert_true(rz_snapshot_pace_due(&pace) == RZ_TIME_NEVER);
}

/* The daemons may be done before a process is heard of. */
static void a_commit_may_come_first(void **state)
{
    struct rz_snapshot_pace pace = begun(10 * MS);
    (void)state;
    rz_snapshot_pace_commits(&pace, 1, BEGIN + 40 * MS);
    assert_true(rz_snapshot_pace_due(&pace) == RZ_TIME_NEVER);
    rz_snapshot_pace_ends(&pace, 1, BEGIN + 50 * MS);
    assert_true(rz_snapshot_pace_due(&pace) == BEGIN + 100 * MS);
}

static void one_without_images_is_followed_after_twice_its_time(void **state)
{
    struct rz_snapshot_pace pace = begun(10 * MS);
    (void)state;
    rz_snapshot_pace_ends(&pace, 0, BEGIN + 50 * MS);
    assert_true(rz_snapshot_pace_due(&pace) == BEGIN + 150 * MS);
}

/* RZ_Rewind_now may ask while the last images are not committed: nothing is forgotten. */
static void a_refused_one_in_between_does_not_end_the_wait(void **state)
{
    struct rz_snapshot_pace pace = begun(10 * MS);
    (void)state;
    rz_snapshot_pace_ends(&pace, 1, BEGIN + 5 * MS);
    rz_snapshot_pace_begins(&pace, BEGIN + 6 * MS);
    rz_snapshot_pace_ends(&pace, 0, BEGIN + 7 * MS);
    assert_true(rz_snapshot_pace_due(&pace) == RZ_TIME_NEVER);
    rz_snapshot_pace_commits(&pace, 1, BEGIN + 306 * MS);
    assert_true(rz_snapshot_pace_due(&pace) == BEGIN + 606 * MS);
}

static void without_an_interval_none_is_due(void **state)
{
    struct rz_snapshot_pace pace;
    (void)state;
    rz_snapshot_pace_init(&pace, 0, BEGIN);
    rz_snapshot_pace_begins(&pace, BEGIN);
    rz_snapshot_pace_ends(&pace, 1, BEGIN + MS);
    rz_snapshot_pace_commits(&pace, 1, BEGIN + 2 * MS);
    assert_true(rz_snapshot_pace_due(&pace) == RZ_TIME_NEVER);
}

/* Snapshots of any length, ends and commits at any time, the last rank as late as it may be: of the
 * time from the begin of one to that of the next at least half is undisturbed. */
static void half_of_the_time_is_the_programs(void **state)
{
    struct rz_random random = {.state = 7};
    struct rz_snapshot_pace pace;
    rz_time now = BEGIN, every = 20 * MS;
    uint64_t number = 0;
    (void)state;
    rz_snapshot_pace_init(&pace, every, now);
    for (int i = 0; i < 10000; i++) {
        rz_time begin = now = rz_snapshot_pace_due(&pace);
        rz_snapshot_pace_begins(&pace, begin);
        rz_time ended = begin + MS * rz_random_below(&random, 100), over;
        if (rz_random_below(&random, 3) == 0) {
            rz_snapshot_pace_ends(&pace, 0, ended);
            over = begin + (ended - begin) * 3 / 2; /* snapshot_pace.h */
        } else {
            over = ended + MS * rz_random_below(&random, 400);
            rz_snapshot_pace_ends(&pace, ++number, ended);
            rz_snapshot_pace_commits(&pace, number, over);
        }
        rz_time due = rz_snapshot_pace_due(&pace);
        assert_true(due != RZ_TIME_NEVER && due >= ended + every);
        assert_true(2 * (over - begin) <= due - begin);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quick_one_is_followed_after_the_interval),
        cmocka_unit_test(none_is_due_before_the_commit),
        cmocka_unit_test(a_commit_may_come_first),
        cmocka_unit_test(one_without_images_is_followed_after_twice_its_time),
        cmocka_unit_test(a_refused_one_in_between_does_not_end_the_wait),
        cmocka_unit_test(without_an_interval_none_is_due),
        cmocka_unit_test(half_of_the_time_is_the_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
