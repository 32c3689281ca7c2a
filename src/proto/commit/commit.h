/*
 * Checkpoint generations: when one exists, who holds what, what may be overwritten.
 *
 * A generation holds one piece per rank. Each piece has two holders: the owner (the daemon of the
 * rank) and its buddy (the next live daemon in the ring of ids; none when the owner is alone). A
 * generation is committed by agreement (room agree, inside this object, one object per epoch) once
 * every daemon has all pieces of its ranks in both places.
 *
 * A piece of generation g+1 is written only after g is committed as far as the writer knows
 * (rz_commit_next): so a message about generation g+1 proves that g is committed.
 *
 * It may overwrite that of g-1, with the owner and with the buddy, unless an undecided contribution
 * to a recovery may still choose g-1 (rz_recover_generation_floor): then it waits.
 *
 * After deaths, a generation can be restored iff each rank has a live holder: a pure function of
 * the placement it was protected under and the daemons dead since; all daemons compute the same
 * answer. It is protected anew under the new placement before the barrier of the new epoch.
 *
 * None restorable: the program begins at iteration 0 and is told so.
 *
 * Names. A generation is (epoch in which it was written, number). Numbers go on from the newest
 * agreed one, also when that one is lost; a generation that committed unseen in an old epoch may
 * have the number of a later one, therefore stores tag pieces with both. Nothing is written before
 * the barrier of an epoch has opened, and who has opened it has seen all daemons in this epoch: so
 * no message of a future epoch reaches a live daemon, and those of old ones are dropped by their
 * view.
 *
 * Copies. Pieces of the generation to restore stay with their old holders until RZ_COMMIT_OPENED: a
 * death before it counts against the old placement. Afterwards whoever is no holder under the new
 * one may drop them.
 */
#ifndef RZ_PROTO_COMMIT_H
#define RZ_PROTO_COMMIT_H

#include <rhizome/protocol.h>

/* Faults put in on purpose, to show that the checkers find them; 0 in production. */
enum rz_commit_mutation {
    RZ_COMMIT_UNCOPIED = 1,      /* contribute before the buddies have acknowledged */
    RZ_COMMIT_DESPITE_DEATH = 2, /* a decision with fresh deaths commits */
    RZ_COMMIT_EARLY_HOME = 4,    /* take the new placement for protected before its barrier */
    RZ_COMMIT_ONE_VIEW = 8       /* messages of old epochs are not told from new ones */
};

struct rz_commit_config {
    uint32_t n_daemons, n_ranks;
    uint32_t view;            /* that of recover; the agreement of epoch e uses view + e */
    uint32_t agree_mutations; /* 0 in production */
    uint32_t mutations;       /* enum rz_commit_mutation, or 0 */
};

/*
 * Events. RZ_EVENT_DEATH: daemons ids[] are dead. RZ_EVENT_CALL, arg[0] = epoch always; but for
 * EPOCH itself, calls that name another epoch than the current one are ignored:
 */
enum rz_commit_call {
    /* A new epoch; everything of the old one is dropped. arg[1] = the generation all daemons agreed
     * on as the newest committed (0: none); items[n_ranks] = the daemon of each rank, then the ids
     * of all daemons agreed dead, sorted: rz_recover_daemon_agreed_dead, never those only known
     * dead here. Brings RESTORE. */
    RZ_COMMIT_EPOCH,

    /* The piece of an own rank lies with us, whole. arg[1] = generation, arg[2] = rank. Also tells
     * of a restored piece. May come twice. */
    RZ_COMMIT_STORED,

    /* The same arguments: its buddy has acknowledged a whole copy. Where there is no buddy, not
     * needed. */
    RZ_COMMIT_COPIED,

    /* arg[1] = generation: another daemon speaks of writing generation + 1. */
    RZ_COMMIT_PROOF,

    /* The barrier of the epoch has opened (recover: phase RUN). From now on its placement is the
     * one that pieces are protected under, and generations may be committed. */
    RZ_COMMIT_OPENED
};

/* RZ_ACTION_NOTIFY, arg[0] = epoch: */
enum rz_commit_notice {
    /* arg[1] = generation: it exists; what is older than it may be overwritten (see above). */
    RZ_COMMIT_COMMITTED,

    /* arg[1] = generation to restore, or 0: begin at iteration 0. */
    RZ_COMMIT_RESTORE,

    /* Every piece of our own ranks that must be restored is with us and with its buddy again (at
     * once after RESTORE where nothing is to be done). The host holds its REACHED until then. */
    RZ_COMMIT_PROTECTED
};

struct rz_commit;

size_t rz_commit_size(const struct rz_commit_config *config);
void rz_commit_init(struct rz_commit *commit, const struct rz_commit_config *config, rz_id self,
                    rz_time now, uint64_t seed);
enum rz_more rz_commit_step(struct rz_commit *commit, const struct rz_event *event,
                            struct rz_actions *out);
rz_time rz_commit_deadline(const struct rz_commit *commit);
uint64_t rz_commit_hash(const struct rz_commit *commit);
void rz_commit_grow(struct rz_commit *commit, size_t bytes);

uint32_t rz_commit_epoch(const struct rz_commit *commit);

/* The newest generation that exists: committed in this epoch, or restored; 0: none. */
uint64_t rz_commit_generation(const struct rz_commit *commit);

/* The generation that may be written now: that of the next checkpoint. */
uint64_t rz_commit_next(const struct rz_commit *commit);

/* The epoch in which the generation being restored was written: with its number the name of its
 * pieces. 0: none. */
uint32_t rz_commit_written_in(const struct rz_commit *commit);

/* In the current epoch: the buddy of rank's owner, or RZ_ID_NONE. */
rz_id rz_commit_buddy_of(const struct rz_commit *commit, uint32_t rank);

/* For the generation being restored: a live daemon that holds rank's piece (the owner of this epoch
 * where it holds it itself, else the old owner, else the old buddy), or RZ_ID_NONE. */
rz_id rz_commit_holder_of(const struct rz_commit *commit, uint32_t rank);

/* Whether the piece being restored of this own rank must still be copied to its buddy. */
bool rz_commit_needs_copy(const struct rz_commit *commit, uint32_t rank);

#endif
