/* SPDX-License-Identifier: BSD-3-Clause */
/* Asking for help with a row, and helping. */
#include "mpi/rma/rma_share.h"

#include "mpi/engine/waiting.h"
#include "mpi/rma/rma_copy.h"
#include "mpi/rma/window_words.h"
#include "port/clock.h"
#include "port/kill_point.h"

#define PIECE_BYTES ((uint64_t)128 << 10)

/* A shorter row is copied in less time than two processes need to meet. */
#define SHARE_MIN ((MPI_Count)256 << 10)

/* Pieces that an owner copies in one round of progress. */
enum { PIECES_OF_ROUND = 8 };

/* So long an asker looks whether the owner has left, before it waits as for anything else. */
#define SHARE_PATIENCE_NS (100 * RZ_MICROSECOND)

static struct rz_win_share *share_of(const struct rz_win *win, int rank)
{
    return &rz_win_target(win, rank)->control->share;
}

/* ---- The word of the state ---- */

static uint64_t word_of(int asker, enum rz_share_state state)
{
    return (uint64_t)asker << 8 | state;
}

static enum rz_share_state state_of(uint64_t word)
{
    return (enum rz_share_state)(word & 0xff);
}

static uint64_t asker_of(uint64_t word)
{
    return word >> 8;
}

static bool change(struct rz_win_share *share, uint64_t from, uint64_t to)
{
    return atomic_compare_exchange_strong(&share->word, &from, to);
}

/* ---- Pieces: those from `low` up to `high` are not taken ---- */

static uint64_t pieces_of(uint64_t bytes)
{
    return bytes / PIECE_BYTES + (bytes % PIECE_BYTES != 0);
}

/* Takes the first or the last piece. False: there is none. */
static bool take(struct rz_win_share *share, bool last, uint64_t *piece)
{
    uint64_t pieces = atomic_load(&share->pieces);
    for (;;) {
        uint64_t low = pieces & UINT32_MAX, high = pieces >> 32;
        if (low >= high) {
            return false;
        }
        *piece = last ? high - 1 : low;
        uint64_t next = last ? (high - 1) << 32 | low : high << 32 | (low + 1);
        if (atomic_compare_exchange_weak(&share->pieces, &pieces, next)) {
            return true;
        }
    }
}

/* A row, as one of the two processes sees it. */
struct shared_row {
    const struct rz_win_target *other;
    char *here;
    uint64_t there, bytes;
    bool writes; /* to the other one's memory */
};

static bool copy_piece(const struct shared_row *row, uint64_t piece)
{
    uint64_t at = piece * PIECE_BYTES, left = row->bytes - at;
    size_t bytes = (size_t)(left < PIECE_BYTES ? left : PIECE_BYTES);
    return rz_rma_is_there(row->other) &&
           rz_rma_copy_row(row->other, row->there + at, row->here + at, bytes, row->writes);
}

/* ---- The owner ---- */

/* Copies pieces until none is left, or enough for one round: then *more. False: a copy failed, or
 * the row is none. */
static bool help(struct rz_win *win, uint64_t asker, bool *more)
{
    struct rz_win_share *share = &win->control->share;
    uint64_t piece;
    *more = false;
    if (asker >= (uint64_t)win->members || !rz_win_has(win, share->at, share->bytes)) {
        return false;
    }
    const struct shared_row row = {.other = rz_win_target(win, (int)asker),
                                   .here = (char *)(uintptr_t)share->at,
                                   .there = share->there,
                                   .bytes = share->bytes,
                                   .writes = !share->writes};
    if (row.other->reach != RZ_REACH_COPY) {
        return false;
    }
    for (int i = 0; i < PIECES_OF_ROUND; i++) {
        if (!take(share, true, &piece)) {
            return true;
        }
        rz_kill_here(RZ_KILL_SHARE_TAKEN);
        if (piece >= pieces_of(row.bytes) || !copy_piece(&row, piece)) {
            return false;
        }
    }
    *more = true;
    return true;
}

bool rz_rma_share_serve(struct rz_win *win)
{
    struct rz_win_share *share = &win->control->share;
    uint64_t word = atomic_load_explicit(&share->word, memory_order_relaxed);
    int asker = (int)asker_of(word);
    if (state_of(word) != RZ_SHARE_ASKED || !change(share, word, word_of(asker, RZ_SHARE_TAKEN))) {
        return false;
    }
    bool more;
    if (!help(win, asker_of(word), &more)) {
        atomic_store(&share->failed, 1);
    }
    atomic_store(&share->word, word_of(asker, more ? RZ_SHARE_ASKED : RZ_SHARE_LEFT));
    if (asker < win->members) {
        rz_win_wake(win, asker);
    }
    return true;
}

/* ---- The asker ---- */

