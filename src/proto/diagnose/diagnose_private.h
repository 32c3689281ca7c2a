/* The state of a member, as its files share it. One block: struct rz_diagnose; a peer for each
 * process; items; the agreed view; two lists of destinations. */
#ifndef RZ_PROTO_DIAGNOSE_PRIVATE_H
#define RZ_PROTO_DIAGNOSE_PRIVATE_H

#include "proto/diagnose/diagnose.h"

/* An hour: sums of longer times might overflow. */
#define RZ_DIAGNOSE_TEST_TIME_MAX (3600 * RZ_SECOND)

/* More events are nobody's: a counter must leave room for further ones. */
#define RZ_DIAGNOSE_COUNTER_MAX (UINT32_MAX / 2)

struct rz_diagnose_peer {
    struct rz_diagnose_statistics statistics;
    rz_time began;     /* the test under way */
    uint64_t test;     /* its number */
    uint64_t answered; /* number of the last test whose answer came */
    uint32_t counter;
    uint32_t told;  /* the counter that the host knows */
    uint32_t okrun; /* good tests in a row since it is non-recommended */
    bool pending;   /* a test is under way */
    bool failed;    /* in this interval; whether it counts is said at its end */
    bool event;     /* found by this member in this interval */
    bool known_failed;
};

struct rz_diagnose {
    struct rz_diagnose_config config;
    rz_id self;
    uint32_t n_even; /* counters that are even */
    uint32_t cursor; /* of a tick under way */
    bool ticking;
    bool untold;         /* the host does not know all counters */
    uint64_t interval;   /* number of the present one, from 1 on */
    rz_time next;        /* when the next one begins */
    rz_time silence;     /* when the first test under way counts as lost */
    uint64_t heard;      /* the last interval in which this process was in, or was tested */
    uint64_t round;      /* of the view */
    uint32_t n_assessed; /* members in this interval; of them failed */
    uint32_t n_failed;
    uint32_t health;
    uint32_t doubts; /* in a row */
    rz_id one[2];    /* destination of a reply */
    struct rz_diagnose_peer peers[];
};

uint64_t *rz_diagnose_items(struct rz_diagnose *diagnose);
uint64_t *rz_diagnose_view_bits(struct rz_diagnose *diagnose);
/* Destinations: list 0 of TEST, list 1 of EVENTS. */
rz_id *rz_diagnose_destinations(struct rz_diagnose *diagnose, uint32_t list);

struct rz_action *rz_diagnose_emit(struct rz_actions *out, enum rz_action_kind kind);
struct rz_action *rz_diagnose_send(struct rz_diagnose *diagnose, enum rz_diagnose_message type,
                                   uint64_t seq, rz_time began, struct rz_actions *out);

/* --- diagnose_syndrome.c: counters ------------------------------------------------------------ */

/* The counter of k in the list; 0: it is not listed. */
uint32_t rz_diagnose_listed(const uint64_t *items, uint32_t n, rz_id k);
/* The counter becomes this, larger or not. */
void rz_diagnose_set(struct rz_diagnose *diagnose, rz_id k, uint32_t counter);
/* Whether what this tester says counts: it is a member of the group, or says that it was readmitted
 * since it was out as known here, or this process is out and listens to all. */
bool rz_diagnose_believes(const struct rz_diagnose *diagnose, rz_id from, const uint64_t *items,
                          uint32_t n);
/* What a member of the group says; events: it says so because of events it found. */
void rz_diagnose_merge(struct rz_diagnose *diagnose, const uint64_t *items, uint32_t n,
                       bool events);
void rz_diagnose_readmit(struct rz_diagnose *diagnose, rz_id k, uint32_t counter);
void rz_diagnose_agree(struct rz_diagnose *diagnose, uint64_t round, const uint64_t *items,
                       uint32_t n);
/* This process is in, all others are out. */
void rz_diagnose_take_over(struct rz_diagnose *diagnose, struct rz_actions *out);
/* Tells the host of changed counters, as many as there is room for. */
enum rz_more rz_diagnose_tell(struct rz_diagnose *diagnose, struct rz_actions *out);

/* --- diagnose_health.c: what failed tests count --------------------------------------------- */

/* A test of k has failed: it counts now or, with local health, when the interval ends. */
void rz_diagnose_fail(struct rz_diagnose *diagnose, rz_id k);
/* It counts, as does a failure: an event where k was recommended. */
void rz_diagnose_condemn(struct rz_diagnose *diagnose, rz_id k);
/* The interval has ended. At most one action. */
void rz_diagnose_settle(struct rz_diagnose *diagnose, struct rz_actions *out);
/* Nothing is known of this member's health. */
void rz_diagnose_recover(struct rz_diagnose *diagnose);

/* --- diagnose_threshold.c --------------------------------------------------------------------- */

/* By which a process is tested that has not answered this member yet. */
rz_time rz_diagnose_threshold_first(const struct rz_diagnose *diagnose);

/* --- diagnose_test.c: tests and verdicts ------------------------------------------------------ */

void rz_diagnose_answer(struct rz_diagnose *diagnose, rz_id tester, uint64_t test, rz_time began,
                        struct rz_actions *out);
void rz_diagnose_on_reply(struct rz_diagnose *diagnose, const struct rz_event *event,
                          struct rz_actions *out);
/* Verdicts on tests that stayed without answer; then the next interval, if its time has come. */
enum rz_more rz_diagnose_tick(struct rz_diagnose *diagnose, rz_time now, struct rz_actions *out);

#endif
