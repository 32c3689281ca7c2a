/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What recovery has agreed on, carried out on this node: epochs, phases, generations, the end; and
 * failures, for the record.
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

/* As struct rz_recovery_hooks says. */
void rz_news_epoch(const struct rz_daemon_news *news, uint32_t epoch);
void rz_news_phase(const struct rz_daemon_news *news, uint32_t epoch, enum rz_recover_phase phase);
void rz_news_committed(const struct rz_daemon_news *news, uint32_t epoch, uint64_t generation);

/* This daemon must stop: says why to rzrun and, where it is cut off, to its own processes. True: it
 * is the job that cannot go on, by an agreement; false: it is this node. */
bool rz_news_stop(const struct rz_daemon_news *news, rz_status_t why, const char *words);

/* Subscribers of the membership: for the record. */
void rz_news_node_failed(void *news, rz_id node, bool proof, bool first);
void rz_news_process_failed(void *news, uint32_t slot, uint32_t incarnation, enum rz_end end);

#endif
