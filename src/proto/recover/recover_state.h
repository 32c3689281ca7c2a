/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a recover object; private to the component. */
#ifndef RZ_PROTO_RECOVER_STATE_H
#define RZ_PROTO_RECOVER_STATE_H

#include "proto/mutation.h"
#include "proto/agree/agree.h"
#include "proto/recover/recover.h"

/* The state of a daemon. KNOWN and PROOF are this member's knowledge, the others are the same at
 * all members. */
enum {
    DAEMON_KNOWN = 1,       /* failed as far as this member knows */
    DAEMON_PROOF = 2,       /* with proof */
    DAEMON_AGREED = 4,      /* failed by decision */
    DAEMON_GONE = 8,        /* and not in the electorate any more */
    DAEMON_REPAIRED = 16,   /* and an epoch has begun without it */
    DAEMON_NAMED = 32,      /* an item of the decision being processed */
    DAEMON_NAMED_PROOF = 64 /* with proof */
};

/* The bits of a contribution's `and`. */
enum {
    ALL_REACHED = 1, /* the end of the phase is reached, and no failure is known */
    ALL_AWARE = 2,   /* a failure, an unrepaired rank or a requested spawn is known */
    ALL_ENTERED = 4 /* all living local processes have entered MPIX_Reinit, or are ready to leave */
};

enum { NOTICE_NONE = UINT32_MAX };

/* Upper bound of the cohorts that one decision settles; the others wait for the next one. Bounds
 * the notice. */
enum { COHORTS_SETTLED_MAX = 64 };

/* A roll call asks so many at most, and the suspect. */
enum { RZ_RECOVER_ASKED_MAX = 64 };

/* One flat block: this, the arrays at the offsets, last the two parts that may grow: the cohorts
 * wanted, and the agree object. */
struct rz_recover {
    uint32_t n_daemons, n_ranks, n_slots;
    rz_id self, tie_breaker;
    uint32_t view, restarts_max, mutations;
    bool slots_limit, lost_together, all_begin;

    /* The same at all members that saw the same decisions. */
    uint32_t epoch, phase, restarts;
    uint32_t round;      /* decisions that spawned processes */
    uint64_t generation; /* the newest one agreed */
    uint64_t opened;     /* the one restored when the last barrier ENTER opened */
    bool fell_back;      /* rolled back since then, to the generation before the newest */
    bool from_start;     /* no generation can be restored: all begin at the start of the program */
    bool repairing;      /* a process has entered MPIX_Reinit, and none is yet to enter it */
    bool stopped;
    bool spawns_named; /* by a decision that settled nothing: all members know of some failure,
                          perhaps of different ones */

    /* This member's own. */
    bool repairing_here;
    bool reached;                 /* the end of the current phase */
    uint64_t generation_known;    /* >= generation */
    uint64_t generation_proposed; /* in the pending contribution */
    bool proposed_aware;          /* and that contribution knew of a failure */
    uint32_t fresh, lost; /* slots and daemons known failed, not noted; noted, not repaired */
    uint32_t wanted;      /* spawns and cohorts to contribute */
    uint32_t found;       /* daemons that have found damage in this epoch */
    uint32_t n_cohorts, cohorts_max; /* requested and not decided */
    uint32_t cohorts_needed;         /* > cohorts_max: grow must provide for this many */

    /* The roll call under way. */
    bool asking;
    uint32_t n_suspects, n_reports; /* to be reported if it ends so; that the host is to be told */
    rz_time call_began;
    rz_time report_at; /* RZ_TIME_NEVER: those that have answered are no quorum */
    rz_id asker;       /* a destination lives here until the next step */

    /* Work for CONTINUE: first what agree still has to do, then the notice, then the next
     * contribution. */
    bool agree_more;
    uint32_t notice; /* enum rz_recover_notice or NOTICE_NONE */
    uint32_t n_notice_items;
    uint64_t notice_arg[3];
    bool spawns_notice;                /* RZ_RECOVER_SPAWNS follows */
    uint32_t spawns_at, n_spawn_items; /* its items stand behind those of the other notice */
    uint32_t spawns_status;            /* rz_status_t */

