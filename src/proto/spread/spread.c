#include "proto/spread/spread.h"

#include "base/assert.h"
#include "base/idset.h"
#include "base/random.h"
#include "proto/emit.h"

#include <string.h>

#define ITEMS_MAX_DEFAULT 8

/* items holds three arrays of `max` each: known items, members known dead (both sorted), and what
 * is new in this step. */
struct rz_spread {
    struct rz_spread_config config;
    rz_id self;
    uint32_t max;
    uint32_t n_known, n_dead, n_fresh;
    uint32_t n_to;
    rz_id to[RZ_SPREAD_NEIGHBOURS_MAX];
    uint64_t items[];
};

static uint64_t *known_of(struct rz_spread *spread)
{
    return spread->items;
}

static uint64_t *dead_of(struct rz_spread *spread)
{
    return spread->items + spread->max;
}

static uint64_t *fresh_of(struct rz_spread *spread)
{
    return spread->items + 2 * (size_t)spread->max;
}

static size_t bytes_for(uint32_t max)
{
    return sizeof(struct rz_spread) + 3 * (size_t)max * sizeof(uint64_t);
}

size_t rz_spread_size(const struct rz_spread_config *config)
{
    return bytes_for(config->items_max > 0 ? config->items_max : ITEMS_MAX_DEFAULT);
}

void rz_spread_init(struct rz_spread *spread, const struct rz_spread_config *config, rz_id self,
                    rz_time now, uint64_t seed)
{
    (void)now, (void)seed;
    rz_assert(self < config->n_members);
    memset(spread, 0, rz_spread_size(config));
    spread->config = *config;
    spread->self = self;
    spread->max = config->items_max > 0 ? config->items_max : ITEMS_MAX_DEFAULT;
}

void rz_spread_grow(struct rz_spread *spread, size_t bytes)
{
    uint32_t old = spread->max;
    uint32_t max = (uint32_t)((bytes - sizeof *spread) / (3 * sizeof(uint64_t)));
    rz_assert(max >= old);
    memset(spread->items + 3 * (size_t)old, 0, 3 * (size_t)(max - old) * sizeof(uint64_t));
    memmove(spread->items + max, spread->items + old, spread->n_dead * sizeof(uint64_t));
    spread->max = max;
    spread->n_fresh = 0;
}

/* Whether the arrays hold `more` further entries; else *out says how large the block must become.
 */
static bool has_room(const struct rz_spread *spread, uint32_t used, uint32_t more,
                     struct rz_actions *out)
{
    if (more <= spread->max - used)
        return true;
    uint32_t max = 2 * spread->max;
    out->need = bytes_for(max - used >= more ? max : used + more);
    return false;
}

/* The nearest living member in the direction of step (1 or n - 1); self when there is none. */
static rz_id nearest_alive(struct rz_spread *spread, uint32_t step)
{
    uint32_t n = spread->config.n_members;
    rz_id id = spread->self;
    do
        id = (rz_id)(((uint64_t)id + step) % n);
    while (id != spread->self && rz_items_contain(dead_of(spread), spread->n_dead, id));
    return id;
}

static void aim_at(struct rz_spread *spread, rz_id id)
{
    for (uint32_t i = 0; i < spread->n_to; i++)
        if (spread->to[i] == id)
            return;
    if (id != spread->self)
        spread->to[spread->n_to++] = id;
}

static bool mutated(const struct rz_spread *spread, enum rz_spread_mutation mutation)
{
    return (spread->config.mutations & mutation) != 0;
}

static uint32_t neighbours_of(const struct rz_spread *spread, rz_id origin,
                              rz_id to[RZ_SPREAD_NEIGHBOURS_MAX])
{
    uint32_t n = spread->config.n_members;
    if (mutated(spread, RZ_SPREAD_WRONG_OFFSETS))
        return rz_spread_neighbours_wrong(n, spread->self, to);
    if (spread->config.order == RZ_SPREAD_NEAR_FIRST)
        return rz_spread_neighbours_near(n, spread->self, to);
    return rz_spread_neighbours(n, spread->self, origin, to);
}

/* All neighbours but `except`, which is known to know; the ring of the living is closed over the
 * dead. */
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
        if (rz_items_contain(dead_of(spread), spread->n_dead, id)) {
            if ((id != next && id != previous) || mutated(spread, RZ_SPREAD_OPEN_RING))
                continue;
            id = nearest_alive(spread, id == next ? 1 : n - 1);
        }
        if (id != except)
            aim_at(spread, id);
    }
}

static void emit_news(struct rz_spread *spread, rz_id origin, const uint64_t *items,
                      uint32_t n_items, struct rz_actions *out)
{
    if (spread->n_to == 0)
        return;
    struct rz_action *action = rz_emit(out, RZ_ACTION_SEND);
    action->to = spread->to;
    action->n_to = spread->n_to;
    action->message = (struct rz_message){.room = RZ_ROOM_SPREAD,
                                          .type = RZ_SPREAD_NEWS,
                                          .view = spread->config.view,
                                          .from = spread->self,
                                          .origin = origin,
                                          .n_items = n_items};
    action->items = items;
}

