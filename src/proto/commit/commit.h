/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoint generations: when one exists, which daemons hold its pieces, which pieces may be
 * overwritten.
 *
 * A generation holds one piece per rank. The owner of a piece is the daemon of the rank; it stores
 * the piece. The scheme of the job (enum rz_commit_scheme) names its keepers: the next daemon,
 * which stores a copy; a group, which stores parities; a file; or none. A generation is committed
 * by agreement (component agree, inside this object, one object per epoch) once every daemon has
 * all pieces of its ranks, and the acknowledgements of all their keepers.
 *
 * A piece of generation g+1 is written only when the writer knows that g is committed
 * (rz_commit_next): so a message about generation g+1 proves that g is committed.
 *
 * At the owner and at the keepers it may overwrite the piece of g-1, unless an undecided
 * contribution to a recovery may still choose g-1 (rz_recover_generation_floor): then it waits.
 *
 * After failures, a generation can be restored iff for each rank the owner is alive or the keepers
 * can restore the piece. That is a pure function of the layout under which it was protected (the
 * placement, and the daemons alive then) and of the daemons failed since, so all daemons compute
 * the same answer. The generation is protected again under the new layout before the barrier of the
 * new epoch.
 *
 * A damaged generation that cannot be restored is lost: the next epoch goes back to the generation
 * before it, as if the newer one had never existed. Both have the same holders. The hosts find out
 * whether the older one is still complete: its pieces are overwritten by those of the next
 * generation, first at their owner, then at their keepers.
 *
 * If none can be restored, the program begins at iteration 0 and is told so.
 *
 * Names. A generation is (epoch in which it was written, number). Numbers continue from the newest
 * agreed one, even if that one is lost. A generation that was committed in an old epoch without the
 * knowledge of the recovery may have the number of a later one; therefore stores tag pieces with
 * both. Nothing is written before the barrier of an epoch has opened, and a daemon that opens it
 * knows that all daemons are in this epoch: so no message of a future epoch reaches a live daemon,
 * and messages of old epochs are dropped by their view.
 *
 * Copies. Pieces and parities of the generation to restore stay at their old holders until
 * RZ_COMMIT_OPENED: the old placement applies to a failure before it. Afterwards a daemon that is
 * no holder under the new placement may drop them.
 */
#ifndef RZ_PROTO_COMMIT_H
#define RZ_PROTO_COMMIT_H

#include <rhizome/protocol.h>

/* Deliberate faults, which prove that the checkers find them; 0 in production. */
enum rz_commit_mutation {
    RZ_COMMIT_UNCOPIED = 1,        /* contribute before the keepers have acknowledged */
    RZ_COMMIT_DESPITE_FAILURE = 2, /* a decision with fresh failures commits */
    RZ_COMMIT_EARLY_HOME = 4,      /* treat the new placement as protected before its barrier */
    RZ_COMMIT_ONE_VIEW = 8,        /* messages of old epochs are handled as if new */
    RZ_COMMIT_ONE_SHORT = 16,      /* one of several keepers need not acknowledge */
    RZ_COMMIT_GENEROUS = 32,       /* a group is taken to tolerate one failure more than it does */
    RZ_COMMIT_OLD_PARITY = 64 /* parities of an old layout are taken for those of the new one */
};

/* The keepers of a piece besides its owner. "Next" and groups: in the ring of ids, of the daemons
 * not failed by decision. */
enum rz_commit_scheme {
    RZ_COMMIT_BUDDY,  /* the next daemon, a copy; none if the owner is the only daemon */
    RZ_COMMIT_MEMORY, /* none */
    /* The other daemons of the owner's group, parities: stripes.h. There are as many groups as data
     * + parity daemons allow, of equal sizes or one more; with fewer daemons there is one group,
     * with at most all but one of them as parities. */
    RZ_COMMIT_GROUPS,
    RZ_COMMIT_FILES /* a file that outlives all daemons; the owner acknowledges it */
};

#define RZ_COMMIT_GROUP_MAX 32u                         /* data + parity */
#define RZ_COMMIT_MEMBERS_MAX (2 * RZ_COMMIT_GROUP_MAX) /* upper bound of a group */

struct rz_commit_config {
    uint32_t n_daemons, n_ranks;
    enum rz_commit_scheme scheme;
    uint32_t data, parity;    /* of GROUPS, each at least 1 */
    uint32_t view;            /* the view of recover; the agreement of epoch e uses view + e */
    uint32_t agree_mutations; /* 0 in production */
    uint32_t mutations;       /* enum rz_commit_mutation, or 0 */
};

/* Events. RZ_EVENT_FAILURE: daemons ids[] have failed. RZ_EVENT_CALL: arg[0] = epoch always; except
 * for EPOCH, a call that names another epoch than the current one is ignored: */
