/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host of the daemon's protocol cores: ring or swim (detection), spread (broadcast of failures),
 * recover (epochs), commit (generations). It starts the overlay, takes the cores' messages from the
 * router, and tells the rest of the daemon their notices.
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
 * What the daemon does about what was agreed. The hooks are called from an event of their own,
 * never inside a call into recovery. Failures are told by the membership.
 */
struct rz_recovery_hooks {
    void *arg;
    /* With --no-ft: a connection with this daemon broke. No other hook is called for it. */
    void (*unwatched)(void *arg, rz_id node);
    /* A new epoch, also epoch 1. rz_recovery_daemon_of and rz_recovery_incarnation_of give
     * placement and incarnations. The hook writes the rank words, ends local processes of old
     * incarnations, starts those that are placed here and do not run yet, then writes the epoch
     * word (phase ENTER) and rings the doorbells. */
    void (*epoch)(void *arg, uint32_t epoch, uint64_t generation);
    /* A phase begins: the hook writes it on the board and rings the doorbells. */
    void (*phase)(void *arg, uint32_t epoch, enum rz_recover_phase phase);
    /* Failures were agreed that will not be repaired: survivors that wait in REACHED must be
     * counted again. */
    void (*failures_noted)(void *arg);
    /* Spawns were decided. items are as in RZ_RECOVER_SPAWNS. refused: RZ_OK, or why all of them
     * are refused. */
    void (*spawns)(void *arg, rz_status_t refused, const uint64_t *items, uint32_t n_items);
    /* All notices so far have been passed on. */
    void (*settled)(void *arg);
    /* The first `number` checkpoints of epoch are committed: the hook writes the number on the
     * board and rings the doorbells. */
    void (*committed)(void *arg, uint32_t epoch, uint64_t number);
    /* This daemon must end its processes and itself. */
    void (*stop)(void *arg, rz_status_t why, const char *words);
};

struct rz_recovery_config {
    struct rz_own_node *own;
    struct rz_overlay *overlay; /* open; recovery starts it */
    struct rz_overlay_router *overlay_router;
    const struct rz_children *children; /* for the store, which recovery opens */
    struct rz_link_router *router;      /* for the store */
    struct rz_recovery_hooks hooks;
};

/* Builds the cores from the job's configuration, starts overlay and detector, and enters epoch 1
 * (hooks.epoch follows soon). Becomes the reporter of the membership. */
rz_status_t rz_recovery_open(struct rz_recovery **recovery,
                             const struct rz_recovery_config *config);
void rz_recovery_close(struct rz_recovery *recovery); /* NULL: nothing */

struct rz_store *rz_recovery_store(const struct rz_recovery *recovery);

/* ---- subscribers of the membership: daemon_modules.c sets the order ---- */

/* Passes the failure on to detector and spread. */
void rz_recovery_broadcast_failed(void *recovery, rz_id node, bool proof, bool first);
/* Passes the failure on to commit and recover: the next agreement begins. */
void rz_recovery_agreement_failed(void *recovery, rz_id node, bool proof, bool first);
void rz_recovery_process_failed(void *recovery, uint32_t slot, uint32_t incarnation,
                                enum rz_end end);

/* A process of this node requests spawns: items as in RZ_RECOVER_WANT. hooks.spawns gives the
 * decision. */
void rz_recovery_want(struct rz_recovery *recovery, const uint64_t *items, uint32_t n_items);

/* The state of a requested spawn, by the newest decision. */
enum rz_recover_spawn rz_recovery_spawn(const struct rz_recovery *recovery, uint32_t slot,
                                        uint32_t incarnation);

/* Whether the job repairs itself (its processes use MPIX_Reinit), as agreed. */
bool rz_recovery_is_repairing(const struct rz_recovery *recovery);

/* All live processes of this node in this epoch have reached the end of phase. May be called
 * again. */
void rz_recovery_reached(struct rz_recovery *recovery, uint32_t epoch, enum rz_recover_phase phase);

/* A process of this node has entered MPIX_Reinit, and so have all other live ones here that do not
 * want to leave. May be called again. */
void rz_recovery_repairing(struct rz_recovery *recovery);

/* This daemon ends: from now on it reports no failures. It still answers and sends heartbeats until
 * it ends, because other daemons may not know yet that the job is over. */
void rz_recovery_ending(struct rz_recovery *recovery);

/* The newest committed checkpoint, for the status document. */
struct rz_recovery_checkpoint {
    uint64_t generation; /* its number for users; 0: there is none */
    uint64_t bytes;      /* of the pieces of this node's ranks */
    rz_time at;          /* when this daemon learnt that it is committed; 0: not known */
    bool safe; /* here each piece is where its rank runs, and protected as the scheme requires */
};
struct rz_recovery_checkpoint rz_recovery_checkpoint(const struct rz_recovery *recovery);

/* The number of connections between daemons that were refused for lack of proof. */
uint64_t rz_recovery_strangers(const struct rz_recovery *recovery);

/* To be called once, after rz_recovery_ending: the job is over, and this daemon no longer takes
 * part. Its silence or end is no failure for the others. */
void rz_recovery_leave(struct rz_recovery *recovery);

/* The detector or the failure arbiter (arbiter.h) found the daemon of node silent: it has failed if
 * the roll call confirms it. how: for the record. */
void rz_recovery_node_silent(struct rz_recovery *recovery, rz_id node, const char *how);

/* The first rank, at or after `from`, that the newest agreed epoch restarted; the number of ranks
 * if there is none. */
uint32_t rz_recovery_next_begun(const struct rz_recovery *recovery, uint32_t from);

/* The node of a rank by the newest agreed epoch, also before hooks.epoch was called for it. */
rz_id rz_recovery_daemon_of(const struct rz_recovery *recovery, uint32_t rank);
uint32_t rz_recovery_incarnation_of(const struct rz_recovery *recovery, uint32_t rank);

#endif
