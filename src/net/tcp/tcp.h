/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport between nodes: frames of this project over TCP, behind the table of net/net.h. It
 * is a module (it links libsodium), loaded with the first rz_tcp_open; a job on one node never
 * loads it.
 *
 * Each process listens on the address of its node and connects to those it sends to: a connection
 * carries frames one way, from its opener. First both ends prove that they hold the job's key
 * (net/proof); the proofs are bound to the job and to slot, incarnation and name of both ends.
 * Before that only a handshake of fixed length is read, into fixed memory, for a bounded time, on a
 * bounded number of connections.
 *
 * Beyond net.h: the statements of net/ucx/ucx.h on connecting, dormant connections, fetching,
 * disconnecting and closing also hold here (both are carriers below net/rendezvous). Frames are
 * neither encrypted nor authenticated one by one: the connection is.
 */
#ifndef RZ_NET_TCP_TCP_H
#define RZ_NET_TCP_TCP_H

#include "net/net.h"
#include "port/address.h"

#define RZ_TCP_KEY_BYTES 32u

/* The environment variable with the number of connections that carry large payloads to a peer, from
 * 1 (the default) on: for networks that limit what one connection gets. */
#define RZ_TCP_STREAMS_ENVIRONMENT "RZ_TCP_STREAMS"
#define RZ_TCP_STREAMS_MAX 8u

struct rz_tcp_config {
    /* The job is part of the endpoint address; endpoint addresses of other jobs are refused with
     * RZ_ERR_AUTHENTICATION. */
    struct rz_identity self;
    const uint8_t *key; /* [RZ_TCP_KEY_BYTES], the same for all processes of the job; copied */
    struct rz_address address; /* of this node, at which other processes reach it; port 0: any */
    rz_time prove_ns;          /* a connector must authenticate within this time; 0: 5 s */
    struct rz_net_host host;   /* copied */
    /* Receives the reason when open returned an error (arg: of host); may be NULL. */
    void (*complain)(void *arg, const char *text);
    /* Called, once, when a connection was refused; may be NULL. */
    void (*warn)(void *arg, const char *text);
};

static inline void rz_tcp_complain(const struct rz_tcp_config *config, const char *text)
{
    if (config->complain) {
        config->complain(config->host.arg, text);
    }
}

/* Loads the module and opens one transport. At most one call at a time. RZ_ERR_UNSUPPORTED: no
 * module or not of this build. RZ_ERR_SYSTEM: no socket on that address. RZ_ERR_INVALID: the
 * environment variable. The reason is passed to config->complain. */
rz_status_t rz_tcp_open(const struct rz_tcp_config *config, struct rz_net **net,
                        const struct rz_net_ops **ops);

/* What the module exports under the name rz_net_tcp_entry; its user is rz_tcp_open. */
#define RZ_NET_TCP_VERSION 3
struct rz_net_tcp_entry {
    uint32_t version;
    const struct rz_net_ops *ops;
    rz_status_t (*open)(const struct rz_tcp_config *config, struct rz_net **net);
};

#endif
