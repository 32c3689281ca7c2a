/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing, connections, checks before sleep. */
#include "net/shm/shm_state.h"

#include "base/assert.h"
#include "port/bounds.h"
#include "port/memory.h"
#include "port/process.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So long the process that has the sender's number is taken for the sender without another look: so
 * many numbers, which are given in turn, cannot be given in that time. */
#define VERIFIED_NS RZ_MILLISECOND
enum { NUMBERS_MIN = 32768 };

void shm_ops_push(struct shm_ops *ops, struct rz_net_op *op)
{
    shm_op(op)->next = NULL;
    if (ops->first) {
        shm_op(ops->last)->next = op;
    } else {
        ops->first = op;
    }
    ops->last = op;
}

struct rz_net_op *shm_ops_pop(struct shm_ops *ops)
{
    struct rz_net_op *op = ops->first;
    if (op) {
        ops->first = shm_op(op)->next;
    }
    return op;
}

void shm_tokens_push(struct shm_tokens *tokens, struct rz_net_token *token)
{
    token->next = NULL;
    if (tokens->first) {
        tokens->last->next = token;
    } else {
        tokens->first = token;
    }
    tokens->last = token;
}

struct rz_net_token *shm_tokens_pop(struct shm_tokens *tokens)
{
    struct rz_net_token *token = tokens->first;
    if (token) {
        tokens->first = token->next;
    }
    return token;
}

bool shm_ops_take(struct shm_ops *ops, const struct rz_net_op *op)
{
    struct rz_net_op *before = NULL, *at = ops->first;
    for (; at && at != op; at = shm_op(at)->next) {
        before = at;
    }
    if (!at) {
        return false;
    }
    *(before ? &shm_op(before)->next : &ops->first) = shm_op(at)->next;
    if (ops->last == at) {
        ops->last = before;
    }
    return true;
}

bool shm_tokens_take(struct shm_tokens *tokens, const struct rz_net_token *token)
{
    struct rz_net_token *before = NULL, *at = tokens->first;
    for (; at && at != token; at = at->next) {
        before = at;
    }
    if (!at) {
        return false;
    }
    *(before ? &before->next : &tokens->first) = at->next;
    if (tokens->last == at) {
        tokens->last = before;
    }
    return true;
}

struct shm_pair *shm_pair(struct shm *shm, uint32_t lane)
{
    if (!shm->pairs[lane]) {
        struct shm_pair *pair = calloc(1, sizeof(*pair));
        if (!pair) {
            return NULL;
        }
        pair->lane = lane;
        pair->status = RZ_ERR_CLOSED;
        shm->pairs[lane] = pair;
    }
    return shm->pairs[lane];
}

size_t rz_shm_inbox_bytes(uint32_t lanes_max)
{
    return shm_lane_offset(lanes_max, lanes_max);
}

static void shm_free(struct shm *shm)
{
    rz_memory_unmap(shm->doorbell, shm_page_bytes());
    rz_memory_unmap(shm->heads, shm_heads_bytes(shm->config.lanes_max));
    while (shm->free_tokens) {
        struct rz_net_token *token = shm->free_tokens;
        shm->free_tokens = token->next;
        free(token);
    }
    free(shm->again.words);
    free(shm->taken.words);
    free(shm->blocked.words);
    free(shm->shared.words);
    free(shm->pairs);
    free(shm->peers);
    free(shm);
}

/* Maps the pages that this process writes: backed now, so that a lack of memory is an error here
 * and no signal later. */
static rz_status_t shm_map_own(struct shm *shm)
{
    int fd = shm->config.inbox_fd;
    size_t heads_bytes = shm_heads_bytes(shm->config.lanes_max);
    void *doorbell, *heads;
    rz_status_t status = rz_memory_map_range(fd, 0, shm_page_bytes(), true, &doorbell);
    if (status != RZ_OK) {
        return status;
    }
    shm->doorbell = doorbell;
    status = rz_memory_map_range(fd, shm_page_bytes(), heads_bytes, true, &heads);
    if (status != RZ_OK) {
        return status;
    }
    shm->heads = heads;
    return rz_memory_reserve(fd, 0, shm_page_bytes() + heads_bytes);
}

