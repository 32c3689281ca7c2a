/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which nodes and processes of the job are there, and which have failed: the one place of a daemon
 * that keeps it. A process is (slot, incarnation); slots are ranks and, behind them, places for
 * spawned processes (wire/slots.h).
 *
 * A failure goes one way:
 *
 *   an observer here (watch, exit, detector, connection, arbiter)
 *     -> rz_membership_observe_*   to the reporter (recovery), which tells all daemons,
 *                                  this one too
 *     -> rz_membership_*_failed    once per incarnation and once per node and kind of evidence,
 *                                  when the report comes back or comes from another daemon
 *     -> the subscribers, in the order of subscription (daemon_modules.c)
 *
 * The protocol cores keep what they were told themselves: they are pure, and are told from here.
 * What processes see is the board, whose writer is a subscriber.
 */
#ifndef RZ_DAEMON_MEMBERSHIP_H
#define RZ_DAEMON_MEMBERSHIP_H

#include "base/status.h"
#include "proto/recover/recover.h"

#include <rhizome/types.h>

#include <stdbool.h>
#include <stdint.h>

/* How a process came to its end. */
enum rz_end {
    RZ_END_FAILURE,
    RZ_END_HUNG,  /* a failure: its daemon ended it because it made no progress */
    RZ_END_ORDER, /* none: a spawned process has ended, and its slot is free */
    RZ_END_NEVER  /* a failure: it could not be started, nor could another one in its place */
};

/* A slot, by what was agreed and has been carried out here. */
struct rz_membership_slot {
    rz_id node;             /* RZ_ID_NONE: the slot was never used */
    uint32_t incarnation;   /* the newest; 0: the slot was never used */
    uint32_t failed;        /* newest incarnation known to have failed; 0: none */
    uint32_t ended;         /* newest spawned one known to have ended in order; 0: none */
    uint32_t never_started; /* newest that could not be started: it gets no successor; 0: none */
    uint32_t spawned; /* newest that was spawned by decision, also as a replacement; 0: none */
    uint32_t spawned_epoch; /* in this epoch */
    bool replaces;          /* it replaces a failed one */
};

/* RZ_NODE_FAILED: by any evidence, or by decision. */
enum { RZ_NODE_FAILED = 1, RZ_NODE_SILENT = 2, RZ_NODE_PROVED = 4 };

enum { RZ_MEMBERSHIP_SUBSCRIBERS_MAX = 16 };

/* first: nothing was known of a failure of this node before. */
typedef void (*rz_node_failed_fn)(void *arg, rz_id node, bool proof, bool first);
typedef void (*rz_process_failed_fn)(void *arg, uint32_t slot, uint32_t incarnation,
                                     enum rz_end end);

/* Where own observations go. */
struct rz_membership_reporter {
    void *arg;
    void (*node)(void *arg, rz_id node, bool proof);
    void (*process)(void *arg, uint32_t slot, uint32_t incarnation, enum rz_end end);
};

/* All modules read it; the functions below alone write it. */
struct rz_membership {
    uint32_t n_nodes, n_slots;
    uint32_t epoch;              /* whose processes run here; 0 before the first */
    enum rz_recover_phase phase; /* of epoch */
    bool ending; /* the end of this daemon has begun: no start, no recovery, no failure any more */
    bool told_to_end; /* by a signal, or with its keeper: to the others the node is lost */
    struct rz_membership_slot *slots; /* [n_slots] */
    uint8_t *nodes;                   /* [n_nodes]: bits RZ_NODE_* */
    struct rz_membership_reporter reporter;
    struct {
        rz_node_failed_fn call;
        void *arg;
    } on_node[RZ_MEMBERSHIP_SUBSCRIBERS_MAX];
    struct {
        rz_process_failed_fn call;
        void *arg;
    } on_process[RZ_MEMBERSHIP_SUBSCRIBERS_MAX];
    uint32_t n_on_node, n_on_process;
};

/* All slots are empty, all nodes are there. */
rz_status_t rz_membership_open(struct rz_membership *membership, uint32_t n_nodes,
                               uint32_t n_slots);
void rz_membership_close(struct rz_membership *membership);

/* Behind those that have subscribed before. */
void rz_membership_on_node(struct rz_membership *membership, rz_node_failed_fn call, void *arg);
void rz_membership_on_process(struct rz_membership *membership, rz_process_failed_fn call,
                              void *arg);

/* ---- failures ---- */

/* Seen here; nothing while the daemon ends, or before there is a reporter. */
void rz_membership_observe_node(const struct rz_membership *membership, rz_id node, bool proof);
void rz_membership_observe_process(struct rz_membership *membership, uint32_t slot,
                                   uint32_t incarnation, enum rz_end end);

/* Known to all daemons that live, or about to be: subscribers are told, unless they were. */
void rz_membership_node_failed(struct rz_membership *membership, rz_id node, bool proof);
void rz_membership_process_failed(struct rz_membership *membership, uint32_t slot,
                                  uint32_t incarnation, enum rz_end end);

/* All daemons have agreed so; the subscribers are told when the report comes. */
void rz_membership_node_agreed_failed(struct rz_membership *membership, rz_id node);

/* True of RZ_ID_NONE: nothing is there. */
static inline bool rz_membership_node_has_failed(const struct rz_membership *membership, rz_id node)
{
    return node >= membership->n_nodes || membership->nodes[node] != 0;
}

/* The newest incarnation of the slot has failed, itself or with its node. */
bool rz_membership_has_failed(const struct rz_membership *membership, uint32_t slot);

/* ---- what was agreed ---- */

void rz_membership_enter(struct rz_membership *membership, uint32_t epoch);
void rz_membership_phase(struct rz_membership *membership, enum rz_recover_phase phase);
void rz_membership_place(struct rz_membership *membership, uint32_t slot, rz_id node,
                         uint32_t incarnation);

/* A process was spawned by decision. One that replaces another says that this one has failed.
 * False: it is older than what is there. */
bool rz_membership_spawn(struct rz_membership *membership, uint32_t slot, rz_id node,
                         uint32_t incarnation, bool replaces);

/* Whether this process was spawned, or replaced another, in the current epoch. */
bool rz_membership_is_spawned(const struct rz_membership *membership, uint32_t slot,
                              uint32_t incarnation);

/* Whether it takes the place of a failed one. */
bool rz_membership_replaces(const struct rz_membership *membership, uint32_t slot,
                            uint32_t incarnation);

/* The end of this daemon begins. */
void rz_membership_end(struct rz_membership *membership);

#endif
