/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The object around the agreements: what this member knows, when it contributes, how its steps are
 * divided.
 *
 * Each step of agree ends the step of this object, because the output of agree is only valid until
 * its next step. Work that remains is done under RZ_EVENT_CONTINUE, in this order: the rest of
 * agree's actions, the notice of a decision, the next contribution.
 */
#include "base/assert.h"
#include "proto/mutation.h"
#include "base/random.h"
#include "proto/block.h"
#include "proto/recover/recover_state.h"

#include <string.h>

/* Initial number of items of one value; most decisions name one or two failures. */
#define AGREE_ITEMS 8

/* Initial number of cohorts requested at once; most jobs spawn none. */
#define COHORTS_WANTED 4

static struct rz_agree_config recover_agree_config(const struct rz_recover_config *config)
{
    return (struct rz_agree_config){.n_members = config->n_daemons,
                                    .view = config->view,
                                    .in_flight_max = 1,
                                    .items_max = AGREE_ITEMS,
                                    .tree = RZ_AGREE_BINARY,
                                    .mutations = config->agree_mutations};
}

static uint32_t slots_of(const struct rz_recover_config *config)
{
    return config->n_slots > 0 ? config->n_slots : config->n_ranks;
}

/* Failures in slots and of daemons, damage, spawns, cohorts: at most this many in one contribution
 * or decision. */
static size_t items_max(size_t n_slots, size_t n_daemons)
{
    return 2 * n_slots + 2 * n_daemons + COHORTS_SETTLED_MAX;
}

/* Fills in the offsets; returns the offset of the agree object. */
static size_t recover_lay_out(struct rz_recover *r, const struct rz_recover_config *config)
{
    size_t n_slots = slots_of(config), n_daemons = config->n_daemons, end = 0;
    rz_block_place(&end, 1, sizeof(*r));
    r->items_at = rz_block_place(&end, items_max(n_slots, n_daemons), sizeof(uint64_t));
    r->placement_at = rz_block_place(&end, n_slots, sizeof(uint32_t));
    r->incarnation_at = rz_block_place(&end, n_slots, sizeof(uint32_t));
    r->known_at = rz_block_place(&end, n_slots, sizeof(uint32_t));
    r->noted_at = rz_block_place(&end, n_slots, sizeof(uint32_t));
    r->freed_at = rz_block_place(&end, n_slots, sizeof(uint64_t));
    r->asked_at = rz_block_place(&end, n_slots, sizeof(uint32_t));
    r->refused_at = rz_block_place(&end, n_slots, sizeof(uint32_t));
    r->cohort_at = rz_block_place(&end, n_slots, sizeof(uint64_t));
    r->cohort_from_at = rz_block_place(&end, n_slots, sizeof(uint32_t));
    r->serial_at = rz_block_place(&end, n_daemons, sizeof(uint32_t));
    r->found_at = rz_block_place(&end, n_daemons, sizeof(uint32_t));
    r->slots_at = rz_block_place(&end, n_daemons, sizeof(uint32_t));
    r->load_at = rz_block_place(&end, n_daemons, sizeof(uint32_t));
    r->daemon_at = rz_block_place(&end, n_daemons, sizeof(uint8_t));
    r->scratch_at = rz_block_place(&end, n_daemons, sizeof(uint8_t));
    r->call_at = rz_block_place(&end, n_daemons, sizeof(uint8_t));
    r->asked_ids_at = rz_block_place(&end, RZ_RECOVER_ASKED_MAX + 1, sizeof(rz_id));
    r->restless_at = rz_block_place(&end, rz_recover_words((uint32_t)n_slots), sizeof(uint64_t));
    r->troubled_at = rz_block_place(&end, rz_recover_words((uint32_t)n_daemons), sizeof(uint64_t));
    r->begun_at = rz_block_place(&end, rz_recover_words(config->n_ranks), sizeof(uint64_t));
    r->cohorts_max = COHORTS_WANTED;
    r->cohorts_at = rz_block_place(&end, r->cohorts_max, sizeof(uint64_t));
    r->agree_at = end;
    return end;
}

