/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the rule: measures wake-ups and yields, recognises a shared processor, and gives the
 * next step of a wait, by time or by rounds.
 */
#include "mpi/core/wait_rule.h"

/* Longer wake-ups and yields are counted as this. */
#define WAKE_MAX RZ_MILLISECOND
#define YIELD_MAX (8 * RZ_MILLISECOND)

/* Where rounds decide and the ranks are not oversubscribed (several threads, and sleepless ranks):
 * the number of rounds, and after how many the lock and the processor are given away. */
enum { ROUNDS_MAX = 1000, ROUNDS_PER_YIELD = 32 };

/* Then the processor is given away so many times before the call sleeps. */
enum { YIELDS_MAX = 16 };

/* Where yielding costs more than sleeping: so many rounds before a sleep. */
enum { ROUNDS_SHARED = 32 };

/* Sleepless ranks report what they wait for once in so many rounds. */
enum { ROUNDS_PER_WORD = 1024 };

/* A processor counts as shared from so many hits on, and until there are so few. A hit adds two,
 * and each so many waits without a hit subtract one. */
enum { SHARED_FROM = 8, SHARED_UNTIL = 3, HIT = 2, WAITS_PER_HIT = 16 };

/* On a shared processor: number of waits between two that spin, at first and at most. */
enum { PROBE_MIN = 16, PROBE_MAX = 1024 };

/* In wake-ups: up to so many, a yield counts as cheap, and an event after a sleep of this length as
 * brought by the sleep. */
enum { WAITS_PER_OFFER = 8 };

/* Yielding is cheap, and an event after a sleep was caused by it, within the time of so many
 * wake-ups. */
enum { PROMPT_WAKES = 2 };

void rz_wait_rule_init(struct rz_wait_rule *rule, bool sleepless)
{
    *rule = (struct rz_wait_rule){
        .sleepless = sleepless, .wake_ns = RZ_WAIT_WAKE_GUESS, .probe_gap = PROBE_MIN};
}

rz_time rz_wait_spin_ns(const struct rz_wait_rule *rule)
{
    rz_time spin = RZ_WAIT_WAKES * rule->wake_ns;
    spin = spin < RZ_WAIT_SPIN_MIN ? RZ_WAIT_SPIN_MIN : spin;
    return spin > RZ_WAIT_SPIN_MAX ? RZ_WAIT_SPIN_MAX : spin;
}

bool rz_wait_yields_cheaply(const struct rz_wait_rule *rule)
{
    return rule->yield_ns <= PROMPT_WAKES * rule->wake_ns;
}

/* If yielding has cost too much, it is tried again after some time. */
static void forget_yields(struct rz_wait_rule *rule)
{
    rule->yield_ns -= rule->yield_ns / 1024;
}

void rz_wait_begins(struct rz_wait_rule *rule, struct rz_wait_course *course)
{
    rule->waits++;
    if (!rz_wait_yields_cheaply(rule)) {
        forget_yields(rule);
    }
    if (rule->shared && rule->probe_in-- == 0) {
        course->probes = true;
        rule->probe_in = rule->probe_gap;
    }
}

enum rz_wait_step rz_wait_timed(struct rz_wait_rule *rule, struct rz_wait_course *course,
                                rz_time now)
{
    if (course->since == 0) {
        course->since = now;
        course->offer_at = now + RZ_WAIT_OFFER_MIN;
        return RZ_WAIT_SPIN;
    }
    rz_time spent = now - course->since;
    if (spent >= rz_wait_spin_ns(rule)) {
        return RZ_WAIT_SLEEP;
    }
    if (now < course->offer_at || course->probes || !rz_wait_yields_cheaply(rule)) {
        return RZ_WAIT_SPIN;
    }
    course->offer_at = now + spent;
    return RZ_WAIT_OFFER;
}

