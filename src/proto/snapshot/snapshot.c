/* SPDX-License-Identifier: BSD-3-Clause */
/* Waves up and down the tree until the job is quiet, then until every member has saved. */
#include "proto/snapshot/snapshot_private.h"

#include "proto/mutation.h"
#include "base/assert.h"
#include "base/random.h"
#include "proto/emit.h"

#include <string.h>

static bool snapshot_mutated(const struct rz_snapshot *snapshot, enum rz_snapshot_mutation mutation)
{
    return RZ_MUTATED(snapshot->config.mutations, mutation);
}

size_t rz_snapshot_size(const struct rz_snapshot_config *config)
{
    (void)config;
    return sizeof(struct rz_snapshot);
}

static void begin_step(struct rz_snapshot *snapshot, enum rz_snapshot_phase phase)
{
    snapshot->phase = phase;
    snapshot->heard = 0;
    snapshot->done = 0;
}

static void begin_attempt(struct rz_snapshot *snapshot)
{
    rz_assert(snapshot->attempt < UINT32_MAX);
    snapshot->attempt++;
    snapshot->wave = 1;
    snapshot->refusal = (struct rz_snapshot_end){.member = RZ_ID_NONE};
    snapshot->sums = (struct rz_snapshot_sums){0};
    snapshot->balanced = (struct rz_snapshot_sums){0};
    snapshot->has_balanced = snapshot->fresh = snapshot->changed = snapshot->told = 0;
    begin_step(snapshot, RZ_SNAPSHOT_RUNNING);
}

void rz_snapshot_init(struct rz_snapshot *snapshot, const struct rz_snapshot_config *config,
                      rz_id self, rz_time now, uint64_t seed)
{
    (void)now;
    (void)seed;
    rz_assert(self < config->n_members);
    memset(snapshot, 0, sizeof(*snapshot));
    snapshot->config = *config;
    snapshot->self = self;
    snapshot->parent = self == 0 ? RZ_ID_NONE : self & ~(UINT32_C(1) << (31 - __builtin_clz(self)));
    rz_spread_neighbours(config->n_members, self, 0, snapshot->children);
    snapshot->n_children = rz_spread_children(config->n_members, self, 0);
    snapshot->end.member = RZ_ID_NONE;
    begin_attempt(snapshot);
}

/* ---- output ---- */

static struct rz_message message_of(const struct rz_snapshot *snapshot,
                                    enum rz_snapshot_message type)
{
    return (struct rz_message){.protocol = RZ_PROTOCOL_SNAPSHOT,
                               .type = (uint8_t)type,
                               .view = snapshot->config.view,
                               .from = snapshot->self,
                               .origin = snapshot->self,
                               .seq = (uint64_t)snapshot->attempt << 32 | snapshot->wave};
}

/* Returns the message, for the caller to complete. */
static struct rz_message *report_up(struct rz_snapshot *snapshot, enum rz_snapshot_message type,
                                    struct rz_actions *out)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_SEND);
    action->to = &snapshot->parent;
    action->n_to = 1;
    action->message = message_of(snapshot, type);
    if (snapshot->refusal.member != RZ_ID_NONE && type != RZ_SNAPSHOT_CHANGED) {
        action->message.flags = RZ_SNAPSHOT_REFUSED;
        action->message.word[0] = snapshot->refusal.member;
        action->message.word[1] = snapshot->refusal.reason;
    }
    return &action->message;
}

static void tell_children(struct rz_snapshot *snapshot, enum rz_snapshot_message type,
                          struct rz_actions *out)
{
    if (snapshot->n_children == 0) {
        return;
    }
    struct rz_action *action = rz_emit(out, RZ_ACTION_SEND);
    action->to = snapshot->children;
    action->n_to = snapshot->n_children;
    action->message = message_of(snapshot, type);
    if (type == RZ_SNAPSHOT_END) {
        action->message.word[0] = snapshot->refusal.member;
        action->message.word[1] = snapshot->refusal.reason;
    }
}