static enum rz_shm_copy shm_copy_from_environment(void)
{
    const char *text = getenv("RZ_SHM_CMA");
    if (text && strcmp(text, "0") == 0) {
        return RZ_SHM_COPY_RING;
    }
    if (text && strcmp(text, "1") == 0) {
        return RZ_SHM_COPY_DIRECT;
    }
    return RZ_SHM_COPY_AUTO;
}

/* So many of the lowest bits. */
static uint64_t shm_bits(uint64_t n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

static struct shm_bounds shm_bounds_of_process(void)
{
    const unsigned slots = SHM_SLOTS - SHM_SLOTS_KEPT;
    return (struct shm_bounds){
        .slots = shm_bits(rz_bound("shm slots", slots, 0)),
        .slots_kept = shm_bits(rz_bound("shm slots kept", SHM_SLOTS_KEPT, 1)) << slots,
        .early_bytes = (uint32_t)rz_bound("shm early bytes", SHM_EARLY_MAX, 0),
        .ring_first =
            (uint32_t)rz_bound("shm ring", SHM_RING_FIRST / SHM_LINE, SHM_RING_LEAST / SHM_LINE) *
            SHM_LINE,
        .grown_peers = (unsigned)rz_bound("shm grown rings", SHM_GROWN_PEERS_MAX, 0)};
}

rz_status_t rz_shm_open(struct rz_net **net, const struct rz_shm_config *config)
{
    rz_assert(config->lane < config->lanes_max);
    if (SHM_RING % shm_page_bytes() != 0) {
        return RZ_ERR_UNSUPPORTED; /* larger than on any known machine */
    }
    struct shm *shm = calloc(1, sizeof(*shm));
    if (!shm) {
        return RZ_ERR_NO_MEMORY;
    }
    shm->config = *config;
    shm->bounds = shm_bounds_of_process();
    if (config->copy == RZ_SHM_COPY_ENVIRONMENT) {
        shm->config.copy = shm_copy_from_environment();
    }
    shm->identity = (struct shm_identity){.job = config->self.job,
                                          .job_token = config->job_token,
                                          .rank = config->self.rank,
                                          .incarnation = config->self.incarnation};
    shm->n_words = (config->lanes_max + 63) / 64;
    shm->again.words = calloc(shm->n_words, sizeof(uint64_t));
    shm->taken.words = calloc(shm->n_words, sizeof(uint64_t));
    shm->blocked.words = calloc(shm->n_words, sizeof(uint64_t));
    shm->shared.words = calloc(shm->n_words, sizeof(uint64_t));
    shm->pairs = calloc(config->lanes_max, sizeof(struct shm_pair *));
    rz_status_t status = RZ_ERR_NO_MEMORY;
    if (shm->again.words && shm->taken.words && shm->blocked.words && shm->shared.words &&
        shm->pairs) {
        status = shm_map_own(shm);
    }
    if (status != RZ_OK) {
        shm_free(shm);
        return status;
    }
    shm->verified_ns = rz_process_numbers() >= NUMBERS_MIN ? VERIFIED_NS : 0;
    rz_process_let_read(config->copied_by);
    (void)rz_doorbell_join();
    *net = (struct rz_net *)shm;
    return RZ_OK;
}

static rz_status_t shm_ep_address(struct rz_net *net, void *ep_address, size_t *bytes)
{
    const struct shm *shm = (struct shm *)net;
    if (*bytes < sizeof(struct rz_shm_ep_address)) {
        return RZ_ERR_INVALID;
    }
    struct rz_shm_ep_address own = {.peer = shm->config.self,
                                    .pid = (uint32_t)getpid(),
                                    .lane = shm->config.lane,
                                    .inbox_fd = shm->config.inbox_fd,
                                    .event_fd = shm->config.event_fd};
    memcpy(ep_address, &own, sizeof(own));
    *bytes = sizeof(own);
    return RZ_OK;
}

static rz_status_t shm_make_peer(struct shm *shm, rz_peer_t peer)
{
    if (peer < shm->n_peers) {
        return RZ_OK;
    }
    uint32_t n = shm->n_peers ? shm->n_peers : 16;
    while (n <= peer) {
        n *= 2;
    }
    struct shm_peer *peers = realloc(shm->peers, n * sizeof(*peers));
    if (!peers) {
        return RZ_ERR_NO_MEMORY;
    }
    for (uint32_t i = shm->n_peers; i < n; i++) {
        peers[i] = (struct shm_peer){.pair = NULL, .status = RZ_ERR_CLOSED};
    }
    shm->peers = peers;
    shm->n_peers = n;
    return RZ_OK;
}

static rz_status_t shm_connect(struct rz_net *net, rz_peer_t peer, const void *bytes, size_t n)
{
    struct shm *shm = (struct shm *)net;
    struct rz_shm_ep_address ep_address;
    rz_assert(n == sizeof(ep_address));
    memcpy(&ep_address, bytes, sizeof(ep_address));
    if (ep_address.lane >= shm->config.lanes_max) {
        return RZ_ERR_MALFORMED;
    }
    rz_status_t status = shm_make_peer(shm, peer);
    if (status != RZ_OK) {
        return status;
    }
    struct shm_pair *pair = shm_pair(shm, ep_address.lane);
    if (!pair) {
        return RZ_ERR_NO_MEMORY;
    }
    /* A lane belongs to one process until rz_shm_lane_over. */
    if (pair->connected || pair->closed || shm->peers[peer].pair ||
        (pair->in.page &&
         memcmp(&pair->identity, &ep_address.peer, sizeof(ep_address.peer)) != 0)) {
        return RZ_ERR_INVALID;
    }
    status = shm_out_open(shm, pair, &ep_address);
    if (status != RZ_OK) {
        return status;
    }
    pair->connected = true;
    pair->identity = ep_address.peer;
    pair->pid = ep_address.pid;
    pair->verified_until = 0;
    pair->peer = peer;
    shm->peers[peer].pair = pair;
    /* Events from before the connection: unread messages, fetches not begun, a sender that waits
     * for space. */
    if (pair->in.page) {
        shm_set_add(&shm->again, pair->lane);
    }
    if (pair->to_send.first) {
        shm_set_add(&shm->blocked, pair->lane);
    }
    shm_out_ring(shm, pair);
    return RZ_OK;
}

static void shm_renew(struct rz_net *net, rz_peer_t peer, rz_status_t status)
{
    struct shm *shm = (struct shm *)net;
    rz_assert(status != RZ_OK && status != RZ_IN_PROGRESS && status != RZ_ERR_PROC_FAILED);
    struct shm_pair *pair = peer < shm->n_peers ? shm->peers[peer].pair : NULL;
    if (!pair) {
        return;
    }
    pair->connection++; /* older tokens refer to payloads that are withdrawn */
    pair->status = status;
    shm_set_remove(&shm->blocked, pair->lane);
    shm_out_renew(shm, pair, status);
    shm_fetch_close(shm, pair, status, false);
}

/* Ends the connection. All state is final before the first callback, which may connect again. */
static void shm_pair_end(struct shm *shm, struct shm_pair *pair, rz_status_t status)
{
    pair->connection++;
    pair->status = status;
    pair->closed = pair->closed || status == RZ_ERR_PROC_FAILED;
    pair->told = false;
    shm_set_remove(&shm->blocked, pair->lane);
    if (pair->connected) {
        pair->connected = false;
        shm->peers[pair->peer] = (struct shm_peer){.pair = NULL, .status = status, .former = pair};
        shm_out_close(shm, pair, status);
    }
    shm_fetch_close(shm, pair, status, false);
}

static void shm_disconnect(struct rz_net *net, rz_peer_t peer, bool drain, rz_status_t status)
{
    struct shm *shm = (struct shm *)net;
    rz_assert(status != RZ_OK && status != RZ_IN_PROGRESS);
    struct shm_pair *pair = peer < shm->n_peers ? shm->peers[peer].pair : NULL;
    if (!pair) {
        return;
    }
    uint64_t connection = pair->connection;
    /* Offers of failed processes are delivered too, though fetching them fails: otherwise later
     * messages would overtake them. */
    if (drain && shm_in_open(shm, pair) == RZ_OK) {
        shm_in_read(shm, pair, UINT_MAX);
    }
    if (pair->connection == connection) { /* a callback may have ended it already */
        shm_pair_end(shm, pair, status);
    }
}

void rz_shm_forget(struct rz_net *net, struct rz_identity identity, rz_status_t status)
{
    struct shm *shm = (struct shm *)net;
    for (uint32_t lane = 0; lane < shm->config.lanes_max; lane++) {
        struct shm_pair *pair = shm->pairs[lane];
        if (!pair || pair->connected || pair->closed || !pair->in.page ||
            memcmp(&pair->identity, &identity, sizeof(identity)) != 0) {
            continue;
        }
        pair->closed = true;
        shm_pair_end(shm, pair, status);
    }
}

void shm_pair_let_go(struct shm *shm, struct shm_pair *pair)
{
    struct shm_pair **link = &shm->over;
    while (*link != pair) {
        link = &(*link)->next_over;
    }
    *link = pair->next_over;
    free(pair);
}

/* Tokens may still refer to the pair: then the next owner of the lane gets a new pair beside it. */
static void shm_pair_retire(struct shm *shm, struct shm_pair *pair)
{
    shm_pair_end(shm, pair, RZ_ERR_PROC_FAILED);
    shm_in_close(shm, pair);
    shm->pairs[pair->lane] = NULL;
    for (uint32_t i = 0; i < shm->n_peers; i++) {
        if (shm->peers[i].former == pair) {
            shm->peers[i].former = NULL;
        }
    }
    if (shm->hot == pair) {
        shm->hot = NULL;
    }
    if (pair->n_tokens == 0) {
        free(pair);
        return;
    }
    pair->in.page = NULL;
    pair->over = true;
    pair->next_over = shm->over;
    shm->over = pair;
}

rz_status_t rz_shm_lane_over(struct rz_net *net, uint32_t lane, struct rz_identity identity)
{
    struct shm *shm = (struct shm *)net;
    rz_assert(!shm->in_progress);
    if (lane >= shm->config.lanes_max || lane == shm->config.lane) {
        return RZ_ERR_MALFORMED;
    }
    struct shm_pair *pair = shm->pairs[lane];
    if (pair && (pair->connected || (pair->in.page && !pair->torn)) &&
        memcmp(&pair->identity, &identity, sizeof(identity)) != 0) {
        return RZ_ERR_MALFORMED;
    }
    if (pair && pair->connected) {
        shm_disconnect(net, pair->peer, true, RZ_ERR_PROC_FAILED);
    }
    if (pair) {
        shm_pair_retire(shm, pair);
    }
    shm_set_remove(&shm->again, lane);
    shm_set_remove(&shm->taken, lane); /* the next owner sets its bit anew */
    atomic_fetch_and(&shm->doorbell->lanes[lane / 64 % RZ_DOORBELL_WORDS],
                     ~(UINT64_C(1) << lane % 64));
    rz_status_t status = rz_memory_punch(
        shm->config.inbox_fd, shm_lane_offset(lane, shm->config.lanes_max), shm_lane_bytes());
    if (status != RZ_OK) {
        return status;
    }
    atomic_store(&shm->heads[lane].read, 0);
    return RZ_OK;
}

void rz_shm_descriptors(const struct rz_net *net, void (*visit)(void *arg, int fd), void *arg)
{
    const struct shm *shm = (const struct shm *)net;
    for (uint32_t lane = 0; lane < shm->config.lanes_max; lane++) {
        const struct shm_pair *pair = shm->pairs[lane];
        if (pair && pair->connected && pair->out.event_fd > 0) {
            visit(arg, pair->out.event_fd);
        }
    }
}

bool rz_shm_shares(const struct rz_net *net)
{
    const struct shm *shm = (const struct shm *)net;
    for (unsigned w = 0; shm->shared.some && w < shm->n_words; w++) {
        if (shm->shared.words[w]) {
            return true;
        }
    }
    return false;
}

/* A sender that still writes to our memory rings when it has left. */
static bool shm_shared_is_over(const struct shm *shm)
{
    for (unsigned w = 0; shm->shared.some && w < shm->n_words; w++) {
        for (uint64_t bits = shm->shared.words[w]; bits; bits &= bits - 1) {
            const struct shm_pair *pair = shm->pairs[w * 64 + (unsigned)__builtin_ctzll(bits)];
            if (shm_share_left(pair, pair->shared->offer.id)) {
                return true;
            }
        }
    }
    return false;
}

static bool shm_arm(struct rz_net *net)
{
    struct shm *shm = (struct shm *)net;
    shm_in_look_at_taken(shm);
    /* The bit of a hot lane is taken only here: it is set although all was read. */
    shm_in_take_bits(shm, SHM_NO_LANE);
    if (shm->hot && shm_in_news(shm->hot)) {
        return false;
    }
    if (shm->hot) {
        shm_set_remove(&shm->again, shm->hot->lane);
    }
    for (unsigned w = 0; w < shm->n_words; w++) {
        if (shm->again.words[w]) {
            return false;
        }
    }
    for (unsigned w = 0; w < shm->n_words; w++) {
        for (uint64_t bits = shm->blocked.words[w]; bits; bits &= bits - 1) {
            struct shm_pair *pair = shm->pairs[w * 64 + (unsigned)__builtin_ctzll(bits)];
            if (!shm_out_arm(pair)) {
                return false;
            }
        }
    }
    return !shm_shared_is_over(shm);
}

static int shm_fd(struct rz_net *net)
{
    (void)net;
    return -1;
}

static bool shm_quiet(struct rz_net *net)
{
    return !rz_shm_shares(net); /* disconnect ends all else at once */
}

static void shm_close(struct rz_net *net)
{
    struct shm *shm = (struct shm *)net;
    for (uint32_t lane = 0; lane < shm->config.lanes_max; lane++) {
        struct shm_pair *pair = shm->pairs[lane];
        if (!pair) {
            continue;
        }
        shm_pair_end(shm, pair, RZ_ERR_CLOSED);
        shm_fetch_close(shm, pair, RZ_ERR_CLOSED, true);
        shm_in_close(shm, pair);
        free(pair);
    }
    while (shm->over) {
        shm_pair_let_go(shm, shm->over);
    }
    shm_free(shm);
}

static enum rz_net_withdrawn shm_withdraw(struct rz_net *net, rz_peer_t peer, rz_net_token_t token,
                                          struct rz_net_op *op)
{
    struct shm *shm = (struct shm *)net;
    struct shm_pair *pair = peer < shm->n_peers ? shm->peers[peer].pair : NULL;
    if (token) {
        return shm_fetch_withdraw(shm, token) ? RZ_NET_WITHDRAWN : RZ_NET_NOT_WITHDRAWN;
    }
    return pair ? shm_out_withdraw(pair, op) : RZ_NET_NOT_WITHDRAWN;
}

const struct rz_net_ops rz_shm_ops = {
    .name = "shm",
    .eager_max = SHM_EAGER_MAX,
    .ep_address = shm_ep_address,
    .connect = shm_connect,
    .send = shm_send,
    .inject = shm_inject,
    .fetch = shm_fetch,
    .drop = shm_drop,
    .withdraw = shm_withdraw,
    .cell_put = shm_cell_put,
    .cell_see = shm_cell_see,
    .cell_ring = shm_cell_ring,
    .progress = shm_progress,
    .arm = shm_arm,
    .fd = shm_fd,
    .disconnect = shm_disconnect,
    .renew = shm_renew,
    .quiet = shm_quiet,
    .close = shm_close,
};
