/*
 * Host of the protocol cores in the daemon: ring or swim (detection), spread (news), recover
 * (epochs), commit (generations). Brings their messages to the overlay and their notices to the
 * rest of the daemon.
 */
#ifndef RZ_DAEMON_RECOVERY_H
#define RZ_DAEMON_RECOVERY_H

#include "base/status.h"
#include "proto/recover/recover.h"
#include "wire/overlay_messages.h"

struct rz_daemon;
struct rz_recovery;

/* How a process came to its end, as news tell it. */
enum rz_end {
    RZ_END_FAILURE,
    RZ_END_HUNG,  /* a failure: its daemon ended it because it made no progress */
    RZ_END_ORDER, /* none: a spawned process has ended, and its slot is free */
    RZ_END_NEVER  /* a failure: it could not even be begun, nor could another one in its place */
};

/*
 * What the rest of the daemon implements (link service, spawn, board). Called from the event loop,
 * never re-entrantly: recovery calls nothing of the daemon from inside a call of the daemon into
 * recovery, but from an event of its own.
 */
struct rz_recovery_hooks {
    /* News of an end, not yet agreed: post the verdict on the board, ring. Once per incarnation. */
    void (*failed)(struct rz_daemon *daemon, uint32_t rank, uint32_t incarnation, enum rz_end end);
    void (*node_failed)(struct rz_daemon *daemon, rz_id node, bool proof);
    /* A new epoch: placement and incarnations by rz_recovery_daemon_of / _incarnation_of. Write the
     * rank words, end local processes of stale incarnations, spawn what is placed here and does not
     * run yet, then write the epoch word (phase ENTER), ring. Also called for epoch 1. */
    void (*epoch)(struct rz_daemon *daemon, uint32_t epoch, uint64_t generation);
    /* A phase begins: write it on the board, ring. */
    void (*phase)(struct rz_daemon *daemon, uint32_t epoch, enum rz_recover_phase phase);
    /* Failures were agreed that nobody repairs: survivors that wait in REACHED must be counted
     * again.
     */
    void (*failures_noted)(struct rz_daemon *daemon);
    /* Spawns were decided: items as RZ_RECOVER_SPAWNS; refused: RZ_OK, or why all of them are. */
    void (*spawns)(struct rz_daemon *daemon, rz_status_t refused, const uint64_t *items,
                   uint32_t n_items);
    /* All notices so far have been told. */
    void (*settled)(struct rz_daemon *daemon);
    /* The first `number` checkpoints of epoch are committed: write it on the board, ring. */
    void (*committed)(struct rz_daemon *daemon, uint32_t epoch, uint64_t number);
    /* This daemon must end its processes and itself. */
    void (*stop)(struct rz_daemon *daemon, rz_status_t why, const char *words);
};

/* Builds the cores from the daemon's job configuration, starts overlay and ring, enters epoch 1
 * (hooks->epoch comes soon). */
rz_status_t rz_recovery_open(struct rz_recovery **recovery, struct rz_daemon *daemon,
                             const struct rz_recovery_hooks *hooks);
void rz_recovery_close(struct rz_recovery *recovery);

/* A process of this node came to its end (own observation). */
void rz_recovery_process_failed(struct rz_recovery *recovery, uint32_t rank, uint32_t incarnation,
                                enum rz_end end);

/* What this epoch goes back to cannot be given back whole: all go back to the generation before, or
 * the job ends. False: it is too late for that, the barrier may have opened. */
bool rz_recovery_damaged(struct rz_recovery *recovery);

/* A process of this node wants spawns: items as RZ_RECOVER_WANT. The decision comes by
 * hooks->spawns. */
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

/* The daemon of node is silent, as the detector finds, or as the failure arbiter (arbiter.h): it is
 * held for failed. how: for the record. */
void rz_recovery_node_silent(struct rz_recovery *recovery, rz_id node, const char *how);

/* The first rank from `from` on that the newest agreed epoch restarted; the number of ranks: none.
 */
uint32_t rz_recovery_next_begun(const struct rz_recovery *recovery, uint32_t from);

/* Of the newest agreed epoch (also before hooks->epoch was called for it). */
rz_id rz_recovery_daemon_of(const struct rz_recovery *recovery, uint32_t rank);
uint32_t rz_recovery_incarnation_of(const struct rz_recovery *recovery, uint32_t rank);
/* True of RZ_ID_NONE: nobody is there. */
bool rz_recovery_node_failed(const struct rz_recovery *recovery, rz_id node);

/* Endpoint addresses of processes on other nodes (link service), as of epoch or newer: the answer
 * comes by rz_daemon_ep_address_arrived (daemon.h). */
void rz_recovery_get_ep_address(struct rz_recovery *recovery, uint32_t rank, uint32_t incarnation,
                                uint32_t asker, uint32_t asker_incarnation, uint32_t epoch);
/* Our process `rank` has an endpoint address (or is gone: bytes 0), which `asker` on node wants. */
void rz_recovery_give_ep_address(struct rz_recovery *recovery, rz_id node, uint32_t rank,
                                 uint32_t incarnation, uint32_t asker, uint32_t asker_incarnation,
                                 uint32_t epoch, const void *ep_address, uint32_t bytes);

#endif
