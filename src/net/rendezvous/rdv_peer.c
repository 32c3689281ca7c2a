/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers: endpoint addresses, connections, and their ends; opening and closing. */
#include "net/rendezvous/rendezvous.h"

#include "base/assert.h"
#include "base/random.h"
#include "port/bounds.h"
#include "port/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define EP_ADDRESS_VERSION 1u
/* How long close waits for accepted messages to leave. */
#define FLUSH_NS (200 * RZ_MILLISECOND)
#define NUMBER_MAX (1u << 24)
#define BUCKETS_MIN 64

/* Of a carrier's pieces, in tests. */
enum { PIECE_LEAST = 4096 };

/* Draining takes what is in the sockets, but does not wait for what the peer continues to send
 * meanwhile. */
#define DRAIN_NS_MAX (5 * RZ_MILLISECOND)
#define DRAIN_TURNS_EMPTY 3

/* ---- the two indices ---- */

static size_t bucket_of(const struct rz_net *net, uint64_t name)
{
    return rz_mix(name, 0) & (net->buckets_count - 1);
}

static bool buckets_grow(struct rz_net *net)
{
    size_t count = net->buckets_count == 0 ? BUCKETS_MIN : 2 * net->buckets_count;
    struct rz_rdv_peer **old = net->buckets,
                       **buckets = calloc(count, sizeof(struct rz_rdv_peer *));
    size_t old_count = net->buckets_count;
    if (!buckets) {
        return false;
    }
    net->buckets = buckets;
    net->buckets_count = count;
    for (size_t i = 0; i < old_count; i++) {
        for (struct rz_rdv_peer *peer = old[i], *next; peer; peer = next) {
            next = peer->next_in_bucket;
            struct rz_rdv_peer **bucket = &buckets[bucket_of(net, peer->name)];
            peer->next_in_bucket = *bucket;
            *bucket = peer;
        }
    }
    free(old);
    return true;
}

struct rz_rdv_peer *rz_rdv_peer_meet(struct rz_net *net, uint64_t name)
{
    if (net->buckets_count != 0) {
        for (struct rz_rdv_peer *peer = net->buckets[bucket_of(net, name)]; peer;
             peer = peer->next_in_bucket) {
            if (peer->name == name) {
                return peer;
            }
        }
    }
    if (net->peers_count >= net->buckets_count && !buckets_grow(net)) {
        return NULL;
    }
    struct rz_rdv_peer *peer = calloc(1, sizeof(*peer));
    if (!peer) {
        return NULL;
    }
    peer->net = net;
    peer->name = name;
    peer->status = RZ_ERR_CLOSED;
    peer->offered.by_id = peer->fetching.by_id = true;
    struct rz_rdv_peer **bucket = &net->buckets[bucket_of(net, name)];
    peer->next_in_bucket = *bucket;
    *bucket = peer;
    net->peers_count++;
    return peer;
}

struct rz_rdv_peer *rz_rdv_peer_by_number(const struct rz_net *net, rz_peer_t number)
{
    return number < net->numbered_protocol ? net->numbered[number] : NULL;
}

static rz_status_t make_room(struct rz_net *net, rz_peer_t number)
{
    if (number < net->numbered_protocol) {
        return RZ_OK;
    }
    size_t room = 2 * ((size_t)number + 1);
    struct rz_rdv_peer **numbered = realloc(net->numbered, room * sizeof(struct rz_rdv_peer *));
    if (!numbered) {
        return RZ_ERR_NO_MEMORY;
    }
    memset(numbered + net->numbered_protocol, 0,
           (room - net->numbered_protocol) * sizeof(struct rz_rdv_peer *));
    net->numbered = numbered;
    net->numbered_protocol = room;
    return RZ_OK;
}

/* ---- begin ---- */

rz_status_t rz_rdv_open(struct rz_net *net, const struct rz_carrier_ops *carrier, uint64_t job,
                        const struct rz_net_host *host)
{
    net->carrier = carrier;
    net->job = job;
    net->host = *host;
    net->eager_max = rz_bound("net eager bytes", carrier->eager_max, RZ_NET_EAGER_LEAST);
    net->piece_max = rz_bound("net piece bytes", carrier->piece_max, PIECE_LEAST);
    return getrandom(&net->name, sizeof(net->name), 0) == sizeof(net->name) ? RZ_OK : RZ_ERR_SYSTEM;
}

rz_status_t rz_rdv_ep_address(struct rz_net *net, void *ep_address, size_t *bytes)
{
    struct rz_wire_writer writer;
    rz_wire_writer_init(&writer, ep_address, *bytes);
    rz_wire_put_u32(&writer, net->carrier->ep_address_magic);
    rz_wire_put_u32(&writer, EP_ADDRESS_VERSION);
    rz_wire_put_u64(&writer, net->job);
    rz_wire_put_u64(&writer, net->name);
    rz_status_t status = net->carrier->address(net, &writer);
    if (status != RZ_OK) {
        return status;
    }
    if (writer.overflow) {
        return RZ_ERR_INVALID;
    }
    *bytes = (size_t)(writer.at - writer.start);
    return RZ_OK;
}

