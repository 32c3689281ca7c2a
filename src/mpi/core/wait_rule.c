#include "mpi/core/wait_rule.h"

/* A single wake-up counts for no more: the woken waited for a processor, too. */
#define WAKE_MAX RZ_MILLISECOND

/* Where rounds decide and the ranks are not crowded (threads that wait beside each other, and
 * sleepless ranks): so many rounds, the lock and the processor being given away once in so many. */
enum { ROUNDS_MAX = 1000, ROUNDS_PER_YIELD = 32 };

/* After them: give the processor away so often before sleeping. */
enum { YIELDS_MAX = 16 };

/* Sleepless ranks say what they wait for once in so many rounds. */
enum { ROUNDS_PER_WORD = 1024 };

/* A processor counts as shared from so many hits on, and until so few. */
enum { SHARED_FROM = 8, SHARED_UNTIL = 3, HIT = 2 };

/* Whether a processor is still shared is looked at once in so many waits that yield. */
enum { WAITS_PER_LOOK = 8 };

/* An offer that took longer than so many wake-ups was taken by a stranger, not by a partner. */
enum { STRANGER_WAKES = 2 };

void rz_wait_rule_init(struct rz_wait_rule *rule, bool sleepless)
{
    *rule = (struct rz_wait_rule){
        .sleepless = sleepless, .wake_ns = RZ_WAIT_WAKE_GUESS, .offer_ns = RZ_WAIT_OFFER_MIN};
}

rz_time rz_wait_spin_ns(const struct rz_wait_rule *rule)
{
    rz_time spin = RZ_WAIT_WAKES * rule->wake_ns;
    spin = spin < RZ_WAIT_SPIN_MIN ? RZ_WAIT_SPIN_MIN : spin;
    return spin > RZ_WAIT_SPIN_MAX ? RZ_WAIT_SPIN_MAX : spin;
}

enum rz_wait_step rz_wait_timed(struct rz_wait_rule *rule, struct rz_wait_course *course,
                                rz_time now)
{
    if (course->since == 0) {
        course->since = now;
        course->offer_at = now + rule->offer_ns;
        return RZ_WAIT_SPIN;
    }
    rz_time spent = now - course->since;
    if (spent >= rz_wait_spin_ns(rule)) {
        /* Offers that cost too much are tried again some time. */
        rule->offer_ns = RZ_WAIT_OFFER_MIN + (rule->offer_ns - RZ_WAIT_OFFER_MIN) / 2;
        return RZ_WAIT_SLEEP;
    }
    if (now < course->offer_at) {
        return RZ_WAIT_SPIN;
    }
    course->offer_at = now + spent;
    return RZ_WAIT_OFFER;
}

/* The wait has yielded so often in vain. */
static enum rz_wait_step yield_or_sleep(const struct rz_wait_rule *rule, uint32_t yields)
{
    bool more = yields <= YIELDS_MAX || (rule->sleepless && yields % ROUNDS_PER_WORD != 0);
    return more ? RZ_WAIT_YIELD : RZ_WAIT_SLEEP;
}

enum rz_wait_step rz_wait_counted(struct rz_wait_rule *rule, struct rz_wait_course *course)
{
    uint32_t idle = ++course->idle;
    if (rule->crowded) {
        return yield_or_sleep(rule, idle);
    }
    if (rule->shared && !rule->sleepless) {
        bool looks = idle == 1 && ++rule->waits % WAITS_PER_LOOK == 0;
        return looks ? RZ_WAIT_OFFER : yield_or_sleep(rule, idle);
    }
    if (idle <= ROUNDS_MAX) {
        return idle % ROUNDS_PER_YIELD != 0 ? RZ_WAIT_SPIN : RZ_WAIT_YIELD;
    }
    return yield_or_sleep(rule, idle - ROUNDS_MAX);
}

static bool is_shared(const struct rz_wait_rule *rule)
{
    return rule->shared ? rule->hits > SHARED_UNTIL : rule->hits >= SHARED_FROM;
}

void rz_wait_offered(struct rz_wait_rule *rule, bool displaced, bool brought, rz_time took)
{
    bool dear = displaced && took > STRANGER_WAKES * rule->wake_ns;
    if (dear) { /* not soon again */
        rz_time longer = 4 * rule->offer_ns;
        rule->offer_ns = longer < 2 * RZ_WAIT_SPIN_MAX ? longer : 2 * RZ_WAIT_SPIN_MAX;
    } else {
        rule->offer_ns = RZ_WAIT_OFFER_MIN + (rule->offer_ns - RZ_WAIT_OFFER_MIN) / 2;
    }
    if (displaced && brought && !dear) {
        rule->hits = rule->hits + HIT < RZ_WAIT_HITS_MAX ? rule->hits + HIT : RZ_WAIT_HITS_MAX;
    } else if (rule->hits > 0) {
        rule->hits--;
    }
    rule->shared = is_shared(rule);
}

void rz_wait_woke(struct rz_wait_rule *rule, rz_time took)
{
    took = took < WAKE_MAX ? took : WAKE_MAX;
    if (took > rule->wake_ns) {
        rule->wake_ns += (took - rule->wake_ns) / 2;
    } else {
        rule->wake_ns -= (rule->wake_ns - took) / 8;
    }
}
