/*
 * Checkpoint generations: when one exists, who holds what, what may be overwritten.
 *
 * A generation holds one piece per rank. The piece lies with its owner, the daemon of the rank, and
 * is kept by others as the scheme of the job says (enum rz_commit_scheme): whole by the next
 * daemon, in parts that others can give back by a group, in a file, or not at all. A generation is
 * committed by agreement (room agree, inside this object, one object per epoch) once every daemon
 * has all pieces of its ranks, and the acknowledgement of all their keepers.
 *
 * A piece of generation g+1 is written only after g is committed as far as the writer knows
 * (rz_commit_next): so a message about generation g+1 proves that g is committed.
 *
 * It may overwrite that of g-1, with the owner and with the keepers, unless an undecided
 * contribution to a recovery may still choose g-1 (rz_recover_generation_floor): then it waits.
 *
 * After failures, a generation can be restored iff each rank's owner lives, or its keepers can give
 * the piece back: a pure function of the layout it was protected under (the placement, and the
 * daemons that lived then) and the daemons failed since; all daemons compute the same answer. It is
 * protected again under the new layout before the barrier of the new epoch.
 *
 * A generation that is damaged, and that nobody can give back, is gone: the next epoch goes back to
 * the one before it, as if the newer one had never been. Its holders are those of the newer one.
 * Whether it is still there, and whole, hosts find out: its pieces are overwritten by those of the
 * next generation, with their owner first, then with their keepers.
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
 * Copies. Pieces and parities of the generation to restore stay with their old holders until
 * RZ_COMMIT_OPENED: a failure before it counts against the old placement. Afterwards whoever is no
 * holder under the new one may drop them.
 */
#ifndef RZ_PROTO_COMMIT_H
#define RZ_PROTO_COMMIT_H

#include <rhizome/protocol.h>

/* Faults put in on purpose, to show that the checkers find them; 0 in production. */
enum rz_commit_mutation {
    RZ_COMMIT_UNCOPIED = 1,        /* contribute before the buddies have acknowledged */
    RZ_COMMIT_DESPITE_FAILURE = 2, /* a decision with fresh failures commits */
    RZ_COMMIT_EARLY_HOME = 4,      /* take the new placement for protected before its barrier */
    RZ_COMMIT_ONE_VIEW = 8,        /* messages of old epochs are not told from new ones */
    RZ_COMMIT_ONE_SHORT = 16,      /* one keeper of several need not acknowledge */
    RZ_COMMIT_GENEROUS = 32,       /* takes one failure more for bearable than a group bears */
    RZ_COMMIT_OLD_PARITY = 64      /* takes parities of an old layout for those of the new one */
};

/* Who keeps a piece besides its owner. "Next" and groups: in the ring of ids, of the daemons that
 * live by decision. */
enum rz_commit_scheme {
    RZ_COMMIT_BUDDY,  /* the next daemon, a copy; nobody when the owner is alone */
    RZ_COMMIT_MEMORY, /* nobody */
    /* The other daemons of the owner's group, parities: stripes.h. There are as many groups as
     * there are data + parity daemons for, of equal sizes or one more; with fewer daemons one
     * group, whose parity is at most all but one of them. */
    RZ_COMMIT_GROUPS,
    RZ_COMMIT_FILES /* a file that outlives all daemons; the owner itself acknowledges it */
};

#define RZ_COMMIT_GROUP_MAX 32u                         /* data + parity */
#define RZ_COMMIT_MEMBERS_MAX (2 * RZ_COMMIT_GROUP_MAX) /* of a group, more than ever */

struct rz_commit_config {
    uint32_t n_daemons, n_ranks;
    enum rz_commit_scheme scheme;
    uint32_t data, parity;    /* of GROUPS, each at least 1 */
    uint32_t view;            /* that of recover; the agreement of epoch e uses view + e */
    uint32_t agree_mutations; /* 0 in production */
    uint32_t mutations;       /* enum rz_commit_mutation, or 0 */
};

/*
 * Events. RZ_EVENT_FAILURE: daemons ids[] have failed. RZ_EVENT_CALL, arg[0] = epoch always; but
 * for EPOCH itself, calls that name another epoch than the current one are ignored:
 */
enum rz_commit_call {
    /* A new epoch; everything of the old one is dropped. arg[1] = the generation all daemons agreed
     * on as the newest committed (0: none), or the one before it, where that is damaged;
     * items[n_ranks] = the daemon of each rank, then the ids of all daemons agreed failed, sorted:
     * rz_recover_daemon_agreed_failed, never those only known failed here. Brings RESTORE. */
    RZ_COMMIT_EPOCH,

    /* The piece of an own rank lies with us, whole. arg[1] = generation, arg[2] = rank. Also tells
     * of a piece to be restored, in each epoch again, once it has been looked at. May come twice.
     */
    RZ_COMMIT_STORED,

    /* The same arguments, arg[3] = a keeper, which has acknowledged all that it keeps of the piece.
     * Others than keepers are ignored. */
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

    /* Every piece of our own ranks that must be restored is with us and with its keepers again (at
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

/* The epoch in which the generation before that one was written, if it is one that can be gone back
 * to; 0: it is not. Hosts keep it until RZ_COMMIT_OPENED. */
uint32_t rz_commit_older_written_in(const struct rz_commit *commit);

/* In the current epoch: who must acknowledge rank's piece; how many they are. FILES: its owner. */
uint32_t rz_commit_keepers(const struct rz_commit *commit, uint32_t rank,
                           rz_id keepers[RZ_COMMIT_MEMBERS_MAX]);

/*
 * For the generation being restored: the live daemons that hold rank's piece whole, best first (the
 * owner of this epoch where it holds it itself, the old owner, the old buddy). None: its group
 * gives it back, or its file; or, where a failure is known that is not agreed yet, nobody, and
 * another epoch is to come.
 */
uint32_t rz_commit_holders(const struct rz_commit *commit, uint32_t rank, rz_id holders[2]);

/* A layout: a placement of ranks, the daemons that live, and so the groups. */
enum rz_commit_when {
    RZ_COMMIT_HOME, /* that of the last epoch whose barrier opened: of the generation to restore */
    RZ_COMMIT_NOW   /* that of this epoch */
};

/* The first epoch with this layout (the same under both names while nothing has changed), which
 * with the generation names parities; 0: no barrier has opened yet. */
uint32_t rz_commit_layout(const struct rz_commit *commit, enum rz_commit_when when);

/* The group of a daemon, with GROUPS. */
struct rz_commit_group {
    const rz_id *members;
    uint32_t n, parity; /* any `parity` of the n may be lost; 0 when n is 1 */
    uint32_t place;     /* of the daemon */
};

/* False: it does not live in this layout. */
bool rz_commit_group(const struct rz_commit *commit, enum rz_commit_when when, rz_id daemon,
                     struct rz_commit_group *group);

/* Stripes go along rows: row j holds the j-th rank of each daemon. rank_at: RZ_ID_NONE where the
 * daemon has fewer ranks. */
rz_id rz_commit_owner_of(const struct rz_commit *commit, enum rz_commit_when when, uint32_t rank);
uint32_t rz_commit_row_of(const struct rz_commit *commit, enum rz_commit_when when, uint32_t rank);
uint32_t rz_commit_rank_at(const struct rz_commit *commit, enum rz_commit_when when, rz_id daemon,
                           uint32_t row);

/* Whether the piece being restored of this own rank must still go to its keepers. */
bool rz_commit_needs_copy(const struct rz_commit *commit, uint32_t rank);

#endif
