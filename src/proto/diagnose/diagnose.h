/*
 * The dynamic group of recommended processes (Camargo, Duarte 2018): who answers tests in time, by
 * the word of those who do.
 *
 * In each interval every member of the group tests all other processes: TEST, and the answer
 * REPLY. The time from one to the other is compared with a threshold that follows mean and spread
 * of earlier tests. Who is late or silent becomes non-recommended by the word of one tester alone;
 * who has answered zeta tests in a row may come back, when a majority of the group says so: the
 * host is told WANT_REJOIN, lets the group decide (room paxos), and calls READMIT.
 *
 * What is known of process k is one event counter: even is recommended, odd is not; it begins at 0
 * and grows by one at each event. Counters travel whole with each TEST, and at once at the end of
 * an interval with events; the larger one holds, so what was lost, doubled or overtaken does no
 * harm. Only what members of the group say counts. A process is not crashed or alive here, but
 * recommended or not; a crash is a silence.
 *
 * A process that holds itself for out tests nobody, and takes the counters of any tester that
 * knows as much about it, in place of its own: what it found since it was out has been heard by
 * nobody, and must not come up when it is back. It says with its answers that it is out; a tester
 * who did not know takes its word: else it would wait for a rejoin that nobody thinks it needs.
 *
 * At least one: where nobody tests any more (the last member has failed, or two that put each other
 * out have both taken it to heart), the least process that lives takes the group over, alone: see
 * config.patience.
 *
 * Local health (health_max > 0; the idea of Lifeguard: Dadgar, Phillips, Currey, 2017). A tester
 * that is slow itself finds everybody slow, and one tester's word is enough. So failed tests wait
 * for the end of their interval, and count then, with the events that are told then anyway. Where
 * more than one member failed, and more than half of those tested, the tester doubts itself: none
 * of these tests counts, neither as an event nor against a run of good ones, its health goes up by
 * one, and all its thresholds are 1 + health times as long, up to an interval. An interval in
 * which all members tested were assessed, and no doubt arose, takes one away. After health_max
 * doubts in a row the next one is overruled: everything counts, health is 0 again. So health_max +
 * 1 intervals of verdicts find that all others are gone. A failure told by the host is beyond
 * doubt. The rule is sure where thresholds are below the interval, so that tests that begin
 * together are assessed together.
 *
 * Assignment. FULL: every member tests all others. CUBE (VCube: Duarte, Bona, Ruoso, 2014): member
 * i tests member k where i is the first member, as i knows the group, of one of the clusters c(k,
 * s); who is out is tested by all, for their runs of good tests are their votes. What a member does
 * not test it knows by counters alone.
 *
 * Who has not answered a tester yet is tested by threshold_first while that time lasts from the
 * tester's first interval on; later by the largest threshold of those members that have answered
 * the tester (where none has, of those who are out), but no more than threshold_first: then others
 * had these tests before, and this one takes over from who is out.
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

/* How the threshold is made of mean + 4 * spread: factor nanoseconds more, or factor / 1000 times.
 */
enum rz_diagnose_factor { RZ_DIAGNOSE_ADD, RZ_DIAGNOSE_MULTIPLY };

/* Deviations for tests of the checkers (tests/sim/diagnose_schedules.c). */
enum rz_diagnose_mutation {
    RZ_DIAGNOSE_INCREMENT = 1,    /* a counter that is larger elsewhere is counted up by one, and
                                     an equal one, too: each message is taken for an event */
    RZ_DIAGNOSE_UPDATE_FIRST = 2, /* the threshold is adapted before the verdict */
    RZ_DIAGNOSE_KEEP_OKRUN = 4,   /* a rejoin leaves the run of good tests as it is */
    RZ_DIAGNOSE_DOUBT_ALWAYS = 8, /* no doubt is ever overruled */
    RZ_DIAGNOSE_FIRST_ONLY = 16,  /* CUBE: the first of a cluster tests, member or not */
    RZ_DIAGNOSE_KEEP_VOTERS = 32  /* nobody asks for other voters */
};

/* Who tests whom: see above. */
enum rz_diagnose_assignment { RZ_DIAGNOSE_FULL, RZ_DIAGNOSE_CUBE };

#define RZ_DIAGNOSE_HEALTH_MAX 100

