/* SPDX-License-Identifier: BSD-3-Clause */
/* A world under exhaustive mode: its packets and flights, the execution of a choice, and its undo.
 */
#include "sim/explorer.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* ---- packets: each content once, so that a flight is a pointer ---- */

static struct rz_sim_packet **packet_slot(struct rz_explorer *x, const struct rz_sim_packet *packet)
{
    size_t i = packet->hash & (x->packets_max - 1);
    while (x->packets[i] && !rz_protocol_message_equal(x->packets[i], packet)) {
        i = (i + 1) & (x->packets_max - 1);
    }
    return &x->packets[i];
}

static void packets_enlarge(struct rz_explorer *x)
{
    struct rz_sim_packet **old = x->packets;
    size_t old_max = x->packets_max;
    x->packets_max = old_max > 0 ? 2 * old_max : 1024;
    x->packets = rz_sim_memory(NULL, x->packets_max * sizeof(*x->packets));
    memset(x->packets, 0, x->packets_max * sizeof(*x->packets));
    for (size_t i = 0; i < old_max; i++) {
        if (old[i]) {
            *packet_slot(x, old[i]) = old[i];
        }
    }
    free(old);
}

static struct rz_sim_packet *packet_intern(struct rz_explorer *x, struct rz_sim_packet *packet)
{
    if (2 * (x->n_packets + 1) > x->packets_max) {
        packets_enlarge(x);
    }
    struct rz_sim_packet **slot = packet_slot(x, packet);
    if (*slot) {
        rz_protocol_message_release(packet);
        return *slot;
    }
    *slot = packet;
    x->n_packets++;
    return packet;
}

/* ---- flights ---- */

static void flight_add(struct rz_explorer *x, struct rz_flight flight)
{
    if (rz_reduce_copy(x, &flight)) {
        return;
    }
    if (x->n_flights == x->flights_max) {
        x->flights_max = x->flights_max > 0 ? 2 * x->flights_max : 64;
        x->flights = rz_sim_memory(x->flights, x->flights_max * sizeof(*x->flights));
    }
    x->flights[x->n_flights++] = flight;
}

void rz_explorer_forget(struct rz_explorer *x, uint32_t i)
{
    x->n_flights--;
    memmove(&x->flights[i], &x->flights[i + 1], (x->n_flights - i) * sizeof(*x->flights));
}

static void on_send(struct rz_sim *sim, struct rz_sim_packet *packet, rz_id from, rz_id to)
{
    (void)from;
    struct rz_explorer *x = sim->driver_data;
    const struct rz_sim_scenario *scenario = sim->scenario;
    packet = rz_reduce_packet(x, packet);
    struct rz_flight flight = {
        .packet = packet_intern(x, packet), .to = to, .latest = RZ_TIME_NEVER};
    if (scenario->latency_max > 0) {
        flight.sent = sim->common->now;
        flight.earliest = sim->common->now + scenario->latency_min;
        flight.latest = sim->common->now + scenario->latency_max;
    }
    flight_add(x, flight);
}

static void on_call(struct rz_sim *sim, struct rz_sim_packet *packet, rz_id to)
{
    struct rz_explorer *x = sim->driver_data;
    uint32_t order = 0;
    for (uint32_t i = 0; i < x->n_flights && !packet->unordered; i++) {
        if (x->flights[i].packet->is_call && !x->flights[i].packet->unordered &&
            x->flights[i].to == to) {
            order++;
        }
    }
    /* In timed scenarios calls are made before crash_until, like the other actions of hosts and
     * faults. */
    const struct rz_sim_scenario *scenario = sim->scenario;
    rz_time latest = scenario->latency_max > 0 ? scenario->crash_until : RZ_TIME_NEVER;
    flight_add(x,
               (struct rz_flight){.packet = packet_intern(x, packet),
                                  .to = to,
                                  .order = order,
                                  .latest = latest > sim->common->now ? latest : sim->common->now});
}

static void on_tell(struct rz_sim *sim, rz_id member, rz_id failed)
{
    (void)sim, (void)member, (void)failed; /* the pending bits of the world record it */
}

static const struct rz_sim_driver explore_driver = {on_send, on_call, on_tell};

/* The queue advances when its first call is made. */
static void calls_move_up(struct rz_explorer *x, rz_id member)
{
    for (uint32_t i = 0; i < x->n_flights; i++) {
        struct rz_flight *flight = &x->flights[i];
        if (flight->packet->is_call && !flight->packet->unordered && flight->to == member) {
            rz_assert(flight->order > 0);
            flight->order--;
        }
    }
}