    /* Offsets from the start of the block. */
    size_t items_at;       /* uint64_t [items_max]: of a contribution, or of both notices */
    size_t placement_at;   /* uint32_t [n_slots] */
    size_t incarnation_at; /* uint32_t [n_slots]: the current one; 0: none yet */
    size_t known_at;       /* uint32_t [n_slots]: newest incarnation known failed */
    size_t noted_at;       /* uint32_t [n_slots]: newest incarnation failed by decision */
    size_t freed_at;       /* uint64_t [n_slots]: the decision that noted it */
    size_t asked_at;       /* uint32_t [n_slots]: newest incarnation known to be requested */
    size_t refused_at;     /* uint32_t [n_slots]: newest incarnation refused */
    size_t cohort_at;      /* uint64_t [n_slots]: the last cohort that got the slot, or 0 */
    size_t cohort_from_at; /* uint32_t [n_slots]: and the incarnation spawned by it */
    size_t serial_at;      /* uint32_t [n_daemons]: its newest cohort decided */
    size_t found_at;       /* uint32_t [n_daemons]: the newest epoch in which it found damage */
    size_t slots_at;       /* uint32_t [n_daemons] */
    size_t load_at;        /* uint32_t [n_daemons]: scratch */
    size_t daemon_at;      /* uint8_t [n_daemons]: DAEMON_* */
    size_t call_at;        /* uint8_t [n_daemons]: what the roll call knows of it */
    size_t asked_ids_at;   /* rz_id [RZ_RECOVER_ASKED_MAX + 1]: destinations, until the next step */
    size_t restless_at;    /* bit set of slots: those of which something is open, at least */
    size_t troubled_at;    /* bit set of daemons: likewise */
    size_t begun_at;       /* bit set of ranks: restarted by the newest epoch */
    size_t scratch_at;     /* uint8_t or bool [n_daemons] */
    size_t cohorts_at;     /* uint64_t [cohorts_max], sorted */
    size_t agree_at, agree_bytes;
};

static inline void *rz_recover_at(const struct rz_recover *r, size_t offset)
{
    return (char *)(uintptr_t)r + offset;
}
static inline struct rz_agree *rz_recover_agree(const struct rz_recover *r)
{
    return rz_recover_at(r, r->agree_at);
}
static inline uint64_t *rz_recover_items(const struct rz_recover *r)
{
    return rz_recover_at(r, r->items_at);
}
static inline uint32_t *rz_recover_placement(const struct rz_recover *r)
{
    return rz_recover_at(r, r->placement_at);
}
static inline uint32_t *rz_recover_incarnation(const struct rz_recover *r)
{
    return rz_recover_at(r, r->incarnation_at);
}
static inline uint32_t *rz_recover_known(const struct rz_recover *r)
{
    return rz_recover_at(r, r->known_at);
}
static inline uint32_t *rz_recover_noted(const struct rz_recover *r)
{
    return rz_recover_at(r, r->noted_at);
}
static inline uint64_t *rz_recover_freed(const struct rz_recover *r)
{
    return rz_recover_at(r, r->freed_at);
}
static inline uint32_t *rz_recover_asked(const struct rz_recover *r)
{
    return rz_recover_at(r, r->asked_at);
}
static inline uint32_t *rz_recover_refused(const struct rz_recover *r)
{
    return rz_recover_at(r, r->refused_at);
}
static inline uint64_t *rz_recover_cohort(const struct rz_recover *r)
{
    return rz_recover_at(r, r->cohort_at);
}
static inline uint32_t *rz_recover_cohort_from(const struct rz_recover *r)
{
    return rz_recover_at(r, r->cohort_from_at);
}
static inline uint32_t *rz_recover_serial(const struct rz_recover *r)
{
    return rz_recover_at(r, r->serial_at);
}
static inline uint32_t *rz_recover_found(const struct rz_recover *r)
{
    return rz_recover_at(r, r->found_at);
}
static inline uint64_t *rz_recover_cohorts(const struct rz_recover *r)
{
    return rz_recover_at(r, r->cohorts_at);
}
static inline uint8_t *rz_recover_daemons(const struct rz_recover *r)
{
    return rz_recover_at(r, r->daemon_at);
}

static inline uint8_t *rz_recover_call(const struct rz_recover *r)
{
    return rz_recover_at(r, r->call_at);
}

/*
 * Bit sets of slots and daemons: the work grows with failures, and a pass over all members costs
 * one bit of each, no more. A slot is restless from the first report of a failure or a spawn on,
 * until rz_recover_recount finds no open work for it; a daemon is troubled likewise.
 */
enum { RZ_RECOVER_WORD = 64 };

