/*
 * Properties of consensus, over the states of a group and what was seen of it before: decisions of
 * the failed count.
 */
#ifndef RZ_PROTO_PAXOS_CHECK_H
#define RZ_PROTO_PAXOS_CHECK_H

#include "proto/check.h"

/* What is remembered of one instance. */
struct rz_paxos_seen {
    uint64_t number;
    bool decided;
    uint64_t value;
    uint64_t yes; /* bit set of the members whose hosts voted yes (members below 64) */
};

/* Somebody's host was told this decision: whether it is the one known. */
bool rz_paxos_check_told(const struct rz_check_group *group, struct rz_paxos_seen *seen,
                         uint64_t value);

/* One value per instance among all that decide, the failed too. Notes what the living know. */
bool rz_paxos_check_one_value(const struct rz_check_group *group, struct rz_paxos_seen *seen);

/* A living member never accepted above what it promised; and where the instance is decided and so
 * few members have failed that a majority that accepted must show, some living member has the
 * value.
 */
bool rz_paxos_check_acceptors(const struct rz_check_group *group, const struct rz_paxos_seen *seen);

/* S6-3: a decided yes (1) was voted by more than half of the view_size members. */
bool rz_paxos_check_majority(const struct rz_check_group *group, const struct rz_paxos_seen *seen,
                             uint32_t view_size);

/* Liveness: whoever has heard of the instance knows its decision. */
bool rz_paxos_check_known(const struct rz_check_group *group, uint64_t instance);

#endif
