/*
 * What the files of the module share.
 *
 * Of UCX we use the smallest part that is safe when processes die: short active messages that are
 * sent at once or not at all. UCX then holds neither operations nor memory of ours, no handshake of
 * its own runs between workers, and an end is ours to give. (Its rendezvous and its handshake abort
 * a survivor whose peer dies at the wrong moment: see README.md.) Queues, flow control and
 * rendezvous are here: a large payload is offered; the receiver takes or drops it; it comes in
 * pieces, which are copied only while the fetch lives.
 */
#ifndef RZ_NET_UCX_UCX_INTERNAL_H
#define RZ_NET_UCX_UCX_INTERNAL_H

#include "net/ucx/ucx.h"

#include <ucp/api/ucp.h>

/* Payloads above are offered. Both fit into one short message: see UCX_TCP_TX_SEG_SIZE in
 * ucx_environment.c. */
#define RZ_UCX_EAGER_MAX 32768
#define RZ_UCX_PIECE_MAX 61440

/* The one active message of UCX that we use. */
#define RZ_UCX_MESSAGE 1

/* Each message is a frame: name of the sender (u64), kind (u32), id (u64), place (u64); then the
 * user's header. */
enum rz_ucx_kind {
    RZ_UCX_SMALL, /* a whole message */
    RZ_UCX_OFFER, /* a large one: id, place = bytes of its payload */
    RZ_UCX_TAKE,  /* answer to an offer: id, place = bytes wanted */
    RZ_UCX_DROP,  /* answer to an offer: id */
    RZ_UCX_PIECE, /* of what was taken: id, place = offset */
    RZ_UCX_LAST,  /* nothing; goes out only after all before it has left UCX */
};
#define RZ_UCX_FRAME_BYTES 28

/* Uses of rz_net_op.net_private. */
enum rz_ucx_slot {
    RZ_UCX_NEXT,  /* the following operation of a queue */
    RZ_UCX_DATA,  /* the user's memory */
    RZ_UCX_BYTES, /* how much of it; after the end: the status */
    RZ_UCX_ID,    /* of the offer */
    RZ_UCX_DONE,  /* bytes sent or received */
};

/* First in, first out. */
struct rz_ucx_queue {
    struct rz_net_op *first, *last;
};

enum rz_ucx_state {
    RZ_UCX_STRANGER, /* has sent to us, but was not connected by our user */
    RZ_UCX_LIVE,
    RZ_UCX_RESTING, /* rolled back by the user, who may connect it again */
    RZ_UCX_BROKEN,  /* the connection is gone and the user told */
    RZ_UCX_ENDED,   /* disconnected by the user */
};

/* A process met or made known; kept until the transport is closed, so that late messages and
 * callbacks find it. */
struct rz_ucx_peer {
    struct rz_net *net;
    uint64_t name; /* random, chosen by the peer at open; in its card and its messages */
    rz_peer_t number;
    enum rz_ucx_state state;
    rz_status_t status; /* how operations with it end when it is not live */
    ucp_ep_h endpoint;  /* NULL before the first message to it and after the end */
    void *address;      /* of its UCX worker; NULL for a stranger and after the end */
    bool error_seen;    /* the connection is broken; not yet dealt with */
    bool attention;     /* is in net->attention */
    bool last_sent;     /* closing: RZ_UCX_LAST has gone out */
    struct rz_ucx_peer *next_attention, *next_in_bucket;
    struct rz_ucx_queue waiting;   /* sends of which nothing has gone out, in order */
    struct rz_ucx_queue offered;   /* sends not answered yet */
    struct rz_ucx_queue streaming; /* sends being sent in pieces */
    struct rz_ucx_queue taking;    /* fetches whose TAKE has not gone out */
    struct rz_ucx_queue fetching;  /* fetches whose pieces come */
    struct rz_net_token *tokens;   /* of the user */
    struct rz_net_token *dropping; /* whose DROP has not gone out */
};

/* A payload that lies with its sender. */
struct rz_net_token {
    struct rz_net_token *next, **back;
    struct rz_ucx_peer *peer;
    uint64_t id;
    size_t bytes;
    bool gone; /* the sender is not live */
};

