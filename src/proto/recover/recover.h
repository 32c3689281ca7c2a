/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The recovery of a job by its daemons: epochs, placement, spawns, barriers, quorum. There is no
 * leader: all daemons agree (component agree, inside this object) and then compute the same
 * results.
 *
 * There is one unbounded sequence of agreements for everything. A daemon contributes to the next
 * one when
 *   - it knows of a failure that is not agreed yet (its own observation, or a report), or
 *   - it knows of a requested spawn that is not decided yet (likewise), or
 *   - all its processes have reached the barrier of the current phase, or
 *   - all its living processes have entered MPIX_Reinit and a failure was only noted before, or
 *   - it knows that a piece of the generation that this epoch rolls back to is complete at no
 * daemon. A daemon never contributes merely because another one has: reports of failures reach all
 * daemons anyway, and a barrier to which others contributed "not yet" would be repeated without
 * end.
 *
 * A decision with fresh failures means, in a job that repairs itself (a process has entered
 * MPIX_Reinit, and no living process is yet to enter it), epoch + 1 with a new placement, phase
 * ENTER; in another job the failed processes are only noted. A decision without failures that all
 * daemons contributed to with "reached" opens the barrier: ENTER -> RUN (processes are released),
 * RUN -> LEFT (all have left). Starting the job is the same: epoch 1, phase ENTER, the placement of
 * the launcher.
 *
 * If a generation turns out to be damaged beyond restoration before the barrier ENTER has opened,
 * that also means epoch + 1, which rolls back to the generation before it, if that one may still be
 * in memory; otherwise the job stops. Whether it is there is not checked in advance: if it is not,
 * that is found in the same way.
 *
 * Processes occupy slots: slots 0 to n_ranks - 1 are the ranks of the launcher, the slots behind
 * them are empty at the start. A process is (slot, incarnation). Spawns are decided in phase RUN of
 * a job that does not repair itself; otherwise they are refused. A spawn replaces the failed
 * process of a slot by its next incarnation; a cohort is a number of new processes in free slots
 * behind n_ranks, all or none. Epoch and phase stay; the barrier is counted again, because the
 * spawned processes take part in it.
 *
 * Everything after a decision is a pure function of (decision, state before), so all daemons reach
 * the same state.
 *
 * Quorum: daemons failed with proof are removed from the electorate; silent ones count against the
 * majority until the survivors have confirmed each other by a further decision; in a tie the side
 * with the tie-breaker wins (the daemon with the launcher attached, or the lowest of the
 * electorate). See docs/protocols/recover.md.
 */
#ifndef RZ_PROTO_RECOVER_H
#define RZ_PROTO_RECOVER_H

#include <rhizome/protocol.h>

enum rz_recover_phase { RZ_PHASE_ENTER, RZ_PHASE_RUN, RZ_PHASE_LEFT };

/* Deliberate faults, which prove that the checkers find them; 0 in production. */
enum rz_recover_mutation {
    RZ_RECOVER_LATE_REACHED = 1,      /* a REACHED of another epoch or phase counts */
    RZ_RECOVER_DEATHLESS_BARRIER = 2, /* a barrier opens although failures are known */
    RZ_RECOVER_OWN_GENERATION = 4, /* restore the own newest generation instead of the agreed one */
    RZ_RECOVER_OWN_PLACEMENT =
        8, /* place ranks by the failures known here, not by the agreed ones */
    RZ_RECOVER_ANY_INCARNATION = 16, /* an old report of a failure counts for the new incarnation */
    RZ_RECOVER_UNAWARE = 32,         /* settle failures even if a contributor knew of none */
    RZ_RECOVER_OWN_SPAWN_PLACE = 64, /* place spawns by the failures known here */
    RZ_RECOVER_ANY_COHORT = 128,     /* an old report of a cohort counts */
    RZ_RECOVER_KEEP_REACHED = 256,   /* what was reached before a spawn still counts */
    RZ_RECOVER_ANY_SPAWN = 512,      /* an old report of a spawn counts for the next incarnation */
    RZ_RECOVER_KNOWN_FREE = 1024,    /* a slot is free when its process is known failed here */
    RZ_RECOVER_OWN_REFUSAL = 2048,   /* refuse by what this member knows of MPIX_Reinit */
    RZ_RECOVER_OWN_SLOTS = 4096,     /* count the free slots by the failures known here */
    RZ_RECOVER_CROWDED_SPAWN = 8192, /* a spawn takes a slot that is not free */
    RZ_RECOVER_ANY_DAMAGE = 16384,   /* damage found in an earlier epoch counts, too */
    RZ_RECOVER_OBEY_ANY = 32768, /* stop when members without a quorum consider this one failed */
    RZ_RECOVER_ANY_HALF = 65536, /* half of the electorate is a quorum, in any case */
    RZ_RECOVER_NO_ELECTORATE = 131072, /* silent daemons are removed from the electorate */
    RZ_RECOVER_HASTY = 262144          /* report a silent daemon at once, without a roll call */
};

