/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The object around the agreement of the current epoch: its operation k commits generation base +
 * k.
 *
 * As in recover, each step of agree ends the step of this object; what remains is done under
 * RZ_EVENT_CONTINUE.
 */
#include "proto/commit/commit.h"

#include "proto/mutation.h"
#include "base/assert.h"
#include "base/random.h"
#include "proto/block.h"
#include "proto/commit/commit_state.h"

#include <string.h>

static struct rz_agree_config commit_agree_config(uint32_t n_daemons, uint32_t view,
                                                  uint32_t mutations)
{
    return (struct rz_agree_config){.n_members = n_daemons,
                                    .view = view,
                                    .in_flight_max = 1,
                                    .items_max = 1,
                                    .tree = RZ_AGREE_BINARY,
                                    .mutations = mutations};
}

static size_t commit_lay_out(struct rz_commit *c, const struct rz_commit_config *config)
{
    size_t n_ranks = config->n_ranks, n_daemons = config->n_daemons, end = 0;
    rz_block_place(&end, 1, sizeof(*c));
    struct rz_commit_layout *const layouts[] = {&c->home, &c->now};
    for (unsigned i = 0; i < 2; i++) {
        layouts[i]->owner_at = rz_block_place(&end, n_ranks, sizeof(rz_id));
        layouts[i]->row_at = rz_block_place(&end, n_ranks, sizeof(uint32_t));
        layouts[i]->live_at = rz_block_place(&end, n_daemons, sizeof(rz_id));
        layouts[i]->index_at = rz_block_place(&end, n_daemons, sizeof(uint32_t));
    }
    c->stored_at = rz_block_place(&end, n_ranks, sizeof(uint64_t));
    c->copied_at = rz_block_place(&end, n_ranks, sizeof(uint64_t));
    c->acking_at = rz_block_place(&end, n_ranks, sizeof(uint64_t));
    c->acks_at = rz_block_place(&end, n_ranks, sizeof(uint64_t));
    c->daemon_at = rz_block_place(&end, n_daemons, sizeof(uint8_t));
    c->failed_at = rz_block_place(&end, n_daemons, sizeof(rz_id));
    c->agree_at = end;
    struct rz_agree_config agree = commit_agree_config(config->n_daemons, config->view, 0);
    c->agree_bytes = rz_agree_size(&agree);
    return end;
}

size_t rz_commit_size(const struct rz_commit_config *config)
{
    struct rz_commit layout;
    return commit_lay_out(&layout, config) + layout.agree_bytes;
}

/* Messages of another epoch differ in their view, and agree drops them. */
static void renew_agree(struct rz_commit *c, rz_time now)
{
    uint32_t view = RZ_MUTATED(c->mutations, RZ_COMMIT_ONE_VIEW) ? c->view : c->view + c->epoch;
    struct rz_agree_config agree = commit_agree_config(c->n_daemons, view, c->agree_mutations);
    rz_agree_init(rz_commit_agree(c), &agree, c->self, now, rz_mix(c->seed, c->epoch));
    c->agree_more = false;
    c->tell_failed = true;
}

void rz_commit_init(struct rz_commit *c, const struct rz_commit_config *config, rz_id self,
                    rz_time now, uint64_t seed)
{
    rz_assert(self < config->n_daemons);
    rz_assert(config->scheme != RZ_COMMIT_GROUPS ||
              (config->data >= 1 && config->parity >= 1 &&
               config->data + config->parity <= RZ_COMMIT_GROUP_MAX));
    memset(c, 0, sizeof(*c));
    size_t end = commit_lay_out(c, config);
    memset(c + 1, 0, end - sizeof(*c));
    c->n_daemons = config->n_daemons;
    c->n_ranks = config->n_ranks;
    c->view = config->view;
    c->agree_mutations = config->agree_mutations;
    c->mutations = config->mutations;
    c->scheme = config->scheme;
    c->data = config->data;
    c->parity = config->parity;
    c->self = self;
    c->seed = seed;
    c->lost = true;
    renew_agree(c, now);
    c->tell_failed = false;
}

