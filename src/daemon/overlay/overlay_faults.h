/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Injected faults of the network between the daemons (net/fault): messages are held back, or
 * dropped, before the overlay sends them. The object is made at the first order; without an order
 * the overlay has none.
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
    /* The time of a held message has come: send it. */
    void (*send)(void *arg, rz_id to, bool datagram, const void *bytes, size_t n);
    /* The way to peer was healed: connections that broke meanwhile are to be noticed now. */
    void (*healed)(void *arg, rz_id peer);
};

rz_status_t rz_overlay_faults_open(struct rz_overlay_faults **faults, struct event_base *base,
                                   uint32_t n_nodes, rz_id self,
                                   const struct rz_overlay_faults_host *host);
void rz_overlay_faults_close(struct rz_overlay_faults *faults); /* NULL: nothing */

/* Injects a network fault of enum rz_inject between the nodes [n] and all others. */
void rz_overlay_faults_inject(struct rz_overlay_faults *faults, enum rz_inject what,
                              const uint32_t *nodes, uint32_t n, uint64_t amount);

/* True: the message is kept here until its time (copied), or it is lost. False: the caller sends it
 * now. */
bool rz_overlay_faults_hold(struct rz_overlay_faults *faults, rz_id to, bool datagram,
                            const void *bytes, size_t n);

/* Returns the bytes of stream messages that are held back on their way to a peer. */
size_t rz_overlay_faults_held(const struct rz_overlay_faults *faults, rz_id to);

/* Whether the way to peer is cut: then nothing that happens to a connection with it may be
 * noticed. */
bool rz_overlay_faults_cut(const struct rz_overlay_faults *faults, rz_id peer);

#endif