/*
 * Placement of lost ranks: a rank whose daemon is alive stays there. The number of lost ranks that
 * each daemon gets is found one by one: the next goes to the least loaded daemon with a free slot,
 * else to the least loaded (ties: lowest id). Which ranks a daemon gets: runs in order of rank, so
 * that neighbours stay on one node as far as possible. Spawns are placed one by one; the load of a
 * daemon is its number of living processes.
 *
 * If slots are limits, no daemon is overloaded: a job whose ranks have too few slots on the living
 * daemons stops, and a spawn without a free slot is refused.
 */
struct rz_recover_config {
    uint32_t n_daemons, n_ranks;
    uint32_t n_slots; /* >= n_ranks; 0: n_ranks, nothing can be spawned */
    uint32_t view;
    rz_id tie_breaker;         /* a daemon, or RZ_ID_NONE: the lowest of the electorate */
    const uint32_t *placement; /* [n_ranks]: the daemon of each rank in epoch 1; copied */
    const uint32_t *slots;     /* [n_daemons]: slots of each daemon; copied */
    uint32_t agree_mutations;  /* for the tests of the checkers; 0 in production */
    bool slots_limit;          /* otherwise lost ranks may exceed the slots if none is free */
    bool lost_together; /* the ranks of a lost daemon stay together, if one daemon has enough free
                           slots */
    bool all_begin;     /* an epoch begins all ranks anew, not only the lost ones: survivors end */
    uint32_t
        restarts_max; /* upper bound of epochs without a newly committed generation; 0: no bound */
    uint32_t mutations; /* enum rz_recover_mutation, or 0 */
};

/*
 * Events. RZ_EVENT_FAILURE: daemons ids[] have failed; arg[0] = 1 with proof (refused or reset
 * connection, exit seen), 0 silent. Each failure must eventually be reported to each living daemon.
 * The own id: others consider this daemon failed; it stops (RZ_ERR_FENCED) if that binds it
 * (rz_recover_fence_binds), otherwise nothing happens. RZ_EVENT_CALL:
 */
enum rz_recover_call {
    /* A process failed: own observation or report. arg[0] = slot, arg[1] = incarnation. Old reports
     * are ignored; a report of an incarnation that this daemon has not begun yet is kept. */
    RZ_RECOVER_FAILED,

    /* All own processes of this epoch have reached the end of the phase (ENTER: they stand at the
     * start of the epoch; RUN: they are ready to leave). arg[0] = epoch, arg[1] = phase, arg[2] =
     * the round of spawns that was counted: arg[0] of the newest RZ_RECOVER_SPAWNS that the host
     * has processed, 0 before the first. Ignored if not current, so it must be repeated after
     * spawns. A daemon without processes calls it at once; while rz_recover_repairing is false only
     * live processes count. */
    RZ_RECOVER_REACHED,

    /* A process of this daemon has entered MPIX_Reinit, and each other living process here has,
     * too, or is ready to leave; stays set. No process is rolled back into another epoch before. */
    RZ_RECOVER_REPAIRING,

    /* The newest checkpoint generation known committed in this epoch. arg[0] = generation, arg[1] =
     * epoch. Ignored if the epoch is not current: a commit that the recovery did not know of is
     * void. */
    RZ_RECOVER_COMMITTED,

    /* Spawns are requested, by a local process or as a report: items[0..n_items), spawns and
     * cohorts in any order. Known ones are ignored. Like failures, each must eventually be reported
     * to each living daemon; also if its requester has failed, as soon as one living daemon knows
     * of it. The requester of a spawn has seen the incarnation before it
     * (rz_recover_incarnation_of), and its failure: the spawn implies that failure. A daemon
     * numbers its cohorts 1, 2, 3, ... */
    RZ_RECOVER_WANT,