/* ---- the agreement ---- */

static void learn_committed(struct rz_commit *c, uint64_t generation)
{
    if (generation <= c->newest) {
        return;
    }
    c->newest = generation;
    c->give |= GIVE_COMMITTED;
}

static bool fresh_failed_agreed(const struct rz_commit *c)
{
    uint32_t n_failed;
    const rz_id *failed = rz_agree_failed(rz_commit_agree(c), &n_failed);
    for (uint32_t i = 0; i < n_failed; i++) {
        if (!(rz_commit_daemons(c)[failed[i]] & FAILED_AGREED)) {
            return true;
        }
    }
    return false;
}

/* A member that failed meanwhile may not have had its pieces with the owner and the keepers: such a
 * decision commits nothing, and no later one of this epoch does; a recovery begins the next epoch.
 */
static void commit_take_decision(struct rz_commit *c, const struct rz_action *decided)
{
    bool despite = RZ_MUTATED(c->mutations, RZ_COMMIT_DESPITE_FAILURE);
    if (decided->arg[1] == 1 && (despite || !fresh_failed_agreed(c))) {
        learn_committed(c, c->base + decided->arg[0]);
    } else {
        c->closed = true;
    }
}

static void commit_take_actions(struct rz_commit *c, struct rz_actions *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        if (out->v[i].kind == RZ_ACTION_SEND) {
            out->v[i].message.protocol = RZ_PROTOCOL_COMMIT;
            out->v[kept++] = out->v[i];
        } else if (out->v[i].what == RZ_AGREE_DECIDED) {
            commit_take_decision(c, &out->v[i]);
        }
    }
    out->count = kept;
}

static bool knows_fresh_failure(const struct rz_commit *c)
{
    const uint8_t *daemons = rz_commit_daemons(c);
    for (rz_id d = 0; d < c->n_daemons; d++) {
        if ((daemons[d] & (FAILED_KNOWN | FAILED_AGREED)) == FAILED_KNOWN) {
            return true;
        }
    }
    return false;
}

static bool commit_wants_to_contribute(const struct rz_commit *c)
{
    const struct rz_agree *agree = rz_commit_agree(c);
    uint64_t proposed = rz_agree_proposed(agree);
    if (!c->opened || c->closed || proposed > rz_agree_decided(agree)) {
        return false;
    }
    if (knows_fresh_failure(c) && !RZ_MUTATED(c->mutations, RZ_COMMIT_DESPITE_FAILURE)) {
        return false;
    }
    return rz_commit_own_safe(c, c->base + proposed + 1);
}

static bool becomes_protected(const struct rz_commit *c)
{
    return c->epoch > 0 && !c->protected_told && !(c->give & GIVE_PROTECTED) &&
           (c->lost || rz_commit_own_safe(c, c->base));
}

/* ---- steps ---- */

static bool commit_work_left(struct rz_commit *c)
{
    if (becomes_protected(c)) {
        c->give |= GIVE_PROTECTED;
    }
    return c->agree_more || c->tell_failed || c->give || commit_wants_to_contribute(c);
}

static enum rz_more commit_step_agree(struct rz_commit *c, const struct rz_event *event,
                                      struct rz_actions *out)
{
    enum rz_more more;
    while ((more = rz_agree_step(rz_commit_agree(c), event, out)) == RZ_NEED) {
        if (out->need > c->agree_bytes) {
            out->need += c->agree_at;
            return RZ_NEED;
        }
        rz_agree_grow(rz_commit_agree(c), out->need);
    }
    c->agree_more = more == RZ_MORE;
    commit_take_actions(c, out);
    return commit_work_left(c) ? RZ_MORE : RZ_DONE;
}

