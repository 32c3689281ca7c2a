/* SPDX-License-Identifier: BSD-3-Clause */
/* The heartbeat ring: sends heartbeats to the observer, watches the observed member, and takes the
 * next predecessor when it has failed. */
#include "proto/ring/ring.h"

#include "proto/mutation.h"
#include "base/assert.h"
#include "base/idset.h"
#include "base/lateness.h"
#include "base/random.h"
#include "proto/emit.h"

#include <string.h>

#define OUT_MAX_FIRST 4

struct rz_ring {
    struct rz_ring_config config;
    rz_id self;
    rz_id observing, observer;
    bool silent;
    rz_time emit_at;    /* when the next heartbeat is due */
    rz_time suspect_at; /* when the silence becomes a suspicion */
    uint64_t sent;      /* sequence number of the last heartbeat sent */
    uint64_t heard;     /* sequence number of the last heartbeat from `observing`, 0: none yet */
    struct rz_lateness late; /* own lateness */
    rz_time observed_late;   /* the lateness in the last heartbeat from `observing` */
    rz_time granted;         /* the part of suspect_at that is due to lateness */
    rz_id to;                /* a destination stays here until the next step */
    rz_id to_observer;
    uint32_t n_out, out_max;
    uint64_t out[]; /* sorted: failed or left */
};

/* ---- the block ---- */

static size_t ring_bytes_for(uint32_t out_max)
{
    return sizeof(struct rz_ring) + out_max * sizeof(uint64_t);
}

size_t rz_ring_size(const struct rz_ring_config *config)
{
    (void)config;
    return ring_bytes_for(OUT_MAX_FIRST);
}

void rz_ring_init(struct rz_ring *ring, const struct rz_ring_config *config, rz_id self,
                  rz_time now, uint64_t seed)
{
    (void)seed;
    uint32_t n = config->n_members;
    rz_assert(self < n);
    rz_assert(config->hb_period > 0 && config->hb_timeout > config->hb_period);
    memset(ring, 0, rz_ring_size(config));
    ring->config = *config;
    ring->self = self;
    ring->out_max = OUT_MAX_FIRST;
    ring->observing = n > 1 ? (self + n - 1) % n : RZ_ID_NONE;
    ring->observer = n > 1 ? (self + 1) % n : RZ_ID_NONE;
    ring->emit_at = now + config->hb_period;
    ring->suspect_at = now + config->hb_timeout + config->start_slack;
}

void rz_ring_grow(struct rz_ring *ring, size_t bytes)
{
    uint32_t out_max = (uint32_t)((bytes - sizeof(*ring)) / sizeof(uint64_t));
    rz_assert(out_max >= ring->out_max);
    memset(ring->out + ring->out_max, 0, (out_max - ring->out_max) * sizeof(*ring->out));
    ring->out_max = out_max;
}

static bool ring_has_room(const struct rz_ring *ring, uint32_t more, struct rz_actions *out)
{
    if (more <= ring->out_max - ring->n_out) {
        return true;
    }
    uint32_t out_max = 2 * ring->out_max;
    out->need = ring_bytes_for(out_max - ring->n_out >= more ? out_max : ring->n_out + more);
    return false;
}

static bool ring_mutated(const struct rz_ring *ring, enum rz_ring_mutation mutation)
{
    return RZ_MUTATED(ring->config.mutations, mutation);
}

/* ---- actions ---- */

static void ring_send(const struct rz_ring *ring, const rz_id *to, enum rz_ring_message type,
                      uint64_t seq, struct rz_actions *out)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_SEND);
    action->to = to;
    action->n_to = 1;
    action->message = (struct rz_message){.protocol = RZ_PROTOCOL_RING,
                                          .type = (uint8_t)type,
                                          .view = ring->config.view,
                                          .from = ring->self,
                                          .origin = ring->self,
                                          .seq = seq};
}

static void ring_notify(struct rz_actions *out, enum rz_ring_notice what, rz_id member)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_NOTIFY);
    action->what = what;
    action->arg[0] = member;
}

static void send_heartbeat(struct rz_ring *ring, rz_time now, struct rz_actions *out)
{
    ring->emit_at = now + ring->config.hb_period;
    ring->to_observer = ring->observer;
    ring_send(ring, &ring->to_observer, RZ_RING_HEARTBEAT, ++ring->sent, out);
    out->v[out->count - 1].message.word[0] = rz_ring_lateness(ring, now);
}

static void fall_silent(struct rz_ring *ring)
{
    ring->silent = true;
    ring->observing = ring->observer = RZ_ID_NONE;
}

/* ---- lateness ---- */

rz_time rz_ring_lateness(const struct rz_ring *ring, rz_time now)
{
    return rz_lateness_at(&ring->late, now);
}

static rz_time allowance(const struct rz_ring *ring, rz_time now)
{
    rz_time own = rz_ring_lateness(ring, now);
    rz_time late = ring->observed_late > own ? ring->observed_late : own;
    return ring_mutated(ring, RZ_RING_HASTY) ? 0 : RZ_LATENESS_FACTOR * late;
}

