/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of the dynamic group (docs/protocols/diagnose.md), over the states of a group of at
 * most RZ_DIAGNOSE_CHECK_MAX members and earlier observations. */
#ifndef RZ_PROTO_DIAGNOSE_CHECK_H
#define RZ_PROTO_DIAGNOSE_CHECK_H

#include "proto/check.h"

#define RZ_DIAGNOSE_CHECK_MAX 16
#define RZ_DIAGNOSE_CHECK_ROUNDS 8

/* The checker's memory between steps. */
struct rz_diagnose_seen {
    uint32_t health_max; /* from the members' configuration: set by the host at the start */
    struct rz_diagnose_seen_pair {
        uint32_t counter;
        uint32_t good; /* tests in a row that passed under this counter */
        rz_time threshold;
        bool failed; /* in this interval, by an assessment that may not count */
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
 * After each step: S6-1 counters never fall, except at a member that is or was non-recommended;
 * S6-3 an even counter was decided by the group; S6-4 one view per round, and rounds grow; S6-5
 * every virtual process has one owner, in the view; S6-6 no interval without doubt in which more
 * than one, and more than half, of the other members failed their tests.
 */
bool rz_diagnose_check_safety(const struct rz_check_group *group, struct rz_diagnose_seen *seen);

/* An assessment, reported by RZ_DIAGNOSE_TESTED: by the threshold as it was before this test. */
bool rz_diagnose_check_diagnosis(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                                 rz_id member, const uint64_t arg[4]);

/* S6-6: a doubt, reported by RZ_DIAGNOSE_DOUBT: by the assessments seen, and never more than
 * health_max in a row. */
bool rz_diagnose_check_doubt(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                             rz_id member, const uint64_t arg[4]);

/* A requested rejoin: after zeta good tests since k became non-recommended, as seen by the member
 * that requests it. */
bool rz_diagnose_check_want(const struct rz_check_group *group, struct rz_diagnose_seen *seen,
                            rz_id member, rz_id k, uint32_t zeta);

/* Liveness: all living members consider all living processes recommended and all failed ones not,
 * by the same counters. */
bool rz_diagnose_check_settled(const struct rz_check_group *group);

/* Liveness: each living member of the group, by its own counters, is tested by another member, if
 * there is one. For states that hold the same counters. */
bool rz_diagnose_check_tested(const struct rz_check_group *group);

#endif
