/*
 * What the daemons of a job do about deaths: epochs, placement, barriers, quorum. Nobody decides a
 * recovery: all daemons agree (room agree, inside this object) and then compute the same things.
 *
 * One endless sequence of agreements carries everything. A daemon contributes to the next one when
 *   - it knows of a death that is not agreed yet (its own observation, or news), or
 *   - all its processes have reached the barrier of the current phase, or
 *   - somebody has entered MPIX_Reinit and a death was only noted before.
 * It never joins merely because another has begun: the news of deaths reach all daemons by
 * themselves, and a barrier that others joined with "not yet" would spin.
 *
 * A decision with fresh deaths means, in a job that repairs itself (somebody has entered
 * MPIX_Reinit), epoch + 1 with a new placement, phase ENTER; in another job the dead are only
 * noted. A decision without deaths that all daemons contributed to with "reached" opens the
 * barrier: ENTER -> RUN (processes are released), RUN -> LEFT (all have left). Starting the job is
 * the same: epoch 1, phase ENTER, the placement of the launcher.
 *
 * Everything after a decision is a pure function of (decision, state before), so all daemons go the
 * same way.
 *
 * Quorum: daemons dead with proof shrink the electorate; silent ones count against the majority
 * until the survivors have confirmed each other by a further decision; a tie goes to the side that
 * holds the tie-breaker (the daemon with the launcher attached, or the lowest of the electorate).
 * See docs/protocols/recover.md.
 */
#ifndef RZ_PROTO_RECOVER_H
#define RZ_PROTO_RECOVER_H

#include <rhizome/protocol.h>

enum rz_recover_phase { RZ_PHASE_ENTER, RZ_PHASE_RUN, RZ_PHASE_LEFT };

/* Faults put in on purpose, to show that the checkers find them; 0 in production. */
enum rz_recover_mutation {
    RZ_RECOVER_LATE_REACHED = 1,      /* a REACHED of another epoch or phase counts */
    RZ_RECOVER_DEATHLESS_BARRIER = 2, /* a barrier opens although deaths are known */
    RZ_RECOVER_OWN_GENERATION = 4,    /* restore the own newest generation, not the agreed one */
    RZ_RECOVER_OWN_PLACEMENT = 8,     /* place by the deaths known here, not by the agreed ones */
    RZ_RECOVER_ANY_INCARNATION = 16,  /* old news of a death counts for the new incarnation */
    RZ_RECOVER_UNAWARE = 32           /* settle deaths though a contributor knew of none */
};

/*
 * How lost ranks are placed: a rank whose daemon lives stays there; each other one, in order of
 * rank, goes to the least loaded daemon with a free slot, else to the least loaded (ties: lowest
 * id).
 */
struct rz_recover_config {
    uint32_t n_daemons, n_ranks;
    uint32_t view;
    rz_id tie_breaker;         /* a daemon, or RZ_ID_NONE: the lowest of the electorate */
    const uint32_t *placement; /* [n_ranks]: the daemon of each rank in epoch 1; copied */
    const uint32_t *slots; /* [n_daemons]: processes a daemon may carry without crowding; copied */
    uint32_t agree_mutations; /* for the tests of the checkers; 0 in production */
    uint32_t restarts_max;    /* epochs without a newly committed generation; 0: no bound */
    uint32_t mutations;       /* enum rz_recover_mutation, or 0 */
};

/*
 * Events. RZ_EVENT_DEATH: daemons ids[] are dead; arg[0] = 1 with proof (refused or reset
 * connection, exit seen), 0 silent. Each death must be told to each daemon that lives, sometime.
 * RZ_EVENT_CALL:
 */
enum rz_recover_call {
    /* A process died, own observation or news. arg[0] = rank, arg[1] = incarnation. Old news is
     * ignored; news of an incarnation that this daemon has not begun yet is kept. */
    RZ_RECOVER_DIED,

    /* All own processes of this epoch have reached the end of the phase (ENTER: they stand at the
     * start of the epoch; RUN: they want to leave). arg[0] = epoch, arg[1] = phase. Ignored when
     * not current. A daemon without processes says so at once; as long as rz_recover_repairing is
     * false only live processes count. */
    RZ_RECOVER_REACHED,

    /* Somebody here has entered MPIX_Reinit; stays set. */
    RZ_RECOVER_REPAIRING,