static struct rz_action *snapshot_notify(struct rz_snapshot *snapshot, enum rz_snapshot_notice what,
                                         struct rz_actions *out)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_NOTIFY);
    action->what = what;
    action->arg[0] = snapshot->attempt;
    return action;
}

/* ---- steps of an attempt, from the root downwards ---- */

static void enter_wave(struct rz_snapshot *snapshot, struct rz_actions *out)
{
    rz_assert(snapshot->wave < UINT32_MAX);
    snapshot->wave++;
    snapshot->sums = (struct rz_snapshot_sums){0};
    snapshot->changed = snapshot->told = 0;
    if (!snapshot_mutated(snapshot, RZ_SNAPSHOT_OLD_NUMBERS)) {
        snapshot->fresh = 0;
    }
    begin_step(snapshot, RZ_SNAPSHOT_WAVES);
    tell_children(snapshot, RZ_SNAPSHOT_WAVE, out);
    snapshot_notify(snapshot, RZ_SNAPSHOT_ASKED, out);
}

static void enter_saving(struct rz_snapshot *snapshot, struct rz_actions *out)
{
    begin_step(snapshot, RZ_SNAPSHOT_SAVING);
    tell_children(snapshot, RZ_SNAPSHOT_SAVE, out);
    snapshot_notify(snapshot, RZ_SNAPSHOT_QUIET, out);
}

static void end_attempt(struct rz_snapshot *snapshot, struct rz_actions *out)
{
    tell_children(snapshot, RZ_SNAPSHOT_END, out);
    snapshot->end = snapshot->refusal;
    struct rz_action *notice = snapshot_notify(snapshot, RZ_SNAPSHOT_ENDED, out);
    notice->arg[1] = snapshot->end.member;
    notice->arg[2] = snapshot->end.reason;
    begin_attempt(snapshot);
}

static bool sums_equal(const struct rz_snapshot_sums *a, const struct rz_snapshot_sums *b)
{
    return a->sent == b->sent && a->delivered == b->delivered;
}

/* The root, when a wave is complete, or something has changed since. */
static void conclude_wave(struct rz_snapshot *snapshot, struct rz_actions *out)
{
    const struct rz_snapshot_sums *sums = &snapshot->sums;
    if (snapshot->refusal.member != RZ_ID_NONE) {
        end_attempt(snapshot, out);
        return;
    }
    if (sums->sent != sums->delivered) {
        /* Sooner or later a message arrives that a contribution lacks, and that is told. */
        if (snapshot->changed) {
            enter_wave(snapshot, out);
        }
        return;
    }
    bool confirmed = snapshot->has_balanced && sums_equal(sums, &snapshot->balanced);
    if (snapshot_mutated(snapshot, RZ_SNAPSHOT_ANY_BALANCE)) {
        confirmed = snapshot->has_balanced;
    }
    if (confirmed || snapshot_mutated(snapshot, RZ_SNAPSHOT_ONE_WAVE)) {
        enter_saving(snapshot, out);
        return;
    }
    snapshot->balanced = *sums;
    snapshot->has_balanced = 1;
    enter_wave(snapshot, out);
}

/* ---- steps of an attempt, from the leaves upwards ---- */

static bool all_heard(const struct rz_snapshot *snapshot)
{
    return snapshot->heard == (uint32_t)((UINT64_C(1) << snapshot->n_children) - 1);
}

static bool is_idle(const struct rz_snapshot *snapshot)
{
    return !snapshot->busy || snapshot_mutated(snapshot, RZ_SNAPSHOT_DESPITE_BUSY);
}

static void contribute_own(struct rz_snapshot *snapshot, struct rz_actions *out)
{
    snapshot->done = 1;
    snapshot->reported = snapshot->own;
    snapshot->sums.sent += snapshot->own.sent;
    snapshot->sums.delivered += snapshot->own.delivered;
    if (snapshot->parent == RZ_ID_NONE) {
        return;
    }
    struct rz_message *message = report_up(snapshot, RZ_SNAPSHOT_REPORT, out);
    if (!(message->flags & RZ_SNAPSHOT_REFUSED)) {
        message->word[0] = snapshot->sums.sent;
        message->word[1] = snapshot->sums.delivered;
    }
    if (snapshot->changed) {
        message->flags |= RZ_SNAPSHOT_CHANGED_TOO;
        snapshot->told = 1;
    }
}