/* ---- execution of a choice ---- */

/* Messages of a member known failed would be dropped on arrival (the component is asked); they need
 * not stay in flight. */
static bool drop_fenced(struct rz_explorer *x, rz_id member, uint64_t failed)
{
    for (uint32_t i = x->n_flights; i-- > 0;) {
        const struct rz_flight *flight = &x->flights[i];
        if (flight->to != member || flight->packet->is_call ||
            !(failed >> flight->packet->message.from & 1)) {
            continue;
        }
        if (!rz_world_check_void(x->sim, member, flight->packet)) {
            return rz_sim_say(x->sim, "%u, which knows that %u has failed, took a message from it",
                              member, flight->packet->message.from);
        }
        rz_explorer_forget(x, i);
    }
    return true;
}

static bool apply_tell(struct rz_explorer *x, const struct rz_choice *choice)
{
    rz_id failed[64];
    uint32_t n = 0;
    for (rz_id id = 0; id < x->sim->n; id++) {
        if (choice->bits >> id & 1) {
            failed[n++] = id;
        }
    }
    return rz_world_tell(x->sim, choice->member, failed, n, NULL) &&
           (!x->sim->scenario->fenced || !x->sim->alive[choice->member] ||
            drop_fenced(x, choice->member, choice->bits));
}

/* Messages are lost with a member: those of the choice's bits. */
static void lose(struct rz_explorer *x, const struct rz_choice *choice)
{
    uint32_t own = 0;
    bool keep;
    for (uint32_t i = 0; i < x->n_flights; i += keep) {
        keep = true;
        if (rz_flight_fails_with(x, &x->flights[i], choice->kind, choice->member) &&
            choice->bits >> own++ & 1) {
            rz_trace_packet(x->sim, "loses", choice->member, x->flights[i].packet);
            keep = false;
            rz_explorer_forget(x, i);
        }
    }
}

static bool apply_arrival(struct rz_explorer *x, const struct rz_choice *choice)
{
    const struct rz_sim_packet *packet = x->flights[choice->flight].packet;
    rz_explorer_forget(x, choice->flight);
    if (packet->is_call && !packet->unordered) {
        calls_move_up(x, choice->member);
    }
    return rz_world_deliver(x->sim, choice->member, packet, NULL) &&
           rz_reduce_check_copy(x, choice->member, packet);
}

static void drop_for_failed(struct rz_explorer *x)
{
    for (uint32_t i = x->n_flights; i-- > 0;) {
        if (!x->sim->alive[x->flights[i].to]) {
            rz_explorer_forget(x, i);
        }
    }
}

bool rz_explorer_apply(struct rz_explorer *x, const struct rz_choice *choice)
{
    struct rz_sim *sim = x->sim;
    uint32_t alive = sim->common->n_alive;
    bool safe = true;
    switch (choice->kind) {
    case RZ_CHOOSE_ARRIVAL:
        safe = apply_arrival(x, choice);
        break;
    case RZ_CHOOSE_TELL:
        safe = apply_tell(x, choice);
        break;
    case RZ_CHOOSE_TICK:
        safe = rz_world_tick(sim, choice->member, NULL);
        break;
    case RZ_CHOOSE_TIME:
        sim->common->now = choice->until;
        break;
    case RZ_CHOOSE_CRASH:
        lose(x, choice);
        safe = rz_world_crash(sim, choice->member);
        break;
    case RZ_CHOOSE_CONDEMN:
        lose(x, choice);
        break;
    case RZ_CHOOSE_VIEW_CHANGE:
        break;
    }
    rz_view_change_apply(x, choice);
    if (alive != sim->common->n_alive) {
        drop_for_failed(x);
    }
    safe = safe && rz_reduce_flights(x);
    if (choice->kind < RZ_CHOOSE_TIME && sim->alive[choice->member]) {
        sim->members[choice->member].hash =
            sim->scenario->protocol->hash(sim->members[choice->member].state);
    }
    return safe;
}

bool rz_explorer_start(struct rz_explorer *x)
{
    if (!rz_world_start(x->sim)) {
        return false;
    }
    rz_view_change_start(x);
    return rz_reduce_flights(x);
}

/* ---- undo ---- */

/* One level of the saved stack: common block, flights, and the member that the choice steps; then
 * this. */
