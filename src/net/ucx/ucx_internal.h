/* What the files of the module share. */
#ifndef RZ_NET_UCX_UCX_INTERNAL_H
#define RZ_NET_UCX_UCX_INTERNAL_H

#include "net/ucx/ucx.h"

#include <ucp/api/ucp.h>

/* Payloads above go by rendezvous. */
#define RZ_UCX_EAGER_MAX 32768

/* Operations of one peer that UCX holds; UCX sets no bound and takes kilobytes for each. The rest
 * waits in a queue of ours. */
#define RZ_UCX_WINDOW 32

/* The one active message of UCX we use. Its header: the sender's name (8 bytes), then the header of
 * our user. */
#define RZ_UCX_MESSAGE 1
#define RZ_UCX_NAME_BYTES 8

/* Uses of rz_net_op.net_private. */
enum rz_ucx_slot {
    RZ_UCX_NEXT,  /* the following operation of a list or queue */
    RZ_UCX_BACK,  /* in a list: the slot that points here */
    RZ_UCX_PEER,  /* struct rz_ucx_peer */
    RZ_UCX_DATA,  /* the user's memory */
    RZ_UCX_BYTES, /* its size */
    RZ_UCX_OWN,   /* send: struct rz_ucx_letter */
};

/* First in, first out; linked by RZ_UCX_NEXT. */
struct rz_ucx_queue {
    struct rz_net_op *first, *last;
};

/* The header on its way. UCX 1.13 reads it until the send has ended. */
struct rz_ucx_letter {
    struct rz_ucx_letter *next; /* of the free ones */
    unsigned char bytes[RZ_UCX_NAME_BYTES + RZ_NET_HEADER_MAX];
};

/*
 * Memory of ours into which UCX writes a payload that must not go to the user's memory directly:
 * the user wants less than the whole, or we cannot make UCX end the transfer (it comes through an
 * endpoint that is not ours).
 */
struct rz_ucx_landing {
    struct rz_ucx_landing *next, **back; /* of net->landings */
    struct rz_ucx_peer *peer;
    struct rz_net_op *op; /* NULL: has ended, nobody waits for the payload */
    unsigned char bytes[];
};

enum rz_ucx_state {
    RZ_UCX_STRANGER, /* has sent to us, but was not connected by our user */
    RZ_UCX_LIVE,
    RZ_UCX_BROKEN, /* the connection is gone and the user told */
    RZ_UCX_ENDED,  /* disconnected by the user */
};

/* A process met or made known; kept until the transport is closed, so that late callbacks find it.
 */
struct rz_ucx_peer {
    struct rz_net *net;
    uint64_t name; /* random, chosen by the peer at open; in its card and its messages */
    rz_peer_t number;
    enum rz_ucx_state state;
    rz_status_t status; /* BROKEN, ENDED: how its operations end */
    ucp_ep_h endpoint;  /* NULL before the first message and after the end */
    void *address;      /* of its UCX worker; NULL for a stranger */
    bool error_seen;    /* UCX has reported the connection broken; not yet dealt with */
    bool attention;     /* is in net->attention */
    struct rz_ucx_peer *next_attention, *next_in_bucket;
    unsigned pending; /* operations that UCX holds */
    void *operations; /* their list */
    struct rz_ucx_queue queue;
    struct rz_net_token *tokens;
};

/* A payload that lies with its sender. */
struct rz_net_token {
    struct rz_net_token *next, **back; /* of the peer's tokens */
    struct rz_ucx_peer *peer;
    void *descriptor; /* of UCX; NULL: the payload is gone */
    ucp_ep_h through; /* the endpoint it came through; to be compared, never used */
    size_t bytes;
    bool arriving; /* inside host->arrived: the handler frees the token */
    bool spent;    /* fetched or dropped while arriving */
    bool fetched;
};

struct rz_net {
    struct rz_net_host host;
    uint64_t job, name;
    ucp_context_h context;
    ucp_worker_h worker;
    int fd;
    bool inside; /* ucp_worker_progress is on the stack: endpoints must not be made or closed now */
    bool deaf;   /* closing: nothing arrives any more */
    bool idle;   /* the last look found nothing; only then may UCX be armed */
    struct rz_ucx_peer **numbered, **buckets;
    size_t numbered_room, buckets_count, peers_count;
    struct rz_ucx_peer *attention;
    struct rz_ucx_queue finished; /* operations that have ended; done is called outside of UCX */
    struct rz_ucx_letter *letters;
    struct rz_ucx_landing *landings;
};

/* ucx_peer.c */
rz_status_t rz_ucx_status(ucs_status_t status);
struct rz_ucx_peer *rz_ucx_peer_by_number(const struct rz_net *net, rz_peer_t number);
struct rz_ucx_peer *rz_ucx_peer_meet(struct rz_net *net,
                                     uint64_t name); /* found or made; NULL: no memory */
rz_status_t rz_ucx_peer_reach(struct rz_net *net,
                              struct rz_ucx_peer *peer); /* makes the endpoint */
void rz_ucx_peer_attend(struct rz_net *net, struct rz_ucx_peer *peer);
rz_status_t rz_ucx_card(struct rz_net *net, void *card, size_t *bytes);
rz_status_t rz_ucx_connect(struct rz_net *net, rz_peer_t number, const void *card, size_t bytes);
void rz_ucx_disconnect(struct rz_net *net, rz_peer_t number, bool drain, rz_status_t status);
void rz_ucx_peer_end(struct rz_net *net, struct rz_ucx_peer *peer, rz_status_t status);
bool rz_ucx_quiet(struct rz_net *net);

/* Deals with what callbacks of UCX left behind: broken connections, ends, room in windows, finished
 * operations. */
unsigned rz_ucx_settle(struct rz_net *net);

/* ucx_message.c */
rz_status_t rz_ucx_listen(struct rz_net *net); /* installs the handlers of messages */
rz_status_t rz_ucx_send(struct rz_net *net, rz_peer_t number, const void *data, size_t bytes,
                        struct rz_net_op *op);
rz_status_t rz_ucx_fetch(struct rz_net *net, rz_net_token_t token, void *data, size_t bytes,
                         struct rz_net_op *op);
void rz_ucx_drop(struct rz_net *net, rz_net_token_t token);
void rz_ucx_pump(struct rz_net *net,
                 struct rz_ucx_peer *peer); /* makes the endpoint where needed, gives queued sends
                                               to UCX while there is room */
void rz_ucx_finish(struct rz_net *net, struct rz_net_op *op, rz_status_t status);
unsigned rz_ucx_deliver(struct rz_net *net); /* calls done for what has finished */
void rz_ucx_end_unheld(struct rz_net *net,
                       struct rz_ucx_peer *peer); /* ends what UCX can no longer harm */
void rz_ucx_tokens_void(struct rz_net *net, struct rz_ucx_peer *peer); /* their payloads are gone */

void rz_ucx_abandon(struct rz_net *net,
                    struct rz_ucx_peer *peer); /* after the worker's end: ends all, frees tokens */

/* ucx_module.c */
unsigned rz_ucx_progress(struct rz_net *net);

#endif
