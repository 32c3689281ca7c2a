/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of a daemon, reduced: pieces are stored, kept by other daemons by the scheme, fetched
 * and restored. Parities are represented by the set of pieces that they include; a group restores a
 * piece only from as many members as real parities would need. */
#include "sim/job_node.h"

#include "base/assert.h"

#include <string.h>

#define FOR_OWN_RANKS(rank)                                                                        \
    for (uint32_t rank = 0; rank < node->n_ranks; rank++)                                          \
        if (rz_recover_daemon_of(rz_job_recover(node), rank) == node->self)

const struct rz_job_piece *rz_job_piece_find(const struct rz_job_node *node, uint32_t rank,
                                             uint32_t written, uint64_t generation)
{
    for (uint32_t i = 0; i < RZ_JOB_PLACES; i++) {
        const struct rz_job_piece *piece = &node->place[rank][i];
        if (piece->written == written && written != 0 && piece->generation == generation) {
            return piece;
        }
    }
    return NULL;
}

static const struct rz_job_share *find_share(const struct rz_job_node *node, uint32_t rank,
                                             uint32_t layout, uint32_t written, uint64_t generation)
{
    for (uint32_t i = 0; i < RZ_JOB_PLACES; i++) {
        const struct rz_job_share *share = &node->share[rank][i];
        if (layout != 0 && share->layout == layout && share->piece.written == written &&
            share->piece.generation == generation) {
            return share;
        }
    }
    return NULL;
}

bool rz_job_has_share(const struct rz_job_node *node, uint32_t rank, uint32_t layout,
                      uint32_t written, uint64_t generation)
{
    return find_share(node, rank, layout, written, generation) != NULL;
}

/* ---- versions ---- */

/* Whether no process can need this piece any more. */
static bool may_overwrite(const struct rz_job_node *node, const struct rz_job_piece *piece)
{
    uint64_t floor = rz_recover_generation_floor(rz_job_recover(node));
    if (node->mutations & RZ_JOB_NO_FLOOR) {
        floor = rz_commit_generation(rz_job_commit(node));
    }
    return piece->written == 0 || piece->generation < floor;
}

/* False: not now. */
static bool put(struct rz_job_node *node, uint32_t rank, const struct rz_job_piece *piece)
{
    if (rz_job_piece_find(node, rank, piece->written, piece->generation)) {
        return true;
    }
    struct rz_job_piece *best = NULL;
    for (uint32_t i = 0; i < RZ_JOB_PLACES; i++) {
        struct rz_job_piece *place = &node->place[rank][i];
        if (may_overwrite(node, place) && (!best || place->written == 0)) {
            best = place;
        }
    }
    if (best) {
        *best = *piece;
    }
    return best != NULL;
}

static bool put_share(struct rz_job_node *node, uint32_t rank, const struct rz_job_piece *piece)
{
    const struct rz_commit *commit = rz_job_commit(node);
    uint32_t layout = rz_commit_layout(commit, RZ_COMMIT_NOW);
    if (find_share(node, rank, layout, piece->written, piece->generation)) {
        return true;
    }
    struct rz_job_share *best = NULL;
    for (uint32_t i = 0; i < RZ_JOB_PLACES; i++) {
        struct rz_job_share *share = &node->share[rank][i];
        bool stale =
            share->layout != layout && share->layout != rz_commit_layout(commit, RZ_COMMIT_HOME);
        if ((share->layout == 0 || stale || may_overwrite(node, &share->piece)) &&
            (!best || share->layout == 0)) {
            best = share;
        }
    }
    if (best) {
        *best = (struct rz_job_share){layout, *piece};
    }
    return best != NULL;
}

/* ---- storing ---- */

