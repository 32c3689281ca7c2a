/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The module: opening, progress and closing; its tables.
 */
#include "net/tcp/tcp_internal.h"

#include "base/assert.h"
#include "port/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* A connector must authenticate within this time. */
#define PROVE_NS (10 * RZ_SECOND)

/* Turns in a row that one busy connection may have to itself. */
enum { EVENTS_MAX = 64, HOT_TURNS_MAX = 16 };

/* ---- the carrier ---- */

static rz_status_t address(struct rz_net *net, struct rz_wire_writer *writer)
{
    const struct rz_tcp_net *tcp = (struct rz_tcp_net *)net;
    rz_wire_put_u32(writer, RZ_TCP_ADDRESS_BYTES); /* the length of what follows */
    rz_wire_put_bytes(writer, tcp->address.ip, RZ_IP_BYTES);
    rz_wire_put_u32(writer, tcp->address.port);
    rz_wire_put_u32(writer, tcp->self.rank);
    rz_wire_put_u32(writer, tcp->self.incarnation);
    return RZ_OK;
}

static void shut(struct rz_rdv_peer *peer)
{
    if (peer->connection) {
        rz_tcp_out_close(peer->connection);
    }
    peer->connection = NULL;
    rz_tcp_in_close_all(peer);
}

static unsigned handle_source(struct rz_tcp_net *tcp, const struct epoll_event *event)
{
    struct rz_tcp_source *source = event->data.ptr;
    if (source->fd < 0) {
        return 0; /* closed in this turn */
    }
    if (source->what == RZ_TCP_OUT) {
        rz_tcp_out_event((struct rz_tcp_out *)source, event->events);
        return 1;
    }
    if (source->what == RZ_TCP_LISTENER) {
        rz_tcp_accept(tcp);
        return 1;
    }
    struct rz_tcp_in *in = (struct rz_tcp_in *)source;
    unsigned count = rz_tcp_in_read(in);
    if (in->peer && in->source.fd >= 0) {
        tcp->hot = in;
    }
    return count;
}

static unsigned turn(struct rz_net *net)
{
    struct rz_tcp_net *tcp = (struct rz_tcp_net *)net;
    struct epoll_event events[EVENTS_MAX];
    unsigned count = tcp->hot ? rz_tcp_in_read(tcp->hot) : 0;
    if (count == 0 || ++tcp->hot_turns >= HOT_TURNS_MAX) {
        tcp->hot_turns = 0;
        int n = epoll_wait(tcp->epoll, events, EVENTS_MAX, 0);
        for (int i = 0; i < n; i++) {
            count += handle_source(tcp, &events[i]);
        }
    }
    if (tcp->unready || tcp->n_unproved > 0 || tcp->accept_after != 0) {
        rz_time now = rz_clock_now();
        rz_tcp_out_tick(tcp, now);
        rz_tcp_in_tick(tcp, now);
    }
    rz_tcp_in_free(tcp);
    return count;
}

static const struct rz_carrier_ops carrier = {
    .ep_address_magic = 0x43545a52u, /* "RZTC" */
    .eager_max = RZ_TCP_EAGER_MAX,
    .piece_max = RZ_TCP_PIECE_MAX,
    .address = address,
    .is_address = rz_tcp_out_is_address,
    .connect = rz_tcp_out_connect,
    .put = rz_tcp_out_put,
    .shut = shut,
    .turn = turn,
};

/* ---- sleeping ---- */

/* The epoll descriptor is readable as long as an event was not handled, except for finished
 * operations that wait in this module. */
static bool arm(struct rz_net *net)
{
    return net->idle && !net->finished.first;
}

static int descriptor(struct rz_net *net)
{
    return ((struct rz_tcp_net *)net)->epoll;
}

/* ---- opening and closing ---- */

static void release(struct rz_tcp_net *tcp)
{
    while (tcp->unproved) {
        rz_tcp_in_close(tcp->unproved);
    }
    rz_tcp_in_free(tcp);
    if (tcp->listener.fd >= 0) {
        close(tcp->listener.fd);
    }
    if (tcp->epoll >= 0) {
        close(tcp->epoll);
    }
    rz_rdv_free(&tcp->net);
    explicit_bzero(tcp, sizeof(*tcp));
    free(tcp);
}

static void close_net(struct rz_net *net)
{
    rz_rdv_close(net);
    release((struct rz_tcp_net *)net);
}

static rz_status_t begin_net(struct rz_tcp_net *tcp, const struct rz_tcp_config *config)
{
    rz_status_t status = rz_proof_begin();
    if (status == RZ_OK) {
        status = rz_rdv_open(&tcp->net, &carrier, config->self.job, &config->host);
    }
    if (status == RZ_OK) {
        status = rz_socket_listen(&tcp->address, &tcp->listener.fd);
    }
    if (status != RZ_OK) {
        return status;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &tcp->listener};
    tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
    return tcp->epoll >= 0 && epoll_ctl(tcp->epoll, EPOLL_CTL_ADD, tcp->listener.fd, &event) == 0
               ? RZ_OK
               : RZ_ERR_SYSTEM;
}

/* RZ_TCP_STREAMS_ENVIRONMENT; 0: it is no such number. */
static unsigned streams_wanted(void)
{
    const char *text = getenv(RZ_TCP_STREAMS_ENVIRONMENT);
    char *end;
    unsigned long n = text ? strtoul(text, &end, 10) : 1;
    return text && (end == text || *end || n > RZ_TCP_STREAMS_MAX) ? 0 : (unsigned)n;
}

static rz_status_t open_net(const struct rz_tcp_config *config, struct rz_net **net)
{
    unsigned streams = streams_wanted();
    if (streams == 0) {
        rz_tcp_complain(config, RZ_TCP_STREAMS_ENVIRONMENT " is no number from 1 to 8");
        return RZ_ERR_INVALID;
    }
    struct rz_tcp_net *tcp = calloc(1, sizeof(*tcp));
    if (!tcp) {
        return RZ_ERR_NO_MEMORY;
    }
    tcp->streams = streams;
    tcp->listener = (struct rz_tcp_source){.what = RZ_TCP_LISTENER, .fd = -1};
    tcp->epoll = -1;
    tcp->address = config->address;
    tcp->self = config->self;
    memcpy(tcp->key, config->key, sizeof(tcp->key));
    tcp->prove_ns = config->prove_ns > 0 ? config->prove_ns : PROVE_NS;
    tcp->warn = config->warn;
    rz_status_t status = begin_net(tcp, config);
    if (status == RZ_OK) {
        *net = &tcp->net;
        return RZ_OK;
    }
    char text[128], own[RZ_ADDRESS_TEXT];
    snprintf(text, sizeof(text), "TCP: no socket can listen on %s: %s",
             rz_address_text(&tcp->address, own), strerror(errno));
    rz_tcp_complain(config, text);
    release(tcp);
    return status;
}

static const struct rz_net_ops operations = {
    .name = "tcp",
    .eager_max = RZ_TCP_EAGER_MAX,
    RZ_RDV_OPERATIONS,
    .arm = arm,
    .fd = descriptor,
    .close = close_net,
    .hears = rz_tcp_in_hears,
};

__attribute__((visibility("default"))) const struct rz_net_tcp_entry rz_net_tcp_entry = {
    .version = RZ_NET_TCP_VERSION,
    .ops = &operations,
    .open = open_net,
};
