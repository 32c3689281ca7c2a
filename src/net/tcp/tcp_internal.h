/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the module share. */
#ifndef RZ_NET_TCP_TCP_INTERNAL_H
#define RZ_NET_TCP_TCP_INTERNAL_H

#include "net/tcp/tcp.h"
#include "net/tcp/tcp_frame.h"
#include "port/socket.h"

/* What epoll reports; the first member of each such structure. */
enum rz_tcp_what { RZ_TCP_LISTENER, RZ_TCP_IN, RZ_TCP_OUT };
struct rz_tcp_source {
    enum rz_tcp_what what;
    int fd; /* -1: closed */
};

/* A connection that a peer opened: this process reads frames from it, and sends only the
 * handshake. */
struct rz_tcp_in {
    struct rz_tcp_source source;
    struct rz_tcp_net *tcp;
    struct rz_tcp_in *sibling; /* the next stream of the peer, whose `incoming` is the first */
    /* in one of the lists: unauthenticated (newest first), authenticated, closed */
    struct rz_tcp_in *next, **back;
    struct rz_rdv_peer *peer; /* NULL until it is authenticated */
    rz_time prove_by;
    struct rz_tcp_shake shake;
    uint8_t hello[RZ_TCP_HELLO_BYTES];
    size_t hello_bytes;
    uint8_t *buffer;           /* [RZ_TCP_BUFFER_BYTES], once it is authenticated */
    size_t start, end;         /* of the bytes in the buffer */
    struct rz_rdv_frame piece; /* in progress, if bytes are left */
    size_t piece_left;
    bool ended;     /* nothing more can be read */
    bool malformed; /* because of what was read */
};

/* Holds any frame but a piece, and small ones that follow. Not more: of a long one that follows
 * only the begin is here, and has to be moved. */
#define RZ_TCP_BUFFER_BYTES (RZ_TCP_EAGER_MAX + 4096u)

/* An address in an endpoint address: ip (bytes), port, slot, incarnation. */
#define RZ_TCP_ADDRESS_BYTES (sizeof(uint32_t) + RZ_IP_BYTES + 3 * sizeof(uint32_t))

enum rz_tcp_out_state {
    RZ_TCP_UNCONNECTED, /* no socket; the next try is at again_at */
    RZ_TCP_CHALLENGED,  /* waits for the challenge */
    RZ_TCP_ANSWERED,    /* waits for the welcome */
    RZ_TCP_READY
};

/* A connection that this process opened to a peer: frames are sent on it, and only the handshake is
 * read. Stream 0 carries all frames, or all but pieces; it opens the other streams at the first
 * piece, and all that are ready take turns with the pieces. */
struct rz_tcp_out {
    struct rz_tcp_source source;
    struct rz_rdv_peer *peer;
    enum rz_tcp_out_state state;
    struct rz_tcp_out *next; /* in the list of those not ready yet */
    rz_time again_at, give_up_at;
    struct rz_tcp_shake shake;
    uint8_t read[RZ_TCP_CHALLENGE_BYTES];
    size_t read_bytes;
    bool full;                 /* until epoll reports space */
    uint8_t *rest;             /* of a frame that was sent in part; NULL: none */
    size_t rest_at, rest_ends; /* the part still to be sent */
    /* Of stream 0 alone: the other streams, and the one that gets the next piece. */
    struct rz_tcp_out *others[RZ_TCP_STREAMS_MAX - 1];
    unsigned n_others, turn;
    bool refused_others; /* no more of them are opened */
};

struct rz_tcp_net {
    struct rz_net net;
    struct rz_tcp_source listener;
    unsigned streams; /* connections to a peer */
    struct rz_address address;
    int epoll;
    struct rz_identity self;
    uint8_t key[RZ_TCP_KEY_BYTES];
    rz_time prove_ns;
    rz_time accept_after; /* no descriptor was free: the listener pauses until then; 0: listening */
    struct rz_tcp_in *unproved, *proved, *closed_in;
    unsigned n_unproved;
    uint64_t refused;
    bool told; /* the user was told that a connection was refused */
    void (*warn)(void *arg, const char *text);
    struct rz_tcp_in *hot; /* the connection of the last message */
    unsigned hot_turns;    /* in which it alone was read */
    size_t sent_bytes;     /* in all frames of all connections */
    struct rz_tcp_out *unready;
};

static inline struct rz_tcp_net *rz_tcp_of(const struct rz_rdv_peer *peer)
{
    return (struct rz_tcp_net *)peer->net;
}

/* tcp_out.c: the functions of the carrier, and the events of connections that this process
 * opened. */
bool rz_tcp_out_is_address(const uint8_t *bytes, size_t n);
bool rz_tcp_out_connect(struct rz_rdv_peer *peer);
rz_status_t rz_tcp_out_put(struct rz_rdv_peer *peer, const struct rz_rdv_frame *frame);
void rz_tcp_out_close(struct rz_tcp_out *out);
void rz_tcp_out_event(struct rz_tcp_out *out, uint32_t events);
void rz_tcp_out_tick(struct rz_tcp_net *tcp, rz_time now); /* tries again, or gives up */

/* tcp_in.c */
void rz_tcp_accept(struct rz_tcp_net *tcp);
unsigned
rz_tcp_in_read(struct rz_tcp_in *in); /* the number of frames or pieces that have arrived */
/* Reads what has arrived on all streams of the peer, a bounded amount. */
void rz_tcp_in_drain(struct rz_rdv_peer *peer);
void rz_tcp_in_close(struct rz_tcp_in *in);
void rz_tcp_in_close_all(struct rz_rdv_peer *peer); /* its streams */
bool rz_tcp_in_hears(const struct rz_net *net, uint32_t slot, uint32_t incarnation);
void rz_tcp_in_tick(struct rz_tcp_net *tcp,
                    rz_time now); /* closes unauthenticated connections after their time limit */
void rz_tcp_in_free(struct rz_tcp_net *tcp); /* those that are closed */

#endif
