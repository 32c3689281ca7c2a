/* Peers: cards, endpoints, and their ends. */
#include "net/ucx/ucx_internal.h"

#include "base/assert.h"
#include "base/random.h"
#include "port/clock.h"
#include "wire/cursor.h"

#include <stdlib.h>
#include <string.h>

#define CARD_MAGIC 0x58555a52u /* "RZUX" */
#define CARD_VERSION 1u
#define NUMBER_MAX (1u << 24)
#define BUCKETS_MIN 64

/* An end that drains takes what lies in the sockets, but does not wait for what a flood sends
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
    struct rz_ucx_peer **old = net->buckets,
                       **buckets = calloc(count, sizeof(struct rz_ucx_peer *));
    size_t old_count = net->buckets_count;
    if (buckets == NULL)
        return false;
    net->buckets = buckets;
    net->buckets_count = count;
    for (size_t i = 0; i < old_count; i++) {
        for (struct rz_ucx_peer *peer = old[i], *next; peer != NULL; peer = next) {
            next = peer->next_in_bucket;
            struct rz_ucx_peer **bucket = &buckets[bucket_of(net, peer->name)];
            peer->next_in_bucket = *bucket;
            *bucket = peer;
        }
    }
    free(old);
    return true;
}

struct rz_ucx_peer *rz_ucx_peer_meet(struct rz_net *net, uint64_t name)
{
    if (net->buckets_count != 0)
        for (struct rz_ucx_peer *peer = net->buckets[bucket_of(net, name)]; peer != NULL;
             peer = peer->next_in_bucket)
            if (peer->name == name)
                return peer;
    if (net->peers_count >= net->buckets_count && !buckets_grow(net))
        return NULL;
    struct rz_ucx_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        return NULL;
    peer->net = net;
    peer->name = name;
    peer->status = RZ_ERR_CLOSED;
    struct rz_ucx_peer **bucket = &net->buckets[bucket_of(net, name)];
    peer->next_in_bucket = *bucket;
    *bucket = peer;
    net->peers_count++;
    return peer;
}

struct rz_ucx_peer *rz_ucx_peer_by_number(const struct rz_net *net, rz_peer_t number)
{
    return number < net->numbered_room ? net->numbered[number] : NULL;
}

static rz_status_t make_room(struct rz_net *net, rz_peer_t number)
{
    if (number < net->numbered_room)
        return RZ_OK;
    size_t room = 2 * ((size_t)number + 1);
    struct rz_ucx_peer **numbered = realloc(net->numbered, room * sizeof(struct rz_ucx_peer *));
    if (numbered == NULL)
        return RZ_ERR_NO_MEMORY;
    memset(numbered + net->numbered_room, 0,
           (room - net->numbered_room) * sizeof(struct rz_ucx_peer *));
    net->numbered = numbered;
    net->numbered_room = room;
    return RZ_OK;
}

/* ---- beginning ---- */

rz_status_t rz_ucx_card(struct rz_net *net, void *card, size_t *bytes)
{
    ucp_address_t *address;
    size_t length;
    if (ucp_worker_get_address(net->worker, &address, &length) != UCS_OK)
        return RZ_ERR_SYSTEM;
    struct rz_wire_writer writer;
    rz_wire_writer_init(&writer, card, *bytes);
    rz_wire_put_u32(&writer, CARD_MAGIC);
    rz_wire_put_u32(&writer, CARD_VERSION);
    rz_wire_put_u64(&writer, net->job);
    rz_wire_put_u64(&writer, net->name);
    rz_wire_put_bytes(&writer, address, (uint32_t)length);
    ucp_worker_release_address(net->worker, address);
    if (writer.overflow)
        return RZ_ERR_INVALID;
    *bytes = (size_t)(writer.at - writer.start);
    return RZ_OK;
}

/* Once only: UCX 1.13 numbers the connections of a pair of workers, and loses messages where the
 * two sides differ. One that rested has its address. */
