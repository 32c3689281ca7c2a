/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences over the gateways of a job. A fence has a set of participants (slots). Once all live
 * participants of a node have reached it, their gateway joins with one part of the data; each
 * joined gateway gets all parts. A pure state machine: it sends through a function, and time plays
 * no role.
 *
 * The root of a fence is the live node of the lowest number that has participants, live or not.
 * Each node sends its part to the root. When every node with a live participant has sent its part,
 * the root sends the result to all of them. When the root fails, each node that has joined sends
 * its part to the next root, and each that has the result already sends that: the survivors of a
 * fence get the same result. A part of a node that has failed since counts if the root has it.
 *
 * Fences of the same kind and participants are numbered by each node, in the order in which it
 * joins them. Among nodes with live participants a node is at most one fence ahead of another one,
 * so that the last result of each set is enough. A node without may be further behind; a result
 * takes it on.
 */
#ifndef RZ_GATEWAY_COLLECTIVE_H
#define RZ_GATEWAY_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rz_collectives;

/* What is sent between gateways. Pointers are valid during the call. */
struct rz_collective_message {
    bool result;           /* a result, not a part */
    uint32_t kind;         /* fences of different kinds have nothing to do with each other */
    uint32_t number;       /* of the fence, among those of these participants; from 1 */
    bool whole;            /* all participants have contributed to data */
    const uint32_t *slots; /* [n_slots]: the participants, ascending */
    uint32_t n_slots;
    const uint8_t *data;
    size_t bytes;
};

struct rz_collectives_config {
    uint32_t n_nodes, self;
    void *arg;
    void (*send)(void *arg, uint32_t node, const struct rz_collective_message *message);
    /* The fence that `waiter` joined has ended. whole: no participant was missing. data is valid
     * during the call. */
    void (*done)(void *arg, void *waiter, bool whole, const uint8_t *data, size_t bytes);
    /* The node of a slot, and whether its process is live. A slot that is not live never becomes
     * live again in the same fence. */
    uint32_t (*node_of)(void *arg, uint32_t slot);
    bool (*live)(void *arg, uint32_t slot);
    bool (*node_is_live)(void *arg, uint32_t node);
};

/* NULL: no memory. */
struct rz_collectives *rz_collectives_open(const struct rz_collectives_config *config);
/* Fences that have not ended are dropped; done is not called. */
void rz_collectives_close(struct rz_collectives *collectives);

/*
 * The participants of this node have reached their next fence: kind, whole, slots and data of
 * `fence` count, and are copied. done may be called during the call. False: the same participants
 * are in such a fence already.
 */
bool rz_collectives_join(struct rz_collectives *collectives,
                         const struct rz_collective_message *fence, void *waiter);

/* A message of the gateway of node `from`. */
void rz_collectives_message(struct rz_collectives *collectives, uint32_t from,
                            const struct rz_collective_message *message);

/* A process has ended or failed, or a node has failed: live and node_is_live say so already. */
void rz_collectives_failure(struct rz_collectives *collectives);

#endif
