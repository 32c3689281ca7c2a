/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of recovery share. */
#ifndef RZ_DAEMON_RECOVERY_PRIVATE_H
#define RZ_DAEMON_RECOVERY_PRIVATE_H

#include "daemon/recovery/recovery.h"
#include "daemon/recovery/starved.h"
#include "daemon/state/core.h"
#include "proto/commit/commit.h"

struct rz_store;

struct rz_recovery {
    struct rz_recovery_config config;
    struct rz_own_node *own; /* copied from config */
    struct rz_core_host core_host;
    struct rz_core_notices notices;
    struct event *noticing;
    struct rz_own_lateness lateness;
    struct rz_peer_lateness observed;
    struct rz_suspects *suspects;
    struct rz_core detector, spread, recover, commit;
    struct rz_store *store;
    uint32_t epoch;                 /* the last one for which hooks.epoch was called */
    uint32_t restored_epoch;        /* the last one for which PROTECTED has arrived */
    uint32_t damaged_epoch;         /* the last one whose pieces were found damaged here */
    uint32_t round;                 /* the newest round of spawns told to hooks.spawns */
    uint32_t entered_epoch;         /* the last one whose ENTER our processes have reached */
    uint64_t posted_committed;      /* the generation last given to hooks.committed in this epoch */
    uint64_t committed;             /* the newest generation that was committed; 0: none yet */
    rz_time committed_at;           /* when this daemon learnt of it */
    struct rz_roll_call *roll_call; /* silence.c; NULL: no node was silent yet */
};

/* Sends one line of the job's story; note NULL: none. */
void rz_recovery_record(struct rz_recovery *recovery, struct rz_launch_event event);

/* This daemon has found that node failed: records it, and tells all daemons. */
void rz_recovery_found_failed(struct rz_recovery *recovery, rz_id node, bool proof,
                              const char *how);

/* Why this node stops, in words for the user. */
const char *rz_recovery_stop_words(rz_status_t why);

/* ---- silence.c ---- */

/* The node is agreed failed: if that is because it was silent, and the job rewinds, its processes
 * are ended, where they are on this machine; else membership->fenced_at says when they have ended
 * by themselves. */
void rz_recovery_fence(struct rz_recovery *recovery, rz_id node);

/* Other daemons consider this node failed: it stops, if they can go on without it. */
void rz_recovery_fenced(struct rz_recovery *recovery);

/* A roll call has begun: waits for the answers. */
void rz_recovery_asking(struct rz_recovery *recovery);

/* Something has arrived from that node. */
void rz_recovery_heard(void *recovery, rz_id node);

/* The roll call has confirmed that this silent node failed: all daemons are told. */
void rz_recovery_report(struct rz_recovery *recovery, rz_id node);

void rz_recovery_roll_call_close(struct rz_recovery *recovery);

#endif
