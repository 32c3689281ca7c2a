/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Payloads that stay in their sender's memory: tokens, copying from there, and pieces through the
 * ring where copying is refused.
 */
#include "net/shm/shm_state.h"

#include "base/assert.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/process.h"

#include <stdlib.h>
#include <string.h>

/* Limit of bytes in one system call, which would otherwise copy fewer. */
#define COPY_CHUNK ((size_t)1 << 30)

/* A receiver that has copied its part waits so long for the sender before it does something else.
 */
#define SHARE_WAIT_MAX (50 * RZ_MICROSECOND)

rz_status_t shm_fetch_offered(struct shm *shm, struct shm_pair *pair, const struct shm_offer *offer,
                              struct rz_net_token **out)
{
    struct rz_net_token *token = shm->free_tokens;
    if (token) {
        shm->free_tokens = token->next;
    } else {
        token = malloc(sizeof(*token));
    }
    if (!token) {
        return RZ_ERR_NO_MEMORY;
    }
    *token = (struct rz_net_token){.pair = pair, .connection = pair->connection, .offer = *offer};
    pair->n_tokens++;
    pair->in.early = offer->early > 0 ? token : NULL;
    *out = token;
    return RZ_OK;
}

/* Its early bytes are needed no more, or have all come. */
static void token_leave_early(struct rz_net_token *token)
{
    if (token->pair->in.early == token) {
        token->pair->in.early = NULL;
    }
}

static void token_free(struct shm *shm, struct rz_net_token *token)
{
    struct shm_pair *pair = token->pair;
    token_leave_early(token);
    free(token->kept);
    token->next = shm->free_tokens;
    shm->free_tokens = token;
    if (--pair->n_tokens == 0 && pair->over) {
        shm_pair_let_go(shm, pair);
    }
}

/* Ends the fetch of a token that is not in any list. */
static void token_end(struct shm *shm, struct rz_net_token *token, rz_status_t status)
{
    struct rz_net_op *op = token->op;
    token_free(shm, token);
    if (op) {
        op->done(op, status);
    }
}

static bool token_offered(const struct rz_net_token *token)
{
    return atomic_load(&token->pair->in.page->offered[token->offer.slot]) == token->offer.id;
}

/* Whether its sender's memory can be read, as far as is known. */
static bool token_can_copy(const struct shm *shm, const struct rz_net_token *token)
{
    return shm->config.copy != RZ_SHM_COPY_RING && !token->pair->copy_refused;
}

/* How many bytes of the fetch come early. */
static size_t token_early(const struct rz_net_token *token)
{
    return token->offer.early < token->want ? token->offer.early : token->want;
}

/* One system call. verify: reads the sender's identity as well. */
static bool copy_chunk(const struct shm *shm, const struct shm_pair *pair,
                       const struct rz_process_vector *chunk, bool verify)
{
    const struct shm_identity expected = {.job = pair->identity.job,
                                          .job_token = shm->config.job_token,
                                          .rank = pair->identity.rank,
                                          .incarnation = pair->identity.incarnation};
    struct shm_identity found = expected;
    struct rz_process_vector vectors[2] = {
        {&found, atomic_load(&pair->in.page->identity_at), sizeof(found)}, *chunk};
    return rz_process_copy((pid_t)pair->pid, verify ? vectors : vectors + 1, verify ? 2 : 1) &&
           memcmp(&found, &expected, sizeof(found)) == 0;
}

/* Copies these bytes from the sender's memory. False: refused, or the process at that pid is not
 * (or no longer) the sender. */
static bool token_copy_bytes(const struct shm *shm, struct rz_net_token *token, size_t from,
                             size_t end)
{
    struct shm_pair *pair = token->pair;
    for (size_t done = from; done < end;) {
        size_t bytes = end - done < COPY_CHUNK ? end - done : COPY_CHUNK;
        const struct rz_process_vector chunk = {token->data + done, token->offer.at + done, bytes};
        rz_time now = rz_clock_now();
        bool verify = now >= pair->verified_until;
        if (!copy_chunk(shm, pair, &chunk, verify)) {
            pair->copy_refused = true;
            return false;
        }
        pair->verified_until = verify ? now + shm->verified_ns : pair->verified_until;
        done += bytes;
    }
    return true;
}

/* Copies from this byte on. RZ_ERR_CANCELLED: the payload was withdrawn during the copy.
 * RZ_ERR_UNSUPPORTED: it cannot be copied; the ring remains. */
static rz_status_t token_copy_from(struct shm *shm, struct rz_net_token *token, size_t from)
{
    if (!token_copy_bytes(shm, token, from, token->want)) {
        return RZ_ERR_UNSUPPORTED;
    }
    /* The sender withdraws an offer before it uses the memory again: if the payload is still
     * offered, the copy is complete. */
    atomic_thread_fence(memory_order_seq_cst);
    return token_offered(token) ? RZ_OK : RZ_ERR_CANCELLED;
}