    /* A piece of the generation that an epoch rolls back to is complete at no daemon, or is not
     * what a process can continue from; found here or as a report: items[0..n_items), as
     * rz_recover_pack_damage. The finder has not called REACHED of phase ENTER in that epoch, and
     * does not call it any more. Each finding must eventually be reported to each living daemon,
     * unless its finder fails. Findings of other epochs are ignored, or kept until their epoch
     * begins here. */
    RZ_RECOVER_DAMAGED,
    /* Daemon arg[0] is silent, as the detector here finds. A roll call begins (below), which may
     * end with RZ_RECOVER_REPORT; until then the detector goes on watching it, and this may be said
     * again. arg[1] = 1: for good, so that nothing that comes from it changes the finding. */
    RZ_RECOVER_SUSPECT,

    /* Something has come from daemon arg[0]. Needs to be said only while rz_recover_asking. */
    RZ_RECOVER_HEARD
};

/*
 * The roll call. A daemon that misses another asks all (of many a sample) whether they are there;
 * one that is asked so asks them, too, so that all on one side of a partition find out together
 * which side it is. A daemon is reported only where those that have answered since are a quorum
 * without it, and where it is still silent after as long again as they took: a side without quorum
 * reports none, and where a cut heals a daemon found by then is found on both sides.
 *
 * Where no quorum answers that is for the host to see, and to end: it knows how long to wait.
 */
enum rz_recover_message {                        /* those of agree come before */
                          RZ_RECOVER_DOUBT = 16, /* the sender misses a daemon. Are you there? Ask
                                                    the others, too */
                          RZ_RECOVER_ASK,        /* are you there? */
                          RZ_RECOVER_HERE
};

/*
 * RZ_ACTION_NOTIFY: for each decision at most one of EPOCH, PHASE, FAILURES and STOP, then at most
 * one SPAWNS. One event can lead to several decisions, and the accessors describe the newest; a
 * host that defers notices must check their epoch.
 */
enum rz_recover_notice {
    /* arg[0] = new epoch, arg[1] = generation to restore (0: none was committed): the newest, or
     * the one before it; in that case the newest is void, and its number will be used again.
     * arg[2] = 1: nothing is restored, neither that generation nor an older one (with all_begin).
     * Placement and incarnations are new: rz_recover_daemon_of, rz_recover_incarnation_of. The
     * phase is ENTER. */
    RZ_RECOVER_EPOCH,

    /* arg[0] = epoch, arg[1] = the phase that begins (RUN or LEFT). */
    RZ_RECOVER_PHASE,

    /* Failures were noted without a new epoch: items, as rz_recover_pack. */
    RZ_RECOVER_FAILURES,

    /* arg[0] = rz_status_t: RZ_ERR_NO_QUORUM, RZ_ERR_FENCED (the others consider this daemon
     * failed), RZ_ERR_JOB_ENDED (restarts_max exceeded), RZ_ERR_NO_SLOTS (arg[1] = the slots left)
     * or RZ_ERR_CHECKPOINT_LOST (damage, no generation before it, and not all_begin). The host ends
     * its processes, but must stay until its last messages are sent: members that consider it
     * failed drop its decision, and decide again without it. */
    RZ_RECOVER_STOP,

    /* Another member has begun an agreement to which this one has not contributed: for display
     * only. */
    RZ_RECOVER_REQUESTED,

    /*
     * Spawns are decided. arg[0] = round: the number of decisions that spawned processes; arg[1] =
     * RZ_OK, or the rz_status_t for which all these items are refused. Items: spawns
     * (replacements), then each cohort, followed by the spawns of its processes in their order. A
     * cohort without spawns is refused, because there are not enough free slots; so is a spawn that
     * is listed as rz_recover_pack_refused. The daemons and incarnations of the slots are new. A
     * requested spawn that was settled in another way (rz_recover_spawn) has no item.
     */
    RZ_RECOVER_SPAWNS,

    /* A roll call has begun. */
    RZ_RECOVER_ASKING,

    /* Daemon arg[0] was suspected here, and is held for failed now, without proof: the host tells
     * all, itself too, by RZ_EVENT_FAILURE. */
    RZ_RECOVER_REPORT
};

/*
 * Failures and spawns as items, for reports and decisions. The bits:
 *
 *   63..60     59..0
 *   0 h e 0    slot (28), incarnation (32)            a process has failed
 *   1 0 0 0    zero (27), daemon (32), proof (1)      a daemon has failed
 *   1 0 0 1    daemon (28), epoch (32)                found damage in this epoch
 *   1 0 1 0    slot (28), incarnation (32)            this process is spawned, or to be spawned
 *   1 0 1 1    slot (28), incarnation (32)            it is not, for want of a slot (notices only)
 *   1 1        node (16), serial (26), count (20)     a cohort, from bit 61 on
 *
 * h and e are for the hosts, in reports (hung; ended in order); to this component an item with one
 * of these bits is no process. In order of items: processes, daemons, spawns, cohorts by node and
 * serial. Unpacking returns false, and sets nothing, where the item is of another kind.
 */