/* An own piece is stored here: sends its keepers their parts. */
static void stored(struct rz_job_node *node, uint32_t rank, const struct rz_job_piece *piece,
                   bool copy)
{
    const struct rz_commit *commit = rz_job_commit(node);
    uint32_t epoch = rz_commit_epoch(commit);
    rz_id keepers[RZ_COMMIT_MEMBERS_MAX];
    uint32_t n = rz_commit_keepers(commit, rank, keepers);
    rz_job_queue(node, RZ_JOB_CALL_COMMIT, RZ_COMMIT_STORED, epoch, piece->generation, rank);
    for (uint32_t i = 0; i < n && copy; i++) {
        if (keepers[i] == node->self) {
            rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_WANTS_WRITE, rank,
                         (uint64_t)piece->written << 32 | piece->position, piece->generation);
        } else {
            rz_job_queue_message(node, RZ_JOB_COPY, keepers[i], rank, epoch, piece);
        }
    }
}

void rz_job_try_store(struct rz_job_node *node, uint32_t rank)
{
    struct rz_job_process *process = &node->process[rank];
    struct rz_job_piece piece = {process->epoch, process->position + 1, process->generation + 1};
    if (piece.generation != rz_commit_next(rz_job_commit(node)) || !put(node, rank, &piece)) {
        return;
    }
    process->position++;
    process->generation++;
    process->state = RZ_JOB_RUNNING;
    stored(node, rank, &piece, true);
    rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_WANTS_STEP, rank, process->incarnation,
                 process->epoch);
}

/* ---- damage ---- */

/* A piece to be restored here is complete nowhere: all daemons must get the report. */
static void found_damage(struct rz_job_node *node)
{
    uint32_t epoch = rz_commit_epoch(rz_job_commit(node));
    uint64_t item = rz_recover_pack_damage(node->self, epoch);
    uint32_t said = 2 * epoch + 1;
    if (node->damaged_epoch == epoch || node->said_reached >= said) {
        return;
    }
    node->damaged_epoch = epoch;
    rz_job_queue(node, RZ_JOB_CALL_RECOVER, RZ_RECOVER_DAMAGED, item, 0, 0);
    rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_DAMAGE_NEWS, item, epoch, 0);
}

static bool restores_here(const struct rz_job_node *node)
{
    bool own = false;
    FOR_OWN_RANKS(rank)
    own = true;
    return own && rz_commit_written_in(rz_job_commit(node)) > 0 &&
           rz_recover_phase(rz_job_recover(node)) == RZ_PHASE_ENTER;
}

void rz_job_spoil(struct rz_job_node *node)
{
    node->damaged = !restores_here(node);
    if (!node->damaged) {
        found_damage(node);
    }
}

/* ---- restoration by a group ---- */

static bool takes_part(const struct rz_job_node *node, uint32_t rank, bool own, uint32_t layout,
                       const struct rz_job_piece *name)
{
    return own ? rz_job_piece_find(node, rank, name->written, name->generation) != NULL
               : rz_job_has_share(node, rank, layout, name->written, name->generation);
}

/* Whether all data of which this daemon's columns in this rank's row are made is here, under the
 * layout that the generation was protected under, and the piece is the one in its parities. */
static const struct rz_job_piece *block(const struct rz_job_node *node, uint32_t rank,
                                        const struct rz_job_piece *name)
{
    const struct rz_commit *commit = rz_job_commit(node);
    uint32_t layout = rz_commit_layout(commit, RZ_COMMIT_HOME);
    uint32_t row = rz_commit_row_of(commit, RZ_COMMIT_HOME, rank);
    struct rz_commit_group group;
    if (!rz_commit_group(commit, RZ_COMMIT_HOME, node->self, &group)) {
        return NULL;
    }
    for (uint32_t i = 0; i < group.n; i++) {
        uint32_t other = rz_commit_rank_at(commit, RZ_COMMIT_HOME, group.members[i], row);
        if (other != RZ_ID_NONE && !takes_part(node, other, i == group.place, layout, name)) {
            return NULL;
        }
    }
    const struct rz_job_share *share =
        find_share(node, rank, layout, name->written, name->generation);
    return share ? &share->piece : NULL;
}

