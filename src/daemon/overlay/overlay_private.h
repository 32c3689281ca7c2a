/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the overlay share; no other file includes this. */
#ifndef RZ_DAEMON_OVERLAY_PRIVATE_H
#define RZ_DAEMON_OVERLAY_PRIVATE_H

#include "net/datagram/datagram.h"
#include "net/proof/proof.h"
#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_faults.h"
#include "daemon/state/loop.h"
#include "port/channel.h"
#include "port/socket.h"

#include <event2/event.h>
#include <sodium.h>

#define RZ_OVERLAY_NONCE_BYTES RZ_PROOF_NONCE_BYTES
#define RZ_OVERLAY_SEALED_MAX (RZ_OVERLAY_FRAME_MAX + RZ_SEAL_BYTES)

/* A frame that waits until both ends of its connection are proved. */
struct waiting_frame {
    struct waiting_frame *next;
    size_t bytes;
    uint8_t data[];
};

/* The connection that this daemon opened to a peer: it sends on it, and reads only CHALLENGE and
 * WELCOME. */
struct outgoing {
    struct rz_overlay *overlay;
    rz_id peer;
    struct rz_frames *frames; /* NULL: not open */
    struct event *readable, *writable;
    struct event *again; /* pending while the peer cannot be reached: tries again */
    uint8_t challenge[RZ_OVERLAY_NONCE_BYTES], nonce[RZ_OVERLAY_NONCE_BYTES];
    struct rz_seal seal;    /* seals each frame, once the connection is ready */
    bool said_hello, ready; /* ready: the peer has proved itself */
    bool fenced, suspect, broken, left, above_low;
    bool harmed; /* what arrived as from the peer was not from it, or was changed on the way */
    struct waiting_frame *first, **last;
    size_t waiting_bytes;
};

/* A connection that a peer opened: this daemon reads on it, and sends only CHALLENGE and
 * WELCOME. */
struct incoming {
    struct incoming *next;
    struct rz_overlay *overlay;
    struct rz_frames *frames;
    struct event *readable;
    rz_id peer;       /* RZ_ID_NONE until HELLO has proved it */
    rz_time prove_by; /* when the connection is closed if the peer has not proved itself */
    uint8_t nonce[RZ_OVERLAY_NONCE_BYTES];
    struct rz_seal seal; /* opens each frame, once the peer has proved itself */
};

/* The address a daemon listens on. */
struct place {
    struct rz_address tcp, udp;
};

struct rz_overlay {
    struct event_base *base;
    int udp_fd;
    struct place own;
    struct rz_loop_listener accepting;
    struct event *arriving, *reporting, *patience;
    struct rz_overlay_config config;
    uint8_t key[RZ_PROOF_KEY_BYTES]; /* of connections between daemons */
    struct place *peers;             /* [n_nodes] */
    struct outgoing *outgoing;       /* [n_nodes] */
    struct incoming *incoming;       /* the newest first */
    unsigned n_unproved;
    struct rz_datagrams *datagrams;
    struct rz_overlay_faults *faults; /* NULL: none was ordered */
    struct rz_overlay_refusals refusals;
    bool ending;
    uint8_t scratch[RZ_OVERLAY_FRAME_MAX];
    uint8_t sealed[RZ_OVERLAY_SEALED_MAX]; /* a frame to be sent */
    uint8_t opened[RZ_OVERLAY_FRAME_MAX];  /* a received frame */
};

/* The keys of connections between daemons, and of their datagrams, from that of the job. */
#define RZ_OVERLAY_KEY_CONNECTIONS "connections of daemons"
#define RZ_OVERLAY_KEY_DATAGRAMS "datagrams of daemons"

/* The terms that both ends of a connection prove: for this job, from connector to acceptor. */
struct rz_overlay_terms {
    struct rz_proof_terms proof;
    uint8_t bound[16];
};
const struct rz_proof_terms *rz_overlay_terms(const struct rz_overlay *overlay,
                                              const uint8_t *challenge, const uint8_t *answer,
                                              rz_id connector, rz_id acceptor,
                                              struct rz_overlay_terms *terms);

/*
 * The connection with peer broke. What has arrived on any connection is read first; then the break
 * is reported. A daemon that was stopped for a while may find FENCED there: it must not take the
 * closed connections of the daemons that went on without it for their failures.
 */
void rz_overlay_suspect(struct rz_overlay *overlay, rz_id peer);

/* overlay_out.c */
void rz_overlay_outgoing_open(struct outgoing *out);
void rz_overlay_outgoing_close(struct outgoing *out);
void rz_overlay_outgoing_send(struct outgoing *out, const void *bytes, size_t n);

/* overlay_in.c */
rz_status_t rz_overlay_receive_begin(struct rz_overlay *overlay);
void rz_overlay_receive_end(struct rz_overlay *overlay);

#endif
