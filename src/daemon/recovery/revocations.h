/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Revoked communicators, spread among the daemons and passed on to the processes. This is the
 * two-level form of a revocation: a process tells its daemon (REVOKE), the daemons tell one another
 * (proto/spread, an object beside the one for failures), and each daemon writes the revocation to
 * the log on its board (link/board.h), where its processes find it.
 *
 * What one daemon knows, all live daemons get to know, whichever fail (docs/protocols/spread.md); a
 * process can read only what its daemon knew. A revocation is a number of 64 bits; daemons know
 * nothing of communicators. Known revocations are kept until the end of the job, 24 bytes each, by
 * all daemons; a process that adds more than RZ_REVOCATIONS_EACH is killed.
 */
#ifndef RZ_DAEMON_REVOCATIONS_H
#define RZ_DAEMON_REVOCATIONS_H

#include "base/status.h"

#include <rhizome/protocol.h>

struct event_base;
struct rz_revocations;

/* The view that marks this object's messages among those of the component `spread`. */
#define RZ_REVOCATIONS_VIEW 2
/* The new revocations of one process: 24 MiB at each daemon. */
#define RZ_REVOCATIONS_EACH (1u << 20)

struct rz_revocations_config {
    uint32_t n_nodes;
    rz_id self;
    struct event_base *base;
    void *arg;
    /* Sends a message to the daemon of another node. */
    void (*send)(void *arg, rz_id to, const struct rz_message *message, const uint64_t *items);
    /* These revocations are new to this daemon. Each is told once, from an event of its own, after
     * it was sent on. */
    void (*learnt)(void *arg, const uint64_t *revocations, uint32_t n);
};

rz_status_t rz_revocations_open(struct rz_revocations **revocations,
                                const struct rz_revocations_config *config);
void rz_revocations_close(struct rz_revocations *revocations);

/* A process of this node has revoked a communicator. */
void rz_revocations_add(struct rz_revocations *revocations, uint64_t revocation);

/* Whether the revocation is known here. One that becomes known later is written to the board
 * then. */
bool rz_revocations_known(const struct rz_revocations *revocations, uint64_t revocation);

/* For the host of the other cores: a message with this object's view arrived, and a node failed. */
void rz_revocations_message(struct rz_revocations *revocations, const struct rz_message *message,
                            const uint64_t *items);
void rz_revocations_node_failed(struct rz_revocations *revocations, rz_id node, bool proof);

#endif
