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

/* What one wait did before the message came. */
struct wait {
    rz_time offers, spun_ns;
    bool slept;
};

/* A wait of a rank with a processor of its own, whose message comes after so long. */
static struct wait waits(struct rz_wait_rule *rule, rz_time length)
{
    struct rz_wait_course course = {0};
    struct wait wait = {0};
    for (rz_time now = RZ_SECOND; now < RZ_SECOND + length && !wait.slept; now += ROUND_NS) {
        wait.spun_ns = now - RZ_SECOND;
        if (!rz_wait_looks(&course)) {
            continue;
        }
        enum rz_wait_step step = rz_wait_timed(rule, &course, now);
        assert_int_not_equal(step, RZ_WAIT_YIELD);
        wait.slept = step == RZ_WAIT_SLEEP;
        if (step == RZ_WAIT_OFFER) {
            wait.offers++;
            rz_wait_offered(rule, false, false, 500);
        }
    }
    return wait;
}

static void spins_longer_than_wake_ups_take(void **state)
{
    (void)state;
    static const rz_time wakes[] = {1000, 5000, 70 * RZ_MICROSECOND, 500 * RZ_MICROSECOND};
    for (size_t i = 0; i < sizeof wakes / sizeof *wakes; i++) {
        struct rz_wait_rule rule = rule_with(wakes[i]);
        assert_false(waits(&rule, (RZ_WAIT_WAKES - 1) * wakes[i]).slept);
    }
}

static void an_idle_rank_sleeps(void **state)
{
    (void)state;
    static const rz_time wakes[] = {0, 5000, 70 * RZ_MICROSECOND, RZ_SECOND};
    for (size_t i = 0; i < sizeof wakes / sizeof *wakes; i++) {
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
    assert_in_range(rule.wake_ns, 0, RZ_MILLISECOND);
    for (int i = 0; i < 100; i++) {
        rz_wait_woke(&rule, 5 * RZ_MICROSECOND);
    }
    assert_in_range(rule.wake_ns, 4 * RZ_MICROSECOND, 6 * RZ_MICROSECOND);
    for (int i = 0; i < 10; i++) {
        rz_wait_woke(&rule, 70 * RZ_MICROSECOND);
    }
    assert_in_range(rule.wake_ns, 60 * RZ_MICROSECOND, 70 * RZ_MICROSECOND);
}

/*
 * Two ranks send a message to and fro; whoever sleeps answers a wake-up later. One of them is held
 * up for 10 ms first: then both have to learn what wake-ups take, and to stop sleeping.
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

/* ---- Others who want the processor ---- */

/* Many waits in which each offer ends so. */
static void offers(struct rz_wait_rule *rule, bool displaced, bool brought, rz_time took)
{
    for (int i = 0; i < 100; i++) {
        rz_wait_offered(rule, displaced, brought, took);
    }
}

static void partners_on_one_processor_yield(void **state)
{
    (void)state;
    struct rz_wait_rule rule = rule_with(50 * RZ_MICROSECOND);
    assert_true(rz_wait_by_time(&rule, false));
    offers(&rule, true, true, 5 * RZ_MICROSECOND);
    assert_true(rule.shared);
    assert_false(rz_wait_by_time(&rule, false));
    /* The first round in vain yields; now and then it is looked at again. */
    unsigned looked = 0;
    for (int i = 0; i < 64; i++) {
        struct rz_wait_course course = {0};
        enum rz_wait_step step = rz_wait_counted(&rule, &course);
        assert_true(step == RZ_WAIT_YIELD || step == RZ_WAIT_OFFER);
        looked += step == RZ_WAIT_OFFER;
    }
    assert_in_range(looked, 4, 16);
    offers(&rule, false, true, 500); /* the partner has moved: nobody takes the processor */
    assert_false(rule.shared);
}

static void strangers_are_offered_less(void **state)
{
    (void)state;
    struct rz_wait_rule rule = rule_with(50 * RZ_MICROSECOND);
    offers(&rule, true, true, 3 * RZ_MILLISECOND); /* whole time slices */
    assert_false(rule.shared);
    assert_true(rule.offer_ns > rz_wait_spin_ns(&rule));
    assert_int_equal(waits(&rule, RZ_SECOND).offers, 0);
    for (int i = 0; i < 30; i++) { /* but it is tried again */
        waits(&rule, RZ_SECOND);
    }
    assert_true(waits(&rule, RZ_SECOND).offers > 0);
}

/* ---- Where rounds decide ---- */

static enum rz_wait_step nth(struct rz_wait_rule *rule, unsigned n)
{
    struct rz_wait_course course = {.idle = n - 1};
    return rz_wait_counted(rule, &course);
}

static void a_crowd_yields_then_sleeps(void **state)
{
    (void)state;
    struct rz_wait_rule rule = rule_with(50 * RZ_MICROSECOND);
    rule.crowded = true;
    assert_false(rz_wait_by_time(&rule, false));
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
    assert_false(rz_wait_by_time(&rule, true));
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
    for (int crowded = 0; crowded < 2; crowded++) {
        rule.crowded = crowded;
        assert_false(rz_wait_by_time(&rule, false));
        unsigned words = 0;
        for (unsigned n = 1; n <= 10240; n++) {
            words += nth(&rule, n) == RZ_WAIT_SLEEP;
        }
        assert_in_range(words, 9, 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spins_longer_than_wake_ups_take),
        cmocka_unit_test(an_idle_rank_sleeps),
        cmocka_unit_test(a_single_wake_up_does_not_decide),
        cmocka_unit_test(no_sleep_storm_on_any_machine),
        cmocka_unit_test(partners_on_one_processor_yield),
        cmocka_unit_test(strangers_are_offered_less),
        cmocka_unit_test(a_crowd_yields_then_sleeps),
        cmocka_unit_test(threads_give_the_lock_away),
        cmocka_unit_test(the_sleepless_say_what_they_wait_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
