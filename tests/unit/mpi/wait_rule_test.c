/* SPDX-License-Identifier: BSD-3-Clause */
/* When a waiting call spins, offers its processor and sleeps: the rule alone, in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mpi/core/wait_rule.h"

#define ROUND_NS 10 /* that a round in vain takes */

static struct rz_wait_rule rule_with(rz_time wake_ns)
{
    struct rz_wait_rule rule;
    rz_wait_rule_init(&rule, false);
    rule.wake_ns = wake_ns;
    return rule;
}

/* What one wait did before the message arrived. */
struct wait {
    rz_time offers, spun_ns;
    bool slept;
};

/* A wait of a rank with a processor of its own; its message arrives after this time. */
static struct wait waits(struct rz_wait_rule *rule, rz_time length)
{
    struct rz_wait_course course = {0};
    struct wait wait = {0};
    rz_time now = RZ_SECOND;
    rz_wait_begins(rule, &course);
    for (; now < RZ_SECOND + length && !wait.slept; now += ROUND_NS) {
        wait.spun_ns = now - RZ_SECOND;
        enum rz_wait_step step = RZ_WAIT_SPIN;
        if (!rz_wait_by_time(rule, &course, false)) {
            step = rz_wait_counted(rule, &course);
        } else if (rz_wait_looks(&course)) {
            step = rz_wait_timed(rule, &course, now);
        }
        wait.slept = step == RZ_WAIT_SLEEP;
        if (step == RZ_WAIT_OFFER) {
            wait.offers++;
            rz_wait_offered(rule, 500);
        }
    }
    if (wait.slept) {
        rz_wait_slept(&course, length - wait.spun_ns);
    }
    if (course.since != 0) {
        rz_wait_came(rule, &course, false);
    }
    return wait;
}

static void spins_longer_than_wake_ups_take(void **state)
{
    (void)state;
    static const rz_time wakes[] = {1000, 5000, 70 * RZ_MICROSECOND, 500 * RZ_MICROSECOND};
    for (size_t i = 0; i < sizeof(wakes) / sizeof(*wakes); i++) {
        struct rz_wait_rule rule = rule_with(wakes[i]);
        assert_false(waits(&rule, (RZ_WAIT_WAKES - 1) * wakes[i]).slept);
    }
}

static void an_idle_rank_sleeps(void **state)
{
    (void)state;
    static const rz_time wakes[] = {0, 5000, 70 * RZ_MICROSECOND, RZ_SECOND};
    for (size_t i = 0; i < sizeof(wakes) / sizeof(*wakes); i++) {
        struct rz_wait_rule rule = rule_with(wakes[i]);
        struct wait wait = waits(&rule, RZ_SECOND);
        assert_true(wait.slept);
        assert_in_range(wait.spun_ns, RZ_WAIT_SPIN_MIN, RZ_WAIT_SPIN_MAX + 20 * RZ_MICROSECOND);
        assert_in_range(wait.offers, 1, 12); /* rarely: at doubled intervals */
    }
}

static void a_single_wake_up_does_not_decide(void **state)
{
    (void)state;
    struct rz_wait_rule rule = rule_with(5 * RZ_MICROSECOND);
    rz_wait_woke(&rule, 30 * RZ_SECOND);
    assert_in_range(rule.wake_ns, 0, 130 * RZ_MICROSECOND);
    for (int i = 0; i < 100; i++) {
        rz_wait_woke(&rule, 5 * RZ_MICROSECOND);
    }
    assert_in_range(rule.wake_ns, 4 * RZ_MICROSECOND, 6 * RZ_MICROSECOND);
    for (int i = 0; i < 30; i++) {
        rz_wait_woke(&rule, 70 * RZ_MICROSECOND);
    }
    assert_in_range(rule.wake_ns, 60 * RZ_MICROSECOND, 70 * RZ_MICROSECOND);
}

/*
 * Two ranks exchange a message; one that sleeps answers a wake-up later. One of them is delayed by
 * 10 ms first: then both have to learn the time of wake-ups, and to stop sleeping.
 */
static unsigned sleeps_of_pair(rz_time wake_ns, unsigned trips)
{
    struct rz_wait_rule rule[2] = {rule_with(RZ_WAIT_WAKE_GUESS), rule_with(RZ_WAIT_WAKE_GUESS)};
    unsigned sleeps = 0;
    rz_time length = 10 * RZ_MILLISECOND; /* of the next wait */
    for (unsigned i = 0; i < trips; i++) {
        bool slept = waits(&rule[i % 2], length).slept;
        length = slept ? wake_ns + 300 : 300;
        sleeps += slept;
        if (slept) {
            rz_wait_woke(&rule[i % 2], wake_ns);
        }
    }
    return sleeps;
}

