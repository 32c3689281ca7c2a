/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The common part of the transports between nodes: eager messages, rendezvous for large payloads,
 * queues, tokens, and their ends. A carrier (net/tcp, net/ucx) only moves frames: each frame is
 * sent at once and completely, or not at all, so that the carrier holds neither operations nor
 * memory of the user, and an operation can be ended at any time. A large payload is offered; the
 * receiver takes or drops it; it is sent in pieces, which are written only while the fetch is in
 * progress.
 */
#ifndef RZ_NET_RENDEZVOUS_RENDEZVOUS_H
#define RZ_NET_RENDEZVOUS_RENDEZVOUS_H

#include "net/net.h"
#include "wire/cursor.h"

enum rz_rdv_kind {
    RZ_RDV_SMALL, /* a whole message */
    RZ_RDV_OFFER, /* a large one: id, place = bytes of its payload */
    RZ_RDV_TAKE,  /* answer to an offer: id, place = bytes requested */
    RZ_RDV_DROP,  /* answer to an offer: id */
    RZ_RDV_PIECE, /* a part of a payload that was taken: id, place = offset */
    RZ_RDV_LAST,  /* no content; accepted only after all frames before it have left the carrier */
    RZ_RDV_KIND_COUNT
};

/* A frame, as the carrier moves it. */
struct rz_rdv_frame {
    enum rz_rdv_kind kind;
    uint64_t id, place;
    const void *header; /* the user's */
    uint32_t header_bytes;
    const void *data;
    size_t bytes;
};

struct rz_rdv_peer;

/* The functions of a carrier. None of these is called from inside `turn`, except put. */
struct rz_carrier_ops {
    uint32_t ep_address_magic;
    size_t eager_max; /* payloads above are offered */
    size_t piece_max; /* no frame has a longer payload */

    /* Writes the address at which this process is reached. RZ_ERR_SYSTEM: it cannot be
     * determined. */
    rz_status_t (*address)(struct rz_net *net, struct rz_wire_writer *writer);
    /* Whether these bytes of an endpoint address are a valid address. */
    bool (*is_address)(const uint8_t *address, size_t bytes);
    /* Begins the connection to peer->address: sets peer->connection. False: not possible. */
    bool (*connect)(struct rz_rdv_peer *peer);
    /* Sends a frame over peer->connection: RZ_OK, RZ_IN_PROGRESS (no space, or not connected yet;
     * nothing was sent), or RZ_ERR_CLOSED. Keeps no pointer into the frame. */
    rz_status_t (*put)(struct rz_rdv_peer *peer, const struct rz_rdv_frame *frame);
    /* Closes all connections with peer. */
    void (*shut)(struct rz_rdv_peer *peer);
    /* Makes progress: calls rz_rdv_arrived, rz_rdv_peer_break, rz_rdv_peer_attend. Returns the
     * number of events. */
    unsigned (*turn)(struct rz_net *net);
};

/* Uses of rz_net_op.net_private. */
enum rz_rdv_slot {
    RZ_RDV_NEXT,   /* the following operation of a queue */
    RZ_RDV_BEFORE, /* the one before it */
    RZ_RDV_DATA,   /* the user's memory */
    RZ_RDV_BYTES,  /* its length; after the end: the status */
    RZ_RDV_ID,     /* of the offer; not changed while the operation is in a queue by id */
    RZ_RDV_DONE,   /* bytes sent or received */
};

/* First in, first out; a queue by id also finds an operation in constant time. */
struct rz_rdv_queue {
    struct rz_net_op *first, *last;
    size_t length;
    bool by_id;
    struct rz_net_op **index; /* open addressing by RZ_RDV_ID; NULL: few operations, or no memory */
    size_t places;            /* of the index, a power of 2 */
};

enum rz_rdv_state {
    RZ_RDV_STRANGER, /* has sent to us, but was not connected by our user */
    RZ_RDV_LIVE,
    RZ_RDV_RESTING, /* rolled back; the user may connect it again */
    RZ_RDV_BROKEN,  /* the connection is gone, and the user was told */
    RZ_RDV_ENDED,   /* disconnected by the user */
};