struct rz_net {
    struct rz_net_host host;
    uint64_t job, name, offers;
    ucp_context_h context;
    ucp_worker_h worker;
    int fd;
    bool inside; /* ucp_worker_progress is on the stack: endpoints must not be made or closed now */
    bool deaf;   /* closing: nothing arrives any more */
    bool idle;   /* the last look found nothing; only then may UCX be armed */
    struct rz_ucx_peer **numbered, **buckets;
    size_t numbered_room, buckets_count, peers_count;
    struct rz_ucx_peer *attention; /* broken, ended, or with something to send */
    struct rz_ucx_queue finished;  /* operations that have ended; done is called outside of UCX */
};

/* ucx_peer.c */
struct rz_ucx_peer *rz_ucx_peer_by_number(const struct rz_net *net, rz_peer_t number);
/* found or made; NULL: no memory */
struct rz_ucx_peer *rz_ucx_peer_meet(struct rz_net *net, uint64_t name);
/* makes the endpoint where that is possible now; whether there is one */
bool rz_ucx_peer_reach(struct rz_ucx_peer *peer);
void rz_ucx_peer_attend(struct rz_ucx_peer *peer);
void rz_ucx_peer_break(struct rz_ucx_peer *peer); /* notes a broken connection */
void rz_ucx_peer_end(struct rz_ucx_peer *peer, rz_status_t status);
rz_status_t rz_ucx_card(struct rz_net *net, void *card, size_t *bytes);
rz_status_t rz_ucx_connect(struct rz_net *net, rz_peer_t number, const void *card, size_t bytes);
void rz_ucx_disconnect(struct rz_net *net, rz_peer_t number, bool drain, rz_status_t status);
bool rz_ucx_rest(struct rz_net *net, rz_peer_t number, rz_status_t status);
bool rz_ucx_quiet(struct rz_net *net);

/* Deals with broken connections, ends, room to send, and finished operations. */
unsigned rz_ucx_settle(struct rz_net *net);

/* ucx_send.c */
rz_status_t rz_ucx_send(struct rz_net *net, rz_peer_t number, const void *data, size_t bytes,
                        struct rz_net_op *op);
/* sends what waits while there is room; whether anything went out */
bool rz_ucx_pump(struct rz_ucx_peer *peer);
bool rz_ucx_send_last(struct rz_ucx_peer *peer); /* whether all sent before has left UCX */
void rz_ucx_taken(struct rz_ucx_peer *peer, uint64_t id, uint64_t bytes);
void rz_ucx_dropped(struct rz_ucx_peer *peer, uint64_t id);

/* ucx_receive.c */
rz_status_t rz_ucx_listen(struct rz_net *net); /* installs the handler of messages */
rz_status_t rz_ucx_fetch(struct rz_net *net, rz_net_token_t token, void *data, size_t bytes,
                         struct rz_net_op *op);
void rz_ucx_drop(struct rz_net *net, rz_net_token_t token);
void rz_ucx_token_free(struct rz_net_token *token);

/* ucx_op.c */
bool rz_ucx_withdraw(struct rz_net *net, rz_peer_t number, rz_net_token_t token,
                     struct rz_net_op *op);
void rz_ucx_queue_put(struct rz_ucx_queue *queue, struct rz_net_op *op);
struct rz_net_op *rz_ucx_queue_take(struct rz_ucx_queue *queue);
struct rz_net_op *rz_ucx_queue_find(const struct rz_ucx_queue *queue, uint64_t id);
void rz_ucx_queue_remove(struct rz_ucx_queue *queue, struct rz_net_op *op);
uint64_t rz_ucx_op_get(const struct rz_net_op *op, enum rz_ucx_slot slot);
void rz_ucx_op_set(struct rz_net_op *op, enum rz_ucx_slot slot, uint64_t value);
void rz_ucx_finish(struct rz_net *net, struct rz_net_op *op, rz_status_t status);
void rz_ucx_finish_all(struct rz_ucx_peer *peer); /* all operations with peer, with its status */
unsigned rz_ucx_deliver(struct rz_net *net);      /* calls done for what has finished */

/* ucx_module.c */
unsigned rz_ucx_progress(struct rz_net *net);

#endif