/* Once only: what was sent over a lost connection cannot be sent again, and UCX 1.13 loses messages
 * between workers that have parted before. A dormant connection has its address. */
static rz_status_t take_address(struct rz_rdv_peer *peer, const uint8_t *found, uint32_t length)
{
    if (peer->state == RZ_RDV_RESTING) {
        return peer->error_seen ? RZ_ERR_CLOSED : RZ_OK;
    }
    if (peer->state != RZ_RDV_STRANGER) {
        return RZ_ERR_INVALID;
    }
    peer->address = malloc(length);
    if (!peer->address) {
        return RZ_ERR_NO_MEMORY;
    }
    memcpy(peer->address, found, length);
    peer->address_bytes = length;
    return RZ_OK;
}

rz_status_t rz_rdv_connect(struct rz_net *net, rz_peer_t number, const void *ep_address,
                           size_t bytes)
{
    struct rz_wire_reader reader;
    uint32_t length;
    rz_wire_reader_init(&reader, ep_address, bytes);
    uint32_t magic = rz_wire_get_u32(&reader);
    uint32_t version = rz_wire_get_u32(&reader);
    uint64_t job = rz_wire_get_u64(&reader);
    uint64_t name = rz_wire_get_u64(&reader);
    const uint8_t *found = rz_wire_get_bytes(&reader, &length);
    if (reader.malformed || magic != net->carrier->ep_address_magic || length == 0) {
        return RZ_ERR_MALFORMED;
    }
    if (version != EP_ADDRESS_VERSION) {
        return RZ_ERR_VERSION;
    }
    if (job != net->job) {
        return RZ_ERR_AUTHENTICATION;
    }
    if (!net->carrier->is_address(found, length)) {
        return RZ_ERR_MALFORMED;
    }
    if (number >= NUMBER_MAX || rz_rdv_peer_by_number(net, number) || name == net->name) {
        return RZ_ERR_INVALID;
    }
    struct rz_rdv_peer *peer = rz_rdv_peer_meet(net, name);
    rz_status_t status = !peer ? RZ_ERR_NO_MEMORY : make_room(net, number);
    if (status == RZ_OK) {
        status = take_address(peer, found, length);
    }
    if (status != RZ_OK) {
        return status;
    }
    peer->number = number;
    peer->state = RZ_RDV_LIVE;
    net->numbered[number] = peer;
    rz_rdv_peer_attend(peer); /* a peer that was not connected until now may have answers waiting */
    return RZ_OK;
}

void rz_rdv_peer_break(struct rz_rdv_peer *peer)
{
    peer->error_seen = true;
    rz_rdv_peer_attend(peer);
}

bool rz_rdv_peer_reach(struct rz_rdv_peer *peer)
{
    if (peer->connection || !peer->address || peer->error_seen || peer->net->inside) {
        return peer->connection && !peer->error_seen;
    }
    if (peer->net->carrier->connect(peer)) {
        return true;
    }
    rz_rdv_peer_break(peer);
    return false;
}

/* ---- end ---- */

void rz_rdv_peer_attend(struct rz_rdv_peer *peer)
{
    if (peer->attention) {
        return;
    }
    peer->attention = true;
    peer->next_attention = peer->net->attention;
    peer->net->attention = peer;
}

/* Ends all operations in progress with peer; its answers to offers that are given up here match
 * none. */
static void give_up(struct rz_rdv_peer *peer)
{
    for (struct rz_net_token *token = peer->tokens; token; token = token->next) {
        token->gone = true;
    }
    while (peer->dropping) {
        rz_rdv_token_free(peer->dropping);
    }
    rz_rdv_finish_all(peer);
}

static void shut(struct rz_rdv_peer *peer)
{
    rz_assert(!peer->net->inside && peer->state != RZ_RDV_LIVE && peer->state != RZ_RDV_RESTING);
    peer->net->carrier->shut(peer);
    free(peer->address);
    peer->address = NULL;
    give_up(peer);
}

void rz_rdv_peer_end(struct rz_rdv_peer *peer, rz_status_t status)
{
    if (peer->state == RZ_RDV_ENDED) {
        return;
    }
    peer->state = RZ_RDV_ENDED;
    peer->status = status;
    rz_rdv_peer_attend(peer);
}

