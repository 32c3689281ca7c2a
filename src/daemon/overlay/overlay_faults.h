/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of the network between the daemons, put in on purpose (net/fault): holds messages back, or
 * lets them vanish, before the overlay sends them. Made at the first order; without one the overlay
 * has none.
 */
#ifndef RZ_DAEMON_OVERLAY_FAULTS_H
#define RZ_DAEMON_OVERLAY_FAULTS_H

#include "base/status.h"
#include "wire/launch_messages.h"

#include <rhizome/types.h>

struct event_base;
struct rz_overlay_faults;

struct rz_overlay_faults_host {
    void *arg;
    /* The time of a held message has come. */
    void (*send)(void *arg, rz_id to, bool datagram, const void *bytes, size_t n);
    /* The way to peer was healed: what broke meanwhile shows now. */
    void (*healed)(void *arg, rz_id peer);
};

rz_status_t rz_overlay_faults_open(struct rz_overlay_faults **faults, struct event_base *base,
                                   uint32_t n_nodes, rz_id self,
                                   const struct rz_overlay_faults_host *host);
void rz_overlay_faults_close(struct rz_overlay_faults *faults); /* NULL: nothing */

/* The network faults of enum rz_inject, between the nodes [n] and all others. */
void rz_overlay_faults_inject(struct rz_overlay_faults *faults, enum rz_inject what,
                              const uint32_t *nodes, uint32_t n, uint64_t amount);

/* True: the message is kept here until its time (copied), or lost; else it is to be sent now. */
bool rz_overlay_faults_hold(struct rz_overlay_faults *faults, rz_id to, bool datagram,
                            const void *bytes, size_t n);

/* Bytes of stream messages held back on their way to a peer. */
size_t rz_overlay_faults_held(const struct rz_overlay_faults *faults, rz_id to);

/* Whether nothing that happens to a connection with peer may be seen now. */
bool rz_overlay_faults_cut(const struct rz_overlay_faults *faults, rz_id peer);

#endif