static inline size_t rz_recover_words(uint32_t n)
{
    return ((size_t)n + RZ_RECOVER_WORD - 1) / RZ_RECOVER_WORD;
}
static inline uint64_t *rz_recover_restless(const struct rz_recover *r)
{
    return rz_recover_at(r, r->restless_at);
}
static inline uint64_t *rz_recover_troubled(const struct rz_recover *r)
{
    return rz_recover_at(r, r->troubled_at);
}
static inline uint64_t *rz_recover_begun(const struct rz_recover *r)
{
    return rz_recover_at(r, r->begun_at);
}
static inline void rz_recover_bit_set(uint64_t *bits, uint32_t i)
{
    bits[i / RZ_RECOVER_WORD] |= UINT64_C(1) << i % RZ_RECOVER_WORD;
}
static inline void rz_recover_bit_clear(uint64_t *bits, uint32_t i)
{
    bits[i / RZ_RECOVER_WORD] &= ~(UINT64_C(1) << i % RZ_RECOVER_WORD);
}

/* The first of the n bits that is set, starting at `from`; n: none. */
static inline uint32_t rz_recover_bit_next(const uint64_t *bits, uint32_t n, uint32_t from)
{
    if (from >= n) {
        return n;
    }
    size_t word = from / RZ_RECOVER_WORD, words = rz_recover_words(n);
    uint64_t left = bits[word] & UINT64_MAX << from % RZ_RECOVER_WORD;
    while (left == 0 && ++word < words) {
        left = bits[word];
    }
    return left == 0 ? n : (uint32_t)(word * RZ_RECOVER_WORD) + (uint32_t)__builtin_ctzll(left);
}
static inline uint32_t rz_recover_next_restless(const struct rz_recover *r, uint32_t from)
{
    return rz_recover_bit_next(rz_recover_restless(r), r->n_slots, from);
}
static inline rz_id rz_recover_next_troubled(const struct rz_recover *r, rz_id from)
{
    return rz_recover_bit_next(rz_recover_troubled(r), r->n_daemons, from);
}

/* The header of a for statement over all set bits in order. */
#define EACH_RESTLESS(r, slot)                                                                     \
    uint32_t slot = rz_recover_next_restless(r, 0);                                                \
    slot < (r)->n_slots;                                                                           \
    slot = rz_recover_next_restless(r, slot + 1)
#define EACH_TROUBLED(r, daemon)                                                                   \
    rz_id daemon = rz_recover_next_troubled(r, 0);                                                 \
    daemon < (r)->n_daemons;                                                                       \
    daemon = rz_recover_next_troubled(r, daemon + 1)

/* A failure in this slot is known here and not noted by a decision yet: of the current incarnation
 * or of one that has not begun here. */
static inline bool rz_recover_slot_fresh(const struct rz_recover *r, uint32_t slot)
{
    return rz_recover_known(r)[slot] > rz_recover_noted(r)[slot];
}

/* Failed by decision, and not restarted. Spawned processes are not restarted. */
static inline bool rz_recover_slot_lost(const struct rz_recover *r, uint32_t slot)
{
    return slot < r->n_ranks && rz_recover_noted(r)[slot] >= rz_recover_incarnation(r)[slot];
}

/* Whether the slot holds or held a process that can have a successor. */
static inline bool rz_recover_slot_used(const struct rz_recover *r, uint32_t slot)
{
    return slot < r->n_ranks || rz_recover_cohort(r)[slot] != 0;
}

/* The successor of the failed process of this slot is requested and not decided yet. */
static inline bool rz_recover_slot_wanted(const struct rz_recover *r, uint32_t slot)
{
    uint32_t asked = rz_recover_asked(r)[slot];
    return asked > rz_recover_incarnation(r)[slot] && asked != rz_recover_refused(r)[slot] &&
           rz_recover_slot_used(r, slot);
}

/* Damage that a daemon has found in this epoch counts, even if the daemon has failed: then another
 * epoch follows anyway, and the damage is found again. */
static inline bool rz_recover_damage_counts(const struct rz_recover *r, rz_id daemon,
                                            uint32_t epoch)
{
    return daemon < r->n_daemons && r->repairing && r->phase == RZ_PHASE_ENTER &&
           (epoch == r->epoch || (epoch > 0 && RZ_MUTATED(r->mutations, RZ_RECOVER_ANY_DAMAGE))) &&
           !(rz_recover_daemons(r)[daemon] & DAEMON_AGREED);
}