static void try_asked(struct rz_job_node *node, uint32_t rank)
{
    struct rz_job_rebuild *rebuild = &node->rebuild[rank];
    uint32_t epoch = rz_commit_epoch(rz_job_commit(node));
    if (rebuild->asked_epoch == 0 || rebuild->asked_epoch > epoch) {
        return;
    }
    const struct rz_job_piece *piece =
        rebuild->asked_epoch == epoch ? block(node, rank, &rebuild->asked) : NULL;
    if (rebuild->asked_epoch == epoch) {
        rz_job_queue_message(node, piece ? RZ_JOB_BLOCK : RZ_JOB_GONE, rebuild->asker, rank, epoch,
                             piece ? piece : &rebuild->asked);
    }
    rebuild->asked_epoch = 0;
}

static void take_block(struct rz_job_node *node, uint32_t rank, rz_id from,
                       const struct rz_job_piece *piece)
{
    const struct rz_commit *commit = rz_job_commit(node);
    struct rz_commit_group group;
    rz_id old = rz_commit_owner_of(commit, RZ_COMMIT_HOME, rank);
    uint64_t *answered = &node->rebuild[rank].answered;
    uint32_t n = 0;
    if (rz_job_piece_find(node, rank, piece->written, piece->generation) ||
        !rz_commit_group(commit, RZ_COMMIT_HOME, old, &group)) {
        return;
    }
    for (uint32_t i = 0; i < group.n; i++) {
        if (group.members[i] == from) {
            *answered |= UINT64_C(1) << i;
        }
        n += *answered >> i & 1;
    }
    if (n >= group.n - group.parity && put(node, rank, piece)) {
        stored(node, rank, piece, rz_commit_needs_copy(commit, rank));
    }
}

static void ask_group(struct rz_job_node *node, uint32_t rank, const struct rz_job_piece *name)
{
    const struct rz_commit *commit = rz_job_commit(node);
    struct rz_commit_group group;
    rz_id old = rz_commit_owner_of(commit, RZ_COMMIT_HOME, rank);
    node->rebuild[rank].answered = 0;
    for (uint32_t i = 0; rz_commit_group(commit, RZ_COMMIT_HOME, old, &group) && i < group.n; i++) {
        if (group.members[i] == node->self) {
            const struct rz_job_piece *piece = block(node, rank, name);
            if (piece) {
                take_block(node, rank, node->self, piece);
            } else {
                found_damage(node); /* another combination might do; damage is rare enough */
            }
        } else if (!rz_recover_daemon_failed(rz_job_recover(node), group.members[i])) {
            rz_job_queue_message(node, RZ_JOB_ASK_BLOCK, group.members[i], rank,
                                 rz_commit_epoch(commit), name);
        }
    }
}

/* ---- holders ---- */

/* Requests the piece of an own rank from the next daemon that may hold it whole, then from those
 * that can restore it. */
static void get(struct rz_job_node *node, uint32_t rank, const struct rz_job_piece *name)
{
    const struct rz_commit *commit = rz_job_commit(node);
    rz_id holders[2] = {RZ_ID_NONE};
    uint32_t n = rz_commit_holders(commit, rank, holders);
    while (node->tried[rank] < n) {
        rz_id holder = holders[node->tried[rank]++];
        if (holder == node->self) {
            continue;
        }
        rz_job_queue_message(node, RZ_JOB_FETCH, holder, rank, rz_commit_epoch(commit), name);
        return;
    }
    if (node->scheme == RZ_COMMIT_GROUPS) {
        ask_group(node, rank, name);
    } else if (node->scheme == RZ_COMMIT_FILES) {
        rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_WANTS_READ, rank, name->written, name->generation);
    } else {
        found_damage(node);
    }
}

