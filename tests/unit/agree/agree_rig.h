/* SPDX-License-Identifier: BSD-3-Clause */
/* A handful of members and a queue of messages, driven by hand. */
#ifndef AGREE_RIG_H
#define AGREE_RIG_H

#include "proto/agree/agree_private.h"

#define RIG_MEMBERS_MAX 512
#define RIG_QUEUE_MAX 8192

struct rig_packet {
    rz_id to;
    struct rz_message message;
    uint64_t *items;
};

struct rig_note {
    rz_id member;
    uint32_t what;
    uint64_t seq, and, min, max;
    uint32_t n_items, n_failed; /* of the decision; agreed failed when it was told */
    uint64_t items[4];          /* the first ones */
};

struct rig {
    uint32_t n;
    uint32_t actions_max;
    struct rz_agree *member[RIG_MEMBERS_MAX];
    size_t bytes[RIG_MEMBERS_MAX];
    bool failed[RIG_MEMBERS_MAX];
    struct rig_packet queue[RIG_QUEUE_MAX];
    uint32_t n_queue;
    uint32_t n_sent[RZ_AGREE_MESSAGE_COUNT];
    struct rig_note notes[4096];
    uint32_t n_notes;
    uint32_t n_more, n_grown; /* steps that returned RZ_MORE, RZ_NEED */
};

struct rig *rig_create(uint32_t n, uint32_t in_flight_max);
void rig_destroy(struct rig *rig);
void rig_step(struct rig *rig, rz_id id, const struct rz_event *event);
/* and = ~(1 << id % 64), min = max = id, the given items. */
void rig_propose_items(struct rig *rig, rz_id id, const uint64_t *items, uint32_t n_items);
void rig_propose(struct rig *rig, rz_id id); /* one item: 100 * operation + id */
void rig_tell(struct rig *rig, rz_id id, const rz_id *failed, uint32_t n_failed);
void rig_deliver(struct rig *rig, uint32_t at); /* the at-th message of the queue */
void rig_deliver_all(struct rig *rig);          /* in order, until nothing is left */
/* The first message with this type and destination, or RIG_QUEUE_MAX. */
uint32_t rig_find(const struct rig *rig, enum rz_agree_message type, rz_id to);
void rig_drop(struct rig *rig, uint32_t at);
/* How often member was given notice `what` of operation seq; *note: the last time. */
uint32_t rig_told(const struct rig *rig, rz_id member, uint32_t what, uint64_t seq,
                  const struct rig_note **note);

#endif
