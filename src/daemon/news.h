/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out on this node what recovery has agreed on: epochs, phases, generations and the end. It
 * also adds failures to the job's record.
 */
#ifndef RZ_DAEMON_NEWS_H
#define RZ_DAEMON_NEWS_H

#include "daemon/process/child_life.h"
#include "daemon/recovery/recovery.h"
#include "daemon/service/groups.h"
#include "daemon/service/placement.h"
#include "daemon/state/board_writer.h"

struct rz_daemon_news {
    struct rz_own_node *own;
    struct rz_children *children;
    struct rz_child_life *life;
    struct rz_board_writer *board;
    struct rz_groups *groups;
    struct rz_placement *placement;
    struct rz_recovery *recovery;
};

/* These are the hooks of struct rz_recovery_hooks. */
void rz_news_epoch(const struct rz_daemon_news *news, uint32_t epoch);

/* Starts the processes of this node that have not started, because they might not yet. */
void rz_news_start_all(const struct rz_daemon_news *news);
void rz_news_phase(const struct rz_daemon_news *news, uint32_t epoch, enum rz_recover_phase phase);
void rz_news_committed(const struct rz_daemon_news *news, uint32_t epoch, uint64_t generation);

/* This daemon must stop. Tells rzrun why and, if this node is cut off, also its own processes.
 * Returns true if the job cannot go on, by an agreement, and false if only this node cannot. */
bool rz_news_stop(const struct rz_daemon_news *news, rz_status_t why, const char *words);

/* Subscribers of the membership: they write the failure into the job's record. */
void rz_news_node_failed(void *news, rz_id node, bool proof, bool first);
void rz_news_process_failed(void *news, uint32_t slot, uint32_t incarnation, enum rz_end end);

#endif
