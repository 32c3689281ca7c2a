/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank of a program, reduced to its messages: the host of a snapshot in the simulator. It is
 * itself a pure state machine, so that it can be a member of a world.
 *
 * While it runs it sends messages of its own; those that it is to send while it is stopped wait
 * until it goes on. A message with hops left makes its receiver send one or two more, stopped or
 * not: at once, or after some work. An image is the messages that the rank has sent and taken in.
 */
#ifndef RZ_SIM_SNAPSHOT_NODE_H
#define RZ_SIM_SNAPSHOT_NODE_H

#include "proto/snapshot/snapshot.h"

#define RZ_SNAPSHOT_NODES_MAX 64
#define RZ_SNAPSHOT_SENDS_MAX 4 /* of the program of a rank */
#define RZ_SNAPSHOT_DATA 32     /* type of the program's messages */

/* Message k to, or from, a member is bit k of its word. */
struct rz_snapshot_messages {
    uint64_t sent[RZ_SNAPSHOT_NODES_MAX];
    uint64_t delivered[RZ_SNAPSHOT_NODES_MAX];
};

struct rz_snapshot_send {
    uint32_t to, hops;
};

struct rz_snapshot_node {
    uint32_t n, view;
    rz_id self;
    uint32_t stopped;
    uint32_t working;          /* messages that are worked on */
    uint32_t asked, local_due; /* ASKED has come; the host will call LOCAL */
    uint32_t n_owed;           /* messages to be sent when the program goes on */
    struct rz_snapshot_send owed[RZ_SNAPSHOT_SENDS_MAX];
    uint64_t sent, delivered;           /* numbers of messages */
    uint64_t told_sent, told_delivered; /* by the last LOCAL */
    uint32_t told_busy;
    uint32_t image_of; /* the attempt of the image; 0: none */
    struct rz_snapshot_messages now, image;
    rz_id to[2]; /* destinations of actions */
};

enum rz_snapshot_node_call {
    RZ_SNAPSHOT_NODE_SEND,   /* arg = destination, hops: the program sends a message */
    RZ_SNAPSHOT_NODE_START,  /* arg = reason to refuse: the rank stops */
    RZ_SNAPSHOT_NODE_LOCAL,  /* arg = reason to refuse from the second wave on */
    RZ_SNAPSHOT_NODE_WORKED, /* arg = source, hops: the work on a message ends */
    RZ_SNAPSHOT_NODE_SAVE    /* arg = attempt, reason why no image can be made */
};

/* Besides those of the snapshot. */
enum rz_snapshot_node_notice {
    RZ_SNAPSHOT_NODE_LOCAL_DUE = 16, /* call LOCAL */
    RZ_SNAPSHOT_NODE_HAS_SAVED,      /* arg = attempt: precedes what the snapshot does then */
    RZ_SNAPSHOT_NODE_WORKS           /* arg = source, hops: call WORKED some time later */
};

size_t rz_snapshot_node_size(const struct rz_snapshot_config *config);
void rz_snapshot_node_init(struct rz_snapshot_node *node, const struct rz_snapshot_config *config,
                           rz_id self, rz_time now, uint64_t seed);
enum rz_more rz_snapshot_node_step(struct rz_snapshot_node *node, const struct rz_event *event,
                                   struct rz_actions *out);
rz_time rz_snapshot_node_deadline(const struct rz_snapshot_node *node);
uint64_t rz_snapshot_node_hash(const struct rz_snapshot_node *node);
void rz_snapshot_node_grow(struct rz_snapshot_node *node, size_t bytes);

/* The snapshot inside. */
const struct rz_snapshot *rz_snapshot_node_core(const struct rz_snapshot_node *node);

#endif