/* Other members of a group might do; damage is rare enough. */
static void take_gone(struct rz_job_node *node, uint32_t rank, const struct rz_job_piece *name)
{
    if (rz_job_piece_find(node, rank, name->written, name->generation)) {
        return;
    }
    if (node->scheme == RZ_COMMIT_GROUPS) {
        found_damage(node);
    } else {
        get(node, rank, name);
    }
}

/* ---- messages ---- */

void rz_job_try_parked(struct rz_job_node *node, uint32_t rank)
{
    struct rz_job_parked *parked = &node->parked[rank];
    uint32_t epoch = rz_commit_epoch(rz_job_commit(node));
    try_asked(node, rank);
    if (parked->epoch == 0 || parked->epoch > epoch) {
        return;
    }
    if (parked->epoch == epoch) {
        if (node->scheme == RZ_COMMIT_GROUPS ? !put_share(node, rank, &parked->piece)
                                             : !put(node, rank, &parked->piece)) {
            return;
        }
        rz_job_queue_message(node, RZ_JOB_ACK, parked->from, rank, epoch, &parked->piece);
    }
    memset(parked, 0, sizeof(*parked));
}

static void take_copy(struct rz_job_node *node, uint32_t rank, uint32_t epoch, rz_id from,
                      const struct rz_job_piece *piece)
{
    if (epoch < rz_commit_epoch(rz_job_commit(node)) || epoch < node->parked[rank].epoch) {
        return;
    }
    if (piece->written == epoch && epoch == rz_commit_epoch(rz_job_commit(node))) {
        rz_job_queue(node, RZ_JOB_CALL_COMMIT, RZ_COMMIT_PROOF, epoch, piece->generation - 1, 0);
    }
    node->parked[rank] = (struct rz_job_parked){from, epoch, *piece};
    rz_job_try_parked(node, rank);
}

void rz_job_on_message(struct rz_job_node *node, const struct rz_message *message)
{
    uint32_t rank = (uint32_t)message->seq, epoch = (uint32_t)(message->seq >> 32);
    struct rz_job_piece piece = {(uint32_t)(message->word[0] >> 32), (uint32_t)message->word[0],
                                 message->word[1]};
    const struct rz_job_piece *here =
        rz_job_piece_find(node, rank, piece.written, piece.generation);
    bool current = epoch == rz_commit_epoch(rz_job_commit(node));
    struct rz_job_rebuild *rebuild = &node->rebuild[rank];
    switch ((enum rz_job_message)message->type) {
    case RZ_JOB_FETCH:
        /* By the name of the piece, in any epoch: a holder keeps what can be requested. */
        rz_job_queue_message(node, here ? RZ_JOB_PIECE : RZ_JOB_GONE, message->from, rank, epoch,
                             here ? here : &piece);
        break;
    case RZ_JOB_GONE:
        if (current) {
            take_gone(node, rank, &piece);
        }
        break;
    case RZ_JOB_PIECE:
        if (current && put(node, rank, &piece)) {
            stored(node, rank, &piece, rz_commit_needs_copy(rz_job_commit(node), rank));
        }
        break;
    case RZ_JOB_COPY:
        take_copy(node, rank, epoch, message->from, &piece);
        break;
    case RZ_JOB_ACK:
        if (current) {
            rz_job_queue_copied(node, epoch, piece.generation, rank, message->from);
        }
        break;
    case RZ_JOB_ASK_BLOCK:
        /* Under the layouts of that epoch. */
        if (epoch > rebuild->asked_epoch) {
            rebuild->asker = message->from;
            rebuild->asked_epoch = epoch;
            rebuild->asked = piece;
        }
        try_asked(node, rank);
        break;
    case RZ_JOB_BLOCK:
        if (current) {
            take_block(node, rank, message->from, &piece);
        }
        break;
    }
}

