/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effect of a decision. Everything here depends on the decision and on state that is the same
 * at all members, never on the knowledge of this member alone: therefore all reach the same result
 * without a leader.
 */
#include "base/assert.h"
#include "proto/mutation.h"
#include "base/status.h"
#include "proto/recover/recover_state.h"

#include <string.h>

static void recover_notify(struct rz_recover *r, enum rz_recover_notice what, uint64_t arg0,
                           uint64_t arg1)
{
    rz_assert(r->notice == NOTICE_NONE);
    r->notice = what;
    r->notice_arg[0] = arg0;
    r->notice_arg[1] = arg1;
    r->notice_arg[2] = 0;
    r->n_notice_items = 0;
}

static void stop_with(struct rz_recover *r, rz_status_t why, uint64_t arg)
{
    r->stopped = true;
    r->spawns_notice = false;
    recover_notify(r, RZ_RECOVER_STOP, why, arg);
}

static void stop(struct rz_recover *r, rz_status_t why)
{
    stop_with(r, why, 0);
}

void rz_recover_look_at_self(struct rz_recover *r)
{
    if (r->stopped || !rz_agree_knows_failed(rz_recover_agree(r), r->self)) {
        return;
    }
    r->notice = NOTICE_NONE; /* the decision was taken without this member */
    stop(r, RZ_ERR_FENCED);
}

bool rz_recover_fence_binds(const struct rz_recover *r)
{
    const uint8_t *daemons = rz_recover_daemons(r);
    uint32_t others = 0;
    rz_id lowest = RZ_ID_NONE;
    for (rz_id d = 0; d < r->n_daemons; d++) {
        if (d != r->self && (daemons[d] & (DAEMON_GONE | DAEMON_PROOF))) {
            continue;
        }
        lowest = lowest == RZ_ID_NONE ? d : lowest;
        others += d != r->self;
    }
    rz_id tie_breaker = r->tie_breaker;
    if (tie_breaker >= r->n_daemons || (daemons[tie_breaker] & (DAEMON_GONE | DAEMON_PROOF))) {
        tie_breaker = lowest;
    }
    return others > 1 || (others == 1 && tie_breaker != r->self);
}

void rz_recover_be_fenced(struct rz_recover *r)
{
    if (r->stopped ||
        (!rz_recover_fence_binds(r) && !RZ_MUTATED(r->mutations, RZ_RECOVER_OBEY_ANY))) {
        return;
    }
    r->notice = NOTICE_NONE;
    stop(r, RZ_ERR_FENCED);
}

/* No further action follows from the state of this slot. */
static bool slot_rests(const struct rz_recover *r, uint32_t slot)
{
    return !rz_recover_slot_fresh(r, slot) && !rz_recover_slot_lost(r, slot) &&
           rz_recover_asked(r)[slot] <= rz_recover_incarnation(r)[slot];
}

/* Likewise; damage that it finds in an epoch that has not begun here counts later. */
static bool daemon_rests(const struct rz_recover *r, rz_id daemon)
{
    uint8_t known = rz_recover_daemons(r)[daemon];
    uint32_t found = rz_recover_found(r)[daemon];
    bool gone = (known & DAEMON_GONE) && (known & DAEMON_REPAIRED);
    bool counts =
        found >= r->epoch || (found > 0 && RZ_MUTATED(r->mutations, RZ_RECOVER_ANY_DAMAGE));
    return !(known & (DAEMON_NAMED | DAEMON_NAMED_PROOF)) && (gone || (known == 0 && !counts));
}