static bool is_row(const struct rz_rma_call *call, const struct rz_rma_operation *operation)
{
    return call->win->serves_requests && !rz_engine.waiting.oversubscribed &&
           operation->what <= RZ_RMA_GET && operation->shape.contiguous &&
           rz_rma_bytes(operation) >= SHARE_MIN &&
           (uint64_t)rz_rma_bytes(operation) / PIECE_BYTES < UINT32_MAX;
}

/* That of an asker which has failed is free, unless the owner is inside. */
static bool hold(const struct rz_win *win, int rank)
{
    struct rz_win_share *share = share_of(win, rank);
    uint64_t word = atomic_load(&share->word), asker = asker_of(word);
    bool free = state_of(word) == RZ_SHARE_FREE;
    if (!free && (asker >= (uint64_t)win->members || !rz_win_lost(win, (int)asker) ||
                  state_of(word) == RZ_SHARE_TAKEN)) {
        return false;
    }
    return change(share, word, word_of(win->rank, RZ_SHARE_HELD));
}

struct share_wait {
    const struct rz_win *win;
    int rank;
};

static bool owner_is_out(const struct rz_win *win, int rank)
{
    return state_of(atomic_load(&share_of(win, rank)->word)) != RZ_SHARE_TAKEN;
}

static bool owner_is_out_or_lost(void *arg)
{
    const struct share_wait *wait = arg;
    return owner_is_out(wait->win, wait->rank) || rz_win_lost(wait->win, wait->rank);
}

/* The owner copies its last piece, unless it has failed or is stopped. A revocation does not end
 * this wait: the memory is in use. */
static int await_owner(const struct rz_rma_call *call)
{
    struct share_wait wait = {call->win, call->rank};
    for (rz_time begun = rz_clock_now(); rz_clock_now() - begun < SHARE_PATIENCE_NS;) {
        if (owner_is_out(call->win, call->rank)) {
            return MPI_SUCCESS;
        }
    }
    rz_win_set_waits(call->win, call->rank, true);
    int error = rz_win_wait(call->win, call->rank, call->name, owner_is_out_or_lost, &wait);
    rz_win_set_waits(call->win, call->rank, false);
    bool out = owner_is_out(call->win, call->rank);
    return error != MPI_SUCCESS || out ? error : MPI_ERR_PROC_FAILED;
}

/* After this the owner does not enter. */
static int take_back(const struct rz_rma_call *call)
{
    struct rz_win_share *share = share_of(call->win, call->rank);
    uint64_t asked = word_of(call->win->rank, RZ_SHARE_ASKED);
    uint64_t left = word_of(call->win->rank, RZ_SHARE_LEFT);
    uint64_t held = word_of(call->win->rank, RZ_SHARE_HELD);
    int error = MPI_SUCCESS;
    while (error == MPI_SUCCESS && !change(share, asked, held) && !change(share, left, held)) {
        error = await_owner(call);
    }
    return error;
}

/* Copies pieces until none is left. */
static bool copy_from_the_begin(struct rz_win_share *share, const struct shared_row *row)
{
    uint64_t piece;
    while (take(share, false, &piece)) {
        if (!copy_piece(row, piece)) {
            return false;
        }
    }
    return true;
}

/* This process holds the owner's row. */
static int copy_together(const struct rz_rma_call *call, const struct shared_row *row, bool *done)
{
    struct rz_win_share *share = share_of(call->win, call->rank);
    share->at = row->there;
    share->there = (uintptr_t)row->here;
    share->bytes = row->bytes;
    share->writes = row->writes;
    atomic_store(&share->failed, 0);
    atomic_store(&share->pieces, pieces_of(row->bytes) << 32);
    atomic_store(&share->word, word_of(call->win->rank, RZ_SHARE_ASKED));
    rz_kill_here(RZ_KILL_SHARE_ASKED);
    bool copied = copy_from_the_begin(share, row);
    int error = take_back(call);
    *done = error == MPI_SUCCESS && copied && !atomic_load(&share->failed);
    return error;
}

int rz_rma_share(const struct rz_rma_call *call, const struct rz_rma_operation *operation,
                 uint64_t at, bool *done)
{
    struct rz_win_target *target = rz_win_target(call->win, call->rank);
    *done = false;
    if (!is_row(call, operation) || !hold(call->win, call->rank)) {
        return MPI_SUCCESS;
    }
    bool writes = operation->what == RZ_RMA_PUT;
    const struct shared_row row = {.other = target,
                                   .here = writes ? (char *)(uintptr_t)operation->data
                                                  : operation->result,
                                   .there = at + (uint64_t)operation->shape.true_lb,
                                   .bytes = (uint64_t)rz_rma_bytes(operation),
                                   .writes = writes};
    int error = copy_together(call, &row, done);
    if (error == MPI_SUCCESS) {
        atomic_store(&target->control->share.word, RZ_SHARE_FREE);
    }
    return error;
}
