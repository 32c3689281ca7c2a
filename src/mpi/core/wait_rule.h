/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a waiting call spins, offers its processor to others, or sleeps. A pure rule: it reads no
 * clock and makes no system call; the caller passes times.
 *
 * A rank with a processor of its own spins for as long as several wake-ups take on this machine,
 * and only then sleeps. A shorter spin would reinforce itself: a rank that is being woken keeps its
 * partner waiting for longer than the partner spins, so that the partner sleeps next, and so on.
 * Whatever the length of a wait, sleeping lengthens it by at most 1 / RZ_WAIT_WAKES, and spinning
 * costs at most RZ_WAIT_WAKES wake-ups of processor time (Karlin, Li, Manasse, Owicki: Empirical
 * studies of competitive spinning for a shared-memory multiprocessor, SOSP 1991, spin for one). The
 * time of a wake-up is measured when one happens (rz_wait_woke).
 *
 * Ranks that outnumber the processors yield a few times, then sleep. Ranks that are found to share
 * a processor, whatever was counted, yield at once; or they sleep at once where a yield costs more
 * than a wake-up (other processes use whole time slices). A processor counts as shared when giving
 * it up, voluntarily or not, brought the awaited event in one wait out of a few. From time to time
 * such a rank spins, to find out whether its partners have a processor of their own again.
 */
#ifndef RZ_MPI_WAIT_RULE_H
#define RZ_MPI_WAIT_RULE_H

#include <rhizome/types.h>

#include <stdbool.h>

/* A wait spins for the time of so many wake-ups: a collective operation over 256 ranks may wait for
 * a chain of eight sleeping processes. */
#define RZ_WAIT_WAKES 8

/* Bounds of the time that a wait spins, whatever a wake-up takes. */
#define RZ_WAIT_SPIN_MIN (50 * RZ_MICROSECOND)
#define RZ_WAIT_SPIN_MAX (8 * RZ_MILLISECOND)

/* The assumed time of a wake-up before the first one was measured. */
#define RZ_WAIT_WAKE_GUESS (50 * RZ_MICROSECOND)

/* The clock is read once in so many rounds. */
#define RZ_WAIT_ROUNDS_PER_LOOK 64

/* The processor is first offered after this time, and again each time the wait has become twice as
 * long: rarely, whatever the length of the wait. */
#define RZ_WAIT_OFFER_MIN (4 * RZ_MICROSECOND)

/* The rule's state in a process. */
struct rz_wait_rule {
    bool oversubscribed;          /* the ranks of this machine outnumber their processors */
    bool sleepless;               /* never sleeps (rzrun --wait yield) */
    bool shared;                  /* the processor was found to be shared with awaited processes */
    unsigned hits;                /* the measure of sharing: 0 .. RZ_WAIT_HITS_MAX */
    uint32_t waits;               /* number of waits since the last hit */
    uint32_t probe_in, probe_gap; /* while shared: number of waits until one spins; number between
                                     two such waits */
    rz_time wake_ns;              /* measured time of a wake-up */
    rz_time yield_ns;             /* measured time of giving the processor away */
};

enum { RZ_WAIT_HITS_MAX = 16 };

/* One waiting call since the last event; {0} at its beginning and after each event. */
struct rz_wait_course {
    uint32_t idle; /* rounds without an event */
    bool probes, slept;
    rz_time since, offer_at, slept_ns;
    bool watched; /* used by the caller: it knows how often the processor had been lost before */
    uint64_t losses;
};

enum rz_wait_step {
    RZ_WAIT_SPIN,
    RZ_WAIT_YIELD, /* give the processor away once */
    RZ_WAIT_OFFER, /* as YIELD, and report how long it took (rz_wait_offered) */
    RZ_WAIT_SLEEP  /* a sleepless rank only reports what it waits for */
};

/* Initialises the rule. */
void rz_wait_rule_init(struct rz_wait_rule *rule, bool sleepless);

/* How long a wait spins before it sleeps. */
rz_time rz_wait_spin_ns(const struct rz_wait_rule *rule);

/* The first round brought no event: a wait begins. */
void rz_wait_begins(struct rz_wait_rule *rule, struct rz_wait_course *course);

/* Whether giving the processor away takes no longer than a wake-up. */
bool rz_wait_yields_cheaply(const struct rz_wait_rule *rule);

/* Whether most waits end before they sleep. */
static inline bool rz_wait_sleeps_seldom(const struct rz_wait_rule *rule)
{
    return !rule->oversubscribed && !rule->shared;
}

/* Whether time decides, and not the number of rounds. several: other threads of this process are
 * inside calls, and must get the lock. */
static inline bool rz_wait_by_time(const struct rz_wait_rule *rule,
                                   const struct rz_wait_course *course, bool several)
{
    return !(rule->oversubscribed || rule->sleepless || several) &&
           (!rule->shared || course->probes);
}

/* A further round brought no event, and time decides: whether the clock is to be read. */
static inline bool rz_wait_looks(struct rz_wait_course *course)
{
    return ++course->idle % RZ_WAIT_ROUNDS_PER_LOOK == 0;
}

/* The next step where time decides and rz_wait_looks returned true. */
enum rz_wait_step rz_wait_timed(struct rz_wait_rule *rule, struct rz_wait_course *course,
                                rz_time now);

/* A further round brought no event, and rounds decide: the next step. */
enum rz_wait_step rz_wait_counted(const struct rz_wait_rule *rule, struct rz_wait_course *course);

/*
 * How long the next sleep may last, at most `most`: 1 ms at first, then three times as long as the
 * wait has slept since its last event. On some virtual machines a wake-up is now and then not seen
 * before the next timer (a few of 10^5, measured by two processes with a futex); this is what it
 * costs then.
 */
rz_time rz_wait_sleep_ns(const struct rz_wait_course *course, rz_time most);

/* The processor was offered, and was available again after so long. */
void rz_wait_offered(struct rz_wait_rule *rule, rz_time took);

/* The call slept for so long. */
void rz_wait_slept(struct rz_wait_course *course, rz_time took);

/* An event ends a wait in which time decided and the clock was read. displaced: the processor was
 * lost since then, voluntarily or not. */
void rz_wait_came(struct rz_wait_rule *rule, const struct rz_wait_course *course, bool displaced);

/* A wake-up took so long, from ringing the doorbell to the first instruction of the woken
 * process. */
void rz_wait_woke(struct rz_wait_rule *rule, rz_time took);

#endif