/* The next step of a wait that has yielded so often without an event. */
static enum rz_wait_step yield_or_sleep(const struct rz_wait_rule *rule, uint32_t yields)
{
    bool more = yields <= YIELDS_MAX || (rule->sleepless && yields % ROUNDS_PER_WORD != 0);
    return more ? RZ_WAIT_YIELD : RZ_WAIT_SLEEP;
}

static enum rz_wait_step counted_shared(const struct rz_wait_rule *rule, uint32_t idle)
{
    if (!rz_wait_yields_cheaply(rule)) {
        return idle <= ROUNDS_SHARED ? RZ_WAIT_SPIN : RZ_WAIT_SLEEP;
    }
    bool measures = idle == 1 && rule->waits % WAITS_PER_OFFER == 0;
    return measures ? RZ_WAIT_OFFER : yield_or_sleep(rule, idle);
}

enum rz_wait_step rz_wait_counted(const struct rz_wait_rule *rule, struct rz_wait_course *course)
{
    uint32_t idle = ++course->idle;
    if (rule->oversubscribed) {
        return yield_or_sleep(rule, idle);
    }
    if (rule->shared && !rule->sleepless) {
        return counted_shared(rule, idle);
    }
    if (idle <= ROUNDS_MAX) {
        return idle % ROUNDS_PER_YIELD != 0 ? RZ_WAIT_SPIN : RZ_WAIT_YIELD;
    }
    return yield_or_sleep(rule, idle - ROUNDS_MAX);
}

void rz_wait_offered(struct rz_wait_rule *rule, rz_time took)
{
    took = took < YIELD_MAX ? took : YIELD_MAX;
    rule->yield_ns = rule->yield_ns - rule->yield_ns / 8 + took / 8;
}

void rz_wait_slept(struct rz_wait_course *course, rz_time took)
{
    course->slept = true;
    course->slept_ns += took;
}

rz_time rz_wait_sleep_ns(const struct rz_wait_course *course, rz_time most)
{
    rz_time longest = 3 * course->slept_ns;
    longest = longest > RZ_MILLISECOND ? longest : RZ_MILLISECOND;
    return longest < most ? longest : most;
}

/* The result of a wait that spun on a processor that counts as shared. */
static void probed(struct rz_wait_rule *rule, bool good)
{
    rule->hits = good ? rule->hits / 2 : RZ_WAIT_HITS_MAX;
    rule->shared = rule->hits > SHARED_UNTIL;
    rule->probe_gap = good                              ? PROBE_MIN
                      : rule->probe_gap < PROBE_MAX / 2 ? rule->probe_gap * 2
                                                        : PROBE_MAX;
    rule->probe_in = rule->probe_gap;
}

static void add_hit(struct rz_wait_rule *rule)
{
    uint32_t forgotten = rule->waits / WAITS_PER_HIT;
    rule->hits = forgotten < rule->hits ? rule->hits - forgotten : 0;
    rule->hits = rule->hits + HIT < RZ_WAIT_HITS_MAX ? rule->hits + HIT : RZ_WAIT_HITS_MAX;
    rule->waits = 0;
    if (rule->hits >= SHARED_FROM) {
        rule->shared = true;
        rule->probe_in = rule->probe_gap = PROBE_MIN;
    }
}

void rz_wait_came(struct rz_wait_rule *rule, const struct rz_wait_course *course, bool displaced)
{
    bool prompt = course->slept && course->slept_ns <= PROMPT_WAKES * rule->wake_ns;
    if (course->probes) {
        probed(rule, !displaced && !course->slept);
    } else if (course->slept ? prompt : displaced) {
        add_hit(rule);
    } else if (rule->hits > 0) {
        rule->hits--;
    }
}

void rz_wait_woke(struct rz_wait_rule *rule, rz_time took)
{
    /* The time of a wake-up on an idle processor is meant, without the time for which the woken
     * process waited for one. */
    took = took < WAKE_MAX ? took : WAKE_MAX;
    if (took > rule->wake_ns) {
        rule->wake_ns += (took - rule->wake_ns) / 8;
    } else {
        rule->wake_ns -= (rule->wake_ns - took) / 2;
    }
}