size_t rz_recover_size(const struct rz_recover_config *config)
{
    struct rz_recover layout;
    struct rz_agree_config agree = recover_agree_config(config);
    return recover_lay_out(&layout, config) + rz_agree_size(&agree);
}

void rz_recover_init(struct rz_recover *r, const struct rz_recover_config *config, rz_id self,
                     rz_time now, uint64_t seed)
{
    rz_assert(self < config->n_daemons);
    rz_assert(slots_of(config) >= config->n_ranks && slots_of(config) <= RZ_RECOVER_SLOTS_MAX);
    memset(r, 0, sizeof(*r));
    size_t end = recover_lay_out(r, config);
    memset(r + 1, 0, end - sizeof(*r));
    r->n_daemons = config->n_daemons;
    r->n_ranks = config->n_ranks;
    r->n_slots = slots_of(config);
    r->self = self;
    r->tie_breaker = config->tie_breaker;
    r->view = config->view;
    r->report_at = RZ_TIME_NEVER;
    r->restarts_max = config->restarts_max;
    r->mutations = config->mutations;
    r->slots_limit = config->slots_limit;
    r->lost_together = config->lost_together;
    r->all_begin = config->all_begin;
    r->epoch = 1;
    r->phase = RZ_PHASE_ENTER;
    r->notice = NOTICE_NONE;
    for (uint32_t rank = 0; rank < r->n_ranks; rank++) {
        rz_assert(config->placement[rank] < config->n_daemons);
        rz_recover_placement(r)[rank] = config->placement[rank];
        rz_recover_incarnation(r)[rank] = 1;
    }
    for (uint32_t slot = r->n_ranks; slot < r->n_slots; slot++) {
        rz_recover_placement(r)[slot] = RZ_ID_NONE;
    }
    memcpy(rz_recover_at(r, r->slots_at), config->slots, r->n_daemons * sizeof(uint32_t));
    struct rz_agree_config agree = recover_agree_config(config);
    r->agree_bytes = rz_agree_size(&agree);
    rz_agree_init(rz_recover_agree(r), &agree, self, now, seed);
}

/* ---- knowledge ---- */

static void know_daemon_failed(struct rz_recover *r, rz_id daemon, bool proof, rz_time now)
{
    rz_assert(daemon < r->n_daemons);
    uint8_t *known = &rz_recover_daemons(r)[daemon];
    if (!(*known & (DAEMON_KNOWN | DAEMON_AGREED))) {
        r->fresh++;
    }
    *known |= DAEMON_KNOWN | (proof ? DAEMON_PROOF : 0);
    rz_recover_bit_set(rz_recover_troubled(r), daemon);
    rz_recover_suspect_failed(r, daemon, now);
}

static void know_process_failed(struct rz_recover *r, uint32_t slot, uint32_t incarnation)
{
    rz_assert(slot < r->n_slots);
    if (RZ_MUTATED(r->mutations, RZ_RECOVER_ANY_INCARNATION) &&
        incarnation < rz_recover_incarnation(r)[slot]) {
        incarnation = rz_recover_incarnation(r)[slot];
    }
    bool was_fresh = rz_recover_slot_fresh(r, slot);
    if (rz_recover_known(r)[slot] < incarnation) {
        rz_recover_known(r)[slot] = incarnation;
    }
    rz_recover_bit_set(rz_recover_restless(r), slot);
    if (!was_fresh && rz_recover_slot_fresh(r, slot)) {
        r->fresh++;
    }
}

static void reach(struct rz_recover *r, uint64_t epoch, uint64_t phase, uint64_t round)
{
    bool current = epoch == r->epoch && phase == r->phase &&
                   (round == r->round || RZ_MUTATED(r->mutations, RZ_RECOVER_KEEP_REACHED));
    if ((current || RZ_MUTATED(r->mutations, RZ_RECOVER_LATE_REACHED)) &&
        r->phase != RZ_PHASE_LEFT) {
        r->reached = true;
    }
}

