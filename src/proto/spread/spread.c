/* SPDX-License-Identifier: BSD-3-Clause */
/* Reliable broadcast on the binomial graph: known and deferred items, and the sends of each item.
 */
#include "proto/spread/spread.h"

#include "proto/mutation.h"
#include "base/assert.h"
#include "base/idset.h"
#include "base/random.h"
#include "proto/emit.h"

#include <string.h>

#define ITEMS_MAX_DEFAULT 8

/*
 * items holds three arrays of `max` each: known items; members known failed (both sorted); and the
 * deferred items, with the new items of this step (sorted) behind them. All of these are known
 * items, so the array is large enough. While items are deferred no member is known failed.
 */
struct rz_spread {
    struct rz_spread_config config;
    rz_id self;
    uint32_t max;
    uint32_t n_known, n_failed, n_late, n_fresh;
    rz_time due;      /* when the deferred items are sent; RZ_TIME_NEVER: there are none */
    uint64_t late_to; /* their destinations: bit i is neighbour i, in near-first order */
    uint32_t n_to;
    rz_id to[RZ_SPREAD_NEIGHBOURS_MAX];
    rz_id beside[2]; /* new neighbours in the ring */
    uint64_t items[];
};

_Static_assert(RZ_SPREAD_NEIGHBOURS_MAX <= 64, "a bit for each neighbour");

static uint64_t *known_of(struct rz_spread *spread)
{
    return spread->items;
}

static uint64_t *failed_of(struct rz_spread *spread)
{
    return spread->items + spread->max;
}

static uint64_t *late_of(struct rz_spread *spread)
{
    return spread->items + 2 * (size_t)spread->max;
}

static uint64_t *fresh_of(struct rz_spread *spread)
{
    return late_of(spread) + spread->n_late;
}

static size_t spread_bytes_for(uint32_t max)
{
    return sizeof(struct rz_spread) + 3 * (size_t)max * sizeof(uint64_t);
}

size_t rz_spread_size(const struct rz_spread_config *config)
{
    return spread_bytes_for(config->items_max > 0 ? config->items_max : ITEMS_MAX_DEFAULT);
}

void rz_spread_init(struct rz_spread *spread, const struct rz_spread_config *config, rz_id self,
                    rz_time now, uint64_t seed)
{
    (void)now, (void)seed;
    rz_assert(self < config->n_members);
    rz_assert(config->redundant_after == 0 || config->order == RZ_SPREAD_TREE_FIRST);
    memset(spread, 0, rz_spread_size(config));
    spread->config = *config;
    spread->self = self;
    spread->max = config->items_max > 0 ? config->items_max : ITEMS_MAX_DEFAULT;
    spread->due = RZ_TIME_NEVER;
}

void rz_spread_grow(struct rz_spread *spread, size_t bytes)
{
    uint32_t old = spread->max;
    uint32_t max = (uint32_t)((bytes - sizeof(*spread)) / (3 * sizeof(uint64_t)));
    rz_assert(max >= old);
    memset(spread->items + 3 * (size_t)old, 0, 3 * (size_t)(max - old) * sizeof(uint64_t));
    memmove(spread->items + 2 * (size_t)max, late_of(spread), spread->n_late * sizeof(uint64_t));
    memmove(spread->items + max, spread->items + old, spread->n_failed * sizeof(uint64_t));
    spread->max = max;
    spread->n_fresh = 0;
}

/* Whether the arrays hold `more` further entries; otherwise *out tells the size that the block must
 * grow to. */
static bool spread_has_room(const struct rz_spread *spread, uint32_t used, uint32_t more,
                            struct rz_actions *out)
{
    if (more <= spread->max - used) {
        return true;
    }
    uint32_t max = 2 * spread->max;
    out->need = spread_bytes_for(max - used >= more ? max : used + more);
    return false;
}

/* The nearest living member in the direction of step (1 or n - 1); self if there is none. */
static rz_id nearest_alive(struct rz_spread *spread, uint32_t step)
{
    uint32_t n = spread->config.n_members;
    rz_id id = spread->self;
    do {
        id = (rz_id)(((uint64_t)id + step) % n);
    } while (id != spread->self && rz_items_contain(failed_of(spread), spread->n_failed, id));
    return id;
}

static void aim_at(struct rz_spread *spread, rz_id id)
{
    for (uint32_t i = 0; i < spread->n_to; i++) {
        if (spread->to[i] == id) {
            return;
        }
    }
    if (id != spread->self) {
        spread->to[spread->n_to++] = id;
    }
}