void rz_recover_recount(struct rz_recover *r)
{
    r->fresh = r->lost = r->found = 0;
    r->wanted = rz_recover_recount_cohorts(r);
    for (EACH_RESTLESS(r, slot)) {
        r->fresh += rz_recover_slot_fresh(r, slot);
        r->lost += rz_recover_slot_lost(r, slot);
        r->wanted += rz_recover_slot_wanted(r, slot);
        if (slot_rests(r, slot)) {
            rz_recover_bit_clear(rz_recover_restless(r), slot);
        }
    }
    for (EACH_TROUBLED(r, d)) {
        r->fresh += rz_recover_daemon_fresh(r, d);
        r->lost += rz_recover_daemon_lost(r, d);
        r->found += rz_recover_damage_counts(r, d, rz_recover_found(r)[d]);
        if (daemon_rests(r, d)) {
            rz_recover_bit_clear(rz_recover_troubled(r), d);
        }
    }
}

void rz_recover_learn_damage(struct rz_recover *r, uint64_t item)
{
    rz_id daemon;
    uint32_t epoch;
    if (rz_recover_unpack_damage(item, &daemon, &epoch) && daemon < r->n_daemons &&
        rz_recover_found(r)[daemon] < epoch) {
        rz_recover_found(r)[daemon] = epoch;
        rz_recover_bit_set(rz_recover_troubled(r), daemon);
    }
}

/* From now on all members know what the items of the decision state. */
static void learn(struct rz_recover *r, const uint64_t *items, uint32_t n_items)
{
    uint8_t *daemons = rz_recover_daemons(r);
    for (uint32_t i = 0; i < n_items; i++) {
        uint32_t slot, incarnation;
        rz_id d;
        bool proof;
        if (rz_recover_unpack_process(items[i], &slot, &incarnation)) {
            if (slot < r->n_slots && rz_recover_known(r)[slot] < incarnation) {
                rz_recover_known(r)[slot] = incarnation;
                rz_recover_bit_set(rz_recover_restless(r), slot);
            }
        } else if (rz_recover_unpack_daemon(items[i], &d, &proof) && d < r->n_daemons) {
            daemons[d] |= DAEMON_KNOWN | (proof ? DAEMON_PROOF : 0);
            rz_recover_bit_set(rz_recover_troubled(r), d);
            if (!(daemons[d] & DAEMON_AGREED)) {
                daemons[d] |= DAEMON_NAMED | (proof ? DAEMON_NAMED_PROOF : 0);
            }
        }
        rz_recover_learn_damage(r, items[i]);
    }
    rz_recover_learn_spawns(r, items, n_items);
}

/* Whether agree knows a failed member that has none of these marks. */
static bool failed_without(const struct rz_recover *r, uint8_t bits)
{
    uint32_t n_failed;
    const rz_id *failed = rz_agree_failed(rz_recover_agree(r), &n_failed);
    for (uint32_t i = 0; i < n_failed; i++) {
        if (!(rz_recover_daemons(r)[failed[i]] & bits)) {
            return true;
        }
    }
    return false;
}

bool rz_recover_awaits_news(const struct rz_recover *r)
{
    return failed_without(r, DAEMON_AGREED | DAEMON_KNOWN);
}

/*
 * A decision settles failures only if every contributor knew of a failure and each failed daemon is
 * named with the evidence of its failure. Any other decision makes its failures known to all, and
 * all contribute again with that knowledge. Otherwise
 * - a quorum would be counted over a part of what a partition cut off, and without the evidence;
 * - a member that contributed to a barrier long ago would propose a generation that was overwritten
 *   since.
 */
static bool settles(const struct rz_recover *r, const struct rz_action *decided)
{
    bool failures = decided->n_items > 0 || (r->repairing && r->lost > 0);
    bool aware = (decided->arg[1] & ALL_AWARE) || RZ_MUTATED(r->mutations, RZ_RECOVER_UNAWARE);
    return !failed_without(r, DAEMON_AGREED | DAEMON_NAMED) && (!failures || aware);
}