static void know_damage(struct rz_recover *r, const uint64_t *items, uint32_t n_items)
{
    for (uint32_t i = 0; i < n_items; i++) {
        rz_recover_learn_damage(r, items[i]);
    }
    rz_recover_recount(r);
}

static void recover_on_call(struct rz_recover *r, const struct rz_event *event)
{
    switch ((enum rz_recover_call)event->call) {
    case RZ_RECOVER_FAILED:
        know_process_failed(r, (uint32_t)event->arg[0], (uint32_t)event->arg[1]);
        break;
    case RZ_RECOVER_REACHED:
        reach(r, event->arg[0], event->arg[1], event->arg[2]);
        break;
    case RZ_RECOVER_REPAIRING:
        r->repairing_here = true;
        break;
    case RZ_RECOVER_COMMITTED:
        if (event->arg[1] == r->epoch && r->generation_known < event->arg[0]) {
            r->generation_known = event->arg[0];
        }
        break;
    case RZ_RECOVER_WANT:
        rz_recover_want(r, event->items, event->n_items);
        break;
    case RZ_RECOVER_DAMAGED:
        know_damage(r, event->items, event->n_items);
        break;
    case RZ_RECOVER_HEARD:
        rz_recover_hear(r, (rz_id)event->arg[0], event->now);
        break;
    default:
        rz_assert(!"a call of this component");
    }
}

/* ---- contributions ---- */

static bool undecided(const struct rz_recover *r)
{
    const struct rz_agree *agree = rz_recover_agree(r);
    return rz_agree_proposed(agree) > rz_agree_decided(agree);
}

static bool wants_repair(const struct rz_recover *r)
{
    return (r->repairing_here || r->repairing) && r->lost > 0 && r->phase != RZ_PHASE_LEFT;
}

/* Whether something is known here that a decision must settle before a barrier may open. */
static bool aware(const struct rz_recover *r)
{
    return r->fresh > 0 || r->wanted > 0 || r->found > 0 || r->spawns_named || wants_repair(r);
}

static bool recover_wants_to_contribute(const struct rz_recover *r)
{
    return !r->stopped && !undecided(r) && (aware(r) || r->reached) && !rz_recover_awaits_news(r);
}

/* A member's statement about itself: the bits of `and`. */
static uint64_t bits_to_contribute(const struct rz_recover *r)
{
    bool is_aware = aware(r);
    bool reached =
        r->reached && (!is_aware || RZ_MUTATED(r->mutations, RZ_RECOVER_DEATHLESS_BARRIER));
    bool entered = r->repairing_here || r->repairing || (r->reached && r->phase == RZ_PHASE_RUN);
    return (reached ? ALL_REACHED : 0) | (is_aware ? ALL_AWARE : 0) | (entered ? ALL_ENTERED : 0);
}

static uint32_t collect_fresh(const struct rz_recover *r)
{
    uint64_t *items = rz_recover_items(r);
    uint32_t n = 0;
    for (EACH_RESTLESS(r, slot)) {
        if (rz_recover_slot_fresh(r, slot)) {
            items[n++] = rz_recover_pack_process(slot, rz_recover_known(r)[slot]);
        }
    }
    for (EACH_TROUBLED(r, d)) {
        if (rz_recover_daemon_fresh(r, d)) {
            items[n++] = rz_recover_pack_daemon(d, rz_recover_daemons(r)[d] & DAEMON_PROOF);
        }
    }
    rz_assert(n == r->fresh);
    for (EACH_TROUBLED(r, d)) {
        if (rz_recover_damage_counts(r, d, rz_recover_found(r)[d])) {
            items[n++] = rz_recover_pack_damage(d, rz_recover_found(r)[d]);
        }
    }
    return n + rz_recover_collect_spawns(r, items + n);
}

/* ---- steps ---- */

static bool recover_work_left(const struct rz_recover *r)
{
    return r->agree_more || r->n_reports > 0 || r->notice != NOTICE_NONE || r->spawns_notice ||
           recover_wants_to_contribute(r);
}

/* Makes agree's actions those of this object: messages are sent with the component id of recover,
 * decisions are not passed on. */