    /* The newest checkpoint generation known committed in this epoch. arg[0] = generation,
     * arg[1] = epoch. Ignored when the epoch is not current: what commits unseen by a recovery is
     * gone. */
    RZ_RECOVER_COMMITTED
};

/*
 * RZ_ACTION_NOTIFY: one for each decision at most. One event can bring several decisions, so that
 * the accessors tell of the newest; a host that puts notices off must look at their epoch.
 */
enum rz_recover_notice {
    /* arg[0] = new epoch, arg[1] = generation to restore (0: none was committed). Placement and
     * incarnations are new: rz_recover_daemon_of, rz_recover_incarnation_of. Phase is ENTER. */
    RZ_RECOVER_EPOCH,

    /* arg[0] = epoch, arg[1] = the phase that begins (RUN or LEFT). */
    RZ_RECOVER_PHASE,

    /* Deaths were noted without a new epoch: items, as rz_recover_pack. */
    RZ_RECOVER_DEATHS,

    /* arg[0] = rz_status_t: RZ_ERR_NO_QUORUM, RZ_ERR_FENCED (the others hold us for dead) or
     * RZ_ERR_JOB_ENDED (restarts_max exceeded). The host ends its processes, but must not vanish
     * before its last messages have left: who holds it for dead drops its decision, and decides
     * anew without it. */
    RZ_RECOVER_STOP,

    /* Somebody has begun an agreement to which we have not contributed: a display hint only. */
    RZ_RECOVER_WANTED
};

/* Deaths as items, for news and decisions: a process or a daemon. In order, processes come first.
 * Unpacking returns false where the item is of the other kind. */
uint64_t rz_recover_pack_process(uint32_t rank, uint32_t incarnation);
uint64_t rz_recover_pack_daemon(rz_id daemon, bool proof);
bool rz_recover_unpack_process(uint64_t item, uint32_t *rank, uint32_t *incarnation);
bool rz_recover_unpack_daemon(uint64_t item, rz_id *daemon, bool *proof);

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
rz_id rz_recover_daemon_of(const struct rz_recover *recover, uint32_t rank);
uint32_t rz_recover_incarnation_of(const struct rz_recover *recover, uint32_t rank);
bool rz_recover_daemon_dead(const struct rz_recover *recover, rz_id daemon); /* agreed or known */

/* Whether rank's current incarnation is dead, agreed or known. */
bool rz_recover_process_dead(const struct rz_recover *recover, uint32_t rank);

/* Whether this daemon is dead by decision, the same at all members: the dead that RZ_COMMIT_EPOCH
 * must be given. */
bool rz_recover_daemon_agreed_dead(const struct rz_recover *recover, rz_id daemon);

/* Whether the job repairs itself, as agreed. */
bool rz_recover_repairing(const struct rz_recover *recover);

/* Whether RZ_RECOVER_STOP was told. From then on the object only serves agreements of others. */
bool rz_recover_stopped(const struct rz_recover *recover);

/*
 * The oldest generation that a recovery may still choose: while a contribution of ours that knew of
 * a death is undecided, what it said; else the newest known. A store overwrites pieces of older
 * generations only, and lets others wait. Without this rule a generation that commits between
 * contribution and decision would let g+1 overwrite the g-1 that the decision restores. The wait is
 * short: an agreement on deaths waits for news, never for processes.
 */
uint64_t rz_recover_generation_floor(const struct rz_recover *recover);

/* ---- the pure functions behind a decision */

enum rz_recover_vote {
    RZ_VOTE_LIVE,
    RZ_VOTE_SILENT, /* dead without proof, not yet confirmed: counts against the majority */
    RZ_VOTE_GONE    /* dead with proof, or confirmed by the survivors: no voter any more */
};

/* Whether the live of votes[n_daemons] (enum rz_recover_vote) may go on. tie_breaker: a daemon or
 * RZ_ID_NONE. */
bool rz_recover_has_quorum(const uint8_t *votes, uint32_t n_daemons, rz_id tie_breaker);

/* Moves the ranks of dead daemons, as rz_recover_config says; at least one daemon lives.
 * load[n_daemons]: scratch. */
void rz_recover_place(uint32_t *placement, uint32_t n_ranks, const uint32_t *slots,
                      const bool *dead, uint32_t n_daemons, uint32_t *load);

#endif
