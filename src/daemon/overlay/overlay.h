/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The overlay: authenticated TCP connections between the daemons of a job, and small authenticated
 * UDP datagrams for heartbeats, so that retransmission cannot delay them. Each daemon sends over
 * connections it opened itself (one per peer, opened when first needed and, along the binomial
 * graph, at the start) and only reads from those it accepted: no crossing connections, one order
 * per direction.
 *
 * Both ends of a connection prove first, by nonces and keyed hashes, that they hold the job's key
 * (net/proof); until then frames are short, time and number of such connections are bounded. From
 * then on each frame is encrypted and authenticated under a key of that connection: whoever sits on
 * the network between two nodes of the job can end the connection, and no more.
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
    rz_time prove_ns;                    /* who connects proves itself within this time; 0: 30 s */
    void *arg;
    /* A message of an authenticated peer; pointers are valid during the call. */
    void (*message)(void *arg, rz_id from, const struct rz_overlay_message *message);
    /* A datagram of an authenticated peer, each once. */
    void (*heartbeat)(void *arg, const struct rz_message *message, const uint64_t *items);
    /* A connection with peer was refused or broke: proof that its daemon is gone. Told once per
     * peer. */
    void (*broken)(void *arg, rz_id peer);
    /* No way leads to peer any more, and what was sent to it is lost: no proof of anything. */
    void (*lost)(void *arg, rz_id peer);
    /* The queue towards peer has fallen below RZ_OVERLAY_QUEUE_LOW. */
    void (*writable)(void *arg, rz_id peer);
};

#define RZ_OVERLAY_QUEUE_LOW (512u << 10)

/* Binds TCP and UDP sockets on `address` (numeric, e.g. 127.0.0.1), ports chosen by the kernel. */
rz_status_t rz_overlay_open(struct rz_overlay **overlay, struct event_base *base,
                            const char *address);
void rz_overlay_ports(const struct rz_overlay *overlay, uint16_t *tcp_port, uint16_t *udp_port);

/* Begins: accepts, and connects to the neighbours. Once. */
rz_status_t rz_overlay_start(struct rz_overlay *overlay, const struct rz_overlay_config *config);
bool rz_overlay_started(const struct rz_overlay *overlay);
void rz_overlay_close(struct rz_overlay *overlay);

/* Queues a message to a peer, connecting first where needed. Messages to a peer that was closed are
 * dropped. */
void rz_overlay_send(struct rz_overlay *overlay, rz_id to,
                     const struct rz_overlay_message *message);

/* The same for a protocol core's message, as a datagram (which may be lost, and must be small, else
 * it is none) or by the connection. */
void rz_overlay_send_protocol(struct rz_overlay *overlay, rz_id to,
                              const struct rz_message *message, const uint64_t *items,
                              bool datagram);

/* Delivers the datagrams that have come: before a detector is told that time has passed. */
void rz_overlay_read_heartbeats(struct rz_overlay *overlay);

size_t rz_overlay_queued(const struct rz_overlay *overlay, rz_id to);

/* A fault of the network between the daemons (RZ_INJECT_CUT to RZ_INJECT_HEAL): between the nodes
 * [n] and all others. */
rz_status_t rz_overlay_inject(struct rz_overlay *overlay, enum rz_inject what,
                              const uint32_t *nodes, uint32_t n, uint64_t amount);

/* What was turned away, since the start. */
struct rz_overlay_refusals {
    uint64_t connections; /* accepted, but not proved: garbage, wrong key, silence, too many */
    uint64_t
        unproved; /* of them: all but those that went away without having said anything wrong */
    uint64_t strangers; /* opened by us, and somebody else listened there */
    uint64_t datagrams; /* garbage, wrong key, for others */
    uint64_t repeated;  /* datagrams that had come before */
};
const struct rz_overlay_refusals *rz_overlay_refusals(const struct rz_overlay *overlay);

/* Peer has failed: it is told FENCED, nothing else is sent to it any more, and what it still sends
 * is dropped. Its connections stay open: their end would look like our failure to it. */
void rz_overlay_fence(struct rz_overlay *overlay, rz_id peer);

/* From now on broken connections are no evidence here. */
void rz_overlay_ending(struct rz_overlay *overlay);

/* Nor shall the end of ours be any to the peers that we have a connection to. */
void rz_overlay_leave(struct rz_overlay *overlay);

#endif