static void recover_take_actions(struct rz_recover *r, struct rz_actions *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        struct rz_action *action = &out->v[i];
        if (action->kind == RZ_ACTION_SEND) {
            action->message.protocol = RZ_PROTOCOL_RECOVER;
        } else if (action->what == RZ_AGREE_DECIDED) {
            rz_recover_decide(r, action);
            continue;
        } else {
            action->what = RZ_RECOVER_REQUESTED;
        }
        out->v[kept++] = *action;
    }
    out->count = kept;
}

static enum rz_more recover_step_agree(struct rz_recover *r, const struct rz_event *event,
                                       struct rz_actions *out)
{
    enum rz_more more = rz_agree_step(rz_recover_agree(r), event, out);
    if (more == RZ_NEED) {
        out->need += r->agree_at;
        return RZ_NEED;
    }
    r->agree_more = more == RZ_MORE;
    recover_take_actions(r, out);
    rz_recover_look_at_self(r);
    return recover_work_left(r) ? RZ_MORE : RZ_DONE;
}

static enum rz_more give_notice(struct rz_recover *r, struct rz_actions *out)
{
    out->v[out->count++] =
        (struct rz_action){.kind = RZ_ACTION_NOTIFY,
                           .what = r->notice,
                           .arg = {r->notice_arg[0], r->notice_arg[1], r->notice_arg[2]},
                           .items = rz_recover_items(r),
                           .n_items = r->n_notice_items};
    r->notice = NOTICE_NONE;
    return recover_work_left(r) ? RZ_MORE : RZ_DONE;
}

static enum rz_more give_spawns(struct rz_recover *r, struct rz_actions *out)
{
    out->v[out->count++] = (struct rz_action){.kind = RZ_ACTION_NOTIFY,
                                              .what = RZ_RECOVER_SPAWNS,
                                              .arg = {r->round, r->spawns_status},
                                              .items = rz_recover_items(r) + r->spawns_at,
                                              .n_items = r->n_spawn_items};
    r->spawns_notice = false;
    return recover_work_left(r) ? RZ_MORE : RZ_DONE;
}

static enum rz_more contribute(struct rz_recover *r, rz_time now, struct rz_actions *out)
{
    rz_recover_bound_lost(r);
    uint64_t bits = bits_to_contribute(r);
    struct rz_event propose = {
        .kind = RZ_EVENT_CALL,
        .now = now,
        .call = RZ_AGREE_PROPOSE,
        .arg = {bits, r->repairing_here || r->repairing ? 0 : 1, r->generation_known},
        .items = rz_recover_items(r),
        .n_items = collect_fresh(r)};
    enum rz_more more = recover_step_agree(r, &propose, out);
    if (more != RZ_NEED && undecided(r)) {
        r->generation_proposed = propose.arg[2];
        r->proposed_aware = bits & ALL_AWARE;
    }
    return more;
}

static enum rz_more recover_go_on(struct rz_recover *r, const struct rz_event *event,
                                  struct rz_actions *out)
{
    if (r->agree_more) {
        struct rz_event more = {.kind = RZ_EVENT_CONTINUE, .now = event->now};
        return recover_step_agree(r, &more, out);
    }
    if (r->n_reports > 0) {
        rz_recover_give_report(r, out);
        return recover_work_left(r) ? RZ_MORE : RZ_DONE;
    }
    if (r->notice != NOTICE_NONE) {
        return give_notice(r, out);
    }
    if (r->spawns_notice) {
        return give_spawns(r, out);
    }
    if (recover_wants_to_contribute(r)) {
        return contribute(r, event->now, out);
    }
    return RZ_DONE;
}