static bool recover_quorum(const struct rz_recover *r)
{
    const uint8_t *daemons = rz_recover_daemons(r);
    uint8_t *votes = rz_recover_at(r, r->scratch_at);
    for (rz_id d = 0; d < r->n_daemons; d++) {
        if (daemons[d] & (DAEMON_GONE | DAEMON_NAMED_PROOF)) {
            votes[d] = RZ_VOTE_GONE;
        } else if (daemons[d] & (DAEMON_AGREED | DAEMON_NAMED)) {
            votes[d] =
                RZ_MUTATED(r->mutations, RZ_RECOVER_NO_ELECTORATE) ? RZ_VOTE_GONE : RZ_VOTE_SILENT;
        } else {
            votes[d] = RZ_VOTE_LIVE;
        }
    }
    rz_id tie_breaker = RZ_MUTATED(r->mutations, RZ_RECOVER_ANY_HALF) ? r->self : r->tie_breaker;
    return rz_recover_has_quorum(votes, r->n_daemons, tie_breaker);
}

static void note_process(struct rz_recover *r, uint32_t slot, uint64_t decision)
{
    rz_recover_noted(r)[slot] = rz_recover_incarnation(r)[slot];
    rz_recover_freed(r)[slot] = decision;
    rz_recover_bit_set(rz_recover_restless(r), slot);
}

/* This process was spawned by a decision that only failed members took, and has failed, too: its
 * number must not be used again, because reports of its failure are in flight. */
static void note_lost(struct rz_recover *r, uint32_t slot)
{
    const uint8_t *daemons = rz_recover_daemons(r);
    rz_id *place = &rz_recover_placement(r)[slot];
    rz_recover_incarnation(r)[slot]++;
    for (rz_id d = 0; d < r->n_daemons && *place == RZ_ID_NONE; d++) {
        if (!(daemons[d] & (DAEMON_AGREED | DAEMON_NAMED))) {
            *place = d;
        }
    }
}

/*
 * Notes the failures of the decision; the fresh ones become the items of a possible notice. Returns
 * their number. Silent daemons remain in the electorate until a later decision without new ones: by
 * contributing to it all survivors confirm that they took part in this decision. Otherwise a member
 * whose contribution reached both sides of a partition would count for both.
 */
static uint32_t note(struct rz_recover *r, const struct rz_action *decided, bool daemons_named)
{
    uint8_t *daemons = rz_recover_daemons(r);
    const uint32_t *incarnation = rz_recover_incarnation(r);
    uint32_t *noted = rz_recover_noted(r);
    uint64_t *fresh = rz_recover_items(r);
    uint32_t n = 0;
    for (uint32_t i = 0; i < decided->n_items; i++) {
        uint32_t slot, failed;
        if (!rz_recover_unpack_process(decided->items[i], &slot, &failed) || slot >= r->n_slots) {
            continue;
        }
        if (failed == incarnation[slot] + 1) {
            note_lost(r, slot);
        }
        if (failed == incarnation[slot] && noted[slot] < failed) {
            note_process(r, slot, decided->arg[0]);
            fresh[n++] = decided->items[i];
        }
    }
    for (EACH_TROUBLED(r, d)) {
        if (daemons[d] & DAEMON_NAMED) {
            fresh[n++] = rz_recover_pack_daemon(d, daemons[d] & DAEMON_NAMED_PROOF);
            daemons[d] |= DAEMON_AGREED;
            if (daemons[d] & DAEMON_NAMED_PROOF) {
                daemons[d] |= DAEMON_GONE;
            }
        } else if ((daemons[d] & DAEMON_AGREED) && !daemons_named) {
            daemons[d] |= DAEMON_GONE;
        }
    }
    /* The failures of processes of daemons that this decision names; those of other daemons were
     * noted before. */
    for (uint32_t slot = 0; daemons_named && slot < r->n_slots; slot++) {
        if (noted[slot] < incarnation[slot] &&
            (daemons[rz_recover_placement(r)[slot]] & DAEMON_AGREED)) {
            note_process(r, slot, decided->arg[0]);
        }
    }
    return n;
}

