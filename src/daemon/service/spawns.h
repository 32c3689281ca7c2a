/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spawns: processes that begin while the job runs, because the program asked for them
 * (RZ_Comm_replace, MPI_Comm_spawn). All daemons decide them together (proto/recover); this
 * module keeps what the node's processes asked for, what spawned processes shall run, and carries
 * decisions out: place, board, fork, answer.
 *
 * Order at a decision: places, board words, news and doorbells, processes forked here, and only
 * then the answers. No question stays without an answer: where spawns cannot be, it is a refusal
 * with a status, and in words once on standard error.
 *
 * What a spawned process runs travels from the daemon that was asked to all others before the wish
 * does. A daemon that hears the decision first waits for it; when the daemon that was asked is
 * failed, nothing will come, and its spawned processes placed here have failed at once, told as any
 * failure. What they run is kept as long as one of them, or its replacement, may still be replaced.
 */
#ifndef RZ_DAEMON_SPAWNS_H
#define RZ_DAEMON_SPAWNS_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/child_life.h"
#include "daemon/process/link_router.h"
#include "daemon/recovery/recovery.h"
#include "daemon/service/endpoints.h"
#include "daemon/service/names.h"
#include "daemon/service/placement.h"
#include "daemon/state/board_writer.h"

struct rz_spawns;

struct rz_spawns_config {
    const struct rz_own_node *own;
    struct rz_children *children;
    struct rz_child_life *life;
    struct rz_link_router *router;
    struct rz_board_writer *board;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
    struct rz_recovery *recovery;
    struct rz_placement *placement;
    struct rz_endpoints *endpoints;
    struct rz_names *names;
};

rz_status_t rz_spawns_open(struct rz_spawns **spawns, const struct rz_spawns_config *config);
void rz_spawns_close(struct rz_spawns *spawns); /* NULL: nothing */

/* The process is gone: nobody waits for its answers. May be repeated. */
void rz_spawns_forget(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation);

/* A decision: RZ_RECOVER_SPAWNS. */
void rz_spawns_decided(struct rz_spawns *spawns, rz_status_t refused, const uint64_t *items,
                       uint32_t n_items);

/* Everything that was decided so far has been carried out: answers who waits for it. */
void rz_spawns_look(struct rz_spawns *spawns);

/* Subscribers of the membership: nothing comes from that node any more; a spawned process has ended
 * in order, and its slot is free. */
void rz_spawns_node_failed(void *spawns, rz_id node, bool proof, bool first);
void rz_spawns_process_failed(void *spawns, uint32_t slot, uint32_t incarnation, enum rz_end end);

/* What the process of slot runs, if it is not the job's program: arrays that live until the order
 * is forgotten. False: it is. */
bool rz_spawns_program(const struct rz_spawns *spawns, uint32_t slot, struct rz_program *program);

/* The program could not be run: whether this process is the one to say so for all of its command.
 */
bool rz_spawns_speaks(const struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation);

/* COHORT, to a process in a slot behind the ranks; *message leads into memory that lives until the
 * next call. False: another has its slot now. */
bool rz_spawns_cohort(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation,
                      struct rz_link_message *message);

/*
 * MPI_Abort of some processes only: this one is ended, by its daemon; also when its spawn has not
 * been heard of there yet. by: who wanted it, and why.
 */
void rz_spawns_end(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation, uint32_t code,
                   const char *by);

#endif