static bool spread_mutated(const struct rz_spread *spread, enum rz_spread_mutation mutation)
{
    return RZ_MUTATED(spread->config.mutations, mutation);
}

static uint32_t neighbours_of(const struct rz_spread *spread, rz_id origin,
                              rz_id to[RZ_SPREAD_NEIGHBOURS_MAX])
{
    uint32_t n = spread->config.n_members;
    if (spread_mutated(spread, RZ_SPREAD_WRONG_OFFSETS)) {
        return rz_spread_neighbours_wrong(n, spread->self, to);
    }
    if (spread->config.order == RZ_SPREAD_NEAR_FIRST) {
        return rz_spread_neighbours_near(n, spread->self, to);
    }
    return rz_spread_neighbours(n, spread->self, origin, to);
}

/* All neighbours except `except`, which has the items; the ring of the living members is closed
 * across the failed ones. */
static void aim_at_neighbours(struct rz_spread *spread, rz_id origin, rz_id except)
{
    uint32_t n = spread->config.n_members;
    rz_id all[RZ_SPREAD_NEIGHBOURS_MAX];
    uint32_t n_all = neighbours_of(spread, origin, all);
    rz_id next = (rz_id)(((uint64_t)spread->self + 1) % n);
    rz_id previous = (rz_id)(((uint64_t)spread->self + n - 1) % n);
    spread->n_to = 0;
    for (uint32_t i = 0; i < n_all; i++) {
        rz_id id = all[i];
        if (rz_items_contain(failed_of(spread), spread->n_failed, id)) {
            if ((id != next && id != previous) || spread_mutated(spread, RZ_SPREAD_OPEN_RING)) {
                continue;
            }
            id = nearest_alive(spread, id == next ? 1 : n - 1);
        }
        if (id != except) {
            aim_at(spread, id);
        }
    }
}

static void emit_news(struct rz_spread *spread, const rz_id *to, uint32_t n_to,
                      const struct rz_message *about, const uint64_t *items, struct rz_actions *out)
{
    if (n_to == 0) {
        return;
    }
    struct rz_action *action = rz_emit(out, RZ_ACTION_SEND);
    action->to = to;
    action->n_to = n_to;
    action->message = (struct rz_message){.protocol = RZ_PROTOCOL_SPREAD,
                                          .type = RZ_SPREAD_NEWS,
                                          .flags = about->flags,
                                          .view = spread->config.view,
                                          .from = spread->self,
                                          .origin = about->origin,
                                          .n_items = about->n_items};
    action->items = items;
}

/* ---- deferred items ---- */

/* An item that arrives outside the tree is not deferred any further. */
static uint16_t urgent(const struct rz_spread *spread)
{
    return spread->config.redundant_after > 0 ? RZ_SPREAD_URGENT : 0;
}

static void forget_late(struct rz_spread *spread)
{
    spread->n_late = 0;
    spread->late_to = 0;
    spread->due = RZ_TIME_NEVER;
}

/* New items are sent to the children, the first entries of to; to the other neighbours later. */
static void put_off(struct rz_spread *spread, rz_id origin, rz_id except, rz_time now)
{
    rz_id near[RZ_SPREAD_NEIGHBOURS_MAX];
    uint32_t n = spread->config.n_members, n_children = 0;
    uint32_t n_near = rz_spread_neighbours_near(n, spread->self, near);
    uint32_t children = rz_spread_children(n, spread->self, origin);
    aim_at_neighbours(spread, origin, RZ_ID_NONE);
    for (uint32_t i = children; i < spread->n_to; i++) {
        for (uint32_t k = 0; k < n_near; k++) {
            if (near[k] == spread->to[i] && near[k] != except) {
                spread->late_to |= UINT64_C(1) << k;
            }
        }
    }
    for (uint32_t i = 0; i < children; i++) {
        if (spread->to[i] != except) {
            spread->to[n_children++] = spread->to[i];
        }
    }
    spread->n_to = n_children;
    if (spread->late_to != 0 && spread->due == RZ_TIME_NEVER) {
        spread->due = now + spread->config.redundant_after;
    }
}