/* A process that has sent to us or was made known; kept until the transport is closed, so that late
 * messages and callbacks find it. */
struct rz_rdv_peer {
    struct rz_net *net;
    uint64_t
        name; /* random, chosen by the peer at open; in its endpoint address and its messages */
    rz_peer_t number;
    enum rz_rdv_state state;
    rz_status_t status; /* the status with which operations end when the peer is not live */
    void *connection;   /* the carrier's; NULL before the first message to it and after the end */
    void *incoming;   /* the carrier's: the connection on which the peer sends to us; NULL: none */
    uint8_t *address; /* of its endpoint address; NULL for an unknown peer and after the end */
    size_t address_bytes;
    bool error_seen; /* the connection is broken; not yet handled */
    bool attention;  /* is in net->attention */
    bool last_sent;  /* closing: RZ_RDV_LAST was sent */
    struct rz_rdv_peer *next_attention, *next_in_bucket;
    struct rz_rdv_queue waiting;   /* sends of which nothing was sent yet, in order */
    struct rz_rdv_queue offered;   /* sends not answered yet */
    struct rz_rdv_queue streaming; /* sends being sent in pieces */
    struct rz_rdv_queue taking;    /* fetches whose TAKE was not sent yet */
    struct rz_rdv_queue fetching;  /* fetches whose pieces are arriving */
    struct rz_net_token *tokens;   /* held by the user */
    struct rz_net_token *dropping; /* whose DROP was not sent yet */
};

/* A payload that is still in its sender's memory. */
struct rz_net_token {
    struct rz_net_token *next, **back;
    struct rz_rdv_peer *peer;
    uint64_t id;
    size_t bytes;
    bool gone; /* the sender is not live */
};

/* The first member of each carrier's own structure. */
struct rz_net {
    const struct rz_carrier_ops *carrier;
    struct rz_net_host host;
    uint64_t job, name, offers;
    size_t eager_max, piece_max; /* the carrier's; tests make them smaller (port/bounds.h) */
    bool inside; /* the carrier's turn is on the stack: no connection may be made or closed now */
    bool deaf;   /* closing: nothing is delivered any more */
    bool idle;   /* the last turn found no event */
    struct rz_rdv_peer **numbered, **buckets;
    size_t numbered_protocol, buckets_count, peers_count;
    struct rz_rdv_peer *attention; /* broken, ended, or with something to send */
    struct rz_rdv_queue finished;  /* operations that have ended; done is called outside of turn */
};

/* rdv_peer.c */

/* Sets only a random name. RZ_ERR_SYSTEM: no randomness. */
rz_status_t rz_rdv_open(struct rz_net *net, const struct rz_carrier_ops *carrier, uint64_t job,
                        const struct rz_net_host *host);
/* Sends, for a bounded time, what was accepted; then closes all connections and ends all
 * operations. */
void rz_rdv_close(struct rz_net *net);
/* Frees the peers, once the carrier does not refer to them any more. */
void rz_rdv_free(struct rz_net *net);

struct rz_rdv_peer *rz_rdv_peer_by_number(const struct rz_net *net, rz_peer_t number);
/* found or made; NULL: no memory */
struct rz_rdv_peer *rz_rdv_peer_meet(struct rz_net *net, uint64_t name);
/* begins the connection where that is possible now; whether there is one */
bool rz_rdv_peer_reach(struct rz_rdv_peer *peer);
void rz_rdv_peer_attend(struct rz_rdv_peer *peer);
void rz_rdv_peer_break(struct rz_rdv_peer *peer); /* records a broken connection */
void rz_rdv_peer_end(struct rz_rdv_peer *peer, rz_status_t status);

/* Handles broken connections, ends, new space to send, and finished operations. */
unsigned rz_rdv_settle(struct rz_net *net);