static void review_wave(struct rz_snapshot *snapshot, struct rz_actions *out)
{
    bool ready = snapshot->refusal.member != RZ_ID_NONE || (snapshot->fresh && is_idle(snapshot));
    bool had_done = snapshot->done;
    if (!had_done && (!ready || !all_heard(snapshot))) {
        return;
    }
    if (!had_done) {
        contribute_own(snapshot, out);
    } else if (is_idle(snapshot) && !sums_equal(&snapshot->own, &snapshot->reported)) {
        snapshot->changed = 1;
    }
    if (snapshot_mutated(snapshot, RZ_SNAPSHOT_NO_CHANGES)) {
        snapshot->changed = 0;
    }
    if (snapshot->parent == RZ_ID_NONE) {
        conclude_wave(snapshot, out);
    } else if (snapshot->changed && !snapshot->told) {
        report_up(snapshot, RZ_SNAPSHOT_CHANGED, out);
        snapshot->told = 1;
    }
}

static bool has_saved(const struct rz_snapshot *snapshot)
{
    return snapshot->phase == RZ_SNAPSHOT_WAITING ||
           (snapshot->phase == RZ_SNAPSHOT_SAVING &&
            snapshot_mutated(snapshot, RZ_SNAPSHOT_SAVE_UNHEARD));
}

static void review_saved(struct rz_snapshot *snapshot, struct rz_actions *out)
{
    if (snapshot->done || !has_saved(snapshot) || !all_heard(snapshot)) {
        return;
    }
    snapshot->done = 1;
    if (snapshot->parent == RZ_ID_NONE) {
        end_attempt(snapshot, out);
    } else {
        report_up(snapshot, RZ_SNAPSHOT_FIXED, out);
    }
}

static void snapshot_review(struct rz_snapshot *snapshot, struct rz_actions *out)
{
    if (snapshot->phase == RZ_SNAPSHOT_WAVES) {
        review_wave(snapshot, out);
    } else {
        review_saved(snapshot, out);
    }
}

/* ---- events ---- */

/* Of several members the smallest one counts, so that the outcome does not depend on the order. */
static void note_refusal(struct rz_snapshot *snapshot, rz_id member, uint64_t reason)
{
    if (member < snapshot->refusal.member) {
        snapshot->refusal = (struct rz_snapshot_end){.member = member, .reason = (uint32_t)reason};
    }
}

static void refuse_attempt(struct rz_snapshot *snapshot, uint64_t reason)
{
    rz_assert(reason <= UINT32_MAX);
    if (reason != 0) {
        note_refusal(snapshot, snapshot->self, reason);
    }
}

static void start_attempt(struct rz_snapshot *snapshot, const struct rz_event *event,
                          struct rz_actions *out)
{
    rz_assert(snapshot->phase == RZ_SNAPSHOT_RUNNING && event->arg[0] == snapshot->attempt);
    snapshot->phase = RZ_SNAPSHOT_WAVES; /* what children have sent is kept */
    refuse_attempt(snapshot, event->arg[1]);
    if (event->arg[1] == 0) {
        snapshot_notify(snapshot, RZ_SNAPSHOT_ASKED, out);
    }
}

static void take_numbers(struct rz_snapshot *snapshot, const struct rz_event *event)
{
    if (snapshot->phase != RZ_SNAPSHOT_WAVES) {
        return;
    }
    rz_assert(event->arg[0] >= snapshot->own.sent && event->arg[1] >= snapshot->own.delivered);
    snapshot->own = (struct rz_snapshot_sums){event->arg[0], event->arg[1]};
    snapshot->busy = event->arg[2] != 0;
    snapshot->fresh = 1;
    refuse_attempt(snapshot, event->arg[3]);
    if (snapshot->done && event->arg[3] != 0) {
        snapshot->changed = 1;
    }
}