enum rz_more rz_recover_step(struct rz_recover *r, const struct rz_event *event,
                             struct rz_actions *out)
{
    rz_assert(out->max >= RZ_ACTIONS_MIN && out->count == 0);
    switch (event->kind) {
    case RZ_EVENT_RECEIVE: {
        if (event->message->type >= RZ_RECOVER_DOUBT) {
            rz_recover_roll_call_message(r, event->message, event->now, out);
            return recover_work_left(r) ? RZ_MORE : RZ_DONE;
        }
        struct rz_message message = *event->message;
        struct rz_event inner = *event;
        message.protocol = RZ_PROTOCOL_AGREE;
        inner.message = &message;
        return recover_step_agree(r, &inner, out);
    }
    case RZ_EVENT_FAILURE:
        if (event->n_ids == 1 && event->ids[0] == r->self) {
            rz_recover_be_fenced(r);
            return recover_work_left(r) ? RZ_MORE : RZ_DONE;
        }
        for (uint32_t i = 0; i < event->n_ids; i++) {
            know_daemon_failed(r, event->ids[i], event->arg[0], event->now);
        }
        return recover_step_agree(r, event, out);
    case RZ_EVENT_CALL:
        if (event->call == RZ_RECOVER_WANT &&
            !rz_recover_want_fits(r, event->items, event->n_items)) {
            out->need = r->agree_at + r->agree_bytes +
                        (r->cohorts_needed - r->cohorts_max) * sizeof(uint64_t);
            return RZ_NEED;
        }
        if (event->call == RZ_RECOVER_SUSPECT) {
            rz_recover_suspect(r, (rz_id)event->arg[0], event->arg[1], event->now, out);
            return recover_work_left(r) ? RZ_MORE : RZ_DONE;
        }
        if (!r->stopped) {
            recover_on_call(r, event);
        }
        return recover_go_on(r, event, out);
    case RZ_EVENT_CONTINUE:
        return recover_go_on(r, event, out);
    case RZ_EVENT_TICK:
        rz_recover_count_answers(r, event->now);
        return recover_work_left(r) ? RZ_MORE : RZ_DONE;
    }
    rz_assert(!"an event of the step interface");
    return RZ_DONE;
}

rz_time rz_recover_deadline(const struct rz_recover *r)
{
    rz_time agree = rz_agree_deadline(rz_recover_agree(r)), report = rz_recover_report_at(r);
    return agree < report ? agree : report;
}

void rz_recover_grow(struct rz_recover *r, size_t bytes)
{
    if (r->cohorts_needed <= r->cohorts_max) {
        r->agree_bytes = bytes - r->agree_at;
        rz_agree_grow(rz_recover_agree(r), r->agree_bytes);
        return;
    }
    size_t more = (r->cohorts_needed - r->cohorts_max) * sizeof(uint64_t);
    rz_assert(bytes >= r->agree_at + r->agree_bytes + more);
    struct rz_agree *agree = rz_recover_agree(r);
    r->agree_at += more;
    r->cohorts_max = r->cohorts_needed;
    memmove(rz_recover_agree(r), agree, r->agree_bytes);
}

static uint64_t hash_slot(const struct rz_recover *r, uint32_t slot, uint64_t h)
{
    h = rz_mix(h, (uint64_t)rz_recover_placement(r)[slot] << 32 | rz_recover_incarnation(r)[slot]);
    h = rz_mix(h, (uint64_t)rz_recover_known(r)[slot] << 32 | rz_recover_noted(r)[slot]);
    h = rz_mix(h, (uint64_t)rz_recover_asked(r)[slot] << 32 | rz_recover_refused(r)[slot]);
    if (slot < r->n_ranks) {
        return h;
    }
    h = rz_mix(h, rz_recover_freed(r)[slot]);
    h = rz_mix(h, rz_recover_cohort(r)[slot]);
    return rz_mix(h, rz_recover_cohort_from(r)[slot]);
}

