/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface of all transports. A transport moves a header (at most RZ_NET_HEADER_MAX bytes) and
 * a payload from process to process. It knows peers (small numbers that its user chose), never
 * ranks, epochs or matching: these are in the header, which it does not read.
 *
 * One thread at a time calls into a transport (the engine lock of the library). No call blocks.
 * Callbacks (arrived, broken, op->done) come only from inside calls into the transport.
 */
#ifndef RZ_NET_NET_H
#define RZ_NET_NET_H

#include "base/status.h"

#include <rhizome/types.h>

#define RZ_NET_HEADER_MAX 64

/* Each transport sends payloads of so many bytes with their message, without an answer of the
 * receiver, whatever its eager_max is. */
#define RZ_NET_EAGER_LEAST ((size_t)8 * 1024)

typedef uint32_t rz_peer_t;

/* Cells of a pair of peers, and the bytes that one holds. */
enum { RZ_NET_CELLS = 32, RZ_NET_CELL_BYTES = 48 };

struct rz_net;

/* One operation in progress; the caller's memory until done is called. */
struct rz_net_op {
    /* Called exactly once, unless send or fetch returned something other than RZ_IN_PROGRESS. */
    void (*done)(struct rz_net_op *op, rz_status_t status);
    void *user;
    void *net_private[6];                    /* used by the transport; zero before use */
    unsigned char header[RZ_NET_HEADER_MAX]; /* send: the header, written by the caller; must stay
                                                valid with the op */
    uint32_t header_bytes;
    bool waits; /* send: the caller does nothing else until its end, so that the transport may let
                   it do a part of the receiver's work */
};

/* Identifies a payload that is still in its sender's memory. */
typedef struct rz_net_token *rz_net_token_t;

/* What a transport needs of its user. */
struct rz_net_host {
    void *arg;
    /*
     * A message has arrived. data != NULL (or bytes == 0): the whole payload, valid during the call
     * only. data == NULL and bytes > 0: the payload is still with its sender; the user calls fetch
     * or drop with token, once, in this call or later.
     */
    void (*arrived)(void *arg, const void *header, uint32_t header_bytes, const void *data,
                    size_t bytes, rz_net_token_t token);
    /* The connection to peer broke: evidence, not proof, of a failure. Operations with the peer end
     * or have ended with an error. */
    void (*broken)(void *arg, rz_peer_t peer);
};

/* After the last two no memory of the user is touched any more, and op->done will not be called. */
enum rz_net_withdrawn {
    RZ_NET_NOT_WITHDRAWN, /* it cannot be, and ends as it would have */
    RZ_NET_WITHDRAWN,
    RZ_NET_UNSENT, /* a send of which nothing was sent: its message will never arrive */
};

struct rz_net_ops {
    const char *name;
    size_t eager_max; /* payloads up to this size are copied by send, which then returns RZ_OK if
                         there is space; RZ_NET_EAGER_LEAST at least */

    /* Returns the bytes by which other processes can connect; *bytes: in: available size, out: the
     * length. RZ_ERR_INVALID: too small. */
    rz_status_t (*ep_address)(struct rz_net *net, void *ep_address, size_t *bytes);

    /* Makes peer known by its endpoint address. A peer number is used once: a new incarnation is a
     * new peer. */
    rz_status_t (*connect)(struct rz_net *net, rz_peer_t peer, const void *ep_address,
                           size_t bytes);

    /*
     * Sends op->header and data to peer. RZ_OK: done, data may be reused, op->done is not called.
     * RZ_IN_PROGRESS: data and op must not be changed until op->done. Any other result: nothing was
     * sent. Messages to one peer arrive in the order of the sends.
     */
    rz_status_t (*send)(struct rz_net *net, rz_peer_t peer, const void *data, size_t bytes,
                        struct rz_net_op *op);

    /*
     * As send, without an operation, for a payload of at most eager_max: copies header and data if
     * there is space at once. RZ_OK: sent. Any other result: nothing was sent, and the caller uses
     * send. NULL: not supported by this transport. (The word is libfabric's: fi_inject.)
     */
    rz_status_t (*inject)(struct rz_net *net, rz_peer_t peer, const void *header,
                          uint32_t header_bytes, const void *data, size_t bytes);