static enum rz_more tell_failed(struct rz_commit *c, rz_time now, struct rz_actions *out)
{
    rz_id *failed = rz_commit_at(c, c->failed_at);
    struct rz_event failure = {.kind = RZ_EVENT_FAILURE, .now = now, .ids = failed};
    for (rz_id d = 0; d < c->n_daemons; d++) {
        if (rz_commit_daemons(c)[d] & FAILED_KNOWN) {
            failed[failure.n_ids++] = d;
        }
    }
    enum rz_more more = RZ_DONE;
    if (failure.n_ids > 0 && (more = commit_step_agree(c, &failure, out)) == RZ_NEED) {
        return RZ_NEED;
    }
    c->tell_failed = false;
    return commit_work_left(c) ? RZ_MORE : RZ_DONE;
}

static void push_notice(struct rz_commit *c, struct rz_actions *out, enum rz_commit_notice what,
                        uint64_t generation)
{
    out->v[out->count++] =
        (struct rz_action){.kind = RZ_ACTION_NOTIFY, .what = what, .arg = {c->epoch, generation}};
}

static enum rz_more give_notices(struct rz_commit *c, struct rz_actions *out)
{
    if (c->give & GIVE_RESTORE) {
        push_notice(c, out, RZ_COMMIT_RESTORE, c->lost ? 0 : c->base);
    }
    if (c->give & GIVE_PROTECTED) {
        push_notice(c, out, RZ_COMMIT_PROTECTED, 0);
        c->protected_told = true;
    }
    if (c->give & GIVE_COMMITTED) {
        push_notice(c, out, RZ_COMMIT_COMMITTED, c->newest);
    }
    c->give = 0;
    return commit_work_left(c) ? RZ_MORE : RZ_DONE;
}

static enum rz_more commit_go_on(struct rz_commit *c, const struct rz_event *event,
                                 struct rz_actions *out)
{
    if (c->agree_more) {
        struct rz_event more = {.kind = RZ_EVENT_CONTINUE, .now = event->now};
        return commit_step_agree(c, &more, out);
    }
    if (c->tell_failed) {
        return tell_failed(c, event->now, out);
    }
    if (commit_work_left(c) && c->give) {
        return give_notices(c, out);
    }
    if (commit_wants_to_contribute(c)) {
        struct rz_event propose = {.kind = RZ_EVENT_CALL,
                                   .now = event->now,
                                   .call = RZ_AGREE_PROPOSE,
                                   .arg = {1, UINT64_MAX, 0}};
        return commit_step_agree(c, &propose, out);
    }
    return RZ_DONE;
}

static void lift(uint64_t *newest, uint64_t generation)
{
    if (*newest < generation) {
        *newest = generation;
    }
}

/* Ends its step at once: if agree needed more memory, the call would be repeated. */
static enum rz_more take_epoch(struct rz_commit *c, const struct rz_event *event)
{
    rz_commit_begin_epoch(c, event);
    renew_agree(c, event->now);
    c->give = GIVE_RESTORE;
    return RZ_MORE;
}

/* Idempotent. */
static void commit_on_call(struct rz_commit *c, const struct rz_event *event)
{
    if (event->arg[0] != c->epoch) {
        return;
    }
    uint64_t generation = event->arg[1], rank = event->arg[2];
    switch ((enum rz_commit_call)event->call) {
    case RZ_COMMIT_STORED:
        rz_assert(rank < c->n_ranks);
        lift(&rz_commit_stored(c)[rank], generation);
        break;
    case RZ_COMMIT_COPIED:
        rz_assert(rank < c->n_ranks);
        rz_commit_acknowledge(c, generation, (uint32_t)rank, (rz_id)event->arg[3]);
        break;
    case RZ_COMMIT_PROOF:
        /* From another daemon: nothing is committed that this member has not contributed to. */
        if (generation <= c->base + rz_agree_proposed(rz_commit_agree(c))) {
            learn_committed(c, generation);
        }
        break;
    case RZ_COMMIT_OPENED:
        if (!c->opened) {
            rz_commit_settle_home(c);
        }
        c->opened = true;
        break;
    default:
        rz_assert(!"a call of this component");
    }
}

