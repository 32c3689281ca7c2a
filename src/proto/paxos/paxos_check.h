/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of consensus, over the states of a group and earlier observations: decisions of failed
 * members count.
 */
#ifndef RZ_PROTO_PAXOS_CHECK_H
#define RZ_PROTO_PAXOS_CHECK_H

#include "proto/check.h"

/* The checker's memory of one instance. */
struct rz_paxos_seen {
    uint64_t number;
    bool decided;
    uint64_t value;
    uint64_t yes; /* bit set of the members whose hosts voted yes (members below 64) */
};

/* This decision was reported to a host: whether it is the known one. */
bool rz_paxos_check_told(const struct rz_check_group *group, struct rz_paxos_seen *seen,
                         uint64_t value);

/* One value per instance among all members that decide, including failed ones. Records what the
 * living know. */
bool rz_paxos_check_one_value(const struct rz_check_group *group, struct rz_paxos_seen *seen);

/* A living member has accepted no ballot above its promise. If the instance is decided and so few
 * members have failed that some of the accepting majority must be alive, some living member has the
 * value. */
bool rz_paxos_check_acceptors(const struct rz_check_group *group, const struct rz_paxos_seen *seen);

/* S6-3: more than half of the view_size members voted for a decided yes (1). */
bool rz_paxos_check_majority(const struct rz_check_group *group, const struct rz_paxos_seen *seen,
                             uint32_t view_size);

/* Liveness: every member that knows the instance knows its decision. */
bool rz_paxos_check_known(const struct rz_check_group *group, uint64_t instance);

#endif