void rz_rdv_disconnect(struct rz_net *net, rz_peer_t number, bool drain, rz_status_t status)
{
    struct rz_rdv_peer *peer = rz_rdv_peer_by_number(net, number);
    rz_assert(status != RZ_OK && status != RZ_IN_PROGRESS);
    if (!peer || peer->state == RZ_RDV_ENDED) {
        return;
    }
    if (drain && !net->inside) {
        rz_time limit = rz_clock_now() + DRAIN_NS_MAX;
        for (unsigned empty = 0; empty < DRAIN_TURNS_EMPTY && rz_clock_now() < limit;) {
            empty = rz_rdv_progress(net) == 0 ? empty + 1 : 0;
        }
    }
    rz_rdv_peer_end(peer, status);
    if (!net->inside) {
        (void)rz_rdv_settle(net);
    }
}

bool rz_rdv_rest(struct rz_net *net, rz_peer_t number, rz_status_t status)
{
    struct rz_rdv_peer *peer = rz_rdv_peer_by_number(net, number);
    rz_assert(!net->inside && status != RZ_OK && status != RZ_IN_PROGRESS);
    if (!peer || peer->state != RZ_RDV_LIVE || peer->error_seen) {
        rz_rdv_disconnect(net, number, false, status);
        return false;
    }
    net->numbered[number] = NULL;
    peer->state = RZ_RDV_RESTING;
    peer->status = status;
    give_up(peer);
    (void)rz_rdv_deliver(net);
    return true;
}

static bool has_operations(const struct rz_rdv_peer *peer)
{
    return peer->waiting.first || peer->offered.first || peer->streaming.first ||
           peer->taking.first || peer->fetching.first;
}

bool rz_rdv_quiet(struct rz_net *net)
{
    if (net->finished.first) {
        return false;
    }
    for (size_t i = 0; i < net->buckets_count; i++) {
        for (struct rz_rdv_peer *peer = net->buckets[i]; peer; peer = peer->next_in_bucket) {
            if (peer->state != RZ_RDV_LIVE && has_operations(peer)) {
                return false;
            }
        }
    }
    return true;
}

/* One peer's share of settling; whether there was progress. */
static bool attend(struct rz_rdv_peer *peer)
{
    bool news = peer->state == RZ_RDV_LIVE && peer->error_seen;
    if (news) {
        peer->state = RZ_RDV_BROKEN;
        peer->status = RZ_ERR_CLOSED;
    }
    if (peer->state == RZ_RDV_RESTING && peer->error_seen) {
        peer->state = RZ_RDV_ENDED;
    }
    if (peer->state == RZ_RDV_LIVE || peer->state == RZ_RDV_RESTING) {
        return rz_rdv_pump(peer);
    }
    if (peer->state != RZ_RDV_STRANGER) {
        shut(peer);
    }
    if (news && !peer->net->deaf) {
        peer->net->host.broken(peer->net->host.arg, peer->number);
    }
    return true;
}

unsigned rz_rdv_settle(struct rz_net *net)
{
    unsigned count = 0;
    struct rz_rdv_peer *peer = net->attention;
    net->attention = NULL; /* peers that still wait for space are handled again next time */
    for (struct rz_rdv_peer *next; peer; peer = next) {
        next = peer->next_attention;
        peer->attention = false;
        count += attend(peer);
    }
    return count + rz_rdv_deliver(net);
}

unsigned rz_rdv_progress(struct rz_net *net)
{
    rz_assert(!net->inside);
    net->inside = true;
    unsigned count = net->carrier->turn(net);
    net->inside = false;
    if (net->attention || net->finished.first) {
        count += rz_rdv_settle(net);
    }
    net->idle = count == 0;
    return count;
}

/* ---- closing ---- */

static bool each_peer(struct rz_net *net, bool (*visit)(struct rz_rdv_peer *peer))
{
    bool all = true;
    for (size_t i = 0; i < net->buckets_count; i++) {
        for (struct rz_rdv_peer *peer = net->buckets[i], *next; peer; peer = next) {
            next = peer->next_in_bucket;
            all = visit(peer) && all;
        }
    }
    return all;
}

static bool end_peer(struct rz_rdv_peer *peer)
{
    rz_rdv_peer_end(peer, RZ_ERR_CANCELLED);
    return true;
}

static bool free_peer(struct rz_rdv_peer *peer)
{
    while (peer->tokens) {
        rz_rdv_token_free(peer->tokens);
    }
    free(peer);
    return true;
}

void rz_rdv_close(struct rz_net *net)
{
    rz_assert(!net->inside);
    net->deaf = true;
    rz_time limit = rz_clock_now() + FLUSH_NS;
    while (!each_peer(net, rz_rdv_send_last) && rz_clock_now() < limit) {
        (void)rz_rdv_progress(net);
    }
    each_peer(net, end_peer);
    (void)rz_rdv_settle(net);
}

void rz_rdv_free(struct rz_net *net)
{
    each_peer(net, free_peer);
    free(net->numbered);
    free(net->buckets);
}
