/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spawns: processes that begin while the job runs, because the program requests them
 * (RZ_Comm_replace, MPI_Comm_spawn). All daemons decide them together (proto/recover). This module
 * keeps what the node's processes have requested and what spawned processes will execute, and
 * carries out decisions: place, board, fork, answer.
 *
 * A decision is carried out in this order: places, board words, news and doorbells, the forks of
 * this node, and only then the answers. Each request is answered. Where nothing can be spawned the
 * answer is a refusal with a status, and the reason is written once to standard error.
 *
 * The order, which says what spawned processes will execute, is sent by the daemon that was asked
 * to all others before the request itself. A daemon that learns of the decision first waits for the
 * order. If the daemon that was asked has failed, the order will not arrive: the spawned processes
 * placed here then fail at once, reported like any failure. The order is kept as long as one of its
 * processes, or a replacement, may still be replaced.
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

/* A request for new processes. Pointers are valid during the call. */
struct rz_spawns_asked {
    uint32_t asker, incarnation; /* the process that asks, of this node */
    uint64_t question;           /* for the answer */
    uint32_t count;
    const uint8_t *commands, *parent; /* as in SPAWN of wire/link_messages.h */
    uint32_t commands_length, parent_length;
};

/* A process begins only when the server is ready for its world. */
enum rz_spawns_server_state { RZ_SERVER_NOT_READY, RZ_SERVER_READY, RZ_SERVER_FAILED };

/*
 * What serves spawned processes of another MPI (gateway_link.h). The k-th cohort that is spawned is
 * world k of the job, at all daemons.
 */
struct rz_spawns_server {
    void *arg;
    /* The next world; node: that of the process that requested it. */
    void (*world)(void *arg, rz_id node, const struct rz_link_process *processes, uint32_t n);
    /* The number of the command of each process, and the parent field of the request. Both are
     * empty if the node that knows them has failed. */
    void (*programs)(void *arg, uint32_t world, const uint32_t *commands, uint32_t n,
                     const uint8_t *parent, uint32_t parent_bytes);
    enum rz_spawns_server_state (*state)(void *arg, uint32_t world);
    /* To a request: world is 0 if it was refused. */
    void (*answer)(void *arg, uint64_t question, rz_status_t status, uint32_t world);
};

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

/* From now on all spawned processes are the server's; server is copied. */
void rz_spawns_serve(struct rz_spawns *spawns, const struct rz_spawns_server *server);
/* The server's state has changed: processes that waited for it begin or fail. */
void rz_spawns_look_at_server(struct rz_spawns *spawns);

/* How many worlds were spawned so far. */
uint32_t rz_spawns_worlds(const struct rz_spawns *spawns);

/* A process of this node requests a cohort. The answer may be given during the call. */
void rz_spawns_ask(struct rz_spawns *spawns, const struct rz_spawns_asked *asked);
/* The phase has changed: requests that came too early are sent. */
void rz_spawns_phase(struct rz_spawns *spawns);

/* The process has ended: its requests are dropped. May be called again. */
void rz_spawns_forget(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation);

/* A decision: items as in RZ_RECOVER_SPAWNS. */
void rz_spawns_decided(struct rz_spawns *spawns, rz_status_t refused, const uint64_t *items,
                       uint32_t n_items);

/* All decisions so far have been carried out: answers the requests that wait for them. */
void rz_spawns_look(struct rz_spawns *spawns);

/* Subscribers of the membership: nothing arrives from that node any more; a spawned process has
 * ended in order, and its slot is free. */
void rz_spawns_node_failed(void *spawns, rz_id node, bool proof, bool first);
void rz_spawns_process_failed(void *spawns, uint32_t slot, uint32_t incarnation, enum rz_end end);

/* What the process of slot executes, if that is not the job's program: the arrays are valid until
 * the order is dropped. False: it executes the job's program. */
bool rz_spawns_program(const struct rz_spawns *spawns, uint32_t slot, struct rz_program *program);

/* The world of the process of slot; returns its rank there. */
uint32_t rz_spawns_world(const struct rz_spawns *spawns, uint32_t slot, uint32_t *world);

/* A program could not be executed: whether it is reported for this process, which is the first of
 * its command on this node. Any process of a command may fail first, and end the job; and a program
 * may be missing on one host alone. */
bool rz_spawns_reports(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation);

/* Makes COHORT for a process in a slot behind the ranks; pointers in *message are valid until the
 * next call. False: another process has the slot now. */
bool rz_spawns_cohort(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation,
                      struct rz_link_message *message);

/*
 * MPI_Abort of a subset of processes: the daemon of this process ends it, even if it has not
 * learned of the spawn yet. by: the process that called, and why.
 */
void rz_spawns_end(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation, uint32_t code,
                   const char *by);

#endif
