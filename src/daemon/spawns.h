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

#include "daemon/child.h"
#include "daemon/spawn.h"

struct rz_spawns;

rz_status_t rz_spawns_open(struct rz_spawns **spawns, struct rz_daemon *daemon);
void rz_spawns_close(struct rz_spawns *spawns);

/* REPLACE and SPAWN of a process of this node; false: it broke the link protocol. */
bool rz_spawns_replace(struct rz_child *asker, const struct rz_link_replace *asked);
bool rz_spawns_spawn(struct rz_child *asker, const struct rz_link_spawn *asked);

/* The process is gone: nobody waits for its answers. */
void rz_spawns_forget(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation);

/* RZ_OVERLAY_SPAWN_ORDER of another daemon. */
void rz_spawns_message(struct rz_daemon *daemon, rz_id from,
                       const struct rz_overlay_spawn_order *order);

/* A decision: RZ_RECOVER_SPAWNS. */
void rz_spawns_decided(struct rz_daemon *daemon, rz_status_t refused, const uint64_t *items,
                       uint32_t n_items);

/* Everything that was decided so far has been carried out: answers who waits for it. */
void rz_spawns_look(struct rz_daemon *daemon);

void rz_spawns_node_failed(struct rz_daemon *daemon, rz_id node);

/* A spawned process has ended in order: its slot is free. */
void rz_spawns_ended(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation);

/*
 * This process could not be begun: its program cannot be executed, or the system refused. Its
 * successor would fare no better, so nobody wants one here: the calls that replace the failed
 * repeat themselves after each failure, and would do so for ever.
 */
void rz_spawns_never(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation);

/* What the process of slot runs, if it is not the job's program: arrays that live until the order
 * is forgotten. False: it is. */
bool rz_spawns_program(const struct rz_daemon *daemon, uint32_t slot, struct rz_program *program);

/* The program could not be run: whether this process is the one to say so for all of its command.
 */
bool rz_spawns_speaks(const struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation);

/* COHORT, to a process in a slot behind the ranks; *message leads into memory that lives until the
 * next call. False: another has its slot now. */
bool rz_spawns_cohort(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation,
                      struct rz_link_message *message);

/* Whether this process was spawned in this epoch, by replacement or spawn. */
bool rz_spawns_is_spawned_process(const struct rz_daemon *daemon, uint32_t slot,
                                  uint32_t incarnation);

/* Whether it takes the place of a failed one. */
bool rz_spawns_replaces(const struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation);

/*
 * MPI_Abort of some processes only: this one is ended, by its daemon; also when its spawn has not
 * been heard of there yet. by: who wanted it, and why.
 */
void rz_spawns_end(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation, uint32_t code,
                   const char *by);

#endif