uint64_t rz_recover_hash(const struct rz_recover *r)
{
    uint64_t h = rz_mix(r->self, r->epoch);
    h = rz_mix(h, (uint64_t)r->phase << 32 | r->restarts);
    h = rz_mix(h, r->generation);
    h = rz_mix(h, r->generation_known);
    h = rz_mix(h, r->opened << 2 | r->fell_back << 1 | r->from_start);
    h = rz_mix(h, rz_recover_generation_floor(r));
    h = rz_mix(h, (uint64_t)r->repairing << 4 | r->stopped << 3 | r->repairing_here << 2 |
                      r->reached << 1 | r->agree_more);
    h = rz_mix(h, r->notice);
    if (r->notice != NOTICE_NONE) {
        h = rz_mix(h, r->notice_arg[0]);
        h = rz_mix(h, r->notice_arg[1] << 1 | r->notice_arg[2]);
        for (uint32_t i = 0; i < r->n_notice_items; i++) {
            h = rz_mix(h, rz_recover_items(r)[i]);
        }
    }
    if (r->spawns_notice) {
        for (uint32_t i = 0; i < r->n_spawn_items; i++) {
            h = rz_mix(h, rz_recover_items(r)[r->spawns_at + i]);
        }
    }
    for (uint32_t slot = 0; slot < r->n_slots; slot++) {
        h = hash_slot(r, slot, h);
    }
    for (rz_id d = 0; d < r->n_daemons; d++) {
        h = rz_mix(rz_mix(h, rz_recover_found(r)[d]),
                   (uint64_t)rz_recover_serial(r)[d] << 8 | rz_recover_daemons(r)[d]);
    }
    for (uint32_t i = 0; i < r->n_cohorts; i++) {
        h = rz_mix(h, rz_recover_cohorts(r)[i]);
    }
    h = rz_mix(h, (uint64_t)r->spawns_notice << 32 | r->spawns_status);
    h = rz_mix(h, (uint64_t)r->spawns_named << 32 | r->round);
    return rz_recover_hash_call(r, rz_mix(h, rz_agree_hash(rz_recover_agree(r))));
}

/* ---- accessors ---- */

uint32_t rz_recover_epoch(const struct rz_recover *r)
{
    return r->epoch;
}

enum rz_recover_phase rz_recover_phase(const struct rz_recover *r)
{
    return (enum rz_recover_phase)r->phase;
}

rz_id rz_recover_daemon_of(const struct rz_recover *r, uint32_t slot)
{
    rz_assert(slot < r->n_slots);
    return rz_recover_placement(r)[slot];
}

uint32_t rz_recover_incarnation_of(const struct rz_recover *r, uint32_t slot)
{
    rz_assert(slot < r->n_slots);
    return rz_recover_incarnation(r)[slot];
}

uint32_t rz_recover_next_begun(const struct rz_recover *r, uint32_t from)
{
    return rz_recover_bit_next(rz_recover_begun(r), r->n_ranks, from);
}

bool rz_recover_daemon_failed(const struct rz_recover *r, rz_id daemon)
{
    rz_assert(daemon < r->n_daemons);
    return (rz_recover_daemons(r)[daemon] & (DAEMON_KNOWN | DAEMON_AGREED)) ||
           rz_agree_knows_failed(rz_recover_agree(r), daemon);
}

bool rz_recover_daemon_agreed_failed(const struct rz_recover *r, rz_id daemon)
{
    rz_assert(daemon < r->n_daemons);
    return rz_recover_daemons(r)[daemon] & DAEMON_AGREED;
}

bool rz_recover_process_failed(const struct rz_recover *r, uint32_t slot)
{
    rz_assert(slot < r->n_slots);
    uint32_t incarnation = rz_recover_incarnation(r)[slot];
    return rz_recover_known(r)[slot] >= incarnation || rz_recover_noted(r)[slot] >= incarnation ||
           rz_recover_daemon_failed(r, rz_recover_placement(r)[slot]);
}

bool rz_recover_repairing(const struct rz_recover *r)
{
    return r->repairing;
}

bool rz_recover_fell_back(const struct rz_recover *r)
{
    return r->fell_back;
}

bool rz_recover_from_start(const struct rz_recover *r)
{
    return r->from_start;
}

bool rz_recover_stopped(const struct rz_recover *r)
{
    return r->stopped;
}

uint64_t rz_recover_generation_floor(const struct rz_recover *r)
{
    return undecided(r) && r->proposed_aware ? r->generation_proposed : r->generation_known;
}