/* Fills in the scratch array: the daemons failed by decision; with the mutation, also those known
 * failed here. */
static const bool *list_failed(struct rz_recover *r, uint32_t own_mutation)
{
    uint8_t failed_bit = RZ_MUTATED(r->mutations, own_mutation) ? DAEMON_KNOWN : DAEMON_AGREED;
    bool *failed = rz_recover_at(r, r->scratch_at);
    for (rz_id d = 0; d < r->n_daemons; d++) {
        failed[d] = rz_recover_daemons(r)[d] & failed_bit;
    }
    return failed;
}

/* Moves the ranks of failed daemons to other daemons. */
static void move_ranks(struct rz_recover *r)
{
    const bool *failed = list_failed(r, RZ_RECOVER_OWN_PLACEMENT);
    if (r->lost_together) {
        rz_recover_place_together(rz_recover_placement(r), r->n_ranks,
                                  rz_recover_at(r, r->slots_at), failed, r->n_daemons,
                                  rz_recover_at(r, r->load_at));
    }
    rz_recover_place(rz_recover_placement(r), r->n_ranks, rz_recover_at(r, r->slots_at), failed,
                     r->n_daemons, rz_recover_at(r, r->load_at));
}

static void begin_lost(struct rz_recover *r)
{
    uint64_t *begun = rz_recover_begun(r);
    memset(begun, 0, rz_recover_words(r->n_ranks) * sizeof(*begun));
    for (EACH_RESTLESS(r, slot)) {
        if (!rz_recover_slot_lost(r, slot)) {
            continue;
        }
        rz_recover_incarnation(r)[slot]++;
        rz_recover_bit_set(begun, slot);
    }
}

/* Survivors end with the old epoch: their daemons end them. */
static void lose_all(struct rz_recover *r)
{
    for (uint32_t rank = 0; rank < r->n_ranks; rank++) {
        rz_recover_noted(r)[rank] = rz_recover_incarnation(r)[rank];
        rz_recover_bit_set(rz_recover_restless(r), rank);
    }
}

static void place_lost(struct rz_recover *r)
{
    /* Ranks of daemons without which an epoch has begun are elsewhere now. */
    bool move = RZ_MUTATED(r->mutations, RZ_RECOVER_OWN_PLACEMENT);
    for (EACH_TROUBLED(r, d)) {
        if (!rz_recover_daemon_lost(r, d)) {
            continue;
        }
        move = true;
        rz_recover_daemons(r)[d] |= DAEMON_REPAIRED;
    }
    if (move) {
        move_ranks(r);
    }
    if (r->all_begin) {
        lose_all(r);
    }
    begin_lost(r);
}

/* Whether the job may continue: not too often without a checkpoint, and not without slots. */
static bool may_restart(struct rz_recover *r)
{
    if (r->restarts_max && r->restarts > r->restarts_max) {
        stop(r, RZ_ERR_JOB_ENDED);
    } else if (r->slots_limit) {
        uint64_t left = rz_recover_slots_left(rz_recover_at(r, r->slots_at),
                                              list_failed(r, RZ_RECOVER_OWN_SLOTS), r->n_daemons);
        if (left < r->n_ranks) {
            stop_with(r, RZ_ERR_NO_SLOTS, left);
        }
    }
    return !r->stopped;
}

static void begin_epoch(struct rz_recover *r, uint64_t generation)
{
    if (generation > r->generation) {
        r->restarts = 0;
    }
    r->restarts++;
    if (!may_restart(r)) {
        return;
    }
    uint64_t newest_here = r->generation_known;
    r->epoch++;
    r->phase = RZ_PHASE_ENTER;
    r->reached = false;
    r->generation = r->generation_known = generation;
    place_lost(r);
    recover_notify(r, RZ_RECOVER_EPOCH, r->epoch,
                   RZ_MUTATED(r->mutations, RZ_RECOVER_OWN_GENERATION) ? newest_here : generation);
    r->notice_arg[2] = r->from_start;
}