static void note_saved(struct rz_snapshot *snapshot, const struct rz_event *event,
                       struct rz_actions *out)
{
    if (snapshot_mutated(snapshot, RZ_SNAPSHOT_SAVE_UNHEARD)) {
        return;
    }
    rz_assert(snapshot->phase == RZ_SNAPSHOT_SAVING);
    snapshot->phase = RZ_SNAPSHOT_WAITING;
    refuse_attempt(snapshot, event->arg[0]);
    if (snapshot_mutated(snapshot, RZ_SNAPSHOT_NO_BARRIER)) {
        snapshot_notify(snapshot, RZ_SNAPSHOT_ENDED, out)->arg[1] = RZ_ID_NONE;
    }
}

static void snapshot_on_call(struct rz_snapshot *snapshot, const struct rz_event *event,
                             struct rz_actions *out)
{
    switch (event->call) {
    case RZ_SNAPSHOT_START:
        start_attempt(snapshot, event, out);
        break;
    case RZ_SNAPSHOT_LOCAL:
        take_numbers(snapshot, event);
        break;
    case RZ_SNAPSHOT_SAVED:
        note_saved(snapshot, event, out);
        break;
    default:
        rz_assert(!"a call of this component");
    }
}

/* The position among the children; n_children: it is none. */
static uint32_t child_of(const struct rz_snapshot *snapshot, rz_id from)
{
    uint32_t i = 0;
    while (i < snapshot->n_children && snapshot->children[i] != from) {
        i++;
    }
    return i;
}

static bool is_outcome(const struct rz_snapshot *snapshot, const struct rz_message *message)
{
    return message->word[0] < snapshot->config.n_members && message->word[1] != 0 &&
           message->word[1] <= UINT32_MAX;
}

static void hear_child(struct rz_snapshot *snapshot, const struct rz_message *message)
{
    uint32_t child = child_of(snapshot, message->from);
    bool refused = message->flags & RZ_SNAPSHOT_REFUSED;
    bool saves = message->type == RZ_SNAPSHOT_FIXED;
    bool saving = snapshot->phase == RZ_SNAPSHOT_SAVING || snapshot->phase == RZ_SNAPSHOT_WAITING;
    if (child == snapshot->n_children || saves != saving ||
        (refused && !is_outcome(snapshot, message))) {
        return;
    }
    if (message->type == RZ_SNAPSHOT_CHANGED) {
        snapshot->changed = 1;
        return;
    }
    if (snapshot->heard >> child & 1) {
        return;
    }
    if (snapshot_mutated(snapshot, RZ_SNAPSHOT_NO_EARLY) &&
        snapshot->phase == RZ_SNAPSHOT_RUNNING) {
        return;
    }
    snapshot->heard |= UINT32_C(1) << child;
    if (refused && !snapshot_mutated(snapshot, RZ_SNAPSHOT_DEAF)) {
        note_refusal(snapshot, (rz_id)message->word[0], message->word[1]);
    } else if (!saves) {
        snapshot->sums.sent += message->word[0];
        snapshot->sums.delivered += message->word[1];
    }
    if (message->flags & RZ_SNAPSHOT_CHANGED_TOO) {
        snapshot->changed = 1;
    }
}

/* Only what follows the completed step is heard. */
static void hear_parent(struct rz_snapshot *snapshot, const struct rz_message *message,
                        struct rz_actions *out)
{
    bool waves = snapshot->phase == RZ_SNAPSHOT_WAVES && snapshot->done;
    bool saved = has_saved(snapshot) && snapshot->done;
    bool outcome = is_outcome(snapshot, message);
    if (message->type == RZ_SNAPSHOT_WAVE && waves && snapshot->wave < UINT32_MAX - 1) {
        enter_wave(snapshot, out);
    } else if (message->type == RZ_SNAPSHOT_SAVE && waves) {
        enter_saving(snapshot, out);
    } else if (message->type == RZ_SNAPSHOT_END && (saved || (waves && outcome))) {
        snapshot->refusal = (struct rz_snapshot_end){.member = RZ_ID_NONE};
        if (outcome) {
            note_refusal(snapshot, (rz_id)message->word[0], message->word[1]);
        }
        end_attempt(snapshot, out);
    }
}