/* Copies pieces from this byte on, until the sender has the next one. */
static void token_copy_pieces(struct shm *shm, struct rz_net_token *token, size_t from)
{
    token->copied = from;
    for (uint64_t i = 0; token->copied < token->want; i++) {
        size_t left = token->want - token->copied;
        size_t bytes = left < SHM_SHARE_PIECE ? left : SHM_SHARE_PIECE;
        if (!shm_share_take(shm, token, i) ||
            !token_copy_bytes(shm, token, token->copied, token->copied + bytes)) {
            break;
        }
        token->copied += bytes;
    }
}

/* Both sides have ended: what the sender could not write is copied. Results of token_copy_from. */
static rz_status_t token_copy_ends(struct shm *shm, struct rz_net_token *token)
{
    struct shm_pair *pair = token->pair;
    bool failed = shm_share_failed(pair, token->offer.id);
    pair->help_refused = pair->help_refused || failed;
    return pair->copy_refused ? RZ_ERR_UNSUPPORTED
                              : token_copy_from(shm, token, failed ? token->copied : token->want);
}

/* Waits a short time for the sender, which is mostly at its last piece. False: it still writes. */
static bool token_await_sender(const struct rz_net_token *token)
{
    if (shm_share_left(token->pair, token->offer.id)) {
        return true;
    }
    rz_kill_here(RZ_KILL_HELPED);
    rz_time until = rz_clock_now() + SHARE_WAIT_MAX;
    bool left;
    do {
        left = shm_share_left(token->pair, token->offer.id);
    } while (!left && rz_clock_now() < until);
    return left;
}

/* Copies from the sender's memory what does not come early. As token_copy_from; RZ_IN_PROGRESS: the
 * sender still writes its part. */
static rz_status_t token_copy(struct shm *shm, struct rz_net_token *token)
{
    struct shm_pair *pair = token->pair;
    if (!token_can_copy(shm, token)) {
        return RZ_ERR_UNSUPPORTED;
    }
    size_t first = token_early(token);
    if (!shm_share_begin(shm, token, first)) {
        return token_copy_from(shm, token, first);
    }
    token_copy_pieces(shm, token, first);
    shm_share_end(pair);
    if (!token_await_sender(token)) {
        pair->shared = token;
        shm_set_add(&shm->shared, pair->lane);
        return RZ_IN_PROGRESS;
    }
    return token_copy_ends(shm, token);
}

/* Sends the request of token to the sender, or leaves it to the next flush. */
static void token_tell(struct shm *shm, struct rz_net_token *token, enum shm_action action)
{
    struct shm_pair *pair = token->pair;
    token->action = action;
    shm_tokens_push(&pair->to_send, token);
    if (pair->connected && action != SHM_ACTION_FETCH && pair->to_send.first == token) {
        shm_fetch_flush(shm, pair);
    }
    if (!pair->connected || !pair->to_send.first) {
        return;
    }
    shm_set_add(&shm->blocked, pair->lane);
}

/* The fetch is over: the sender may use its memory again. */
static void token_done(struct shm *shm, struct rz_net_token *token)
{
    rz_kill_here(RZ_KILL_FETCHED);
    token->op = NULL;
    token_leave_early(token);
    token_tell(shm, token, SHM_ACTION_DONE);
}

/* Takes the early bytes that came before the fetch, up to those of the fetch. */
static void token_take_kept(struct rz_net_token *token)
{
    size_t early = token_early(token), got = token->early_got < early ? token->early_got : early;
    if (got > 0) {
        memcpy(token->data, token->kept, got);
    }
}

/* Continues a fetch whose copy has this result. As token_begin. */
static rz_status_t token_go_on(struct shm *shm, struct rz_net_token *token, rz_status_t status)
{
    if (status == RZ_ERR_CANCELLED) {
        token_free(shm, token);
    } else if (status == RZ_ERR_UNSUPPORTED && shm->config.copy != RZ_SHM_COPY_DIRECT) {
        token_leave_early(token);
        token_tell(shm, token, SHM_ACTION_ASK);
        status = RZ_IN_PROGRESS;
    } else if (status == RZ_OK && token->early_got < token_early(token)) {
        shm_tokens_push(&token->pair->fetching, token);
        status = RZ_IN_PROGRESS;
    } else {
        token_done(shm, token);
    }
    return status;
}

/* Begins a fetch from a connected sender. RZ_IN_PROGRESS: pieces are still to come, or the sender
 * still writes; otherwise the fetch is over. */
