/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The dynamic group of recommended processes (DGRP; Camargo, Duarte 2018): the processes that
 * answer tests in time, as tested by the members of the group.
 *
 * In each interval every member of the group tests all other processes: TEST, and the answer REPLY.
 * The time between them is compared with a threshold that follows mean and spread of earlier tests.
 * One failed test by one tester makes a process non-recommended. A non-recommended process that has
 * passed zeta tests in a row may rejoin if a majority of the group agrees: the core reports
 * WANT_REJOIN, the host lets the group decide (component paxos) and calls READMIT.
 *
 * The state of process k is one event counter: even is recommended, odd is non-recommended; it
 * begins at 0 and grows by one at each event. All counters are sent with each TEST, and at once at
 * the end of an interval with events. The larger counter wins, so lost, repeated and reordered
 * messages do no harm. Only counters from members of the group count. A process is recommended or
 * non-recommended here, not alive or failed; a failed process does not answer.
 *
 * A process that considers itself non-recommended tests no process, and replaces its counters by
 * those of any tester that knows its state: what it found while it was non-recommended reached no
 * member, and must not take effect after its rejoin. Its answers carry its own state; a tester that
 * did not know that state accepts it: otherwise the process would wait for a rejoin that no member
 * considers necessary.
 *
 * At least one member: if no process tests any more (the last member has failed, or two members
 * have made each other non-recommended), the living process of least rank becomes the only member:
 * see config.patience.
 *
 * Local health (health_max > 0; the idea of Lifeguard: Dadgar, Phillips, Currey, 2017). To a slow
 * tester all processes seem slow, and one tester suffices to remove a member. So failed tests take
 * effect only at the end of their interval, when events are sent anyway. If more than one member
 * failed its test, and more than half of those tested did, the tester doubts itself: none of these
 * tests counts, neither as an event nor against a run of good tests; its health grows by one; and
 * all its thresholds are 1 + health times as long, up to an interval. An interval in which all
 * tested members were assessed, without doubt, lowers health by one. After health_max doubts in a
 * row the next one is overruled: all tests count, and health is 0 again. So the loss of all others
 * is detected after health_max + 1 intervals. A failure reported by the host is not doubted. The
 * rule is certain if thresholds are shorter than the interval, so that tests that begin together
 * are assessed together.
 *
 * Assignment. FULL: every member tests all others. CUBE (VCube: Duarte, Bona, Ruoso, 2014): member
 * i tests member k iff i is the first member, in the view of i, of one of the clusters c(k, s). All
 * members test each non-recommended process, because the runs of good tests are their votes. What a
 * member does not test, it knows by counters alone.
 *
 * For a process that has not answered a tester yet the threshold is threshold_first, for that long
 * from the tester's first interval on. Later it is the largest threshold of the members that have
 * answered the tester (if there are none, of the non-recommended processes), but no more than
 * threshold_first: then others made these tests before, and this tester takes over from one that
 * became non-recommended.
 *
 * State is about 100 bytes for each other process, whatever the assignment.
 *
 * Costs without events: 2n(n-1) messages per interval; CUBE: two per process and cluster of it with
 * a member, 2n log2 n where all are in and n is a power of two. n-1 per member that found events.
 */
#ifndef RZ_PROTO_DIAGNOSE_H
#define RZ_PROTO_DIAGNOSE_H

#include <rhizome/protocol.h>

#define RZ_DIAGNOSE_MEMBERS_MAX 65536

/* How the threshold follows from mean + 4 * spread: plus factor nanoseconds, or times factor /
 * 1000. */
enum rz_diagnose_factor { RZ_DIAGNOSE_ADD, RZ_DIAGNOSE_MULTIPLY };