static void snapshot_on_receive(struct rz_snapshot *snapshot, const struct rz_message *message,
                                struct rz_actions *out)
{
    uint32_t wave = snapshot->wave + (message->type == RZ_SNAPSHOT_WAVE);
    if (message->view != snapshot->config.view ||
        message->seq != ((uint64_t)snapshot->attempt << 32 | wave)) {
        return;
    }
    if (message->type < RZ_SNAPSHOT_WAVE) {
        hear_child(snapshot, message);
    } else if (message->type < RZ_SNAPSHOT_MESSAGE_COUNT && message->from == snapshot->parent) {
        hear_parent(snapshot, message, out);
    }
}

enum rz_more rz_snapshot_step(struct rz_snapshot *snapshot, const struct rz_event *event,
                              struct rz_actions *out)
{
    rz_assert(out->count == 0 && out->max >= RZ_ACTIONS_MIN);
    if (event->kind == RZ_EVENT_FAILURE && event->n_ids > 0) {
        snapshot->phase = RZ_SNAPSHOT_BROKEN;
    }
    if (snapshot->phase == RZ_SNAPSHOT_BROKEN) {
        return RZ_DONE;
    }
    if (event->kind == RZ_EVENT_RECEIVE) {
        snapshot_on_receive(snapshot, event->message, out);
    } else if (event->kind == RZ_EVENT_CALL) {
        snapshot_on_call(snapshot, event, out);
    }
    snapshot_review(snapshot, out);
    return RZ_DONE;
}

rz_time rz_snapshot_deadline(const struct rz_snapshot *snapshot)
{
    (void)snapshot;
    return RZ_TIME_NEVER;
}

static uint64_t hash_sums(uint64_t hash, const struct rz_snapshot_sums *sums)
{
    return rz_mix(rz_mix(hash, sums->sent), sums->delivered);
}

uint64_t rz_snapshot_hash(const struct rz_snapshot *snapshot)
{
    if (snapshot->phase == RZ_SNAPSHOT_BROKEN) {
        return rz_mix(snapshot->self, RZ_SNAPSHOT_BROKEN);
    }
    uint64_t hash = rz_mix(snapshot->self, (uint64_t)snapshot->phase);
    hash = rz_mix(hash, (uint64_t)snapshot->attempt << 32 | snapshot->wave);
    hash = rz_mix(hash, snapshot->heard);
    hash = rz_mix(hash, (uint64_t)snapshot->refusal.member << 32 | snapshot->refusal.reason);
    hash = rz_mix(hash, (uint64_t)snapshot->end.member << 32 | snapshot->end.reason);
    hash = hash_sums(hash, &snapshot->sums);
    hash = hash_sums(hash, &snapshot->own);
    hash = hash_sums(hash, &snapshot->reported);
    hash = hash_sums(hash, &snapshot->balanced);
    return rz_mix(hash, (uint64_t)snapshot->has_balanced | (uint64_t)snapshot->busy << 1 |
                            (uint64_t)snapshot->fresh << 2 | (uint64_t)snapshot->done << 3 |
                            (uint64_t)snapshot->changed << 4 | (uint64_t)snapshot->told << 5);
}

void rz_snapshot_grow(struct rz_snapshot *snapshot, size_t bytes)
{
    (void)snapshot;
    (void)bytes;
    rz_assert(!"the state never grows");
}

enum rz_snapshot_phase rz_snapshot_phase(const struct rz_snapshot *snapshot)
{
    return snapshot->phase;
}

uint32_t rz_snapshot_attempt(const struct rz_snapshot *snapshot)
{
    return snapshot->attempt;
}

uint32_t rz_snapshot_wave(const struct rz_snapshot *snapshot)
{
    return snapshot->wave;
}

struct rz_snapshot_end rz_snapshot_end(const struct rz_snapshot *snapshot)
{
    return snapshot->end;
}
