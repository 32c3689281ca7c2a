/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a member, shared by the files of this component. One block: struct rz_diagnose; a
 * peer for each process; items; the agreed view; two lists of destinations. */
#ifndef RZ_PROTO_DIAGNOSE_PRIVATE_H
#define RZ_PROTO_DIAGNOSE_PRIVATE_H

#include "proto/diagnose/diagnose.h"

/* One hour: sums of longer times might overflow. */
#define RZ_DIAGNOSE_TEST_TIME_MAX (3600 * RZ_SECOND)

/* No correct member counts more events: a counter must leave room for further ones. */
#define RZ_DIAGNOSE_COUNTER_MAX (UINT32_MAX / 2)

struct rz_diagnose_peer {
    struct rz_diagnose_statistics statistics;
    rz_time began;     /* start of the test under way */
    uint64_t test;     /* its number */
    uint64_t answered; /* number of the last test that was answered */
    uint32_t counter;
    uint32_t told;  /* the counter last reported to the host */
    uint32_t okrun; /* good tests in a row since it became non-recommended */
    bool pending;   /* a test is under way */
    bool failed;    /* failed in this interval; at its end it is decided whether that counts */
    bool event;     /* found by this member in this interval */
    bool known_failed;
};

struct rz_diagnose {
    struct rz_diagnose_config config;
    rz_id self;
    uint32_t n_even; /* counters that are even */
    uint32_t cursor; /* of the tick that is being processed */
    bool ticking;
    bool untold;       /* some counters are not reported to the host yet */
    uint64_t interval; /* number of the present one, from 1 on */
    rz_time next;      /* when the next one begins */
    rz_time silence;   /* when the first test under way is considered lost */
    uint64_t heard;    /* the last interval in which this process was recommended, or was tested */
    uint64_t round;    /* of the view */
    uint32_t n_assessed; /* members in this interval; of them failed */
    uint32_t n_failed;
    uint32_t health;
    uint32_t doubts; /* doubts in a row */
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

/* ---- diagnose_syndrome.c: counters ---- */

/* The counter of k in the list; 0: it is not listed. */
uint32_t rz_diagnose_listed(const uint64_t *items, uint32_t n, rz_id k);
/* Sets the counter to this value, larger or not. */
void rz_diagnose_set(struct rz_diagnose *diagnose, rz_id k, uint32_t counter);
/* Whether this tester's counters count: it is a member of the group; or it states that it was
 * readmitted since it was known to be out here; or this process is out and accepts all. */
bool rz_diagnose_believes(const struct rz_diagnose *diagnose, rz_id from, const uint64_t *items,
                          uint32_t n);
/* Counters from a member of the group; events: sent because of events that it found. */
void rz_diagnose_merge(struct rz_diagnose *diagnose, const uint64_t *items, uint32_t n,
                       bool events);
void rz_diagnose_readmit(struct rz_diagnose *diagnose, rz_id k, uint32_t counter);
void rz_diagnose_agree(struct rz_diagnose *diagnose, uint64_t round, const uint64_t *items,
                       uint32_t n);
/* This process is recommended, all others are not. */
void rz_diagnose_take_over(struct rz_diagnose *diagnose, struct rz_actions *out);
/* Reports changed counters to the host, as many as the actions hold. */
enum rz_more rz_diagnose_tell(struct rz_diagnose *diagnose, struct rz_actions *out);

/* ---- diagnose_health.c: which failed tests count ---- */

/* A test of k has failed: it counts now or, with local health, when the interval ends. */
void rz_diagnose_fail(struct rz_diagnose *diagnose, rz_id k);
/* It counts, as a failure does: an event if k was recommended. */
void rz_diagnose_condemn(struct rz_diagnose *diagnose, rz_id k);
/* The interval has ended. At most one action. */
void rz_diagnose_settle(struct rz_diagnose *diagnose, struct rz_actions *out);
/* Resets this member's health. */
void rz_diagnose_recover(struct rz_diagnose *diagnose);

/* ---- diagnose_threshold.c ---- */

/* The threshold for a process that has not answered this member yet. */
rz_time rz_diagnose_threshold_first(const struct rz_diagnose *diagnose);

/* ---- diagnose_test.c: tests and their assessment ---- */

void rz_diagnose_answer(struct rz_diagnose *diagnose, rz_id tester, uint64_t test, rz_time began,
                        struct rz_actions *out);
void rz_diagnose_on_reply(struct rz_diagnose *diagnose, const struct rz_event *event,
                          struct rz_actions *out);
/* Assesses tests without an answer; then begins the next interval, if it is due. */
enum rz_more rz_diagnose_tick(struct rz_diagnose *diagnose, rz_time now, struct rz_actions *out);

#endif