/* Deliberate faults for the tests of the checkers (tests/sim/diagnose_schedules.c). */
enum rz_diagnose_mutation {
    RZ_DIAGNOSE_INCREMENT = 1,    /* a counter that is larger in a message is raised by one, and an
                                     equal one too: each message is taken for an event */
    RZ_DIAGNOSE_UPDATE_FIRST = 2, /* the threshold is updated before the test is assessed */
    RZ_DIAGNOSE_KEEP_OKRUN = 4,   /* a rejoin leaves the run of good tests as it is */
    RZ_DIAGNOSE_DOUBT_ALWAYS = 8, /* a doubt is never overruled */
    RZ_DIAGNOSE_FIRST_ONLY = 16,  /* CUBE: the first of a cluster tests, member or not */
    RZ_DIAGNOSE_KEEP_VOTERS = 32  /* no member asks for other voters */
};

/* The assignment of testers: see above. */
enum rz_diagnose_assignment { RZ_DIAGNOSE_FULL, RZ_DIAGNOSE_CUBE };

#define RZ_DIAGNOSE_HEALTH_MAX 100

struct rz_diagnose_config {
    uint32_t n_members; /* 1..RZ_DIAGNOSE_MEMBERS_MAX */
    uint32_t view;      /* written into every message; others are dropped */
    rz_time interval;   /* between tests, > 0; the paper: 1 s */
    rz_time start;      /* from init to the first interval, so that members do not start together */
    rz_time
        threshold_first; /* the threshold before the first answer of a process; see above. 0: 8 s */
    rz_time threshold_max; /* cap; 0: 60 s */
    rz_time threshold_min; /* lower bound of thresholds: what a loaded machine needs to answer */
    enum rz_diagnose_factor mode; /* and its factor, which is at most 10^5 for MULTIPLY */
    uint64_t factor;
    uint32_t zeta;       /* good tests in a row before a rejoin is requested; 0: 5 */
    uint32_t patience;   /* intervals. A non-recommended process takes the group over when no tester
                            that it believes has tested it for (1 + its rank) times patience; for its
                            rank times patience, if it knows of no member. 0: 2 * zeta */
    uint32_t health_max; /* doubts in a row before one is overruled, <= RZ_DIAGNOSE_HEALTH_MAX; 0:
                            no member doubts itself */
    enum rz_diagnose_assignment assignment;
    bool by_host; /* the host does the task of a test, see RZ_DIAGNOSE_TASK; otherwise REPLY is sent
                     at once */
    bool report;  /* RZ_DIAGNOSE_TESTED is reported */
    uint32_t mutations;
};

/*
 * RZ_EVENT_FAILURE: the members in ids have failed: like a failed test that counts at once; they
 * are not tested any more.
 *
 * RZ_EVENT_CALL, call =
 *
 * RZ_DIAGNOSE_READMIT: arg[0] = k, arg[1] = its odd counter: the group has decided that k rejoins.
 * Late or repeated ones do nothing.
 *
 * RZ_DIAGNOSE_ANSWER: arg[0..2] as in the notice RZ_DIAGNOSE_TASK: the task is done.
 *
 * RZ_DIAGNOSE_VIEW: arg[0] = number of a computing round, items = counters as rz_diagnose_counters
 * gives them, agreed by element-wise maximum among the members: from now on rz_diagnose_view is the
 * group by these counters, the same at all members. Round numbers grow; others are ignored.
 *
 * RZ_DIAGNOSE_BEGIN: items = counters as above, the same at all members: the initial counters of a
 * group that continues among other members than before. Before the first event, or never.
 */
enum rz_diagnose_call {
    RZ_DIAGNOSE_READMIT,
    RZ_DIAGNOSE_ANSWER,
    RZ_DIAGNOSE_VIEW,
    RZ_DIAGNOSE_BEGIN
};

