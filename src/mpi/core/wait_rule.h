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
 * Ranks that outnumber the processors yield a few times, then sleep. So do ranks that were found to
 * share one, whatever was counted: where an offered processor brought what was awaited.
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

/* The processor is first offered after this time, and again each time the wait is twice as long. */
#define RZ_WAIT_OFFER_MIN (4 * RZ_MICROSECOND)

/* Of a process. */
struct rz_wait_rule {
    bool crowded;     /* the ranks of this machine outnumber their processors */
    bool sleepless;   /* never sleep (rzrun --wait yield) */
    bool shared;      /* the processor was found to be shared with those who are awaited */
    unsigned hits;    /* the measure of that: 0 .. RZ_WAIT_HITS_MAX */
    unsigned waits;   /* that began by yielding since that was last measured */
    rz_time wake_ns;  /* what a wake-up takes here */
    rz_time offer_ns; /* after this time the processor is first offered */
};

enum { RZ_WAIT_HITS_MAX = 16 };

/* Of one waiting call, since the last event; {0} at its begin and after each event. */
struct rz_wait_course {
    uint32_t idle; /* rounds in vain */
    rz_time since, offer_at;
};

enum rz_wait_step {
    RZ_WAIT_SPIN,
    RZ_WAIT_YIELD, /* give the processor away once */
    RZ_WAIT_OFFER, /* the same, and tell what came of it (rz_wait_offered) */
    RZ_WAIT_SLEEP  /* where it is sleepless: say only what is awaited */
};

/* The rule of a process that begins. */
void rz_wait_rule_init(struct rz_wait_rule *rule, bool sleepless);

/* How long a wait spins before it sleeps. */
rz_time rz_wait_spin_ns(const struct rz_wait_rule *rule);

/* Whether time decides, rather than rounds. several: threads of this process wait beside this one,
 * or for its lock: then they must not be kept from it. */
static inline bool rz_wait_by_time(const struct rz_wait_rule *rule, bool several)
{
    return !(rule->crowded || rule->sleepless || rule->shared || several);
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
enum rz_wait_step rz_wait_counted(struct rz_wait_rule *rule, struct rz_wait_course *course);

/* The processor was offered, which took so long; displaced: somebody took it; brought: what lay
 * there afterwards was an event. */
void rz_wait_offered(struct rz_wait_rule *rule, bool displaced, bool brought, rz_time took);

/* A wake-up took so long, from the ring to the first instruction of the woken. */
void rz_wait_woke(struct rz_wait_rule *rule, rz_time took);

#endif
