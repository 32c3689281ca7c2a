/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A payload that both sides copy: its receiver from the first byte on, and its sender, which would
 * only wait, from the last byte on, straight into the receiver's memory.
 *
 * Each takes one piece after the other, and writes only into its own lane what it has taken. The
 * receiver ends at a piece that the sender has taken, and the sender at one that the receiver has.
 * If they take the same piece at the same time, both copy it: the bytes are the same.
 *
 * The sender never writes after the receiver's memory was given back: it announces itself
 * (`helping`), then looks whether the receiver still lets it in (`shared`); the receiver closes
 * that, then looks for the announcement. In every order one of the two sees the other's store. A
 * sender that was let in has left when it withdraws its announcement, or has ended.
 */
#include "net/shm/shm_state.h"

#include "port/kill_point.h"
#include "port/process.h"

#include <string.h>

/* The sender helps for so many pieces at a time, a fraction of a millisecond: it may be awaited by
 * others. It is asked again if so many pieces are left. */
enum { SHARE_AT_ONCE = 16, SHARE_AGAIN = 4 };

static uint64_t pieces_of(size_t bytes)
{
    return (bytes + SHM_SHARE_PIECE - 1) / SHM_SHARE_PIECE;
}

/* ---- The receiver ---- */

/* False: there is no space to tell the sender. */
static bool ask(struct shm *shm, const struct rz_net_token *token)
{
    struct shm_pair *pair = token->pair;
    const struct shm_help help = {.id = token->offer.id,
                                  .offset = token->shared_from,
                                  .bytes = token->want - token->shared_from,
                                  .at = (uintptr_t)token->data + token->shared_from,
                                  .slot = token->offer.slot};
    if (shm_out_help(pair, &help) != SHM_WRITTEN) {
        return false;
    }
    shm_out_ring(shm, pair);
    return true;
}

bool shm_share_begin(struct shm *shm, struct rz_net_token *token, size_t first)
{
    struct shm_pair *pair = token->pair;
    const struct rz_shm_config *config = &shm->config;
    /* One payload of a pair at a time: the words are about one. A sender that has a payload of ours
     * to copy is not idle: then pieces only cost more system calls. */
    if (token->want - first < SHM_SHARE_MIN || pair->shared || pair->help_refused ||
        pair->out.slots_free != UINT64_MAX || !config->asks || !config->asks(config->host.arg)) {
        return false;
    }
    token->shared_from = first;
    token->asked_high = UINT64_MAX;
    atomic_store_explicit(&pair->out.page->low, 0, memory_order_relaxed);
    atomic_store(&pair->out.page->shared, token->offer.id);
    if (!ask(shm, token)) {
        atomic_store(&pair->out.page->shared, 0);
        return false;
    }
    return true;
}

/* A sender that has done its share leaves, and helps again if there is still much to do. */
static bool is_worth_asking_again(const struct rz_net_token *token, uint64_t i, uint64_t high)
{
    return high < token->asked_high && high - i >= SHARE_AGAIN &&
           shm_share_left(token->pair, token->offer.id) &&
           !shm_share_failed(token->pair, token->offer.id);
}

bool shm_share_take(struct shm *shm, struct rz_net_token *token, uint64_t i)
{
    struct shm_pair *pair = token->pair;
    const struct shm_lane_page *page = pair->in.page;
    if (atomic_load(&page->helped) == token->offer.id) {
        uint64_t high = atomic_load(&page->high);
        if (i >= high) {
            return false;
        }
        if (is_worth_asking_again(token, i, high) && ask(shm, token)) {
            token->asked_high = high;
        }
    }
    atomic_store(&pair->out.page->low, i + 1);
    return true;
}

void shm_share_end(const struct shm_pair *pair)
{
    atomic_store(&pair->out.page->shared, 0);
}

bool shm_share_left(const struct shm_pair *pair, uint64_t id)
{
    return atomic_load(&pair->in.page->helping) != id;
}

bool shm_share_failed(const struct shm_pair *pair, uint64_t id)
{
    const struct shm_lane_page *page = pair->in.page;
    return atomic_load(&page->helped) == id && atomic_load(&page->refused) != 0;
}

/* ---- The sender ---- */

/* The process at the peer's pid is the peer, just now. */
static bool is_peer(const struct shm *shm, const struct shm_pair *pair)
{
    const struct shm_identity expected = {.job = pair->identity.job,
                                          .job_token = shm->config.job_token,
                                          .rank = pair->identity.rank,
                                          .incarnation = pair->identity.incarnation};
    struct shm_identity found;
    struct rz_process_vector vector = {&found, atomic_load(&pair->in.page->identity_at),
                                       sizeof(found)};
    return rz_process_copy((pid_t)pair->pid, &vector, 1) &&
           memcmp(&found, &expected, sizeof(found)) == 0;
}

static bool write_piece(const struct shm *shm, const struct shm_pair *pair, const char *data,
                        const struct shm_help *help, uint64_t i)
{
    size_t at = i * SHM_SHARE_PIECE, left = help->bytes - at;
    const struct rz_process_range there = {
        .at = help->at + at, .bytes = left < SHM_SHARE_PIECE ? left : SHM_SHARE_PIECE};
    return is_peer(shm, pair) &&
           rz_process_scatter((pid_t)pair->pid, &there, 1, data + help->offset + at);
}

/* Takes the last piece that no side has. False: there is none. */
static bool take_last(const struct shm_pair *pair, uint64_t *high)
{
    if (*high <= atomic_load(&pair->in.page->low)) {
        return false;
    }
    atomic_store(&pair->out.page->high, --*high);
    return true;
}

/* From the last piece on, until the receiver is met, or it was enough for now. */
static void write_pieces(const struct shm *shm, const struct shm_pair *pair, const char *data,
                         const struct shm_help *help)
{
    struct shm_lane_page *page = pair->out.page;
    uint64_t high = atomic_load(&page->high);
    if (atomic_load(&page->helped) != help->id) {
        high = pieces_of(help->bytes);
        atomic_store(&page->high, high);
        atomic_store(&page->refused, 0);
        atomic_store(&page->helped, help->id);
    }
    for (unsigned n = 0; n < SHARE_AT_ONCE && take_last(pair, &high); n++) {
        rz_kill_here(RZ_KILL_HELPING);
        if (!write_piece(shm, pair, data, help, high)) {
            atomic_store(&page->refused, 1);
            return;
        }
    }
}

void shm_share_help(struct shm *shm, struct shm_pair *pair, const struct shm_help *help)
{
    const struct rz_shm_config *config = &shm->config;
    const struct shm_op *op = shm_out_offered(pair, help->id, help->slot);
    if (!op || help->offset > op->bytes || help->bytes > op->bytes - help->offset ||
        config->copy == RZ_SHM_COPY_RING || !config->helps || !config->helps(config->host.arg)) {
        return;
    }
    atomic_store(&pair->out.page->helping, help->id);
    if (atomic_load(&pair->in.page->shared) == help->id) {
        write_pieces(shm, pair, op->data, help);
    }
    atomic_store(&pair->out.page->helping, 0);
    shm_out_ring(shm, pair); /* the receiver may sleep until now */
}