void rz_job_on_file(struct rz_job_node *node, enum rz_job_call call, const uint64_t *arg)
{
    uint32_t rank = (uint32_t)arg[0];
    struct rz_job_piece piece = {(uint32_t)(arg[1] >> 32), (uint32_t)arg[1], arg[2]};
    const struct rz_commit *commit = rz_job_commit(node);
    if (call == RZ_JOB_WRITTEN) {
        rz_job_queue_copied(node, piece.written, piece.generation, rank, node->self);
    } else if (piece.written == rz_commit_written_in(commit) &&
               piece.generation + 1 == rz_commit_next(commit) &&
               rz_recover_daemon_of(rz_job_recover(node), rank) == node->self &&
               put(node, rank, &piece)) {
        stored(node, rank, &piece, false);
    }
}

/* ---- epochs ---- */

/* Of old epochs only the generation to restore, and the one before it, are kept. */
static bool is_stale(const struct rz_job_node *node, const struct rz_job_piece *piece,
                     uint32_t written, uint64_t generation)
{
    uint32_t older = rz_commit_older_written_in(rz_job_commit(node));
    bool kept = piece->written == written && piece->generation == generation;
    bool before = older > 0 && piece->written == older && piece->generation + 1 == generation;
    return generation == 0 || (!kept && !before);
}

static void drop_stale(struct rz_job_node *node, uint32_t written, uint64_t generation)
{
    uint32_t home = rz_commit_layout(rz_job_commit(node), RZ_COMMIT_HOME);
    for (uint32_t rank = 0; rank < node->n_ranks; rank++) {
        for (uint32_t i = 0; i < RZ_JOB_PLACES; i++) {
            struct rz_job_piece *piece = &node->place[rank][i];
            struct rz_job_share *share = &node->share[rank][i];
            if (is_stale(node, piece, written, generation)) {
                memset(piece, 0, sizeof(*piece));
            }
            if (share->layout != home || is_stale(node, &share->piece, written, generation)) {
                memset(share, 0, sizeof(*share));
            }
        }
    }
}

static bool keeps_copy(const struct rz_job_node *node, uint32_t rank)
{
    rz_id keepers[RZ_COMMIT_MEMBERS_MAX];
    return node->scheme == RZ_COMMIT_BUDDY &&
           rz_commit_keepers(rz_job_commit(node), rank, keepers) > 0 && keepers[0] == node->self;
}

void rz_job_drop_foreign(struct rz_job_node *node)
{
    uint32_t layout = rz_commit_layout(rz_job_commit(node), RZ_COMMIT_NOW);
    for (uint32_t rank = 0; rank < node->n_ranks; rank++) {
        if (rz_recover_daemon_of(rz_job_recover(node), rank) != node->self &&
            !keeps_copy(node, rank)) {
            memset(node->place[rank], 0, sizeof(node->place[rank]));
        }
        for (uint32_t i = 0; i < RZ_JOB_PLACES; i++) {
            if (node->share[rank][i].layout != layout) {
                memset(&node->share[rank][i], 0, sizeof(node->share[rank][i]));
            }
        }
    }
}

void rz_job_restore(struct rz_job_node *node, uint64_t generation)
{
    const struct rz_commit *commit = rz_job_commit(node);
    uint32_t written = rz_commit_written_in(commit);
    memset(node->tried, 0, sizeof(node->tried));
    drop_stale(node, written, generation);
    if (node->mutations & RZ_JOB_DROP_OLD) {
        rz_job_drop_foreign(node);
    }
    if (generation == 0) {
        return;
    }
    FOR_OWN_RANKS(rank)
    {
        struct rz_job_piece name = {.written = written, .generation = generation};
        const struct rz_job_piece *here = rz_job_piece_find(node, rank, written, generation);
        if (here) {
            stored(node, rank, here, rz_commit_needs_copy(commit, rank));
        } else {
            get(node, rank, &name);
        }
    }
    if (node->damaged) {
        rz_job_spoil(node);
    }
}