static rz_status_t token_begin(struct shm *shm, struct rz_net_token *token)
{
    if (token->offer.slot == SHM_PARKED) {
        token_tell(shm, token, SHM_ACTION_ASK);
        return RZ_IN_PROGRESS;
    }
    rz_status_t status = !token_offered(token)               ? RZ_ERR_CANCELLED
                         : token_early(token) == token->want ? RZ_OK
                                                             : token_copy(shm, token);
    if (status == RZ_OK || status == RZ_IN_PROGRESS) {
        token_take_kept(token);
    }
    token->begun = true;
    return status == RZ_IN_PROGRESS ? status : token_go_on(shm, token, status);
}

rz_status_t shm_fetch(struct rz_net *net, rz_net_token_t token, void *data, size_t bytes,
                      struct rz_net_op *op)
{
    struct shm *shm = (struct shm *)net;
    struct shm_pair *pair = token->pair;
    rz_assert(bytes <= token->offer.bytes);
    rz_assert(!token->op);
    if (token->connection != pair->connection) {
        rz_status_t status = pair->status;
        token_free(shm, token);
        return status;
    }
    token->op = op;
    token->data = data;
    token->want = bytes;
    token->got = 0;
    if (bytes == 0) {
        shm_drop(net, token);
        return RZ_OK;
    }
    if (pair->connected) {
        return token_begin(shm, token);
    }
    token_tell(shm, token, SHM_ACTION_FETCH);
    return RZ_IN_PROGRESS;
}

void shm_drop(struct rz_net *net, rz_net_token_t token)
{
    struct shm *shm = (struct shm *)net;
    token->op = NULL;
    token_leave_early(token);
    if (token->connection != token->pair->connection) {
        token_free(shm, token);
    } else {
        token_tell(shm, token, SHM_ACTION_DONE);
    }
}

/* The token waits for its sender no more. */
static void token_unshare(struct shm *shm, const struct rz_net_token *token)
{
    token->pair->shared = NULL;
    shm_set_remove(&shm->shared, token->pair->lane);
}

bool shm_fetch_withdraw(struct shm *shm, struct rz_net_token *token)
{
    if (token->pair->shared == token) {
        if (!shm_share_left(token->pair, token->offer.id)) {
            return false;
        }
        token_unshare(shm, token);
        token_free(shm, token);
        return true;
    }
    token->op = NULL;
    if (shm_tokens_take(&token->pair->fetching, token)) {
        token_free(shm, token); /* pieces that still arrive are dropped */
    } else {
        token->action = SHM_ACTION_DONE;
    }
    return true;
}

/* Handles the first request; runs callbacks only if a fetch had to wait for the connection. */
static enum shm_written fetch_wish(struct shm *shm, struct shm_pair *pair)
{
    struct rz_net_token *token = pair->to_send.first;
    if (token->action == SHM_ACTION_FETCH) {
        shm_tokens_pop(&pair->to_send);
        struct rz_net_op *op = token->op;
        rz_status_t status = token_begin(shm, token);
        if (status != RZ_IN_PROGRESS) {
            op->done(op, status);
        }
        return SHM_WRITTEN;
    }
    bool ask = token->action == SHM_ACTION_ASK;
    const struct shm_reply reply = {.id = token->offer.id,
                                    .bytes = token->want,
                                    .slot = token->offer.slot,
                                    .slots = ask && token->offer.slot == SHM_PARKED &&
                                             token_can_copy(shm, token)};
    if (shm_out_reply(pair, ask ? SHM_ASK : SHM_DONE, &reply) == SHM_FULL) {
        return SHM_FULL;
    }
    shm_tokens_pop(&pair->to_send);
    if (ask) {
        shm_tokens_push(&pair->fetching, token);
    } else {
        token_free(shm, token);
    }
    return SHM_WRITTEN;
}

enum shm_written shm_fetch_flush(struct shm *shm, struct shm_pair *pair)
{
    uint64_t connection = pair->connection;
    enum shm_written written = SHM_NOTHING;
    while (pair->to_send.first && written != SHM_FULL && pair->connection == connection) {
        written = fetch_wish(shm, pair);
    }
    if (pair->connection == connection && pair->out.rung != pair->out.tail) {
        shm_out_ring(shm, pair);
    }
    return written;
}

/* Mostly the first one: senders answer in the order of the requests. */
static struct rz_net_token *fetch_find(const struct shm_pair *pair, uint64_t id)
{
    struct rz_net_token *token = pair->fetching.first;
    while (token && token->offer.id != id) {
        token = token->next;
    }
    return token;
}

