/* SPDX-License-Identifier: BSD-3-Clause */
/* One member of SWIM on the bench: events in, all its actions of one event collected. */
#ifndef RZ_TESTS_SWIM_RIG_H
#define RZ_TESTS_SWIM_RIG_H

#include "proto/swim/swim.h"

#define RIG_VIEW 5
#define RIG_ACTIONS_MAX 64
#define RIG_ITEMS_MAX 64

struct rig_action {
    struct rz_action action;
    rz_id to[RZ_SWIM_TARGETS_MAX];
    uint64_t items[RIG_ITEMS_MAX];
};

struct rig {
    struct rz_swim_config config;
    struct rz_swim *swim;
    rz_time now;
    struct rig_action actions[RIG_ACTIONS_MAX]; /* of the last event */
    uint32_t count, grown;
};

void rig_open(struct rig *rig, const struct rz_swim_config *config, rz_id self);
void rig_close(struct rig *rig);

void rig_step(struct rig *rig, const struct rz_event *event);
/* News by a packet of gossip. */
void rig_hear(struct rig *rig, rz_id member, rz_id from, uint32_t incarnation,
              enum rz_swim_state state);
void rig_receive(struct rig *rig, enum rz_swim_message type, rz_id from, uint64_t seq,
                 uint64_t word, const uint64_t *items, uint32_t n_items);
/* Advances the time to the next deadline, which is served; returns its actions. */
void rig_tick(struct rig *rig);
/* All deadlines up to a date are served. */
void rig_pass(struct rig *rig, rz_time until);

/* The first SEND of this type, or NULL; the first notice of this kind. */
const struct rig_action *rig_sent(const struct rig *rig, enum rz_swim_message type);
const struct rig_action *rig_told(const struct rig *rig, enum rz_swim_notice what);

#endif
