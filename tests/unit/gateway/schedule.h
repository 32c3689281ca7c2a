/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random schedule of messages between nodes that can fail. Each ordered pair has a queue. A node
 * learns of a failure at some time; from then on it drops what the failed node has sent. What a
 * failed node had sent before may still arrive until then.
 */
#ifndef RZ_TESTS_GATEWAY_SCHEDULE_H
#define RZ_TESTS_GATEWAY_SCHEDULE_H

#include "base/random.h"

#include <stdbool.h>
#include <stdint.h>

enum { NODES_MAX = 6 };

struct schedule_message {
    struct schedule_message *next;
    void *content; /* allocated; the receiver frees it */
};

struct schedule {
    struct rz_random random;
    uint32_t n_nodes;
    struct schedule_message *first[NODES_MAX][NODES_MAX]; /* [from][to] */
    bool failed[NODES_MAX];
    bool knows[NODES_MAX][NODES_MAX]; /* [observer][failed] */
};

/* Frees a content that is dropped. */
typedef void (*schedule_drop_fn)(void *content);

void schedule_send(struct schedule *schedule, uint32_t from, uint32_t to, void *content,
                   schedule_drop_fn drop);

/* A random message that can arrive, or NULL: there is none. */
void *schedule_next(struct schedule *schedule, uint32_t *from, uint32_t *to, schedule_drop_fn drop);

void schedule_fail(struct schedule *schedule, uint32_t node);

/* A random pair of a live observer and a failed node that it does not know of; false: there is
 * none. It knows from now on. */
bool schedule_learn(struct schedule *schedule, uint32_t *observer, uint32_t *node,
                    schedule_drop_fn drop);

void schedule_clear(struct schedule *schedule, schedule_drop_fn drop);

/* The seeds to try: all below `n`, or that of the environment's RZ_SEED. */
uint64_t schedule_first_seed(void);
uint64_t schedule_last_seed(uint64_t n);

#endif