rz_status_t shm_fetch_slotted(struct shm *shm, struct shm_pair *pair, const struct shm_reply *reply)
{
    struct rz_net_token *token = fetch_find(pair, reply->id);
    if (!token) {
        return RZ_OK; /* a record of a former connection, or not needed any more */
    }
    if (reply->slot >= SHM_SLOTS || token->offer.slot != SHM_PARKED || token->got > 0) {
        return RZ_ERR_MALFORMED;
    }
    struct rz_net_op *op = token->op;
    shm_tokens_take(&pair->fetching, token);
    token->offer.slot = reply->slot;
    rz_status_t status = token_begin(shm, token);
    if (status != RZ_IN_PROGRESS) {
        op->done(op, status);
    }
    return RZ_OK;
}

rz_status_t shm_fetch_piece(struct shm *shm, struct shm_pair *pair, const struct shm_piece *piece,
                            const void *data, size_t bytes)
{
    struct rz_net_token *token = fetch_find(pair, piece->id);
    if (!token) {
        return RZ_OK; /* a record of a former connection, or not needed any more */
    }
    if (piece->offset != token->got || bytes > token->want - token->got) {
        return RZ_ERR_MALFORMED;
    }
    memcpy(token->data + token->got, data, bytes);
    token->got += bytes;
    if (token->got < token->want) {
        return RZ_OK;
    }
    shm_tokens_take(&pair->fetching, token);
    token_end(shm, token, RZ_OK);
    return RZ_OK;
}

/* Where early bytes go: to their place, or until the fetch begins to memory of the token. NULL:
 * there is none. Then all is fetched as if nothing had come early. */
static unsigned char *token_early_place(struct rz_net_token *token)
{
    if (token->begun) {
        return token->data;
    }
    if (!token->kept && (token->kept = malloc(token->offer.early)) == NULL) {
        token_leave_early(token);
        token->offer.early = 0;
    }
    return token->kept;
}

rz_status_t shm_fetch_early(struct shm *shm, struct shm_pair *pair, const struct shm_piece *piece,
                            const void *data, size_t bytes)
{
    struct rz_net_token *token = pair->in.early;
    if (!token || token->offer.id != piece->id) {
        return RZ_OK; /* a record of a former connection, or not needed any more */
    }
    if (piece->offset != token->early_got || bytes > token->offer.early - token->early_got) {
        return RZ_ERR_MALFORMED;
    }
    unsigned char *place = token_early_place(token);
    if (!place) {
        return RZ_OK;
    }
    size_t end = token->begun ? token_early(token) : token->offer.early;
    size_t left = end - (token->early_got < end ? token->early_got : end);
    memcpy(place + token->early_got, data, bytes < left ? bytes : left);
    token->early_got += bytes;
    if (token->early_got == token->offer.early) {
        token_leave_early(token);
    }
    if (token->begun && left > 0 && token->early_got >= end && pair->shared != token) {
        struct rz_net_op *op = token->op;
        shm_tokens_take(&pair->fetching, token);
        token_done(shm, token);
        op->done(op, RZ_OK);
    }
    return RZ_OK;
}

/* The sender has left: the fetch ends, or continues. */
static void token_shared_over(struct shm *shm, struct rz_net_token *token)
{
    struct shm_pair *pair = token->pair;
    struct rz_net_op *op = token->op;
    token_unshare(shm, token);
    if (token->connection != pair->connection) {
        token_end(shm, token, pair->status);
        return;
    }
    rz_status_t status = token_go_on(shm, token, token_copy_ends(shm, token));
    if (status != RZ_IN_PROGRESS) {
        op->done(op, status);
    }
}

unsigned shm_fetch_shared(struct shm *shm)
{
    unsigned events = 0;
    shm->shared.some = false;
    for (unsigned w = 0; w < shm->n_words; w++) {
        for (uint64_t bits = shm->shared.words[w]; bits; bits &= bits - 1) {
            const struct shm_pair *pair = shm->pairs[w * 64 + (unsigned)__builtin_ctzll(bits)];
            /* a callback may have ended it */
            if (pair->shared && shm_share_left(pair, pair->shared->offer.id)) {
                token_shared_over(shm, pair->shared);
                events++;
            }
        }
        shm->shared.some = shm->shared.some || shm->shared.words[w];
    }
    return events;
}

void shm_fetch_close(struct shm *shm, struct shm_pair *pair, rz_status_t status, bool at_once)
{
    pair->in.early = NULL;
    struct rz_net_token *shared = pair->shared;
    struct shm_tokens to_send = pair->to_send, fetching = pair->fetching;
    pair->to_send = pair->fetching = (struct shm_tokens){NULL, NULL};
    if (shared &&
        (at_once || status == RZ_ERR_PROC_FAILED || shm_share_left(pair, shared->offer.id))) {
        token_unshare(shm, shared);
        token_end(shm, shared, status);
    }
    for (struct rz_net_token *token; (token = shm_tokens_pop(&to_send));) {
        token_end(shm, token, status);
    }
    for (struct rz_net_token *token; (token = shm_tokens_pop(&fetching));) {
        token_end(shm, token, status);
    }
}
