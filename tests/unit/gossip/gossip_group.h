/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group of gossip members in synchronous cycles, in the order that gossip.h states. The tests of
 * this component look at it between cycles: then the PINGs of the next one are under way (packets),
 * and nothing else.
 */
#ifndef RZ_TEST_GOSSIP_GROUP_H
#define RZ_TEST_GOSSIP_GROUP_H

#include "proto/check.h"
#include "proto/gossip/gossip.h"

#define GROUP_CYCLE 100
#define GROUP_TIMEOUT 50

struct group_packet {
    struct rz_message message;
    rz_id to;
    uint64_t *items;
};

/* What hosts were told. */
struct group_notice {
    rz_id member;
    uint32_t what;
    uint64_t arg[4];
    uint32_t n_items;
    uint64_t first_item;
};

struct group {
    struct rz_gossip_config config;
    uint32_t n;
    void **state;
    bool *crashed;
    uint64_t cycle; /* done so far */
    struct group_packet *packets;
    uint32_t n_packets, packets_max;
    struct group_notice *notices;
    uint32_t n_notices, notices_max;
    uint64_t messages;
    bool (*lost)(struct group *group, const struct rz_message *message, rz_id to); /* optional */
    struct rz_check_group check;
    char why[256];
};

/* cycle, timeout, n_members and view are set here. seed: member p draws from
 * rz_mix(rz_mix(seed, 1), p). */
struct group *group_create(uint32_t n, struct rz_gossip_config config, uint64_t seed);
void group_destroy(struct group *group);
void group_kill(struct group *group, rz_id member);
void group_step(struct group *group, rz_id member, const struct rz_event *event);
void group_tell(struct group *group, rz_id member, rz_id failed);
/* One cycle, and its end, which is the beginning of the next. */
void group_cycle(struct group *group);
/* Cycles until all living members have returned, `most` of them at most; how many. */
uint64_t group_finish(struct group *group, uint64_t most);
const struct rz_check_group *group_check(struct group *group);

#endif