struct saved_tail {
    uint32_t n_flights;
    size_t member_bytes;
    uint64_t member_hash;
    size_t level_bytes;
};

static void saved_put(struct rz_explorer *x, const void *data, size_t bytes)
{
    if (x->saved_bytes + bytes > x->saved_max) {
        x->saved_max = 2 * (x->saved_bytes + bytes);
        x->saved = rz_sim_memory(x->saved, x->saved_max);
    }
    if (bytes > 0) {
        memcpy(x->saved + x->saved_bytes, data, bytes);
    }
    x->saved_bytes += bytes;
}

void rz_explorer_save(struct rz_explorer *x, const struct rz_choice *choice)
{
    const struct rz_sim *sim = x->sim;
    size_t begin = x->saved_bytes;
    struct saved_tail tail = {.n_flights = x->n_flights};
    saved_put(x, sim->common, sim->common_bytes);
    saved_put(x, x->flights, x->n_flights * sizeof(*x->flights));
    if (choice->kind < RZ_CHOOSE_TIME) {
        const struct rz_sim_member *member = &sim->members[choice->member];
        tail.member_bytes = member->bytes;
        tail.member_hash = member->hash;
        saved_put(x, member->state, member->bytes);
    }
    tail.level_bytes = x->saved_bytes - begin + sizeof(tail);
    saved_put(x, &tail, sizeof(tail));
}

void rz_explorer_undo(struct rz_explorer *x, const struct rz_choice *choice)
{
    struct rz_sim *sim = x->sim;
    struct saved_tail tail;
    memcpy(&tail, x->saved + x->saved_bytes - sizeof(tail), sizeof(tail));
    x->saved_bytes -= tail.level_bytes;
    const char *from = x->saved + x->saved_bytes;
    memcpy(sim->common, from, sim->common_bytes);
    from += sim->common_bytes;
    x->n_flights = tail.n_flights;
    if (tail.n_flights > 0) {
        memcpy(x->flights, from, tail.n_flights * sizeof(*x->flights));
    }
    from += tail.n_flights * sizeof(*x->flights);
    if (choice->kind < RZ_CHOOSE_TIME) {
        struct rz_sim_member *member = &sim->members[choice->member];
        memcpy(member->state, from, tail.member_bytes);
        member->bytes = tail.member_bytes;
        member->hash = tail.member_hash;
    }
    for (rz_id id = 0; id < sim->n; id++) {
        sim->states[id] = sim->alive[id] ? sim->members[id].state : NULL;
    }
}

uint64_t rz_explorer_hash(const struct rz_explorer *x)
{
    const struct rz_sim *sim = x->sim;
    const uint64_t *words = (const uint64_t *)sim->common;
    uint64_t hash = 0, flights = 0;
    for (size_t i = 0; i < sim->common_bytes / sizeof(*words); i++) {
        hash = rz_mix(hash, words[i]);
    }
    for (rz_id id = 0; id < sim->n; id++) {
        hash = rz_mix(hash, sim->alive[id] ? sim->members[id].hash : 0);
    }
    for (uint32_t i = 0; i < x->n_flights; i++) {
        const struct rz_flight *flight = &x->flights[i];
        uint64_t one = rz_mix(flight->packet->hash, ((uint64_t)flight->order << 32) + flight->to);
        flights += flight->latest == RZ_TIME_NEVER ? one : rz_mix(one, flight->latest);
    }
    return rz_mix(hash, flights);
}

/* ---- create and destroy ---- */

void rz_explorer_open(struct rz_explorer *x, const struct rz_sim_options *options)
{
    memset(x, 0, sizeof(*x));
    x->whole = options->whole;
    x->sim = rz_world_create(options, 1, &explore_driver, x);
    rz_assert(x->sim->n <= 32);
    const struct rz_sim_claims *claims = &options->scenario->claims;
    rz_assert(!claims->news_first || (!options->scenario->fenced && !claims->turns));
    rz_assert(!claims->turns || (options->scenario->tick > 0 &&
                                 options->scenario->latency_min >= options->scenario->tick &&
                                 !options->scenario->fenced));
}

void rz_explorer_close(struct rz_explorer *x)
{
    for (size_t i = 0; i < x->packets_max; i++) {
        if (x->packets[i]) {
            rz_protocol_message_release(x->packets[i]);
        }
    }
    free(x->packets);
    free(x->saved);
    free(x->choices);
    free(x->flights);
    rz_world_destroy(x->sim);
}