static void no_sleep_storm_on_any_machine(void **state)
{
    (void)state;
    for (rz_time wake_ns = 1000; wake_ns <= RZ_MILLISECOND; wake_ns *= 2) {
        assert_in_range(sleeps_of_pair(wake_ns, 10000), 1, 12);
    }
}

/* ---- Other processes that need the processor ---- */

/* Waits of 5 us in which the processor was lost, or not; each yield took this time. */
static void lose(struct rz_wait_rule *rule, unsigned waits, bool displaced, rz_time yield_ns)
{
    for (unsigned i = 0; i < waits; i++) {
        struct rz_wait_course course = {0};
        rz_wait_begins(rule, &course);
        course.since = RZ_SECOND;
        rz_wait_offered(rule, yield_ns);
        rz_wait_came(rule, &course, displaced);
    }
}

/* The first step of a wait that does not probe. */
static enum rz_wait_step first_step(struct rz_wait_rule *rule)
{
    struct rz_wait_course course = {0};
    do {
        course = (struct rz_wait_course){0};
        rz_wait_begins(rule, &course);
    } while (course.probes);
    return rz_wait_counted(rule, &course);
}

static void partners_on_one_processor_yield(void **state)
{
    (void)state;
    struct rz_wait_rule rule = rule_with(50 * RZ_MICROSECOND);
    lose(&rule, 3, true, 5 * RZ_MICROSECOND);
    assert_false(rule.shared);
    lose(&rule, 1, true, 5 * RZ_MICROSECOND);
    assert_true(rule.shared);
    unsigned measured = 0;
    for (int i = 0; i < 64; i++) {
        enum rz_wait_step step = first_step(&rule);
        assert_true(step == RZ_WAIT_YIELD || step == RZ_WAIT_OFFER);
        measured += step == RZ_WAIT_OFFER;
    }
    assert_in_range(measured, 4, 16);
}

static void beside_a_stranger_they_sleep_at_once(void **state)
{
    (void)state;
    struct rz_wait_rule rule = rule_with(5 * RZ_MICROSECOND);
    lose(&rule, 4, true, 3 * RZ_MILLISECOND); /* whole time slices */
    assert_true(rule.shared);
    assert_false(rz_wait_yields_cheaply(&rule));
    struct rz_wait_course course = {0};
    unsigned rounds = 1;
    while (rz_wait_counted(&rule, &course) == RZ_WAIT_SPIN) {
        rounds++;
    }
    assert_int_equal(rz_wait_counted(&rule, &course), RZ_WAIT_SLEEP);
    assert_in_range(rounds, 2, 100);
    unsigned waits = 0;
    while (first_step(&rule) == RZ_WAIT_SPIN) { /* it is tried again some time */
        waits++;
    }
    assert_in_range(waits, 1000, 20000);
}

static void a_stranger_alone_changes_nothing(void **state)
{
    (void)state;
    struct rz_wait_rule rule = rule_with(5 * RZ_MICROSECOND);
    for (int i = 0; i < 100; i++) { /* a time slice is lost once in a hundred waits */
        lose(&rule, 1, true, 3 * RZ_MILLISECOND);
        for (int k = 0; k < 100; k++) {
            waits(&rule, 300);
        }
        assert_false(rule.shared);
    }
    assert_int_equal(waits(&rule, 20 * RZ_MICROSECOND).offers, 0); /* which would cost a slice */
    assert_false(waits(&rule, 20 * RZ_MICROSECOND).slept);
}

/* Sleeping is what brings it, where the partner could not run before. */
static void a_prompt_end_of_sleep_is_a_hit(void **state)
{
    (void)state;
    struct rz_wait_rule rule = rule_with(5 * RZ_MICROSECOND);
    for (int i = 0; i < 4; i++) {
        assert_true(waits(&rule, 60 * RZ_MICROSECOND).slept);
    }
    assert_true(rule.shared);
    rule = rule_with(5 * RZ_MICROSECOND);
    for (int i = 0; i < 100; i++) { /* a partner that computes */
        assert_true(waits(&rule, 2 * RZ_MILLISECOND).slept);
    }
    assert_false(rule.shared);
}