/* From now on the silence must last this long, and longer where a member is late. */
static void be_patient(struct rz_ring *ring, rz_time now, rz_time patience)
{
    ring->granted = allowance(ring, now);
    ring->suspect_at = now + patience + ring->granted;
}

static rz_time believed(const struct rz_ring *ring, rz_time late)
{
    return late < ring->config.lateness_max ? late : ring->config.lateness_max;
}

static void on_lateness(struct rz_ring *ring, rz_time now, rz_time late)
{
    if (!rz_lateness_raise(&ring->late, now, believed(ring, late))) {
        return;
    }
    rz_time granted = allowance(ring, now);
    if (granted > ring->granted) {
        ring->suspect_at += granted - ring->granted;
        ring->granted = granted;
    }
}

/* ---- repair ---- */

static bool is_out(const struct rz_ring *ring, rz_id id)
{
    return rz_items_contain(ring->out, ring->n_out, id);
}

/* The closest member in the direction of step (1 or n - 1) that is not out of the ring; NONE if no
 * other member is left. */
static rz_id closest(const struct rz_ring *ring, uint32_t step)
{
    uint32_t n = ring->config.n_members;
    rz_id id = ring->self;
    do {
        id = (rz_id)(((uint64_t)id + step) % n);
    } while (id != ring->self && is_out(ring, id));
    return id != ring->self ? id : RZ_ID_NONE;
}

/* After members have left the ring: observe the closest remaining predecessor, and serve the
 * closest remaining successor until another one asks. The new observed member gets one timeout of
 * grace for the request to reach it (RDaemon#, step 4d). Its lateness is not known yet and is taken
 * to be that of the member before it. */
static void mend(struct rz_ring *ring, rz_time now, struct rz_actions *out)
{
    if (ring->observer != RZ_ID_NONE && is_out(ring, ring->observer) &&
        !ring_mutated(ring, RZ_RING_KEEP_OBSERVER)) {
        ring->observer = closest(ring, 1);
    }
    if (ring->observing == RZ_ID_NONE || !is_out(ring, ring->observing)) {
        return;
    }
    ring->observing = closest(ring, ring->config.n_members - 1);
    if (!ring_mutated(ring, RZ_RING_KEEP_HEARD)) {
        ring->heard = 0;
    }
    be_patient(ring, now, 2 * ring->config.hb_timeout);
    if (ring->observing == RZ_ID_NONE) {
        return;
    }
    ring->to = ring->observing;
    ring_send(ring, &ring->to, RZ_RING_REQUEST, 0, out);
}

static void put_out(struct rz_ring *ring, rz_id id)
{
    rz_items_insert(ring->out, &ring->n_out, ring->out_max, id);
}

/* ---- events ---- */

/* A late heartbeat that a newer one has overtaken carries no news. */
static void on_heartbeat(struct rz_ring *ring, const struct rz_message *message, rz_time now)
{
    if (message->from != ring->observing || message->seq <= ring->heard) {
        return;
    }
    ring->heard = message->seq;
    ring->observed_late = believed(ring, message->word[0]);
    be_patient(ring, now, ring->config.hb_timeout);
}

/* A valid new observer is at least as far ahead as the present one, because all members between
 * them must be out of the ring; the request of a nearer one is stale (RDaemon#, step 6). */
static void ring_on_request(struct rz_ring *ring, rz_id from, rz_time now, struct rz_actions *out)
{
    uint32_t n = ring->config.n_members;
    uint64_t ahead = ((uint64_t)from + n - ring->self) % n;
    uint64_t present = ((uint64_t)ring->observer + n - ring->self) % n;
    if (ahead < present && !ring_mutated(ring, RZ_RING_ANY_REQUEST)) {
        return;
    }
    ring->observer = from;
    send_heartbeat(ring, now, out);
}

static enum rz_more ring_on_receive(struct rz_ring *ring, const struct rz_event *event,
                                    struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    rz_id from = message->from;
    if (message->view != ring->config.view || from >= ring->config.n_members ||
        from == ring->self || is_out(ring, from)) {
        return RZ_DONE;
    }
    if (message->type == RZ_RING_HEARTBEAT) {
        on_heartbeat(ring, message, event->now);
    } else if (message->type == RZ_RING_REQUEST) {
        ring_on_request(ring, from, event->now, out);
    } else if (message->type == RZ_RING_QUIT) {
        if (!ring_has_room(ring, 1, out)) {
            return RZ_NEED;
        }
        put_out(ring, from);
        ring_notify(out, RZ_RING_LEFT, from);
        mend(ring, event->now, out);
    }
    return RZ_DONE;
}