/* Whether a mutant takes known items for new ones. */
static bool takes_again(struct rz_spread *spread, const uint64_t *items, uint32_t n_items,
                        uint32_t n_new)
{
    if (mutated(spread, RZ_SPREAD_EQUAL_SETS))
        return n_new > 0 || n_items != spread->n_known;
    return mutated(spread, RZ_SPREAD_MARK_LATE) && n_items == spread->n_fresh &&
           memcmp(items, fresh_of(spread), n_items * sizeof *items) == 0;
}

/* Items are marked known before they are sent on: a second copy finds nothing new. Only the new
 * ones are sent. */
static enum rz_more take_items(struct rz_spread *spread, const uint64_t *items, uint32_t n_items,
                               rz_id origin, rz_id from, struct rz_actions *out)
{
    uint32_t n_new = 0;
    for (uint32_t i = 0; i < n_items; i++)
        n_new += !rz_items_contain(known_of(spread), spread->n_known, items[i]);
    bool again = takes_again(spread, items, n_items, n_new);
    if (n_new == 0 && !again)
        return RZ_DONE;
    if (!has_room(spread, spread->n_known, n_new, out))
        return RZ_NEED;
    spread->n_fresh = 0;
    for (uint32_t i = 0; i < n_items; i++)
        if (rz_items_insert(known_of(spread), &spread->n_known, spread->max, items[i]) || again)
            rz_items_insert(fresh_of(spread), &spread->n_fresh, spread->max, items[i]);
    aim_at_neighbours(spread, origin, from);
    emit_news(spread, origin, fresh_of(spread), spread->n_fresh, out);
    struct rz_action *notice = rz_emit(out, RZ_ACTION_NOTIFY);
    notice->what = RZ_SPREAD_DELIVER;
    notice->arg[0] = origin;
    notice->items = fresh_of(spread);
    notice->n_items = spread->n_fresh;
    return RZ_DONE;
}

static enum rz_more on_receive(struct rz_spread *spread, const struct rz_event *event,
                               struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    if (message->view != spread->config.view || message->type != RZ_SPREAD_NEWS ||
        message->origin >= spread->config.n_members || message->from >= spread->config.n_members)
        return RZ_DONE;
    return take_items(spread, event->items, message->n_items, message->origin, message->from, out);
}

/* New neighbours in the ring of the living get all that is known here: it may have stopped at the
 * dead between us. */
static enum rz_more on_death(struct rz_spread *spread, const struct rz_event *event,
                             struct rz_actions *out)
{
    uint32_t n = spread->config.n_members;
    if (!has_room(spread, spread->n_dead, event->n_ids, out))
        return RZ_NEED;
    rz_id next = nearest_alive(spread, 1), previous = nearest_alive(spread, n - 1);
    for (uint32_t i = 0; i < event->n_ids; i++) {
        rz_assert(event->ids[i] < n && event->ids[i] != spread->self);
        rz_items_insert(dead_of(spread), &spread->n_dead, spread->max, event->ids[i]);
    }
    spread->n_to = 0;
    if (spread->n_known == 0 || mutated(spread, RZ_SPREAD_OPEN_RING))
        return RZ_DONE;
    if (nearest_alive(spread, 1) != next)
        aim_at(spread, nearest_alive(spread, 1));
    if (nearest_alive(spread, n - 1) != previous)
        aim_at(spread, nearest_alive(spread, n - 1));
    emit_news(spread, spread->self, known_of(spread), spread->n_known, out);
    return RZ_DONE;
}

enum rz_more rz_spread_step(struct rz_spread *spread, const struct rz_event *event,
                            struct rz_actions *out)
{
    switch (event->kind) {
    case RZ_EVENT_RECEIVE:
        return on_receive(spread, event, out);
    case RZ_EVENT_DEATH:
        return on_death(spread, event, out);
    case RZ_EVENT_CALL:
        rz_assert(event->call == RZ_SPREAD_BROADCAST);
        return take_items(spread, event->items, event->n_items, spread->self, spread->self, out);
    case RZ_EVENT_TICK:
    case RZ_EVENT_CONTINUE:
        break;
    }
    return RZ_DONE;
}

rz_time rz_spread_deadline(const struct rz_spread *spread)
{
    (void)spread;
    return RZ_TIME_NEVER;
}

uint64_t rz_spread_hash(const struct rz_spread *spread)
{
    uint64_t hash = rz_mix(spread->self, ((uint64_t)spread->n_known << 32) + spread->n_dead);
    for (uint32_t i = 0; i < spread->n_known; i++)
        hash = rz_mix(hash, spread->items[i]);
    for (uint32_t i = 0; i < spread->n_dead; i++)
        hash = rz_mix(hash, spread->items[spread->max + i]);
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

bool rz_spread_knows_dead(const struct rz_spread *spread, rz_id id)
{
    return rz_items_contain(spread->items + spread->max, spread->n_dead, id);
}