#define RZ_RECOVER_HOST_FLAGS (UINT64_C(3) << 61)
#define RZ_RECOVER_SLOTS_MAX (UINT32_C(1) << 28)
#define RZ_RECOVER_COHORT_NODES_MAX (UINT32_C(1) << 16)
#define RZ_RECOVER_COHORT_SERIALS_MAX (UINT32_C(1) << 26)
#define RZ_RECOVER_COHORT_COUNT_MAX (UINT32_C(1) << 20)

uint64_t rz_recover_pack_process(uint32_t slot, uint32_t incarnation);
uint64_t rz_recover_pack_daemon(rz_id daemon, bool proof);
bool rz_recover_unpack_process(uint64_t item, uint32_t *slot, uint32_t *incarnation);
bool rz_recover_unpack_daemon(uint64_t item, rz_id *daemon, bool *proof);

uint64_t rz_recover_pack_damage(rz_id daemon, uint32_t epoch);
bool rz_recover_unpack_damage(uint64_t item, rz_id *daemon, uint32_t *epoch);

/* The process (slot, incarnation), in place of the failed (slot, incarnation - 1); incarnation > 1.
 * As part of a cohort, in the notice only: a process in a free slot. */
uint64_t rz_recover_pack_spawn(uint32_t slot, uint32_t incarnation);
bool rz_recover_unpack_spawn(uint64_t item, uint32_t *slot, uint32_t *incarnation);
uint64_t rz_recover_pack_refused(uint32_t slot, uint32_t incarnation);
bool rz_recover_unpack_refused(uint64_t item, uint32_t *slot, uint32_t *incarnation);

/* count new processes, requested by a process of daemon node; serial: 1, 2, ... of that daemon. All
 * are smaller than the bounds above, serial and count > 0. */
uint64_t rz_recover_pack_cohort(rz_id node, uint32_t serial, uint32_t count);
bool rz_recover_unpack_cohort(uint64_t item, rz_id *node, uint32_t *serial, uint32_t *count);

struct rz_recover;

size_t rz_recover_size(const struct rz_recover_config *config);
void rz_recover_init(struct rz_recover *recover, const struct rz_recover_config *config, rz_id self,
                     rz_time now, uint64_t seed);
enum rz_more rz_recover_step(struct rz_recover *recover, const struct rz_event *event,
                             struct rz_actions *out);
rz_time rz_recover_deadline(const struct rz_recover *recover);
uint64_t rz_recover_hash(const struct rz_recover *recover);
void rz_recover_grow(struct rz_recover *recover, size_t bytes);

uint32_t rz_recover_epoch(const struct rz_recover *recover);
enum rz_recover_phase rz_recover_phase(const struct rz_recover *recover);

/* The daemon and the incarnation of a slot; RZ_ID_NONE and 0 if it never held a process. */
rz_id rz_recover_daemon_of(const struct rz_recover *recover, uint32_t slot);
uint32_t rz_recover_incarnation_of(const struct rz_recover *recover, uint32_t slot);
bool rz_recover_daemon_failed(const struct rz_recover *recover, rz_id daemon); /* agreed or known */

/* Whether a roll call is under way; and which daemons have answered: enum rz_recover_vote
 * [n_daemons], GONE where not asked or failed for certain; valid until the next step. */
bool rz_recover_asking(const struct rz_recover *recover);
const uint8_t *rz_recover_answers(const struct rz_recover *recover);

/*
 * Whether the others can continue without this daemon. If so, and they consider it failed, it must
 * stop, because they may have decided so. If two daemons are left (all others failed with proof),
 * the one that breaks the tie need not stop: the other one alone has no quorum, decides nothing,
 * and stops.
 */
bool rz_recover_fence_binds(const struct rz_recover *recover);

/* The first rank, starting at `from`, that the newest epoch restarted with a new incarnation and
 * perhaps elsewhere (with all_begin: each rank); n_ranks: there is none. All other ranks are
 * unchanged by that epoch. */
uint32_t rz_recover_next_begun(const struct rz_recover *recover, uint32_t from);

/* Whether the slot's current incarnation has failed, agreed or known; true for an empty slot. */
bool rz_recover_process_failed(const struct rz_recover *recover, uint32_t slot);