enum rz_more rz_commit_step(struct rz_commit *c, const struct rz_event *event,
                            struct rz_actions *out)
{
    rz_assert(out->max >= RZ_ACTIONS_MIN && out->count == 0);
    switch (event->kind) {
    case RZ_EVENT_RECEIVE: {
        struct rz_message message = *event->message;
        struct rz_event inner = *event;
        message.protocol = RZ_PROTOCOL_AGREE;
        inner.message = &message;
        return commit_step_agree(c, &inner, out);
    }
    case RZ_EVENT_FAILURE:
        for (uint32_t i = 0; i < event->n_ids; i++) {
            rz_assert(event->ids[i] < c->n_daemons);
            rz_commit_daemons(c)[event->ids[i]] |= FAILED_KNOWN;
        }
        return commit_step_agree(c, event, out);
    case RZ_EVENT_CALL:
        if (event->call == RZ_COMMIT_EPOCH) {
            return take_epoch(c, event);
        }
        commit_on_call(c, event);
        return commit_go_on(c, event, out);
    case RZ_EVENT_CONTINUE:
        return commit_go_on(c, event, out);
    case RZ_EVENT_TICK:
        return RZ_DONE;
    }
    rz_assert(!"an event of the step interface");
    return RZ_DONE;
}

rz_time rz_commit_deadline(const struct rz_commit *c)
{
    return rz_agree_deadline(rz_commit_agree(c));
}

void rz_commit_grow(struct rz_commit *c, size_t bytes)
{
    c->agree_bytes = bytes - c->agree_at;
    rz_agree_grow(rz_commit_agree(c), c->agree_bytes);
}

uint64_t rz_commit_hash(const struct rz_commit *c)
{
    uint64_t h = rz_mix(c->self, (uint64_t)c->epoch << 32 | c->written_in);
    h = rz_mix(rz_mix(h, c->base), c->newest);
    h = rz_mix(h, c->lost | c->opened << 1 | c->closed << 2 | c->protected_told << 3 |
                      c->agree_more << 4 | c->tell_failed << 5 | c->give << 6 | c->fell_back << 10 |
                      c->home_lost << 11);
    h = rz_mix(rz_mix(h, c->home_base), (uint64_t)c->home_epoch << 32 | c->home_written_in);
    h = rz_mix(h, (uint64_t)c->home.since << 32 | c->now.since);
    for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
        h = rz_mix(h, (uint64_t)rz_commit_owner(c, &c->now)[rank] << 32 |
                          rz_commit_owner(c, &c->home)[rank]);
        h = rz_mix(rz_mix(h, rz_commit_stored(c)[rank]), rz_commit_copied(c)[rank]);
        h = rz_mix(rz_mix(h, rz_commit_acking(c)[rank]), rz_commit_acks(c)[rank]);
    }
    for (uint32_t i = 0; i < c->home.n_live; i++) {
        h = rz_mix(h, rz_commit_live(c, &c->home)[i]);
    }
    for (rz_id d = 0; d < c->n_daemons; d++) {
        h = rz_mix(h, rz_commit_daemons(c)[d]);
    }
    return rz_mix(h, rz_agree_hash(rz_commit_agree(c)));
}

/* ---- accessors ---- */

uint32_t rz_commit_epoch(const struct rz_commit *c)
{
    return c->epoch;
}

uint64_t rz_commit_generation(const struct rz_commit *c)
{
    return c->lost && c->newest == c->base ? 0 : c->newest;
}

uint64_t rz_commit_next(const struct rz_commit *c)
{
    return c->newest + 1;
}

uint32_t rz_commit_written_in(const struct rz_commit *c)
{
    return c->lost ? 0 : c->written_in;
}