/* Whether the decision names damage of the generation that this epoch rolls back to. */
static bool damage_decided(const struct rz_recover *r, const struct rz_action *decided)
{
    rz_id daemon;
    uint32_t epoch;
    for (uint32_t i = 0; i < decided->n_items; i++) {
        if (rz_recover_unpack_damage(decided->items[i], &daemon, &epoch) &&
            rz_recover_damage_counts(r, daemon, epoch)) {
            return true;
        }
    }
    return false;
}

/*
 * Rolls back to the generation before. It may exist if it was committed, or restored, in the last
 * epoch that ran, as the newest one was: then it has the same holders. Of each piece there are two
 * versions, and the next checkpoint overwrites the older one; no older version exists. Where all
 * ranks are restarted they can begin at the start of the program.
 */
static void fall_back(struct rz_recover *r)
{
    if (!r->fell_back && r->generation > r->opened && r->generation > 1) {
        r->fell_back = true;
        begin_epoch(r, r->generation - 1);
    } else if (r->all_begin && !r->from_start) {
        r->from_start = true;
        begin_epoch(r, r->generation);
    } else {
        stop(r, RZ_ERR_CHECKPOINT_LOST);
    }
}

static void open_barrier(struct rz_recover *r)
{
    if (r->phase == RZ_PHASE_ENTER) {
        r->opened = r->generation;
        r->fell_back = r->from_start = false;
    }
    r->phase++;
    r->reached = false;
    recover_notify(r, RZ_RECOVER_PHASE, r->epoch, r->phase);
}

/* Processes a decision: one notice at most, and one of spawns behind it. */
static void settle(struct rz_recover *r, const struct rz_action *decided, bool daemons_named)
{
    /* After LEFT no rollback or repair is possible: failures are only noted. */
    if (daemons_named && r->phase != RZ_PHASE_LEFT && !recover_quorum(r)) {
        stop(r, RZ_ERR_NO_QUORUM);
        return;
    }
    uint32_t n_fresh = note(r, decided, daemons_named);
    rz_recover_settle_spawns(r, decided, n_fresh);
    rz_recover_recount(r);
    if (!daemons_named && damage_decided(r, decided)) {
        fall_back(r);
    } else if (r->repairing && r->phase != RZ_PHASE_LEFT && (n_fresh > 0 || r->lost > 0)) {
        begin_epoch(r, decided->arg[3]);
    } else if (n_fresh > 0) {
        recover_notify(r, RZ_RECOVER_FAILURES, 0, 0);
        r->n_notice_items = n_fresh;
    } else if ((decided->arg[1] & ALL_REACHED) && r->phase != RZ_PHASE_LEFT) {
        open_barrier(r);
    }
}

void rz_recover_decide(struct rz_recover *r, const struct rz_action *decided)
{
    if (r->stopped) {
        return;
    }
    uint8_t *daemons = rz_recover_daemons(r);
    learn(r, decided->items, decided->n_items);
    bool daemons_named = false;
    for (EACH_TROUBLED(r, d)) {
        daemons_named |= (daemons[d] & DAEMON_NAMED) != 0;
    }

    if (decided->arg[2] == 0 && (decided->arg[1] & ALL_ENTERED)) {
        r->repairing = true;
    }
    if (daemons[r->self] & DAEMON_KNOWN) {
        stop(r, RZ_ERR_FENCED);
    } else if (RZ_MUTATED(r->mutations, RZ_RECOVER_DEATHLESS_BARRIER) &&
               (decided->arg[1] & ALL_REACHED)) {
        open_barrier(r);
    } else if (settles(r, decided)) {
        settle(r, decided, daemons_named);
    }
    for (EACH_TROUBLED(r, d)) {
        daemons[d] &= (uint8_t) ~(DAEMON_NAMED | DAEMON_NAMED_PROOF);
    }
    rz_recover_recount(r);
}