static rz_status_t take_address(struct rz_ucx_peer *peer, const uint8_t *found, uint32_t length)
{
    if (peer->state == RZ_UCX_RESTING)
        return peer->error_seen ? RZ_ERR_CLOSED : RZ_OK;
    if (peer->state != RZ_UCX_STRANGER)
        return RZ_ERR_INVALID;
    peer->address = malloc(length);
    if (peer->address == NULL)
        return RZ_ERR_NO_MEMORY;
    memcpy(peer->address, found, length);
    return RZ_OK;
}

rz_status_t rz_ucx_connect(struct rz_net *net, rz_peer_t number, const void *card, size_t bytes)
{
    struct rz_wire_reader reader;
    uint32_t length;
    rz_wire_reader_init(&reader, card, bytes);
    uint32_t magic = rz_wire_get_u32(&reader);
    uint32_t version = rz_wire_get_u32(&reader);
    uint64_t job = rz_wire_get_u64(&reader);
    uint64_t name = rz_wire_get_u64(&reader);
    const uint8_t *found = rz_wire_get_bytes(&reader, &length);
    if (reader.malformed || magic != CARD_MAGIC || length == 0)
        return RZ_ERR_MALFORMED;
    if (version != CARD_VERSION)
        return RZ_ERR_VERSION;
    if (job != net->job)
        return RZ_ERR_AUTHENTICATION;
    if (number >= NUMBER_MAX || rz_ucx_peer_by_number(net, number) != NULL || name == net->name)
        return RZ_ERR_INVALID;
    struct rz_ucx_peer *peer = rz_ucx_peer_meet(net, name);
    rz_status_t status = peer == NULL ? RZ_ERR_NO_MEMORY : make_room(net, number);
    if (status == RZ_OK)
        status = take_address(peer, found, length);
    if (status != RZ_OK)
        return status;
    peer->number = number;
    peer->state = RZ_UCX_LIVE;
    net->numbered[number] = peer;
    rz_ucx_peer_attend(peer); /* a stranger until now may have answers waiting */
    return RZ_OK;
}

void rz_ucx_peer_break(struct rz_ucx_peer *peer)
{
    peer->error_seen = true;
    rz_ucx_peer_attend(peer);
}

static void broke(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    (void)endpoint;
    (void)status;
    rz_ucx_peer_break(arg);
}

bool rz_ucx_peer_reach(struct rz_ucx_peer *peer)
{
    ucp_ep_params_t parameters = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = peer->address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = broke, .arg = peer},
    };
    if (peer->endpoint != NULL || peer->address == NULL || peer->error_seen || peer->net->inside)
        return peer->endpoint != NULL && !peer->error_seen;
    if (ucp_ep_create(peer->net->worker, &parameters, &peer->endpoint) == UCS_OK)
        return true;
    peer->endpoint = NULL;
    rz_ucx_peer_break(peer);
    return false;
}

/* ---- end ---- */

void rz_ucx_peer_attend(struct rz_ucx_peer *peer)
{
    if (peer->attention)
        return;
    peer->attention = true;
    peer->next_attention = peer->net->attention;
    peer->net->attention = peer;
}

/* All that is under way with peer ends; of its answers to what we give up none finds anything. */
static void give_up(struct rz_ucx_peer *peer)
{
    for (struct rz_net_token *token = peer->tokens; token != NULL; token = token->next)
        token->gone = true;
    while (peer->dropping != NULL)
        rz_ucx_token_free(peer->dropping);
    rz_ucx_finish_all(peer);
}

static void shut(struct rz_ucx_peer *peer)
{
    rz_assert(!peer->net->inside && peer->state != RZ_UCX_LIVE && peer->state != RZ_UCX_RESTING);
    if (peer->endpoint != NULL) {
        ucp_request_param_t parameters = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                          .flags = UCP_EP_CLOSE_FLAG_FORCE};
        ucs_status_ptr_t request = ucp_ep_close_nbx(peer->endpoint, &parameters);
        if (UCS_PTR_IS_PTR(request))
            ucp_request_free(request);
    }
    peer->endpoint = NULL;
    free(peer->address);
    peer->address = NULL;
    give_up(peer);
}