struct rz_diagnose_config {
    uint32_t n_members;           /* 1..RZ_DIAGNOSE_MEMBERS_MAX */
    uint32_t view;                /* written into every message; others are dropped */
    rz_time interval;             /* between tests, > 0; the paper: 1 s */
    rz_time start;                /* from init to the first interval: not all at once */
    rz_time threshold_first;      /* before the first answer of a process; for so long, see above.
                                     0: 8 s */
    rz_time threshold_max;        /* cap; 0: 60 s */
    rz_time threshold_min;        /* no threshold is below: what a loaded machine needs to answer */
    enum rz_diagnose_factor mode; /* and its factor, which is at most 10^5 for MULTIPLY */
    uint64_t factor;
    uint32_t zeta;       /* good tests in a row until a rejoin is asked for; 0: 5 */
    uint32_t patience;   /* intervals: who is out and was tested for so many, times 1 + its rank, by
                            nobody it believes, takes over; times its rank, where it knows of nobody
                            who is in; 0: 2 * zeta */
    uint32_t health_max; /* doubts in a row before they are overruled, <= RZ_DIAGNOSE_HEALTH_MAX;
                            0: no member doubts itself */
    enum rz_diagnose_assignment assignment;
    bool by_host; /* the host does the tests' task, see RZ_DIAGNOSE_TASK; else REPLY is at once */
    bool report;  /* RZ_DIAGNOSE_TESTED is told */
    uint32_t mutations;
};

/*
 * RZ_EVENT_FAILURE: the members in ids have failed: as a failed test that counts at once, and they
 * are tested no more.
 *
 * RZ_EVENT_CALL, call =
 *
 * RZ_DIAGNOSE_READMIT: arg[0] = k, arg[1] = its odd counter: the group has decided that k is back.
 * Late or repeated ones do nothing.
 *
 * RZ_DIAGNOSE_ANSWER: arg[0..2] as in the notice RZ_DIAGNOSE_TASK: the task is done.
 *
 * RZ_DIAGNOSE_VIEW: arg[0] = number of a computing round, items = counters as rz_diagnose_counters
 * gives them, agreed by element-wise maximum among the members: from now on rz_diagnose_view is
 * the group by these counters, the same at all members. Rounds grow; others are ignored.
 *
 * RZ_DIAGNOSE_BEGIN: items = counters as above, the same at all members: what the group begins
 * with, where it goes on among other members than before. Before the first event, or never.
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
 * zeta more. The host lets the group decide.
 *
 * RZ_DIAGNOSE_CHANGED: arg[0] = k, arg[1] = its new counter.
 *
 * RZ_DIAGNOSE_ALONE: arg[0] = own id, arg[1] = own new counter: this process is the group now; all
 * others are out until it readmits them.
 *
 * RZ_DIAGNOSE_TASK (by_host): arg[0] = tester, arg[1], arg[2] = to be handed back: do the test's
 * task, then call RZ_DIAGNOSE_ANSWER.
 *
 * RZ_DIAGNOSE_TESTED (report): arg[0] = k, arg[1] = test time, RZ_TIME_NEVER: no answer, arg[2] =
 * the threshold of the verdict, arg[3] = 1: passed.
 *
 * RZ_DIAGNOSE_DOUBT: the interval that ends was one of doubt: arg[0] of arg[1] members failed,
 * arg[2] = health from now on, arg[3] = 1: overruled, these verdicts count.
 */
enum rz_diagnose_notice {
    RZ_DIAGNOSE_WANT_REJOIN,
    RZ_DIAGNOSE_CHANGED,
    RZ_DIAGNOSE_ALONE,
    RZ_DIAGNOSE_TASK,
    RZ_DIAGNOSE_TESTED,
    RZ_DIAGNOSE_DOUBT
};

/* Messages. seq of TEST and REPLY = number of the interval, word[0] = when the test began by the
 * tester's clock; word[1] of REPLY = the counter of the one who answers. Items of TEST and EVENTS =
 * counters. */
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
void rz_diagnose_grow(struct rz_diagnose *diagnose, size_t bytes); /* never asked for */

uint32_t rz_diagnose_counter(const struct rz_diagnose *diagnose, rz_id k);
/* Whether k is in the group as known here; how many are, maybe none for a while. */
bool rz_diagnose_has(const struct rz_diagnose *diagnose, rz_id k);
uint32_t rz_diagnose_group_size(const struct rz_diagnose *diagnose);
/* The counters as items, sorted; *n of them; valid until the next call of it or step. */
const uint64_t *rz_diagnose_counters(struct rz_diagnose *diagnose, uint32_t *n);
uint32_t rz_diagnose_okrun(const struct rz_diagnose *diagnose, rz_id k);
/* What a member votes on the rejoin of k with this counter: more than half of zeta good tests. */
bool rz_diagnose_would_readmit(const struct rz_diagnose *diagnose, rz_id k, uint32_t counter);
/* Of the next verdict on k, by mean, spread and health. */
rz_time rz_diagnose_threshold(const struct rz_diagnose *diagnose, rz_id k);
/* Local health, and for how many intervals in a row this member has doubted itself. */
uint32_t rz_diagnose_health(const struct rz_diagnose *diagnose);
uint32_t rz_diagnose_doubts(const struct rz_diagnose *diagnose);
/* Whether this member tests k, by the group as it knows it. */
bool rz_diagnose_tests(const struct rz_diagnose *diagnose, rz_id k);
uint64_t rz_diagnose_interval(const struct rz_diagnose *diagnose);
/* The agreed group of the computing round *round (0: none yet, all members), as a bit set. */
const uint64_t *rz_diagnose_view(const struct rz_diagnose *diagnose, uint64_t *round);