/* Sends to the neighbours that have not shown since that they have the items. */
static void send_late(struct rz_spread *spread, struct rz_actions *out)
{
    rz_id near[RZ_SPREAD_NEIGHBOURS_MAX];
    uint32_t n_near = rz_spread_neighbours_near(spread->config.n_members, spread->self, near);
    const struct rz_message about = {
        .flags = urgent(spread), .origin = spread->self, .n_items = spread->n_late};
    spread->n_to = 0;
    for (uint32_t i = 0; i < n_near; i++) {
        if (spread->late_to >> i & 1 &&
            !rz_items_contain(failed_of(spread), spread->n_failed, near[i])) {
            aim_at(spread, near[i]);
        }
    }
    if (!spread_mutated(spread, RZ_SPREAD_TREE_ONLY)) {
        emit_news(spread, spread->to, spread->n_to, &about, late_of(spread), out);
    }
    forget_late(spread);
}

/* A neighbour that sends exactly the deferred items needs them no more. */
static void hear_late(struct rz_spread *spread, const struct rz_message *message,
                      const uint64_t *items)
{
    rz_id near[RZ_SPREAD_NEIGHBOURS_MAX];
    if (spread->n_late == 0 || message->n_items != spread->n_late ||
        memcmp(items, late_of(spread), spread->n_late * sizeof(*items)) != 0) {
        return;
    }
    uint32_t n_near = rz_spread_neighbours_near(spread->config.n_members, spread->self, near);
    for (uint32_t i = 0; i < n_near; i++) {
        if (near[i] == message->from) {
            spread->late_to &= ~(UINT64_C(1) << i);
        }
    }
    if (spread->late_to == 0) {
        forget_late(spread);
    }
}

static void spread_on_tick(struct rz_spread *spread, const struct rz_event *event,
                           struct rz_actions *out)
{
    if (spread->due <= event->now) {
        send_late(spread, out);
    }
}

/* ---- known items ---- */

/* Whether a mutant treats known items as new. */
static bool takes_again(struct rz_spread *spread, const uint64_t *items, uint32_t n_items,
                        uint32_t n_new)
{
    if (spread_mutated(spread, RZ_SPREAD_EQUAL_SETS)) {
        return n_new > 0 || n_items != spread->n_known;
    }
    return spread_mutated(spread, RZ_SPREAD_MARK_LATE) && n_items == spread->n_fresh &&
           memcmp(items, fresh_of(spread), n_items * sizeof(*items)) == 0;
}

/* The new items, and the destinations they must be sent to now; flags: of the message that brought
 * them. */
static void send_fresh(struct rz_spread *spread, rz_id origin, rz_id from, uint16_t flags,
                       rz_time now, struct rz_actions *out)
{
    struct rz_message about = {.origin = origin, .n_items = spread->n_fresh};
    const uint64_t *fresh = fresh_of(spread);
    bool hurry =
        spread->config.redundant_after == 0 || spread->n_failed > 0 || flags & RZ_SPREAD_URGENT;
    if (hurry) {
        about.flags = urgent(spread);
        aim_at_neighbours(spread, origin, from);
    } else {
        put_off(spread, origin, from, now);
    }
    emit_news(spread, spread->to, spread->n_to, &about, fresh, out);
    struct rz_action *notice = rz_emit(out, RZ_ACTION_NOTIFY);
    notice->what = RZ_SPREAD_DELIVER;
    notice->arg[0] = origin;
    notice->items = fresh;
    notice->n_items = spread->n_fresh;
    if (spread->late_to != 0 && !hurry) {
        spread->n_late += spread->n_fresh;
    }
}

/* Items are marked known before they are sent: a second copy then brings nothing new. Only the new
 * ones are sent. about: the message that brought them, or one with its fields. */
static enum rz_more take_items(struct rz_spread *spread, const struct rz_message *about,
                               const uint64_t *items, rz_time now, struct rz_actions *out)
{
    uint32_t n_new = 0, n_items = about->n_items;
    for (uint32_t i = 0; i < n_items; i++) {
        n_new += !rz_items_contain(known_of(spread), spread->n_known, items[i]);
    }
    bool again = takes_again(spread, items, n_items, n_new);
    if (n_new == 0 && !again) {
        return RZ_DONE;
    }
    if (!spread_has_room(spread, spread->n_known, n_new, out)) {
        return RZ_NEED;
    }
    spread->n_fresh = 0;
    for (uint32_t i = 0; i < n_items; i++) {
        if (rz_items_insert(known_of(spread), &spread->n_known, spread->max, items[i]) || again) {
            rz_items_insert(fresh_of(spread), &spread->n_fresh, spread->max, items[i]);
        }
    }
    send_fresh(spread, about->origin, about->from, about->flags, now, out);
    return RZ_DONE;
}