void rz_ucx_peer_end(struct rz_ucx_peer *peer, rz_status_t status)
{
    if (peer->state == RZ_UCX_ENDED)
        return;
    peer->state = RZ_UCX_ENDED;
    peer->status = status;
    rz_ucx_peer_attend(peer);
}

void rz_ucx_disconnect(struct rz_net *net, rz_peer_t number, bool drain, rz_status_t status)
{
    struct rz_ucx_peer *peer = rz_ucx_peer_by_number(net, number);
    rz_assert(status != RZ_OK && status != RZ_IN_PROGRESS);
    if (peer == NULL || peer->state == RZ_UCX_ENDED)
        return;
    if (drain && !net->inside) {
        rz_time limit = rz_clock_now() + DRAIN_NS_MAX;
        for (unsigned empty = 0; empty < DRAIN_TURNS_EMPTY && rz_clock_now() < limit;)
            empty = rz_ucx_progress(net) == 0 ? empty + 1 : 0;
    }
    rz_ucx_peer_end(peer, status);
    if (!net->inside)
        (void)rz_ucx_settle(net);
}

bool rz_ucx_rest(struct rz_net *net, rz_peer_t number, rz_status_t status)
{
    struct rz_ucx_peer *peer = rz_ucx_peer_by_number(net, number);
    rz_assert(!net->inside && status != RZ_OK && status != RZ_IN_PROGRESS);
    if (peer == NULL || peer->state != RZ_UCX_LIVE || peer->error_seen) {
        rz_ucx_disconnect(net, number, false, status);
        return false;
    }
    net->numbered[number] = NULL;
    peer->state = RZ_UCX_RESTING;
    peer->status = status;
    give_up(peer);
    (void)rz_ucx_deliver(net);
    return true;
}

static bool has_operations(const struct rz_ucx_peer *peer)
{
    return peer->waiting.first != NULL || peer->offered.first != NULL ||
           peer->streaming.first != NULL || peer->taking.first != NULL ||
           peer->fetching.first != NULL;
}

bool rz_ucx_quiet(struct rz_net *net)
{
    if (net->finished.first != NULL)
        return false;
    for (size_t i = 0; i < net->buckets_count; i++)
        for (struct rz_ucx_peer *peer = net->buckets[i]; peer != NULL; peer = peer->next_in_bucket)
            if (peer->state != RZ_UCX_LIVE && has_operations(peer))
                return false;
    return true;
}

/* One peer's share of settling; whether anything has happened. */
static bool attend(struct rz_ucx_peer *peer)
{
    bool news = peer->state == RZ_UCX_LIVE && peer->error_seen;
    if (news) {
        peer->state = RZ_UCX_BROKEN;
        peer->status = RZ_ERR_CLOSED;
    }
    if (peer->state == RZ_UCX_RESTING && peer->error_seen)
        peer->state = RZ_UCX_ENDED;
    if (peer->state == RZ_UCX_LIVE || peer->state == RZ_UCX_RESTING)
        return rz_ucx_pump(peer);
    if (peer->state != RZ_UCX_STRANGER)
        shut(peer);
    if (news && !peer->net->deaf)
        peer->net->host.broken(peer->net->host.arg, peer->number);
    return true;
}

unsigned rz_ucx_settle(struct rz_net *net)
{
    unsigned count = 0;
    struct rz_ucx_peer *peer = net->attention;
    net->attention = NULL; /* those who still wait for room come again next time */
    for (struct rz_ucx_peer *next; peer != NULL; peer = next) {
        next = peer->next_attention;
        peer->attention = false;
        count += attend(peer);
    }
    return count + rz_ucx_deliver(net);
}