enum rz_commit_call {
    /* A new epoch; everything of the old one is dropped. arg[1] = the generation that all daemons
     * agreed on as the newest committed (0: none), or the one before it if that is damaged;
     * arg[2] = 1: it is damaged, too, and counts as lost;
     * items[n_ranks] = the daemon of each rank, then the ids of all daemons agreed failed, sorted:
     * rz_recover_daemon_agreed_failed, never those only known failed here. Leads to RESTORE. */
    RZ_COMMIT_EPOCH,

    /* The piece of an own rank is complete at this daemon. arg[1] = generation, arg[2] = rank. Also
     * reports a piece to be restored, again in each epoch, once it has been checked. May be
     * repeated. */
    RZ_COMMIT_STORED,

    /* The same arguments, arg[3] = a keeper, which has acknowledged all that it keeps of the piece.
     * A daemon that is no keeper is ignored. */
    RZ_COMMIT_COPIED,

    /* arg[1] = generation: a message of another daemon is about writing generation + 1. */
    RZ_COMMIT_PROOF,

    /* The barrier of the epoch has opened (recover: phase RUN). From now on pieces are protected
     * under its placement, and generations may be committed. */
    RZ_COMMIT_OPENED
};

/* RZ_ACTION_NOTIFY, arg[0] = epoch: */
enum rz_commit_notice {
    /* arg[1] = generation: it is committed; older ones may be overwritten (see above). */
    RZ_COMMIT_COMMITTED,

    /* arg[1] = generation to restore, or 0: begin at iteration 0. */
    RZ_COMMIT_RESTORE,

    /* Every piece of an own rank that must be restored is at this daemon and at its keepers again
     * (immediately after RESTORE if there is nothing to do). The host holds its REACHED back until
     * then. */
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

/* The newest existing generation: committed in this epoch, or restored; 0: none. */
uint64_t rz_commit_generation(const struct rz_commit *commit);

/* The generation that may be written now: that of the next checkpoint. */
uint64_t rz_commit_next(const struct rz_commit *commit);

/* The epoch in which the generation being restored was written: its pieces are named by this and
 * its number. 0: none. */
uint32_t rz_commit_written_in(const struct rz_commit *commit);

/* The epoch in which the generation before that one was written, if the job can go back to it; 0:
 * it cannot. Hosts keep it until RZ_COMMIT_OPENED. */
uint32_t rz_commit_older_written_in(const struct rz_commit *commit);

/* In the current epoch: the keepers that must acknowledge rank's piece; returns their number.
 * FILES: its owner. */
uint32_t rz_commit_keepers(const struct rz_commit *commit, uint32_t rank,
                           rz_id keepers[RZ_COMMIT_MEMBERS_MAX]);

/*
 * For the generation being restored: the live daemons that hold rank's piece whole, best first (the
 * owner of this epoch if it holds the piece, the old owner, the old buddy). None: its group or its
 * file restores it; or, if a failure is known that is not agreed yet, no daemon can, and another
 * epoch follows.
 */
uint32_t rz_commit_holders(const struct rz_commit *commit, uint32_t rank, rz_id holders[2]);

/* A layout: a placement of ranks and the live daemons, which determine the groups. */
enum rz_commit_when {
    RZ_COMMIT_HOME, /* that of the last epoch whose barrier opened: the layout of the generation to
                       restore */
    RZ_COMMIT_NOW   /* the layout of this epoch */
};

/* The first epoch with this layout (the same value for both layouts while nothing has changed).
 * With the generation it names parities; 0: no barrier has opened yet. */
uint32_t rz_commit_layout(const struct rz_commit *commit, enum rz_commit_when when);

/* The group of a daemon, with GROUPS. */
struct rz_commit_group {
    const rz_id *members;
    uint32_t n, parity; /* any `parity` of the n may be lost; 0 when n is 1 */
    uint32_t place;     /* position of the daemon in the group */
};

/* False: the daemon is not alive in this layout. */
bool rz_commit_group(const struct rz_commit *commit, enum rz_commit_when when, rz_id daemon,
                     struct rz_commit_group *group);

/* Stripes run along rows: row j holds the j-th rank of each daemon. rank_at: RZ_ID_NONE if the
 * daemon has fewer ranks. */
rz_id rz_commit_owner_of(const struct rz_commit *commit, enum rz_commit_when when, uint32_t rank);
uint32_t rz_commit_row_of(const struct rz_commit *commit, enum rz_commit_when when, uint32_t rank);
uint32_t rz_commit_rank_at(const struct rz_commit *commit, enum rz_commit_when when, rz_id daemon,
                           uint32_t row);

/* Whether the piece being restored of this own rank must still be sent to its keepers. */
bool rz_commit_needs_copy(const struct rz_commit *commit, uint32_t rank);

#endif