/*
 * RZ_ACTION_NOTIFY, what =
 *
 * RZ_DIAGNOSE_WANT_REJOIN: arg[0] = k, arg[1] = its counter: k has passed zeta tests in a row, or
 * zeta more. The host lets the group decide by consensus.
 *
 * RZ_DIAGNOSE_CHANGED: arg[0] = k, arg[1] = its new counter.
 *
 * RZ_DIAGNOSE_ALONE: arg[0] = own id, arg[1] = own new counter: this process is the only member
 * now; all others are non-recommended until it readmits them.
 *
 * RZ_DIAGNOSE_TASK (by_host): arg[0] = tester, arg[1], arg[2] = to be passed back: do the task of
 * the test, then call RZ_DIAGNOSE_ANSWER.
 *
 * RZ_DIAGNOSE_TESTED (report): arg[0] = k, arg[1] = test time, RZ_TIME_NEVER: no answer, arg[2] =
 * the threshold that was applied, arg[3] = 1: passed.
 *
 * RZ_DIAGNOSE_DOUBT: the interval that ends was one of doubt: arg[0] of arg[1] members failed,
 * arg[2] = health from now on, arg[3] = 1: overruled, these tests count.
 */
enum rz_diagnose_notice {
    RZ_DIAGNOSE_WANT_REJOIN,
    RZ_DIAGNOSE_CHANGED,
    RZ_DIAGNOSE_ALONE,
    RZ_DIAGNOSE_TASK,
    RZ_DIAGNOSE_TESTED,
    RZ_DIAGNOSE_DOUBT
};

/* Messages. seq of TEST and REPLY = number of the interval, word[0] = start of the test by the
 * tester's clock; word[1] of REPLY = the answering process's own counter. Items of TEST and EVENTS
 * = counters. */
enum rz_diagnose_message { RZ_DIAGNOSE_TEST, RZ_DIAGNOSE_REPLY, RZ_DIAGNOSE_EVENTS };

/* A counter as an item; those that are 0 are left out. */
#define RZ_DIAGNOSE_ITEM(k, counter) ((uint64_t)(k) << 32 | (uint32_t)(counter))

struct rz_diagnose;

size_t rz_diagnose_size(const struct rz_diagnose_config *config);
void rz_diagnose_init(struct rz_diagnose *diagnose, const struct rz_diagnose_config *config,
                      rz_id self, rz_time now, uint64_t seed);
enum rz_more rz_diagnose_step(struct rz_diagnose *diagnose, const struct rz_event *event,
                              struct rz_actions *out);
rz_time rz_diagnose_deadline(const struct rz_diagnose *diagnose);
uint64_t rz_diagnose_hash(const struct rz_diagnose *diagnose);
void rz_diagnose_grow(struct rz_diagnose *diagnose, size_t bytes); /* never requested */

uint32_t rz_diagnose_counter(const struct rz_diagnose *diagnose, rz_id k);
/* Whether k is in the group as known here; the number of members, which may be 0 for a while. */
bool rz_diagnose_has(const struct rz_diagnose *diagnose, rz_id k);
uint32_t rz_diagnose_group_size(const struct rz_diagnose *diagnose);
/* The counters as items, sorted; *n of them; valid until the next call of this function or step. */
const uint64_t *rz_diagnose_counters(struct rz_diagnose *diagnose, uint32_t *n);
uint32_t rz_diagnose_okrun(const struct rz_diagnose *diagnose, rz_id k);
/* This member's vote on the rejoin of k with this counter: more than half of zeta good tests. */
bool rz_diagnose_would_readmit(const struct rz_diagnose *diagnose, rz_id k, uint32_t counter);
/* The threshold of the next test of k, from mean, spread and health. */
rz_time rz_diagnose_threshold(const struct rz_diagnose *diagnose, rz_id k);
/* Local health, and the number of intervals in a row in which this member has doubted itself. */
uint32_t rz_diagnose_health(const struct rz_diagnose *diagnose);
uint32_t rz_diagnose_doubts(const struct rz_diagnose *diagnose);
/* Whether this member tests k, by the group as it knows it. */
bool rz_diagnose_tests(const struct rz_diagnose *diagnose, rz_id k);
uint64_t rz_diagnose_interval(const struct rz_diagnose *diagnose);
/* The agreed group of the computing round *round (0: none yet, all members), as a bit set. */
const uint64_t *rz_diagnose_view(const struct rz_diagnose *diagnose, uint64_t *round);