static void probes_find_out_that_it_is_over(void **state)
{
    (void)state;
    struct rz_wait_rule rule = rule_with(70 * RZ_MICROSECOND);
    lose(&rule, 4, true, 3 * RZ_MILLISECOND);
    assert_true(rule.shared);
    unsigned n = 0, slept = 0; /* the partner sleeps at once, too, on a processor of its own now */
    for (; rule.shared && n < 10000; n++) {
        slept += waits(&rule, 70 * RZ_MICROSECOND).slept;
    }
    assert_in_range(n, 10, 100);
    assert_true(slept > n / 2);
    assert_false(waits(&rule, 70 * RZ_MICROSECOND).slept);
}

/* ---- Where rounds decide ---- */

static enum rz_wait_step nth(struct rz_wait_rule *rule, unsigned n)
{
    struct rz_wait_course course = {.idle = n - 1};
    return rz_wait_counted(rule, &course);
}

static void oversubscribed_ranks_yield_then_sleep(void **state)
{
    (void)state;
    struct rz_wait_rule rule = rule_with(50 * RZ_MICROSECOND);
    rule.oversubscribed = true;
    assert_false(rz_wait_by_time(&rule, &(struct rz_wait_course){0}, false));
    for (unsigned n = 1; n <= 16; n++) {
        assert_int_equal(nth(&rule, n), RZ_WAIT_YIELD);
    }
    for (unsigned n = 17; n < 100; n++) {
        assert_int_equal(nth(&rule, n), RZ_WAIT_SLEEP);
    }
}

static void threads_give_the_lock_away(void **state)
{
    (void)state;
    struct rz_wait_rule rule = rule_with(50 * RZ_MICROSECOND);
    assert_false(rz_wait_by_time(&rule, &(struct rz_wait_course){0}, true));
    unsigned spins = 0, yields = 0;
    for (unsigned n = 1; n <= 1000; n++) {
        enum rz_wait_step step = nth(&rule, n);
        spins += step == RZ_WAIT_SPIN;
        yields += step == RZ_WAIT_YIELD;
    }
    assert_int_equal(spins + yields, 1000); /* none of them sleeps */
    assert_in_range(yields, 20, 40);
    assert_int_equal(nth(&rule, 2000), RZ_WAIT_SLEEP);
}

static void the_sleepless_say_what_they_wait_for(void **state)
{
    (void)state;
    struct rz_wait_rule rule;
    rz_wait_rule_init(&rule, true);
    for (int oversubscribed = 0; oversubscribed < 2; oversubscribed++) {
        rule.oversubscribed = oversubscribed;
        assert_false(rz_wait_by_time(&rule, &(struct rz_wait_course){0}, false));
        unsigned words = 0;
        for (unsigned n = 1; n <= 10240; n++) {
            words += nth(&rule, n) == RZ_WAIT_SLEEP;
        }
        assert_in_range(words, 9, 10);
    }
}

/* What a lost wake-up costs grows with what the wait has taken already. */
static void sleeps_become_longer(void **state)
{
    (void)state;
    struct rz_wait_course course = {0};
    rz_time waited = 0, sleeps = 0;
    for (; rz_wait_sleep_ns(&course, 100 * RZ_MILLISECOND) < 100 * RZ_MILLISECOND; sleeps++) {
        rz_time next = rz_wait_sleep_ns(&course, 100 * RZ_MILLISECOND);
        assert_true(next <= 3 * waited || waited == 0);
        rz_wait_slept(&course, next);
        waited += next;
    }
    assert_in_range(sleeps, 3, 5);
    rz_wait_slept(&course, RZ_SECOND);
    assert_int_equal(rz_wait_sleep_ns(&course, 100 * RZ_MILLISECOND), 100 * RZ_MILLISECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spins_longer_than_wake_ups_take),
        cmocka_unit_test(an_idle_rank_sleeps),
        cmocka_unit_test(a_single_wake_up_does_not_decide),
        cmocka_unit_test(no_sleep_storm_on_any_machine),
        cmocka_unit_test(partners_on_one_processor_yield),
        cmocka_unit_test(beside_a_stranger_they_sleep_at_once),
        cmocka_unit_test(a_stranger_alone_changes_nothing),
        cmocka_unit_test(a_prompt_end_of_sleep_is_a_hit),
        cmocka_unit_test(probes_find_out_that_it_is_over),
        cmocka_unit_test(oversubscribed_ranks_yield_then_sleep),
        cmocka_unit_test(threads_give_the_lock_away),
        cmocka_unit_test(sleeps_become_longer),
        cmocka_unit_test(the_sleepless_say_what_they_wait_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
