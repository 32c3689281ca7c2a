/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Snapshots: how the members of a job learn that all of them have stopped and that no message is in
 * flight, so that each may save its memory.
 *
 * Members are the n ranks of a job in one epoch; an object lives for one epoch. A new epoch is a
 * new object, with another view. Attempts are numbered from 1, and every member takes part in each
 * of them, in this order:
 *
 *   1. The member stops at a safe point: START. A stopped member does not run its program; it takes
 *      messages in, and these may make it send more, but finitely many. It may refuse.
 *   2. Waves go up a binomial tree with root 0: each member contributes how many messages it has
 *      sent and taken in since the epoch began, at a moment at which nothing local is under way.
 *      Two waves with the same sums, and as many messages taken in as sent: the job is quiet
 *      (Mattern, "Algorithms for distributed termination detection", Distributed Computing 2
 *      (1987), four-counter method).
 *   3. QUIET: each member fixes its image: from then on nothing that the program or another member
 *      does changes it (a copy, or pages that are copied before they are written). SAVED.
 *   4. Once all have fixed theirs, ENDED at all: the program goes on. Not before: a message of a
 *      member that goes on would be in the image of a receiver that still has to fix its own, but
 *      not in the image of its sender.
 *
 * If a member refuses, or cannot fix its image, ENDED names it and its reason at all members, and
 * there is no snapshot. A wave begins only if something has changed since the last one, or to
 * confirm it; there is no timer.
 *
 * What is a message: everything that a member hands to a transport and that would be missed, or
 * would be too much, in memory that is restored. Messages of this component are not counted.
 *
 * Failures. The failure of a member ends the epoch: after RZ_EVENT_FAILURE the object outputs
 * nothing, and the host waits to be rolled back.
 *
 * Commit. ENDED with reason 0 says that the image of every member is fixed, not that it is stored.
 * Each host then hands its piece to its daemon (RZ_LINK_STORE) under the number of such attempts in
 * this epoch, which is the same at all members; the daemons commit the generation when all pieces
 * and their copies are stored (proto/commit). A job that fails in between goes back to the
 * generation before. An attempt that ended otherwise takes no number. The host answers
 * RZ_SNAPSHOT_QUIET only when it may overwrite the older piece: the last generation is committed.
 */
#ifndef RZ_PROTO_SNAPSHOT_H
#define RZ_PROTO_SNAPSHOT_H

#include <rhizome/protocol.h>

/* Deliberate faults, which prove that the checkers find them; 0 in production. */
enum rz_snapshot_mutation {
    RZ_SNAPSHOT_ONE_WAVE = 1,      /* one wave with equal sums suffices */
    RZ_SNAPSHOT_ANY_BALANCE = 2,   /* the sums of the two waves may differ from one another */
    RZ_SNAPSHOT_DESPITE_BUSY = 4,  /* a busy member contributes */
    RZ_SNAPSHOT_OLD_NUMBERS = 8,   /* numbers given before the wave came are contributed */
    RZ_SNAPSHOT_NO_CHANGES = 16,   /* changes after a contribution are not told */
    RZ_SNAPSHOT_NO_BARRIER = 32,   /* a member goes on when it has saved */
    RZ_SNAPSHOT_SAVE_UNHEARD = 64, /* a member reports itself saved when it is told to save */
    RZ_SNAPSHOT_DEAF = 128,        /* refusals of other members are forgotten */
    RZ_SNAPSHOT_NO_EARLY = 256     /* contributions that precede the own start are dropped */
};

struct rz_snapshot_config {
    uint32_t n_members; /* >= 1 */
    uint32_t view;      /* of the epoch; written into every message, others are dropped */
    uint32_t mutations; /* enum rz_snapshot_mutation, or 0 */
};

/* RZ_EVENT_CALL. A reason is a code of the host; 0: none. */
enum rz_snapshot_call {
    /* This member has stopped. arg[0] = attempt: rz_snapshot_attempt. arg[1] = reason to refuse.
     * Leads to ASKED, if it does not refuse. */
    RZ_SNAPSHOT_START,

    /*
     * The member's present state. arg[0] = messages sent, arg[1] = messages taken in since the
     * epoch began, neither ever smaller than before; arg[2] = whether something is under way that
     * no other member's message ends (a payload being fetched, an offer not looked at, ...); arg[3]
     * = reason to refuse from now on.
     *
     * After ASKED: at once. While stopped: whenever one of the three has changed, latest when
     * nothing is under way any more. At other times it is ignored. A member that is not busy
     * becomes busy, or sends, only because of a message that it takes in and counts.
     */
    RZ_SNAPSHOT_LOCAL,

    /* After QUIET: the image is fixed; or it cannot be: arg[0] = reason. */
    RZ_SNAPSHOT_SAVED
};

/* RZ_ACTION_NOTIFY, arg[0] = attempt: */
enum rz_snapshot_notice {
    RZ_SNAPSHOT_ASKED, /* call LOCAL: a wave has come */

    RZ_SNAPSHOT_QUIET, /* all members have stopped, none is busy, no message is in flight: fix the
                          image, then call SAVED */

    /* All members have fixed their images (arg[2] = 0), or there is no snapshot: arg[1] = a member
     * that refuses or failed to save, arg[2] = its reason. Of several the smallest one, except that
     * a refusal given after START may be outrun by another one. The same at all members. The
     * program goes on; the next attempt may start. */
    RZ_SNAPSHOT_ENDED
};

struct rz_snapshot;

size_t rz_snapshot_size(const struct rz_snapshot_config *config);
void rz_snapshot_init(struct rz_snapshot *snapshot, const struct rz_snapshot_config *config,
                      rz_id self, rz_time now, uint64_t seed);
/* Never returns RZ_MORE or RZ_NEED: at most four actions. */
enum rz_more rz_snapshot_step(struct rz_snapshot *snapshot, const struct rz_event *event,
                              struct rz_actions *out);
rz_time rz_snapshot_deadline(const struct rz_snapshot *snapshot); /* always RZ_TIME_NEVER */
uint64_t rz_snapshot_hash(const struct rz_snapshot *snapshot);
void rz_snapshot_grow(struct rz_snapshot *snapshot, size_t bytes); /* never requested */

enum rz_snapshot_phase {
    RZ_SNAPSHOT_RUNNING, /* not stopped: the attempt is the next one to start */
    RZ_SNAPSHOT_WAVES,   /* stopped */
    RZ_SNAPSHOT_SAVING,  /* told that the job is quiet */
    RZ_SNAPSHOT_WAITING, /* saved; others have not, as far as is known here */
    RZ_SNAPSHOT_BROKEN   /* a member has failed */
};
enum rz_snapshot_phase rz_snapshot_phase(const struct rz_snapshot *snapshot);

/* The attempt under way, or in phase RUNNING the next one: one more than were ended here. */
uint32_t rz_snapshot_attempt(const struct rz_snapshot *snapshot);

/* The last wave of the attempt that has come here; the first one is 1. For tests and traces. */
uint32_t rz_snapshot_wave(const struct rz_snapshot *snapshot);

/* The outcome of the attempt that ended last here, as in ENDED. */
struct rz_snapshot_end {
    rz_id member;    /* RZ_ID_NONE: no attempt has ended, or reason is 0 */
    uint32_t reason; /* 0: every member has saved */
};
struct rz_snapshot_end rz_snapshot_end(const struct rz_snapshot *snapshot);

#endif