/* ---- the threshold (diagnose_threshold.c) ---- */

struct rz_diagnose_statistics {
    rz_time mean, spread, threshold;
    bool measured;
};

/* Adds one test time: spread first (by the old mean), then mean, each 0.9 old + 0.1 new, rounded;
 * then the threshold, between threshold_min and threshold_max. */
void rz_diagnose_measure(struct rz_diagnose_statistics *statistics, rz_time test_time,
                         const struct rz_diagnose_config *config);

/* ---- the view of a computing round (diagnose_view.c) ---- */

/* The counters of one member, as rz_diagnose_counters returns them. */
struct rz_diagnose_list {
    rz_id from;
    const uint64_t *items;
    uint32_t n_items;
};

/* Whether items are counters of these members, sorted, each at most once: lists from messages must
 * be checked before they are joined. */
bool rz_diagnose_are_counters(uint32_t n_members, const uint64_t *items, uint32_t n);

/*
 * The counters of a round, counters[0..n_members), from the lists of the members that have arrived:
 * lists[0..n_lists), at least one, sorted by sender, one per sender. They are the maximum over the
 * lists, in the order of ranks, without the lists of members that an earlier list makes
 * non-recommended: by the plain maximum two members that report each other would both be excluded.
 * A member that considers itself non-recommended is excluded, and its list does not count for
 * others. If all members that arrived consider themselves non-recommended, the first of them is
 * recommended, by the next even counter. So at least one sender is always in the view, and members
 * that join the same lists have the same view: that of rz_diagnose_view after RZ_DIAGNOSE_VIEW.
 */
void rz_diagnose_join(uint32_t n_members, uint32_t n_lists, const struct rz_diagnose_list *lists,
                      uint32_t *counters);

/* ---- voters (diagnose_voters.c) ---- */

/*
 * The voters on rejoins: a set that the host's agreement decides (component view_change: members
 * that request another set arrive there), numbered 1, 2, ...; 0: the initial members of the group.
 * More than half of the voters must vote yes, so a set whose majority is lost decides nothing. A
 * recommended member requests another set
 * - at once if no more than half of the voters are recommended, by its counters, or it is not a
 *   voter itself: waiting members delay no other member;
 * - at once after its rejoin: it may have missed decisions;
 * - when the voters have differed from the group for `patience` intervals.
 */
struct rz_diagnose_voters {
    uint64_t *set; /* bit set, the host's memory */
    uint32_t number;
    bool asked;   /* requested, and not informed of another set since */
    bool differs; /* the voters differ from the group, since that interval */
    uint32_t own; /* the own counter; both at the last check */
    uint64_t since;
};

/* Whether this member requests another set now; to be called after each step. While it waits the
 * host passes changed counters to the agreement. */
bool rz_diagnose_asks_for_voters(const struct rz_diagnose *diagnose,
                                 struct rz_diagnose_voters *voters);
/* Another set is decided: the host has written it. */
void rz_diagnose_take_voters(struct rz_diagnose_voters *voters, uint32_t number);

/* ---- clusters (diagnose_cube.c) ---- */

/* The least d with 2^d >= n: processes are corners of a hypercube; virtual ones are added if n is
 * not a power of two. */
uint32_t rz_diagnose_dimensions(uint32_t n);

/* Cluster c(i, s), s = 1..dimensions: 2^(s-1) processes, in order, including those that do not
 * exist. */
uint32_t rz_diagnose_cluster(rz_id i, uint32_t s, rz_id *cluster);

/* The first of c(i, s) that is in the view, or RZ_ID_NONE (DGRP, algorithm 3: the partner of i in
 * round s). */
rz_id rz_diagnose_partner(const uint64_t *view, uint32_t n, rz_id i, uint32_t s);

/* The process that acts for virtual process v: v itself, or the first in the view of c(v,1),
 * c(v,2), ... (DGRP, algorithm 4). RZ_ID_NONE: the view is empty. */
rz_id rz_diagnose_owner(const uint64_t *view, uint32_t n, rz_id v);

#endif
