/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Revoked communicators, spread among the daemons and handed to the processes: the two-level form
 * of a revocation. A process says it to its daemon (REVOKE), the daemons tell one another
 * (proto/spread, an object of its own beside that for failures), and each writes it to the log on
 * its board (link/board.h), where its processes find it.
 *
 * What one daemon knows all that live get to know, whoever fails (docs/protocols/spread.md); a
 * process has read it from the board only where its daemon knew. A revocation is a number of 64
 * bits that says all of it; daemons know nothing of communicators. Known ones are kept until the
 * end of the job, 24 bytes each.
 */
#ifndef RZ_DAEMON_REVOCATIONS_H
#define RZ_DAEMON_REVOCATIONS_H

#include "base/status.h"

#include <rhizome/protocol.h>

struct event_base;
struct rz_revocations;

/* The view that marks messages of this object among those of the room `spread`. */
#define RZ_REVOCATIONS_VIEW 2

struct rz_revocations_config {
    uint32_t n_nodes;
    rz_id self;
    struct event_base *base;
    void *arg;
    /* To the daemon of another node. */
    void (*send)(void *arg, rz_id to, const struct rz_message *message, const uint64_t *items);
    /* These are new here: each is told once, from an event of its own, after it was sent on. */
    void (*learnt)(void *arg, const uint64_t *revocations, uint32_t n);
};

rz_status_t rz_revocations_open(struct rz_revocations **revocations,
                                const struct rz_revocations_config *config);
void rz_revocations_close(struct rz_revocations *revocations);

/* A process of this node has revoked. */
void rz_revocations_add(struct rz_revocations *revocations, uint64_t revocation);

/* Whether it is known here. What becomes known later is written to the board then. */
bool rz_revocations_known(const struct rz_revocations *revocations, uint64_t revocation);

/* From the host of the other cores: a message with our view, the failure of a node. */
void rz_revocations_message(struct rz_revocations *revocations, const struct rz_message *message,
                            const uint64_t *items);
void rz_revocations_node_failed(struct rz_revocations *revocations, rz_id node, bool proof);

#endif