static enum rz_more ring_on_tick(struct rz_ring *ring, rz_time now, struct rz_actions *out)
{
    /* The tick is a whole period late: this member may have missed heartbeats. Listen first
     * (RDaemon#, step 7). Where lateness counts, it is the measure of that patience. */
    rz_time by = now - rz_ring_deadline(ring);
    bool late = by >= ring->config.hb_period && ring->config.lateness_max == 0;
    on_lateness(ring, now, by);
    bool suspect = now >= ring->suspect_at && !late;
    if (suspect && !ring->config.held && !ring_has_room(ring, 1, out)) {
        return RZ_NEED;
    }
    if (now >= ring->emit_at) {
        send_heartbeat(ring, now, out);
    }
    if (suspect && ring->config.held) {
        ring_notify(out, RZ_RING_SUSPECT, ring->observing);
        be_patient(ring, now, ring->config.hb_timeout);
    } else if (suspect) {
        put_out(ring, ring->observing);
        ring_notify(out, RZ_RING_SUSPECT, ring->observing);
        mend(ring, now, out);
    } else if (now >= ring->suspect_at) {
        ring->suspect_at = now + ring->config.hb_period;
    }
    return RZ_DONE;
}

static enum rz_more ring_on_failure(struct rz_ring *ring, const struct rz_event *event,
                                    struct rz_actions *out)
{
    if (!ring_has_room(ring, event->n_ids, out)) {
        return RZ_NEED;
    }
    for (uint32_t i = 0; i < event->n_ids; i++) {
        rz_assert(event->ids[i] < ring->config.n_members);
        if (event->ids[i] == ring->self && ring_mutated(ring, RZ_RING_NOT_FENCED)) {
            continue;
        }
        if (event->ids[i] == ring->self) {
            fall_silent(ring);
            ring_notify(out, RZ_RING_FENCED, ring->self);
            return RZ_DONE;
        }
        put_out(ring, event->ids[i]);
    }
    if (!ring_mutated(ring, RZ_RING_KEEP_OBSERVED)) {
        mend(ring, event->now, out);
    }
    return RZ_DONE;
}

static void ring_on_leave(struct rz_ring *ring, struct rz_actions *out)
{
    if (ring->observer != RZ_ID_NONE && !ring_mutated(ring, RZ_RING_QUIT_ASTRAY)) {
        ring->to_observer = ring->observer;
        ring_send(ring, &ring->to_observer, RZ_RING_QUIT, 0, out);
    }
    fall_silent(ring);
    ring_notify(out, RZ_RING_LEFT, ring->self);
}

enum rz_more rz_ring_step(struct rz_ring *ring, const struct rz_event *event,
                          struct rz_actions *out)
{
    if (ring->silent) {
        return RZ_DONE;
    }
    switch (event->kind) {
    case RZ_EVENT_RECEIVE:
        return ring_on_receive(ring, event, out);
    case RZ_EVENT_TICK:
        return rz_ring_deadline(ring) <= event->now ? ring_on_tick(ring, event->now, out) : RZ_DONE;
    case RZ_EVENT_FAILURE:
        return ring_on_failure(ring, event, out);
    case RZ_EVENT_CALL:
        rz_assert(event->call == RZ_RING_LEAVE || event->call == RZ_RING_LATENESS);
        if (event->call == RZ_RING_LATENESS) {
            on_lateness(ring, event->now, event->arg[0]);
        } else {
            ring_on_leave(ring, out);
        }
        break;
    case RZ_EVENT_CONTINUE:
        break;
    }
    return RZ_DONE;
}

/* ---- accessors ---- */

rz_time rz_ring_deadline(const struct rz_ring *ring)
{
    if (ring->observing == RZ_ID_NONE) {
        return RZ_TIME_NEVER;
    }
    return ring->emit_at < ring->suspect_at ? ring->emit_at : ring->suspect_at;
}

uint64_t rz_ring_hash(const struct rz_ring *ring)
{
    uint64_t hash = rz_mix(((uint64_t)ring->self << 1) | ring->silent,
                           ((uint64_t)ring->observing << 32) | ring->observer);
    hash = rz_mix(rz_mix(hash, ring->emit_at), ring->suspect_at);
    hash = rz_mix(rz_mix(hash, ring->sent), ring->heard);
    if (ring->config.lateness_max > 0) {
        hash = rz_mix(rz_mix(hash, ring->late.value), ring->late.measured_at);
        hash = rz_mix(rz_mix(hash, ring->observed_late), ring->granted);
    }
    hash = rz_mix(hash, ring->n_out);
    for (uint32_t i = 0; i < ring->n_out; i++) {
        hash = rz_mix(hash, ring->out[i]);
    }
    return hash;
}

rz_id rz_ring_observing(const struct rz_ring *ring)
{
    return ring->observing;
}

rz_id rz_ring_observer(const struct rz_ring *ring)
{
    return ring->observer;
}

const uint64_t *rz_ring_out(const struct rz_ring *ring, uint32_t *n)
{
    *n = ring->n_out;
    return ring->out;
}

bool rz_ring_silent(const struct rz_ring *ring)
{
    return ring->silent;
}