    /* Receives the first `bytes` of the payload named by token (truncation is the user's matter).
     * Results as for send. */
    rz_status_t (*fetch)(struct rz_net *net, rz_net_token_t token, void *data, size_t bytes,
                         struct rz_net_op *op);

    /* The payload named by token is not needed; its sender's op ends with RZ_OK. */
    void (*drop)(struct rz_net *net, rz_net_token_t token);

    /*
     * Withdraws a send to peer, or (token != NULL) a fetch of token from it, that has not ended;
     * the user on the other side knows or will know this, and abandons its part, too.
     */
    enum rz_net_withdrawn (*withdraw)(struct rz_net *net, rz_peer_t peer, rz_net_token_t token,
                                      struct rz_net_op *op);

    /*
     * Cells: RZ_NET_CELLS places for each pair of peers in memory that both can reach, outside of
     * the order of messages. cell_put writes bytes and then their stamp over what this process had
     * put there before; its user knows when that was read. cell_see returns what peer has put there
     * with that stamp, and its length, or NULL; bytes that do not fit are not there, but their
     * length is. It also finds what a failed peer had put there, until its lane has a new owner.
     * cell_ring wakes peer if it sleeps: a process that waits for a
     * cell looks at it again before it sleeps. cell_put, cell_ring: nothing where there is no
     * connection. NULL: not supported by this transport.
     */
    void (*cell_put)(struct rz_net *net, rz_peer_t peer, unsigned cell, uint64_t stamp,
                     const void *data, size_t bytes);
    const void *(*cell_see)(const struct rz_net *net, rz_peer_t peer, unsigned cell, uint64_t stamp,
                            size_t *bytes);
    void (*cell_ring)(struct rz_net *net, rz_peer_t peer);

    /* Makes progress, runs callbacks; returns the number of events handled. */
    unsigned (*progress)(struct rz_net *net);

    /* Prepares to sleep: true when nothing is pending and fd() will become readable (or the
     * doorbell ring) when there are events. */
    bool (*arm)(struct rz_net *net);
    int (*fd)(struct rz_net *net); /* -1: there is only the doorbell */

    /*
     * Peer has failed (or the job rolled back): first takes what has already arrived from it
     * (`drain`: delivers complete messages), then ends every operation with it with `status`, now
     * or within a bounded number of progress calls; no memory of the user is touched after its
     * operation has ended. Tokens of the peer can still be passed to fetch (which returns an error
     * if the payload is gone) or drop. A fetch into whose buffer a peer that lives may be
     * writing ends when the peer has left it; so it does after renew.
     */
    void (*disconnect)(struct rz_net *net, rz_peer_t peer, bool drain, rz_status_t status);

    /*
     * A roll-back: all operations in progress with peer are abandoned on both sides, and end with
     * `status` before this returns; the connection stays. As disconnect without drain followed by
     * connect under the same number, but without the cost of connecting. Messages that peer sent
     * before may still arrive. NULL: not supported by this transport.
     */
    void (*renew)(struct rz_net *net, rz_peer_t peer, rz_status_t status);

    /*
     * A roll-back: as disconnect without drain, but the connection stays dormant. connect with the
     * same endpoint address makes it the peer's again, under a new number; messages that peer sends
     * before that, or sent before the roll-back, may arrive. False: the connection is broken, and
     * disconnected permanently; if the peer can still be reached, one of the two must open another
     * transport. NULL: not supported by this transport.
     */
    bool (*rest)(struct rz_net *net, rz_peer_t peer, rz_status_t status);

    /* Whether operations are still pending after disconnects. */
    bool (*quiet)(struct rz_net *net);

    /*
     * Whether messages of that process may still arrive, which has ended: a connection on which it
     * sends has not been read to its end. NULL: what it has sent is here once it has ended, or the
     * transport cannot tell.
     */
    bool (*hears)(const struct rz_net *net, uint32_t slot, uint32_t incarnation);

    void (*close)(struct rz_net *net);
};

/* Each transport's open: see shm/shm.h and ucx/ucx.h. */

#endif