/* Whether a cohort may get the slot: behind n_ranks, and empty or its process failed by decision.
 */
bool rz_recover_slot_free(const struct rz_recover *recover, uint32_t slot);

/* The state of a requested spawn. */
enum rz_recover_spawn {
    RZ_SPAWN_OPEN,    /* not decided yet, or never requested */
    RZ_SPAWN_SPAWNED, /* this process was spawned */
    RZ_SPAWN_TAKEN,   /* the slot was given to a process of a cohort in the meantime */
    RZ_SPAWN_REFUSED  /* not in this phase, the job repairs itself, or no slot is free */
};
enum rz_recover_spawn rz_recover_spawn(const struct rz_recover *recover, uint32_t slot,
                                       uint32_t incarnation);

/* The cohort by which the slot's current incarnation was spawned, or 0: it is a replacement, or of
 * the launcher. */
uint64_t rz_recover_spawned_of(const struct rz_recover *recover, uint32_t slot);

/* The cohort whose process occupies the slot, itself or in a later incarnation; 0: none. */
uint64_t rz_recover_cohort_of(const struct rz_recover *recover, uint32_t slot);

/* Serial of the last cohort of this daemon that was decided or dropped; 0: none. */
uint32_t rz_recover_cohorts_decided(const struct rz_recover *recover, rz_id node);

/* The number of decisions that spawned processes. */
uint32_t rz_recover_round(const struct rz_recover *recover);

/* Whether this daemon has failed by decision, which is the same at all members: the failed daemons
 * that RZ_COMMIT_EPOCH takes. */
bool rz_recover_daemon_agreed_failed(const struct rz_recover *recover, rz_id daemon);

/* Whether the job repairs itself, as agreed. */
bool rz_recover_repairing(const struct rz_recover *recover);

/* Whether the epoch rolls back to the generation before the newest, and has not begun to run. */
bool rz_recover_fell_back(const struct rz_recover *recover);

/* Whether the epoch restores nothing because no generation can be restored, and has not begun to
 * run. Only with all_begin. */
bool rz_recover_from_start(const struct rz_recover *recover);

/* Whether RZ_RECOVER_STOP was reported. From then on the object only serves agreements of others.
 */
bool rz_recover_stopped(const struct rz_recover *recover);

/*
 * The oldest generation that a recovery may still choose: while a contribution of this member that
 * knew of a failure is undecided, the generation in it; otherwise the newest known. A store
 * overwrites pieces of older generations only, and delays others. Without this rule, if a
 * generation committed between contribution and decision, g+1 could overwrite the g-1 that the
 * decision restores. The wait is short: an agreement on failures waits for reports, never for
 * processes.
 */
uint64_t rz_recover_generation_floor(const struct rz_recover *recover);

/* ---- the pure functions behind a decision ---- */

enum rz_recover_vote {
    RZ_VOTE_LIVE,
    RZ_VOTE_SILENT, /* failed without proof, not confirmed yet: counts against the majority */
    RZ_VOTE_GONE /* failed with proof, or confirmed by the survivors: not in the electorate any more
                  */
};

/* Whether the living daemons of votes[n_daemons] (enum rz_recover_vote) may continue. tie_breaker:
 * a daemon or RZ_ID_NONE. */
bool rz_recover_has_quorum(const uint8_t *votes, uint32_t n_daemons, rz_id tie_breaker);

/* Moves the ranks of failed daemons, by the rules of rz_recover_config; at least one daemon is
 * alive. load[n_daemons]: scratch. */
void rz_recover_place(uint32_t *placement, uint32_t n_ranks, const uint32_t *slots,
                      const bool *failed, uint32_t n_daemons, uint32_t *load);

/* Moves the ranks of each failed daemon to one daemon that has free slots for all of them, the
 * least loaded (ties: lowest id). If there is none they stay, for rz_recover_place. */
void rz_recover_place_together(uint32_t *placement, uint32_t n_ranks, const uint32_t *slots,
                               const bool *failed, uint32_t n_daemons, uint32_t *load);

/* The slots of the living daemons. */
uint64_t rz_recover_slots_left(const uint32_t *slots, const bool *failed, uint32_t n_daemons);

/* The daemon for one more process: the least loaded with a free slot, else the least loaded (ties:
 * lowest id). At least one is alive. */
rz_id rz_recover_place_one(const uint32_t *slots, const uint32_t *load, const bool *failed,
                           uint32_t n_daemons);

#endif
