/* Properties of the dynamic group (docs/protocols/diagnose.md), over the states of a group of at
 * most RZ_DIAGNOSE_CHECK_MAX members and what was seen of it before. */
#ifndef RZ_PROTO_DIAGNOSE_CHECK_H
#define RZ_PROTO_DIAGNOSE_CHECK_H

#include "proto/check.h"

#define RZ_DIAGNOSE_CHECK_MAX 16
#define RZ_DIAGNOSE_CHECK_ROUNDS 8

/* What is remembered between steps. */
struct rz_diagnose_seen {
    uint32_t health_max; /* of all members' configuration: the host sets it at the start */
    struct rz_diagnose_seen_pair {
        uint32_t counter;
        uint32_t good; /* tests in a row that passed under this counter */
        rz_time threshold;
        bool failed; /* in this interval, by a verdict that may not count */
    } pair[RZ_DIAGNOSE_CHECK_MAX][RZ_DIAGNOSE_CHECK_MAX]; /* [member][k] */
    struct rz_diagnose_seen_tester {
        uint64_t interval;
        uint32_t assessed, failed; /* members in this interval */
        uint32_t doubts;           /* in a row, before it */
        bool doubted;              /* this interval */
    } tester[RZ_DIAGNOSE_CHECK_MAX];
    uint64_t readmitted[RZ_DIAGNOSE_CHECK_MAX]; /* of k: bit c: the group decided
                                                   that counter 2c-1 ends */
    uint64_t view[RZ_DIAGNOSE_CHECK_ROUNDS];    /* of a round; 0: none seen; the host that
                                                   agrees on counters may set it */
    uint64_t round[RZ_DIAGNOSE_CHECK_MAX];      /* of a member's view */
};

/*
 * After each step:
 * S6-1 counters never fall, but at a member that is or was out;
 * S6-3 an even counter was decided by the group; S6-4 one view per round, and rounds
 * grow;
 * S6-5 every virtual process has one owner, in the view;
 * S6-6 no interval without doubt in which more than one and more than half of all others failed.
 */
bool rz_diagnose_check_safety(const struct rz_check_group *group, struct rz_diagnose_seen *seen);

/* A verdict, told by RZ_DIAGNOSE_TESTED: by the threshold as it was before this test. */
bool rz_diagnose_check_diagnosis(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                                 rz_id member, const uint64_t arg[4]);

/* S6-6: a doubt, told by RZ_DIAGNOSE_DOUBT: by the verdicts seen, and never more than health_max of
 * them in a row. */
bool rz_diagnose_check_doubt(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                             rz_id member, const uint64_t arg[4]);

/* A rejoin asked for: after zeta good tests since k is out, as seen by the member that asks. */
bool rz_diagnose_check_want(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                            rz_id member, rz_id k, uint32_t zeta);

/* Liveness: all living members hold all living for recommended and all failed for not, by the same
 * counters. */
bool rz_diagnose_check_settled(const struct rz_check_group *group);

/* Liveness: each living member of the group, as it knows itself, is tested by another one of them,
 * where there is one. For states that hold the same counters. */
bool rz_diagnose_check_tested(const struct rz_check_group *group);

#endif
