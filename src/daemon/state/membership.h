/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which nodes and processes of the job exist, and which have failed: the only place in a daemon
 * that keeps it. A process is (slot, incarnation); slots are ranks and, behind them, places for
 * spawned processes (wire/slots.h).
 *
 * A failure is handled in this order:
 *
 *   an observer here (watch, exit, detector, connection, arbiter)
 *     -> rz_membership_observe_*   to the reporter (recovery), which tells all daemons,
 *                                  this one included
 *     -> rz_membership_*_failed    once per incarnation, and once per node and kind of evidence,
 *                                  when the report comes back or comes from another daemon
 *     -> the subscribers, in the order of subscription (daemon_modules.c)
 *
 * The protocol cores keep what they were told: they are pure, and are told from here. Processes see
 * the board, whose writer is a subscriber.
 */
#ifndef RZ_DAEMON_MEMBERSHIP_H
#define RZ_DAEMON_MEMBERSHIP_H

#include "base/status.h"
#include "proto/recover/recover.h"

#include <rhizome/types.h>

#include <stdbool.h>
#include <stdint.h>

/* How a process has ended. */
enum rz_end {
    RZ_END_FAILURE,
    RZ_END_HUNG,  /* a failure: its daemon killed it because it made no progress */
    RZ_END_ORDER, /* no failure: a spawned process has ended, and its slot is free */
    RZ_END_NEVER  /* a failure: it could not be started, and gets no replacement */
};

/* A slot: what was agreed on and has been carried out here. */
struct rz_membership_slot {
    rz_id node;             /* RZ_ID_NONE: the slot was never used */
    uint32_t incarnation;   /* the newest; 0: the slot was never used */
    uint32_t failed;        /* the newest incarnation known to have failed; 0: none */
    uint32_t ended;         /* the newest spawned one known to have ended in order; 0: none */
    uint32_t never_started; /* the newest that could not be started; 0: none */
    uint32_t spawned;       /* the newest spawned by decision, as a replacement or not; 0: none */
    uint32_t spawned_epoch; /* the epoch of that spawn */
    bool replaces;          /* whether it replaces a failed one */
};

/* RZ_NODE_FAILED: by any evidence, or by decision. RZ_NODE_SILENT: without proof. RZ_NODE_PROVED:
 * with proof. RZ_NODE_FENCED: its processes were ended, or are waited for (recovery/silence.c). */
enum { RZ_NODE_FAILED = 1, RZ_NODE_SILENT = 2, RZ_NODE_PROVED = 4, RZ_NODE_FENCED = 8 };

enum { RZ_MEMBERSHIP_SUBSCRIBERS_MAX = 16 };

/* first: this node was not known to have failed before. */
typedef void (*rz_node_failed_fn)(void *arg, rz_id node, bool proof, bool first);
typedef void (*rz_process_failed_fn)(void *arg, uint32_t slot, uint32_t incarnation,
                                     enum rz_end end);

/* Receives the observations of this daemon. */
struct rz_membership_reporter {
    void *arg;
    void (*node)(void *arg, rz_id node, bool proof);
    void (*process)(void *arg, uint32_t slot, uint32_t incarnation, enum rz_end end);
};

/* All modules read it; only the functions below write it. */
struct rz_membership {
    uint32_t n_nodes, n_slots;
    uint32_t epoch;              /* the epoch whose processes run here; 0 before the first */
    enum rz_recover_phase phase; /* of epoch */
    /* The end of this daemon has begun: no starts, no recovery, no failures any more. */
    bool ending;
    /* The daemon was ended by a signal, or with its keeper: for the other daemons the node is
     * lost. */
    bool told_to_end;
    struct rz_membership_slot *slots; /* [n_slots] */
    uint8_t *nodes;                   /* [n_nodes]: bits RZ_NODE_* */
    rz_time fenced_at; /* before it processes of excluded nodes may run: no image is restored */
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

/* Begins with all slots empty and all nodes live. */
rz_status_t rz_membership_open(struct rz_membership *membership, uint32_t n_nodes,
                               uint32_t n_slots);
void rz_membership_close(struct rz_membership *membership);

/* Adds a subscriber, behind the earlier ones. */
void rz_membership_on_node(struct rz_membership *membership, rz_node_failed_fn call, void *arg);
void rz_membership_on_process(struct rz_membership *membership, rz_process_failed_fn call,
                              void *arg);

/* ---- failures ---- */

/* An observation of this daemon. Ignored while the daemon ends, and before there is a reporter. */
void rz_membership_observe_node(const struct rz_membership *membership, rz_id node, bool proof);
void rz_membership_observe_process(struct rz_membership *membership, uint32_t slot,
                                   uint32_t incarnation, enum rz_end end);

/* The failure is known, or is about to be known, to all live daemons: the subscribers are told,
 * unless they were told before. */
void rz_membership_node_failed(struct rz_membership *membership, rz_id node, bool proof);
void rz_membership_process_failed(struct rz_membership *membership, uint32_t slot,
                                  uint32_t incarnation, enum rz_end end);

/* All daemons have agreed that the node failed; the subscribers are told when the report comes. */
void rz_membership_node_agreed_failed(struct rz_membership *membership, rz_id node);

/* RZ_ID_NONE counts as failed. */
static inline bool rz_membership_node_has_failed(const struct rz_membership *membership, rz_id node)
{
    return node >= membership->n_nodes || membership->nodes[node] != 0;
}

/* Whether the newest incarnation of the slot has failed, itself or with its node. */
bool rz_membership_has_failed(const struct rz_membership *membership, uint32_t slot);

/* ---- what was agreed ---- */

void rz_membership_enter(struct rz_membership *membership, uint32_t epoch);
void rz_membership_phase(struct rz_membership *membership, enum rz_recover_phase phase);
void rz_membership_place(struct rz_membership *membership, uint32_t slot, rz_id node,
                         uint32_t incarnation);

/* A process was spawned by decision. If it replaces another one, that one has failed. False: it is
 * older than the slot's newest incarnation. */
bool rz_membership_spawn(struct rz_membership *membership, uint32_t slot, rz_id node,
                         uint32_t incarnation, bool replaces);

/* Whether this process was spawned, as a replacement or not, in the current epoch. */
bool rz_membership_is_spawned(const struct rz_membership *membership, uint32_t slot,
                              uint32_t incarnation);

/* Whether the process replaces a failed one. */
bool rz_membership_replaces(const struct rz_membership *membership, uint32_t slot,
                            uint32_t incarnation);

/* The end of this daemon begins. */
void rz_membership_end(struct rz_membership *membership);

#endif