/* Known failed here, and not by decision. */
static inline bool rz_recover_daemon_fresh(const struct rz_recover *r, rz_id daemon)
{
    return (rz_recover_daemons(r)[daemon] & (DAEMON_KNOWN | DAEMON_AGREED)) == DAEMON_KNOWN;
}

/* Failed by decision, and no epoch has begun without it. */
static inline bool rz_recover_daemon_lost(const struct rz_recover *r, rz_id daemon)
{
    return (rz_recover_daemons(r)[daemon] & (DAEMON_AGREED | DAEMON_REPAIRED)) == DAEMON_AGREED;
}

/* Counts r->fresh, r->lost, r->found and r->wanted again; slots and daemons without open work are
 * removed from the bit sets. */
void rz_recover_recount(struct rz_recover *r);

/* Notes the item if it is of damage. */
void rz_recover_learn_damage(struct rz_recover *r, uint64_t item);

/* ---- spawns, recover_spawn.c ---- */

/* A request: RZ_RECOVER_WANT. Whether there is memory for its cohorts; otherwise r->cohorts_needed
 * is their number. */
bool rz_recover_want_fits(struct rz_recover *r, const uint64_t *items, uint32_t n_items);
void rz_recover_want(struct rz_recover *r, const uint64_t *items, uint32_t n_items);

/*
 * From now on all members know that spawns are requested, if a decision names any. Not which ones,
 * because there may be no memory for its cohorts: the members that contributed them do so again,
 * and the others contribute with that knowledge.
 */
void rz_recover_learn_spawns(struct rz_recover *r, const uint64_t *items, uint32_t n_items);

/* The cohorts to contribute; forgets those that are decided or dropped. */
uint32_t rz_recover_recount_cohorts(struct rz_recover *r);

/*
 * Before a contribution: bounds what is known of incarnations that have not begun here. All
 * decisions to which this member contributed are processed, and no member begins an incarnation
 * without its contribution. So a member that has seen the next incarnation begin has decided the
 * last operation otherwise, and has failed: such a decision is lost with all members that took it.
 * It spawned one incarnation of a slot at most.
 */
void rz_recover_bound_lost(struct rz_recover *r);

/* This member's contribution: writes spawns, then cohorts; returns their number. */
uint32_t rz_recover_collect_spawns(const struct rz_recover *r, uint64_t *items);

/* Carries out the spawns of a decision that settles; failures are already noted. Writes the items
 * of the notice to r's items from `at` on and enables the notice if there are any. */
void rz_recover_settle_spawns(struct rz_recover *r, const struct rz_action *decided, uint32_t at);

/*
 * Whether agree knows a failed member whose failure was not reported yet: it failed during an
 * agreement. The evidence counts in the quorum, so this member waits for the report before it
 * contributes again; each failure is reported to every daemon.
 */
bool rz_recover_awaits_news(const struct rz_recover *r);

/* Stops this member if others consider it failed: by their agreement; by reports. */
void rz_recover_look_at_self(struct rz_recover *r);
void rz_recover_be_fenced(struct rz_recover *r);

/* ---- the roll call, recover_roll_call.c ---- */

/* The calls SUSPECT and HEARD, and the messages of the roll call. */
void rz_recover_suspect(struct rz_recover *r, rz_id daemon, bool for_good, rz_time now,
                        struct rz_actions *out);
void rz_recover_hear(struct rz_recover *r, rz_id daemon, rz_time now);
void rz_recover_roll_call_message(struct rz_recover *r, const struct rz_message *message,
                                  rz_time now, struct rz_actions *out);

/* A daemon is known failed: no daemon needs to suspect it any more, and it is no voter. */
void rz_recover_suspect_failed(struct rz_recover *r, rz_id daemon, rz_time now);

/* Ends the roll call where all that it is to find is found. */
void rz_recover_count_answers(struct rz_recover *r, rz_time now);

/* When the suspects are held for failed, unless they are heard; RZ_TIME_NEVER: not yet known. */
rz_time rz_recover_report_at(const struct rz_recover *r);

/* Tells the host of one of r->n_reports. */
void rz_recover_give_report(struct rz_recover *r, struct rz_actions *out);

uint64_t rz_recover_hash_call(const struct rz_recover *r, uint64_t h);

/* Works a decision in: agree's RZ_AGREE_DECIDED. Leaves a notice at most. */
void rz_recover_decide(struct rz_recover *r, const struct rz_action *decided);

#endif