/* Functions of the table in net.h. */
rz_status_t rz_rdv_ep_address(struct rz_net *net, void *ep_address, size_t *bytes);
rz_status_t rz_rdv_connect(struct rz_net *net, rz_peer_t number, const void *ep_address,
                           size_t bytes);
void rz_rdv_disconnect(struct rz_net *net, rz_peer_t number, bool drain, rz_status_t status);
bool rz_rdv_rest(struct rz_net *net, rz_peer_t number, rz_status_t status);
bool rz_rdv_quiet(struct rz_net *net);
unsigned rz_rdv_progress(struct rz_net *net);

/* rdv_send.c */
rz_status_t rz_rdv_send(struct rz_net *net, rz_peer_t number, const void *data, size_t bytes,
                        struct rz_net_op *op);
/* sends waiting frames while there is space; returns whether any was sent */
bool rz_rdv_pump(struct rz_rdv_peer *peer);
/* returns whether all frames sent before have left the carrier */
bool rz_rdv_send_last(struct rz_rdv_peer *peer);
void rz_rdv_taken(struct rz_rdv_peer *peer, uint64_t id, uint64_t bytes);
void rz_rdv_dropped(struct rz_rdv_peer *peer, uint64_t id);

/* rdv_receive.c */

/* A whole frame has arrived from peer; a malformed one breaks the connection. For carriers, from
 * inside turn. */
void rz_rdv_arrived(struct rz_rdv_peer *peer, const struct rz_rdv_frame *frame);

/*
 * For carriers that read pieces straight to their place: returns where the payload of this piece
 * belongs (its bytes from `place` on), valid until another function of the transport is called;
 * NULL: it is not needed (any more). When all of it has been read: rz_rdv_piece_done. The header
 * and data of the frame are not used.
 */
void *rz_rdv_piece_place(struct rz_rdv_peer *peer, const struct rz_rdv_frame *piece);
void rz_rdv_piece_done(struct rz_rdv_peer *peer, const struct rz_rdv_frame *piece);

rz_status_t rz_rdv_fetch(struct rz_net *net, rz_net_token_t token, void *data, size_t bytes,
                         struct rz_net_op *op);
void rz_rdv_drop(struct rz_net *net, rz_net_token_t token);
void rz_rdv_token_free(struct rz_net_token *token);

/* rdv_op.c */
enum rz_net_withdrawn rz_rdv_withdraw(struct rz_net *net, rz_peer_t number, rz_net_token_t token,
                                      struct rz_net_op *op);
void rz_rdv_queue_put(struct rz_rdv_queue *queue, struct rz_net_op *op);
struct rz_net_op *rz_rdv_queue_take(struct rz_rdv_queue *queue);
struct rz_net_op *rz_rdv_queue_find(const struct rz_rdv_queue *queue, uint64_t id);
void rz_rdv_queue_remove(struct rz_rdv_queue *queue, struct rz_net_op *op);
uint64_t rz_rdv_op_get(const struct rz_net_op *op, enum rz_rdv_slot slot);
void rz_rdv_op_set(struct rz_net_op *op, enum rz_rdv_slot slot, uint64_t value);
void rz_rdv_finish(struct rz_net *net, struct rz_net_op *op, rz_status_t status);
/* ends all operations with peer, with its status */
void rz_rdv_finish_all(struct rz_rdv_peer *peer);
unsigned rz_rdv_deliver(struct rz_net *net); /* calls done of the operations that have finished */

/* The functions of a transport's table (struct rz_net_ops) that are here; name, eager_max, arm, fd
 * and close belong to the carrier. */
#define RZ_RDV_OPERATIONS                                                                          \
    .ep_address = rz_rdv_ep_address, .connect = rz_rdv_connect, .send = rz_rdv_send,               \
    .fetch = rz_rdv_fetch, .drop = rz_rdv_drop, .withdraw = rz_rdv_withdraw,                       \
    .progress = rz_rdv_progress, .disconnect = rz_rdv_disconnect, .rest = rz_rdv_rest,             \
    .quiet = rz_rdv_quiet

#endif
