/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host of the protocol cores in the daemon: ring or swim (detection), spread (broadcast of
 * failures), recover (epochs), commit (generations). It starts the overlay, takes their messages
 * from the router, and tells the rest of the daemon their notices.
 */
#ifndef RZ_DAEMON_RECOVERY_H
#define RZ_DAEMON_RECOVERY_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/state/own_node.h"
#include "proto/recover/recover.h"

struct rz_children;
struct rz_link_router;
struct rz_recovery;
struct rz_store;

/*
 * What is done about what was agreed. Called from the event loop, never re-entrantly: recovery
 * calls nothing of the daemon from inside a call of the daemon into recovery, but from an event of
 * its own. Failures go by the membership.
 */
struct rz_recovery_hooks {
    void *arg;
    /* With --no-ft: a connection with this daemon broke. Nothing else follows. */
    void (*unwatched)(void *arg, rz_id node);
    /* A new epoch: placement and incarnations by rz_recovery_daemon_of / _incarnation_of. Write the
     * rank words, end local processes of stale incarnations, start what is placed here and does not
     * run yet, then write the epoch word (phase ENTER), ring. Also called for epoch 1. */
    void (*epoch)(void *arg, uint32_t epoch, uint64_t generation);
    /* A phase begins: write it on the board, ring. */
    void (*phase)(void *arg, uint32_t epoch, enum rz_recover_phase phase);
    /* Failures were agreed that nobody repairs: survivors that wait in REACHED must be counted
     * again. */
    void (*failures_noted)(void *arg);
    /* Spawns were decided: items as RZ_RECOVER_SPAWNS; refused: RZ_OK, or why all of them are. */
    void (*spawns)(void *arg, rz_status_t refused, const uint64_t *items, uint32_t n_items);
    /* All notices so far have been told. */
    void (*settled)(void *arg);
    /* The first `number` checkpoints of epoch are committed: write it on the board, ring. */
    void (*committed)(void *arg, uint32_t epoch, uint64_t number);
    /* This daemon must end its processes and itself. */
    void (*stop)(void *arg, rz_status_t why, const char *words);
};

struct rz_recovery_config {
    struct rz_own_node *own;
    struct rz_overlay *overlay; /* open; started here */
    struct rz_overlay_router *overlay_router;
    const struct rz_children *children; /* for the store, which is opened here */
    struct rz_link_router *router;      /* likewise */
    struct rz_recovery_hooks hooks;
};

/* Builds the cores from the job's configuration, starts overlay and ring, enters epoch 1
 * (hooks.epoch comes soon). Becomes the reporter of the membership. */
rz_status_t rz_recovery_open(struct rz_recovery **recovery,
                             const struct rz_recovery_config *config);
void rz_recovery_close(struct rz_recovery *recovery); /* NULL: nothing */

struct rz_store *rz_recovery_store(const struct rz_recovery *recovery);

/* ---- subscribers of the membership: daemon.c says in which order ---- */

/* Detector and spread. */
void rz_recovery_broadcast_failed(void *recovery, rz_id node, bool proof, bool first);
/* Commit and recover: the next agreement begins. */
void rz_recovery_agreement_failed(void *recovery, rz_id node, bool proof, bool first);
void rz_recovery_process_failed(void *recovery, uint32_t slot, uint32_t incarnation,
                                enum rz_end end);

/* A process of this node wants spawns: items as RZ_RECOVER_WANT. The decision comes by
 * hooks.spawns. */
void rz_recovery_want(struct rz_recovery *recovery, const uint64_t *items, uint32_t n_items);

/* What has become of a wanted spawn, by the newest decision. */
enum rz_recover_spawn rz_recovery_spawn(const struct rz_recovery *recovery, uint32_t slot,
                                        uint32_t incarnation);

/* Whether the job repairs itself, as agreed. */
bool rz_recovery_is_repairing(const struct rz_recovery *recovery);

/* All live processes of this node in this epoch have reached the end of phase. Repeated calls are
 * harmless. */
void rz_recovery_reached(struct rz_recovery *recovery, uint32_t epoch, enum rz_recover_phase phase);

/* A process of this node entered MPIX_Reinit, and so have all others here that live and do not want
 * to leave. Repeated calls are harmless. */
void rz_recovery_repairing(struct rz_recovery *recovery);

/* This daemon ends: from now on it finds nobody failed. It still answers and beats, until it goes:
 * others may not have heard yet that the job is over. */
void rz_recovery_ending(struct rz_recovery *recovery);

/* Connections between daemons that were refused for lack of proof. */
uint64_t rz_recovery_strangers(const struct rz_recovery *recovery);

/* After rz_recovery_ending, once: the job is over, and this daemon takes no part any more; nobody
 * shall take its silence or its end for a failure. */
void rz_recovery_leave(struct rz_recovery *recovery);

/* The daemon of node is silent, as the detector finds, or the failure arbiter (arbiter.h): it has
 * failed if the roll call says so. how: for the record. */
void rz_recovery_node_silent(struct rz_recovery *recovery, rz_id node, const char *how);

/* The first rank from `from` on that the newest agreed epoch restarted; the number of ranks: none.
 */
uint32_t rz_recovery_next_begun(const struct rz_recovery *recovery, uint32_t from);

/* Of the newest agreed epoch (also before hooks.epoch was called for it). */
rz_id rz_recovery_daemon_of(const struct rz_recovery *recovery, uint32_t rank);
uint32_t rz_recovery_incarnation_of(const struct rz_recovery *recovery, uint32_t rank);

#endif