static enum rz_more spread_on_receive(struct rz_spread *spread, const struct rz_event *event,
                                      struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    if (message->view != spread->config.view || message->type != RZ_SPREAD_NEWS ||
        message->origin >= spread->config.n_members || message->from >= spread->config.n_members) {
        return RZ_DONE;
    }
    hear_late(spread, message, event->items);
    return take_items(spread, message, event->items, event->now, out);
}

static enum rz_more on_broadcast(struct rz_spread *spread, const struct rz_event *event,
                                 struct rz_actions *out)
{
    const struct rz_message own = {
        .origin = spread->self, .from = spread->self, .n_items = event->n_items};
    rz_assert(event->call == RZ_SPREAD_BROADCAST);
    return take_items(spread, &own, event->items, event->now, out);
}

/*
 * The deferred items are sent now: the failed member may have been the one to forward them. New
 * neighbours in the ring of the living get all items known here: some may have stopped at the
 * failed members between.
 */
static enum rz_more spread_on_failure(struct rz_spread *spread, const struct rz_event *event,
                                      struct rz_actions *out)
{
    uint32_t n = spread->config.n_members, n_beside = 0;
    if (!spread_has_room(spread, spread->n_failed, event->n_ids, out)) {
        return RZ_NEED;
    }
    rz_id next = nearest_alive(spread, 1), previous = nearest_alive(spread, n - 1);
    for (uint32_t i = 0; i < event->n_ids; i++) {
        rz_assert(event->ids[i] < n && event->ids[i] != spread->self);
        rz_items_insert(failed_of(spread), &spread->n_failed, spread->max, event->ids[i]);
    }
    if (spread->n_late > 0 && spread->n_failed > 0) {
        send_late(spread, out);
    }
    if (spread->n_known == 0 || spread_mutated(spread, RZ_SPREAD_OPEN_RING)) {
        return RZ_DONE;
    }
    rz_id now_next = nearest_alive(spread, 1), now_previous = nearest_alive(spread, n - 1);
    if (now_next != next && now_next != spread->self) {
        spread->beside[n_beside++] = now_next;
    }
    if (now_previous != previous && now_previous != spread->self &&
        (n_beside == 0 || now_previous != now_next)) {
        spread->beside[n_beside++] = now_previous;
    }
    const struct rz_message about = {
        .flags = urgent(spread), .origin = spread->self, .n_items = spread->n_known};
    emit_news(spread, spread->beside, n_beside, &about, known_of(spread), out);
    return RZ_DONE;
}

enum rz_more rz_spread_step(struct rz_spread *spread, const struct rz_event *event,
                            struct rz_actions *out)
{
    switch (event->kind) {
    case RZ_EVENT_RECEIVE:
        return spread_on_receive(spread, event, out);
    case RZ_EVENT_FAILURE:
        return spread_on_failure(spread, event, out);
    case RZ_EVENT_CALL:
        return on_broadcast(spread, event, out);
    case RZ_EVENT_TICK:
        spread_on_tick(spread, event, out);
        break;
    case RZ_EVENT_CONTINUE:
        break;
    }
    return RZ_DONE;
}

rz_time rz_spread_deadline(const struct rz_spread *spread)
{
    return spread->due;
}

uint64_t rz_spread_hash(const struct rz_spread *spread)
{
    uint64_t hash = rz_mix(spread->self, ((uint64_t)spread->n_known << 32) + spread->n_failed);
    for (uint32_t i = 0; i < spread->n_known; i++) {
        hash = rz_mix(hash, spread->items[i]);
    }
    for (uint32_t i = 0; i < spread->n_failed; i++) {
        hash = rz_mix(hash, spread->items[spread->max + i]);
    }
    if (spread->n_late > 0) {
        hash = rz_mix(rz_mix(hash, spread->due), spread->late_to);
    }
    for (uint32_t i = 0; i < spread->n_late; i++) {
        hash = rz_mix(hash, spread->items[2 * (size_t)spread->max + i]);
    }
    return hash;
}

const uint64_t *rz_spread_known(const struct rz_spread *spread, uint32_t *n)
{
    *n = spread->n_known;
    return spread->items;
}

bool rz_spread_knows(const struct rz_spread *spread, uint64_t item)
{
    return rz_items_contain(spread->items, spread->n_known, item);
}

bool rz_spread_knows_failed(const struct rz_spread *spread, rz_id id)
{
    return rz_items_contain(spread->items + spread->max, spread->n_failed, id);
}
