/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Consensus on one value per instance over channels that lose, repeat and reorder messages
 * (Lamport, "The part-time parliament" 1998, "Paxos made simple" 2001), with the collection of
 * votes by which a dynamic group readmits a member (Camargo, Duarte 2018, "rejoin").
 *
 * Instances are 64-bit numbers, values 64-bit words; what they mean is the host's. The members of
 * the view take part; more than half of them must answer. Ballots are (round, leader); each member
 * remembers the highest ballot it promised and the last one it accepted. The leader is the least
 * member of the view that the host does not doubt. Hosts may doubt different members, so there may
 * be several leaders: that is safe, but while two of them compete there may be no decision.
 *
 * With config.votes the value is not proposed but counted: each member's host is asked once per
 * instance, its answer goes with the promise, and the leader proposes 1 when more than half of the
 * view said yes, 0 when that is impossible or patience has ended. A vote is cast once and never
 * changes; a value that an earlier ballot may have decided takes precedence over all votes.
 *
 * An unanswered message is sent again after config.retry. A member that knows an instance and not
 * its decision requests it from the leader. Nothing is sent to doubted members; they request
 * decisions when they are back.
 *
 * Costs without loss: PREPARE, PROMISE, ACCEPT, ACCEPTED of n-1 each, then n-1 DECIDED, and one
 * REQUEST of each member but the leader that wants the decision.
 */
#ifndef RZ_PROTO_PAXOS_H
#define RZ_PROTO_PAXOS_H

#include <rhizome/protocol.h>

/* Deliberate faults for the tests of the checkers; each breaks a property
 * (tests/sim/paxos_schedules.c). */
enum rz_paxos_mutation {
    RZ_PAXOS_FORGET_PROMISE = 1, /* a lower ballot than the promised one is accepted */
    RZ_PAXOS_COUNT_MESSAGES = 2, /* votes are counted by message, not by member */
    RZ_PAXOS_SELF_TWICE = 4,     /* the leader counts itself twice */
    RZ_PAXOS_IGNORE_ACCEPTED =
        8,             /* a new leader proposes its own value whatever value was accepted */
    RZ_PAXOS_HALF = 16 /* half of an even view is a quorum */
};

struct rz_paxos_config {
    uint32_t n_members;      /* >= 1: ids are smaller */
    uint32_t view;           /* number of the first view */
    const uint64_t *members; /* bit set of the first view's members; NULL: all */
    rz_time retry;           /* > 0, more than a round trip */
    rz_time patience; /* after it, votes that are missing count as no, and a member that waits for a
                         decision requests it; 0: 4 * retry */
    bool votes;       /* values are counted from votes: 0 or 1 */
    uint32_t instances_max; /* to begin with; grows by RZ_NEED; 0: 4 */
    uint32_t mutations;
};

/*
 * RZ_EVENT_FAILURE: the members in ids have failed: doubted for ever.
 *
 * RZ_EVENT_CALL, call =
 *
 * RZ_PAXOS_PROPOSE: arg[0] = instance, arg[1] = value (with votes: ignored). Requests a decision; a
 * repeated request, while one is pending or after the decision, has no effect.
 *
 * RZ_PAXOS_VOTE: arg[0] = instance, arg[1] = 0 or 1: the answer to RZ_PAXOS_ASKED. A second one is
 * ignored.
 *
 * RZ_PAXOS_DOUBT: items = bit set of the members doubted from now on, words in order, missing ones
 * 0. May be wrong, and different at each member.
 *
 * RZ_PAXOS_VIEW: arg[0] = number of a new view, items = bit set of its members: all instances of
 * the old view are forgotten, decided or not; messages of other views are dropped. The host must
 * ensure that a number always means the same members. Doubts remain.
 */
enum rz_paxos_call { RZ_PAXOS_PROPOSE, RZ_PAXOS_VOTE, RZ_PAXOS_DOUBT, RZ_PAXOS_VIEW };

/*
 * RZ_ACTION_NOTIFY, what =
 *
 * RZ_PAXOS_DECIDED: arg[0] = instance, arg[1] = value; once per instance.
 *
 * RZ_PAXOS_ASKED: arg[0] = instance: the host answers by RZ_PAXOS_VOTE, now or later.
 */
enum rz_paxos_notice { RZ_PAXOS_DECIDED, RZ_PAXOS_ASKED };

/* Messages; seq = instance. */
enum rz_paxos_message {
    RZ_PAXOS_REQUEST,  /* to the leader: decide this, or send the decision. word[0] = value */
    RZ_PAXOS_PREPARE,  /* word[0] = ballot, word[1] = proposed value */
    RZ_PAXOS_PROMISE,  /* word[0] = ballot, word[1] = enum rz_paxos_vote; items: accepted ballot and
                          value, or none */
    RZ_PAXOS_ACCEPT,   /* word[0] = ballot, word[1] = value */
    RZ_PAXOS_ACCEPTED, /* word[0] = ballot */
    RZ_PAXOS_REFUSED,  /* word[0] = ballot, word[1] = the higher one promised */
    RZ_PAXOS_TOLD      /* the decision: word[0] = value; flags: RZ_PAXOS_ANSWER */
};

/* A TOLD with this flag must be answered by a TOLD without it. */
#define RZ_PAXOS_ANSWER 1

enum rz_paxos_vote { RZ_PAXOS_NO, RZ_PAXOS_YES, RZ_PAXOS_UNKNOWN };

struct rz_paxos;

size_t rz_paxos_size(const struct rz_paxos_config *config);
void rz_paxos_init(struct rz_paxos *paxos, const struct rz_paxos_config *config, rz_id self,
                   rz_time now, uint64_t seed);

/* A step works on one instance at most; the others follow by RZ_MORE. */
enum rz_more rz_paxos_step(struct rz_paxos *paxos, const struct rz_event *event,
                           struct rz_actions *out);
rz_time rz_paxos_deadline(const struct rz_paxos *paxos);
uint64_t rz_paxos_hash(const struct rz_paxos *paxos);
void rz_paxos_grow(struct rz_paxos *paxos, size_t bytes);

/* Whether the instance is decided here; if so, *value (may be NULL) is set. */
bool rz_paxos_decision(const struct rz_paxos *paxos, uint64_t instance, uint64_t *value);
/* Whether this member knows the instance in this view. */
bool rz_paxos_knows(const struct rz_paxos *paxos, uint64_t instance);
/* The last ballot accepted here, 0: none; otherwise *value is set. */
uint64_t rz_paxos_accepted(const struct rz_paxos *paxos, uint64_t instance, uint64_t *value);
uint64_t rz_paxos_promised(const struct rz_paxos *paxos, uint64_t instance);
/* The vote cast here. */
enum rz_paxos_vote rz_paxos_vote(const struct rz_paxos *paxos, uint64_t instance);
/* The least member that is not doubted, or RZ_ID_NONE: all have failed. */
rz_id rz_paxos_leader(const struct rz_paxos *paxos);
uint32_t rz_paxos_view(const struct rz_paxos *paxos);
uint32_t rz_paxos_view_size(const struct rz_paxos *paxos);

/* The value to propose, given `yes` of `voted` votes in a view; over: do not wait for more votes.
 * UNKNOWN: wait. (paxos_vote.c) */
enum rz_paxos_vote rz_paxos_count(uint32_t view_size, uint32_t yes, uint32_t voted, bool over);

#endif