/* --- the threshold (diagnose_threshold.c) ----------------------------------------------------- */

struct rz_diagnose_statistics {
    rz_time mean, spread, threshold;
    bool measured;
};

/* One test time: spread first (by the old mean), then mean, each 0.9 old + 0.1 new, rounded; then
 * the threshold, threshold_min at least and threshold_max at most. */
void rz_diagnose_measure(struct rz_diagnose_statistics *statistics, rz_time test_time,
                         const struct rz_diagnose_config *config);

/* --- the view of a computing round (diagnose_view.c) ------------------------------------------ */

/* What one member says: counters as rz_diagnose_counters gives them. */
struct rz_diagnose_list {
    rz_id from;
    const uint64_t *items;
    uint32_t n_items;
};

/* Whether items are counters of these members, sorted, each at most once: lists that came by a
 * message are to be looked at before they are joined. */
bool rz_diagnose_are_counters(uint32_t n_members, const uint64_t *items, uint32_t n);

/*
 * The counters of a round, counters[0..n_members), from the lists of the members that have arrived:
 * lists[0..n_lists), at least one, sorted by sender, each of a sender of its own. They are the
 * greatest over the lists, in the order of ranks, without the lists of those that an earlier one
 * puts out: by the greatest alone, two that report each other would both go. Who holds itself for
 * out is out, and speaks for nobody else. Where all that arrived hold themselves for out, the first
 * of them is in, by the next even counter. So some sender is in always, and who joins the same
 * lists has the same view: what rz_diagnose_view gives after RZ_DIAGNOSE_VIEW.
 */
void rz_diagnose_join(uint32_t n_members, uint32_t n_lists, const struct rz_diagnose_list *lists,
                      uint32_t *counters);

/* --- voters (diagnose_voters.c) --------------------------------------------------------------- */

/*
 * Who votes on rejoins: a set that the host's agreement settles (room turn: members that ask arrive
 * there), numbered 1, 2, ...; 0: those that the group began with. Of these more than half must say
 * yes, so that a set most of which has gone decides nothing. A member that is in asks for another
 * one
 * - at once where no more than half of the voters are in, as it knows them, or it is none itself:
 *   those that wait hold nobody up;
 * - at once when it is back: it may have missed some;
 * - when the voters are others than the group for `patience` intervals.
 */
struct rz_diagnose_voters {
    uint64_t *set; /* bit set, the host's memory */
    uint32_t number;
    bool asked;   /* and not told of others since */
    bool differs; /* from the group, since that interval */
    uint32_t own; /* the own counter; both as of the last look */
    uint64_t since;
};

/* Whether this member asks now; to be called after each step. While it waits the host tells the
 * agreement of counters that change. */
bool rz_diagnose_asks_for_voters(const struct rz_diagnose *diagnose,
                                 struct rz_diagnose_voters *voters);
/* Others are settled: the host has written the set. */
void rz_diagnose_take_voters(struct rz_diagnose_voters *voters, uint32_t number);

/* --- clusters (diagnose_cube.c) --------------------------------------------------------------- */

/* The least d with 2^d >= n: processes are corners of a cube, virtual ones beside them where n is
 * no power of two. */
uint32_t rz_diagnose_dimensions(uint32_t n);

/* Cluster c(i, s), s = 1..dimensions: 2^(s-1) processes, in order, those that do not exist too. */
uint32_t rz_diagnose_cluster(rz_id i, uint32_t s, rz_id *cluster);

/* The first of c(i, s) that is in the view, or RZ_ID_NONE (algorithm 3: i's partner in round s). */
rz_id rz_diagnose_partner(const uint64_t *view, uint32_t n, rz_id i, uint32_t s);

/* Who acts for virtual process v: v itself, or the first in the view of c(v,1), c(v,2), ...
 * (algorithm 4). RZ_ID_NONE: the view is empty. */
rz_id rz_diagnose_owner(const uint64_t *view, uint32_t n, rz_id v);

#endif
