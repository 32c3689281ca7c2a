/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a waiting call spins, offers its processor to others, or sleeps. A pure rule: it reads no
 * clock and makes no system call; times are handed in.
 *
 * A rank with a processor of its own spins for as long as several wake-ups take on this machine,
 * and only then sleeps. A shorter spin would feed itself: a rank that is being woken keeps its
 * partner waiting for longer than the partner spins, so that the partner sleeps next, and so on.
 * Whatever a wait turns out to be, sleeping lengthens it by at most 1 / RZ_WAIT_WAKES, and spinning
 * costs at most RZ_WAIT_WAKES wake-ups of processor time (Karlin, Li, Manasse, Owicki: Empirical
 * studies of competitive spinning for a shared-memory multiprocessor, SOSP 1991, spin for one).
 * What a wake-up takes is measured as it happens (rz_wait_woke).
 *
 * Ranks that outnumber the processors yield a few times, then sleep. Where ranks were found to
 * share a processor, whatever was counted, they yield at once, or where that costs more than a
 * wake-up (others take whole time slices) sleep at once. That is so where giving the processor up,
 * on purpose or not, brought what was awaited, in one wait out of a few. Now and then such a rank
 * spins, to find out whether its partners have a processor of their own again.
 */
#ifndef RZ_MPI_WAIT_RULE_H
#define RZ_MPI_WAIT_RULE_H

#include <rhizome/types.h>

#include <stdbool.h>

/* A wait spins for as long as so many wake-ups take: a collective operation over 256 ranks may wait
 * for a chain of eight sleepers. */
#define RZ_WAIT_WAKES 8

/* Bounds of the time that a wait spins, whatever wake-ups take. */
#define RZ_WAIT_SPIN_MIN (50 * RZ_MICROSECOND)
#define RZ_WAIT_SPIN_MAX (8 * RZ_MILLISECOND)

/* What a wake-up is taken to cost before the first one was measured. */
#define RZ_WAIT_WAKE_GUESS (50 * RZ_MICROSECOND)

/* The clock is read once in so many rounds. */
#define RZ_WAIT_ROUNDS_PER_LOOK 64

/* The processor is first offered after this time, and again each time the wait is twice as long:
 * rarely, however long it is. */
#define RZ_WAIT_OFFER_MIN (4 * RZ_MICROSECOND)

/* Of a process. */
struct rz_wait_rule {
    bool crowded;   /* the ranks of this machine outnumber their processors */
    bool sleepless; /* never sleep (rzrun --wait yield) */
    bool shared;    /* the processor was found to be shared with those who are awaited */
    unsigned hits;  /* the measure of that: 0 .. RZ_WAIT_HITS_MAX */
    uint32_t waits; /* since the last hit */
    uint32_t probe_in, probe_gap; /* shared: after so many waits one spins; between two such */
    rz_time wake_ns;              /* what a wake-up takes here */
    rz_time yield_ns;             /* what giving the processor away takes here */
};

enum { RZ_WAIT_HITS_MAX = 16 };

/* Of one waiting call, since the last event; {0} at its begin and after each event. */
struct rz_wait_course {
    uint32_t idle; /* rounds in vain */
    bool probes, slept;
    rz_time since, offer_at, slept_ns;
    uint64_t losses; /* for the caller: of the processor, when the clock was first looked at */
};

enum rz_wait_step {
    RZ_WAIT_SPIN,
    RZ_WAIT_YIELD, /* give the processor away once */
    RZ_WAIT_OFFER, /* the same, and tell how long that took (rz_wait_offered) */
    RZ_WAIT_SLEEP  /* where it is sleepless: say only what is awaited */
};

/* The rule of a process that begins. */
void rz_wait_rule_init(struct rz_wait_rule *rule, bool sleepless);

/* How long a wait spins before it sleeps. */
rz_time rz_wait_spin_ns(const struct rz_wait_rule *rule);

/* A first round was in vain: a wait begins. */
void rz_wait_begins(struct rz_wait_rule *rule, struct rz_wait_course *course);

/* Whether giving the processor away takes no longer than being woken. */
bool rz_wait_yields_cheaply(const struct rz_wait_rule *rule);

/* Whether time decides, rather than rounds. several: other threads of this process are inside
 * calls: they must not be kept from the lock. */
static inline bool rz_wait_by_time(const struct rz_wait_rule *rule,
                                   const struct rz_wait_course *course, bool several)
{
    return !(rule->crowded || rule->sleepless || several) && (!rule->shared || course->probes);
}

/* Another round was in vain, and time decides: whether the clock is to be looked at. */
static inline bool rz_wait_looks(struct rz_wait_course *course)
{
    return ++course->idle % RZ_WAIT_ROUNDS_PER_LOOK == 0;
}

/* The next step where time decides and rz_wait_looks said so. */
enum rz_wait_step rz_wait_timed(struct rz_wait_rule *rule, struct rz_wait_course *course,
                                rz_time now);

/* Another round was in vain, and rounds decide: the next step. */
enum rz_wait_step rz_wait_counted(const struct rz_wait_rule *rule, struct rz_wait_course *course);

/* The processor was offered, and was back after so long. */
void rz_wait_offered(struct rz_wait_rule *rule, rz_time took);

/* The call slept for so long. */
void rz_wait_slept(struct rz_wait_course *course, rz_time took);

/* An event ends a wait in which time decided and the clock was looked at. displaced: the processor
 * was lost since then, given away or not. */
void rz_wait_came(struct rz_wait_rule *rule, const struct rz_wait_course *course, bool displaced);

/* A wake-up took so long, from the ring to the first instruction of the woken. */
void rz_wait_woke(struct rz_wait_rule *rule, rz_time took);

#endif
