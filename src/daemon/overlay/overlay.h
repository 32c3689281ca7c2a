/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The overlay: authenticated TCP connections between the daemons of a job, and small authenticated
 * UDP datagrams for heartbeats, so that retransmission cannot delay them. Each daemon sends over
 * the connections that it opened itself and only reads from those that it accepted: connections
 * never cross, and each direction has one order. A daemon opens one connection per peer: along the
 * binomial graph at the start, to other peers when needed.
 *
 * Both ends of a connection first prove, by nonces and keyed hashes, that they hold the job's key
 * (net/proof); until then frames are short, and the time and the number of such connections are
 * bounded. From then on each frame is encrypted and authenticated under a key of that connection:
 * an attacker in the network between two nodes can only end the connection.
 */
#ifndef RZ_DAEMON_OVERLAY_H
#define RZ_DAEMON_OVERLAY_H

#include "base/status.h"
#include "daemon/state/overlay_peer.h"
#include "wire/launch_messages.h"
#include "wire/overlay_messages.h"

#include <rhizome/protocol.h>

struct event_base;
struct rz_overlay;

struct rz_overlay_config {
    uint64_t job;
    const uint8_t *key; /* RZ_JOB_KEY_BYTES, copied */
    uint32_t n_nodes, self;
    const struct rz_overlay_peer *peers; /* [n_nodes], copied */
    /* The time a connecting peer has to prove itself; 0: 30 s. */
    rz_time prove_ns;
    void *arg;
    /* A message of an authenticated peer; pointers are valid during the call. */
    void (*message)(void *arg, rz_id from, const struct rz_overlay_message *message);
    /* A datagram of an authenticated peer. Each datagram is passed on once. */
    void (*heartbeat)(void *arg, const struct rz_message *message, const uint64_t *items);
    /* A connection with peer was refused or broke: proof that its daemon has ended. Called once per
     * peer. */
    void (*broken)(void *arg, rz_id peer);
    /* The peer cannot be reached any more, and what was sent to it is lost. This proves nothing. */
    void (*lost)(void *arg, rz_id peer);
    /* The queue towards peer has fallen below RZ_OVERLAY_QUEUE_LOW. */
    void (*writable)(void *arg, rz_id peer);
};

#define RZ_OVERLAY_QUEUE_LOW (512u << 10)

/* Binds TCP and UDP sockets on `address`, ports chosen by the kernel. */
rz_status_t rz_overlay_open(struct rz_overlay **overlay, struct event_base *base,
                            const struct rz_address *address);
/* Where it listens; pid 0. */
struct rz_overlay_peer rz_overlay_own(const struct rz_overlay *overlay);

/* Starts the overlay: accepts connections, and connects to the neighbours. To be called once. */
rz_status_t rz_overlay_start(struct rz_overlay *overlay, const struct rz_overlay_config *config);
bool rz_overlay_started(const struct rz_overlay *overlay);
void rz_overlay_close(struct rz_overlay *overlay);

/* Queues a message to a peer, connecting first if needed. Messages to a closed peer are dropped. */
void rz_overlay_send(struct rz_overlay *overlay, rz_id to,
                     const struct rz_overlay_message *message);

/* Queues a protocol core's message to a peer, or sends it as a datagram. A datagram may be lost,
 * and it must be small: one that is too large is dropped. */
void rz_overlay_send_protocol(struct rz_overlay *overlay, rz_id to,
                              const struct rz_message *message, const uint64_t *items,
                              bool datagram);

/* Delivers the datagrams that have arrived. To be called before a detector is told that time has
 * passed. */
void rz_overlay_read_heartbeats(struct rz_overlay *overlay);

size_t rz_overlay_queued(const struct rz_overlay *overlay, rz_id to);

/* Injects a fault of the network between the daemons (RZ_INJECT_CUT to RZ_INJECT_HEAL), between the
 * nodes [n] and all others. */
rz_status_t rz_overlay_inject(struct rz_overlay *overlay, enum rz_inject what,
                              const uint32_t *nodes, uint32_t n, uint64_t amount);

/* Counts of what was refused since the start. */
struct rz_overlay_refusals {
    uint64_t connections; /* accepted, but not proved: garbage, wrong key, silence, too many */
    /* Of these, the connections that were refused, not merely closed by the other end. */
    uint64_t unproved;
    uint64_t strangers; /* opened by this daemon, but the listener did not prove itself */
    uint64_t datagrams; /* garbage, wrong key, or meant for another node */
    uint64_t repeated;  /* datagrams that had arrived before */
};
const struct rz_overlay_refusals *rz_overlay_refusals(const struct rz_overlay *overlay);

/* Whether the connection of a peer was closed because a message was not from the peer, was changed,
 * left out or repeated. */
bool rz_overlay_harmed(const struct rz_overlay *overlay, rz_id peer);

/* The peer has failed: it is told FENCED, nothing else is sent to it, and what it still sends is
 * dropped. Its connections stay open, because their end would look like our failure to it. */
void rz_overlay_fence(struct rz_overlay *overlay, rz_id peer);

/* From now on this daemon takes broken connections for no evidence. */
void rz_overlay_ending(struct rz_overlay *overlay);

/* Tells the connected peers that the end of this daemon's connections is no evidence either. */
void rz_overlay_leave(struct rz_overlay *overlay);

#endif
