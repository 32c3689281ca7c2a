/* SPDX-License-Identifier: BSD-3-Clause */
/* One world: its members and their steps, the calls of the two drivers, and those of the
 * scenarios. */
#include "sim/world.h"

#include "base/assert.h"
#include "sim/mutants.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The world whose component is being stepped: an assertion there is a violation, not the end of the
 * simulator. */
bool rz_sim_mutants;

static struct rz_sim *at_work;

static void on_assertion(const char *expression, const char *file, int line)
{
    struct rz_sim *sim = at_work;
    if (!sim) {
        fprintf(stderr, "rzsim: %s:%d: assertion failed: %s\n", file, line, expression);
        return;
    }
    const char *name = strrchr(file, '/');
    rz_sim_say(sim, "assertion failed at %s:%d: %s", name ? name + 1 : file, line, expression);
    longjmp(sim->escape, 1);
}

/* ---- create and destroy ---- */

static size_t align8(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static void common_lay_out(struct rz_sim *sim)
{
    size_t flags = align8(sim->n * sizeof(bool));
    sim->row_words = (sim->n + 63) / 64;
    size_t rows = (size_t)sim->n * sim->row_words * sizeof(uint64_t);
    size_t head = align8(sizeof(*sim->common));
    size_t dates = sim->scenario->tick > 0 ? (size_t)sim->n * sim->n * sizeof(rz_time) : 0;
    sim->common_bytes = head + 2 * flags + 2 * rows + dates + align8(sim->scenario->record_bytes);
    char *block = rz_sim_memory(NULL, sim->common_bytes);
    memset(block, 0, sim->common_bytes);
    sim->common = (struct rz_sim_common *)block;
    sim->alive = (bool *)(block + head);
    sim->crashed = (bool *)(block + head + flags);
    sim->told = (uint64_t *)(block + head + 2 * flags);
    sim->pending = (uint64_t *)(block + head + 2 * flags + rows);
    sim->news_at = (rz_time *)(block + head + 2 * flags + 2 * rows);
    sim->record = block + head + 2 * flags + 2 * rows + dates;
}

static void member_create(struct rz_sim *sim, rz_id id)
{
    const struct rz_protocol *protocol = sim->scenario->protocol;
    struct rz_sim_member *member = &sim->members[id];
    const void *config = sim->scenario->config(sim, id);
    member->bytes = member->capacity = protocol->size(config);
    member->state = rz_sim_memory(NULL, member->bytes);
    /* Components must zero their state themselves: fill it with another value first. */
    memset(member->state, 0xA5, member->bytes);
    rz_time now = sim->scenario->starts ? sim->scenario->starts(sim, id) : 0;
    protocol->init(member->state, config, id, now, rz_mix(rz_mix(sim->seed, 1), id));
    member->hash = protocol->hash(member->state);
    member->steps = 0;
    sim->alive[id] = true;
    sim->states[id] = member->state;
}

struct rz_sim *rz_world_create(const struct rz_sim_options *options, uint64_t seed,
                               const struct rz_sim_driver *driver, void *driver_data)
{
    struct rz_sim *sim = rz_sim_memory(NULL, sizeof(*sim));
    memset(sim, 0, sizeof(*sim));
    sim->scenario = options->scenario;
    rz_sim_mutants = options->mutants || sim->scenario->violation_expected;
    sim->n = options->members > 0 ? options->members : options->scenario->members;
    sim->crashes_max =
        options->crashes != UINT32_MAX ? options->crashes : options->scenario->crashes;
    sim->seed = seed;
    sim->driver = driver;
    sim->driver_data = driver_data;
    sim->network.state = rz_mix(seed, 2);
    sim->faults.state = rz_mix(seed, 3);
    sim->lag.state = rz_mix(seed, 4);
    sim->host.state = rz_mix(seed, 5);
    sim->trouble.state = rz_mix(seed, 6);
    /* The smallest array of actions exercises RZ_MORE; a large one the usual operation of hosts. */
    sim->actions_max = seed % 2 == 0 ? RZ_ACTIONS_MIN : 64;
    sim->stepping = RZ_ID_NONE;
    common_lay_out(sim);
    sim->common->n_alive = sim->n;
    sim->members = rz_sim_memory(NULL, sim->n * sizeof(*sim->members));
    sim->states = rz_sim_memory(NULL, sim->n * sizeof(*sim->states));
    rz_assert_hook = on_assertion;
    for (rz_id id = 0; id < sim->n; id++) {
        member_create(sim, id);
    }
    sim->group = (struct rz_check_group){.n_members = sim->n,
                                         .state = sim->states,
                                         .crashed = sim->crashed,
                                         .why = sim->why,
                                         .why_bytes = sizeof(sim->why)};
    return sim;
}

void rz_world_destroy(struct rz_sim *sim)
{
    for (uint32_t i = 0; i < sim->n_soon; i++) {
        rz_protocol_message_release(sim->soon[i]);
    }
    for (rz_id id = 0; id < sim->n; id++) {
        free(sim->members[id].state);
    }
    free(sim->members);
    free(sim->states);
    free(sim->common);
    free(sim->scratch);
    free(sim);
}

/* ---- one step of one member ---- */

static bool arrives(const struct rz_sim_cut *cut, uint32_t action, uint32_t destination)
{
    if (!cut || cut->loss == 0) {
        return true;
    }
    return rz_mix(cut->loss, ((uint64_t)action << 32) + destination) & 1;
}

static void carry_out_send(struct rz_sim *sim, rz_id from, const struct rz_action *action,
                           uint32_t number, const struct rz_sim_cut *cut)
{
    rz_assert(action->n_to > 0);
    rz_assert(action->message.from == from);
    rz_assert(action->message.protocol == sim->scenario->protocol->number);
    struct rz_sim_packet *packet = rz_sim_packet_of_message(&action->message, action->items);
    for (uint32_t i = 0; i < action->n_to; i++) {
        rz_id to = action->to[i];
        rz_assert(to < sim->n && to != from);
        sim->messages++;
        if (!arrives(cut, number, i)) {
            rz_trace_line(sim, "%u   fails before its message reaches %u", from, to);
            rz_trace_show(sim, RZ_SIM_SEES_SEND, from, to, packet);
            rz_trace_show(sim, RZ_SIM_SEES_LOSS, from, to, packet);
            continue;
        }
        if (sim->trace) {
            char verb[32];
            snprintf(verb, sizeof(verb), "  sends to %u", to);
            rz_trace_packet(sim, verb, from, packet);
        }
        rz_trace_show(sim, RZ_SIM_SEES_SEND, from, to, packet);
        if (!sim->alive[to]) {
            continue;
        }
        packet->refs++;
        sim->driver->send(sim, packet, from, to);
    }
    rz_protocol_message_release(packet);
}

static void carry_out(struct rz_sim *sim, rz_id member, const struct rz_action *action,
                      uint32_t number, const struct rz_sim_cut *cut)
{
    if (action->kind == RZ_ACTION_SEND) {
        carry_out_send(sim, member, action, number, cut);
        return;
    }
    rz_trace_notice(sim, member, action);
    rz_trace_show_notice(sim, member, action);
    if (sim->scenario->notified) {
        sim->scenario->notified(sim, member, action);
    }
}

static void member_grow(struct rz_sim *sim, rz_id id, size_t bytes)
{
    struct rz_sim_member *member = &sim->members[id];
    rz_assert(bytes > member->bytes);
    if (bytes > member->capacity) {
        member->state = rz_sim_memory(member->state, bytes);
        member->capacity = bytes;
    }
    memset((char *)member->state + member->bytes, 0xA5, bytes - member->bytes);
    member->bytes = bytes;
    if (sim->alive[id]) {
        sim->states[id] = member->state;
    }
    sim->scenario->protocol->grow(member->state, bytes);
}

/* Steps until the event is processed, or the member has carried out the actions that its failure
 * allows; *count of them were carried out before. */
static void member_step(struct rz_sim *sim, rz_id id, const struct rz_event *first,
                        const struct rz_sim_cut *cut, uint32_t *count)
{
    const struct rz_protocol *protocol = sim->scenario->protocol;
    struct rz_event event = *first;
    for (;;) {
        struct rz_actions out = {.v = sim->actions, .max = sim->actions_max};
        enum rz_more more = protocol->step(sim->members[id].state, &event, &out);
        rz_assert(out.count <= out.max);
        if (more == RZ_NEED) {
            rz_assert(out.count == 0);
            member_grow(sim, id, out.need);
            continue;
        }
        for (uint32_t i = 0; i < out.count; i++, ++*count) {
            if (cut && *count >= cut->actions) {
                return;
            }
            carry_out(sim, id, &out.v[i], *count, cut);
        }
        if (more == RZ_DONE || !sim->alive[id]) {
            return;
        }
        event = (struct rz_event){.kind = RZ_EVENT_CONTINUE, .now = event.now};
    }
}

static struct rz_event event_of_packet(const struct rz_sim *sim, const struct rz_sim_packet *packet)
{
    struct rz_event event = {.now = sim->common->now, .items = packet->items};
    if (packet->is_call) {
        event.kind = RZ_EVENT_CALL;
        event.call = packet->call;
        event.n_items = packet->n_items;
        memcpy(event.arg, packet->arg, sizeof(event.arg));
    } else {
        event.kind = RZ_EVENT_RECEIVE;
        event.message = &packet->message;
    }
    return event;
}

static void make_calls_soon(struct rz_sim *sim, const struct rz_sim_cut *cut, uint32_t *count)
{
    for (uint32_t i = 0; i < sim->n_soon; i++) {
        rz_id id = sim->soon_member[i];
        if (!sim->alive[id] || (cut && *count >= cut->actions)) {
            continue;
        }
        struct rz_event event = event_of_packet(sim, sim->soon[i]);
        rz_trace_packet(sim, "is called at once:", id, sim->soon[i]);
        rz_trace_show(sim, RZ_SIM_SEES_CALL, id, RZ_ID_NONE, sim->soon[i]);
        sim->stepping = id;
        member_step(sim, id, &event, cut, count);
    }
}

static void forget_calls_soon(struct rz_sim *sim)
{
    for (uint32_t i = 0; i < sim->n_soon; i++) {
        rz_protocol_message_release(sim->soon[i]);
    }
    sim->n_soon = 0;
}

static void lose_member(struct rz_sim *sim, rz_id id)
{
    sim->alive[id] = false;
    sim->states[id] = NULL;
    sim->common->n_alive--;
    memset(sim->told + (size_t)id * sim->row_words, 0, sim->row_words * sizeof(*sim->told));
    memset(sim->pending + (size_t)id * sim->row_words, 0, sim->row_words * sizeof(*sim->pending));
    if (sim->scenario->tick > 0) {
        memset(sim->news_at + (size_t)id * sim->n, 0, sim->n * sizeof(*sim->news_at));
    }
    if (sim->scenario->failed) {
        sim->scenario->failed(sim, id);
    }
    if (sim->scenario->detector != RZ_SIM_DETECTOR_PERFECT) {
        return;
    }
    for (rz_id other = 0; other < sim->n; other++) {
        rz_sim_tell(sim, other, id);
    }
}

static void crash_now(struct rz_sim *sim, rz_id id)
{
    rz_trace_line(sim, "%u fails", id);
    rz_trace_show(sim, RZ_SIM_SEES_FAIL, id, RZ_ID_NONE, NULL);
    sim->crashed[id] = true;
    sim->common->n_crashed++;
    lose_member(sim, id);
}

static bool step_guarded(struct rz_sim *sim, rz_id id, const struct rz_event *event,
                         const struct rz_sim_cut *cut)
{
    at_work = sim;
    if (setjmp(sim->escape) != 0) {
        at_work = NULL;
        return false;
    }
    sim->steps++;
    sim->members[id].steps++;
    sim->stepping = id;
    uint32_t count = 0;
    if (!cut || cut->actions > 0) {
        member_step(sim, id, event, cut, &count);
    }
    make_calls_soon(sim, cut, &count);
    forget_calls_soon(sim);
    sim->stepping = RZ_ID_NONE;
    if (cut && sim->alive[id]) {
        crash_now(sim, id);
    }
    rz_trace_show(sim, RZ_SIM_SEES_END, id, RZ_ID_NONE, NULL);
    bool safe = rz_world_check_safety(sim);
    at_work = NULL;
    return safe;
}

/* ---- calls of the drivers ---- */

bool rz_world_start(struct rz_sim *sim)
{
    at_work = sim;
    if (setjmp(sim->escape) != 0) {
        at_work = NULL;
        return false;
    }
    sim->starting = true;
    if (sim->scenario->start) {
        sim->scenario->start(sim);
    }
    uint32_t count = 0;
    make_calls_soon(sim, NULL, &count);
    forget_calls_soon(sim);
    sim->stepping = RZ_ID_NONE;
    sim->starting = false;
    rz_trace_show(sim, RZ_SIM_SEES_END, RZ_ID_NONE, RZ_ID_NONE, NULL);
    bool safe = rz_world_check_safety(sim);
    at_work = NULL;
    return safe;
}

bool rz_world_deliver(struct rz_sim *sim, rz_id to, const struct rz_sim_packet *packet,
                      const struct rz_sim_cut *cut)
{
    struct rz_event event = event_of_packet(sim, packet);
    rz_trace_packet(sim, packet->is_call ? "is called:" : "receives", to, packet);
    rz_trace_show(sim, packet->is_call ? RZ_SIM_SEES_CALL : RZ_SIM_SEES_RECEIVE, to,
                  packet->is_call ? RZ_ID_NONE : packet->message.from, packet);
    return step_guarded(sim, to, &event, cut);
}

bool rz_world_tick(struct rz_sim *sim, rz_id member, const struct rz_sim_cut *cut)
{
    struct rz_event event = {.kind = RZ_EVENT_TICK, .now = sim->common->now};
    rz_trace_line(sim, "%u ticks", member);
    rz_trace_show(sim, RZ_SIM_SEES_TICK, member, RZ_ID_NONE, NULL);
    return step_guarded(sim, member, &event, cut);
}

bool rz_world_tell(struct rz_sim *sim, rz_id member, const rz_id *failed, uint32_t n_failed,
                   const struct rz_sim_cut *cut)
{
    struct rz_event event = {
        .kind = RZ_EVENT_FAILURE, .now = sim->common->now, .ids = failed, .n_ids = n_failed};
    if (sim->scenario->failure_arg) {
        event.arg[0] = sim->scenario->failure_arg(sim, member, failed[0]);
    }
    for (uint32_t i = 0; i < n_failed; i++) {
        rz_trace_line(sim, "%u learns that %u has failed", member, failed[i]);
        rz_trace_show(sim, RZ_SIM_SEES_TOLD, member, failed[i], NULL);
        rz_bit_clear(sim->pending + (size_t)member * sim->row_words, failed[i]);
        if (sim->scenario->tick > 0) {
            sim->news_at[(size_t)member * sim->n + failed[i]] = 0;
        }
    }
    return step_guarded(sim, member, &event, cut);
}

bool rz_world_crash(struct rz_sim *sim, rz_id member)
{
    crash_now(sim, member);
    rz_trace_show(sim, RZ_SIM_SEES_END, member, RZ_ID_NONE, NULL);
    return rz_world_check_safety(sim);
}

bool rz_world_check_safety(struct rz_sim *sim)
{
    return !sim->scenario->safety || sim->scenario->safety(sim);
}

bool rz_world_check_liveness(struct rz_sim *sim)
{
    return !sim->scenario->liveness || sim->scenario->liveness(sim);
}

void rz_world_reason(const struct rz_sim *sim, struct rz_sim_result *result)
{
    snprintf(result->reason, sizeof(result->reason), "%s",
             sim->why[0] ? sim->why : "a property does not hold (its checker gave no reason)");
}

bool rz_world_check_void(struct rz_sim *sim, rz_id member, const struct rz_sim_packet *packet)
{
    const struct rz_protocol *protocol = sim->scenario->protocol;
    const struct rz_sim_member *at = &sim->members[member];
    at_work = sim;
    if (setjmp(sim->escape) != 0) {
        at_work = NULL;
        return false;
    }
    sim->scratch = rz_sim_memory(sim->scratch, at->bytes);
    memcpy(sim->scratch, at->state, at->bytes);
    struct rz_event event = event_of_packet(sim, packet);
    struct rz_actions out = {.v = sim->actions, .max = sim->actions_max};
    enum rz_more more = protocol->step(sim->scratch, &event, &out);
    bool dropped = more == RZ_DONE && out.count == 0 &&
                   protocol->hash(sim->scratch) == protocol->hash(at->state);
    at_work = NULL;
    return dropped;
}

/* ---- calls of the scenarios ---- */

uint32_t rz_sim_members(const struct rz_sim *sim)
{
    return sim->n;
}

const struct rz_sim_scenario *rz_sim_scenario(const struct rz_sim *sim)
{
    return sim->scenario;
}

rz_time rz_sim_now(const struct rz_sim *sim)
{
    return sim->common->now;
}

void *rz_sim_record(struct rz_sim *sim)
{
    return sim->record;
}

const void *rz_sim_state(const struct rz_sim *sim, rz_id member)
{
    return sim->states[member];
}

bool rz_sim_alive(const struct rz_sim *sim, rz_id member)
{
    return sim->alive[member];
}

const struct rz_check_group *rz_sim_group(struct rz_sim *sim)
{
    sim->group.now = sim->common->now;
    return &sim->group;
}

bool rz_sim_say(struct rz_sim *sim, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(sim->why, sizeof(sim->why), format, list);
    va_end(list);
    return false;
}

void rz_sim_call(struct rz_sim *sim, rz_id member, const struct rz_sim_call *call)
{
    if (sim->alive[member]) {
        sim->driver->call(sim, rz_sim_packet_of_call(call), member);
    }
}

void rz_sim_call_now(struct rz_sim *sim, rz_id member, const struct rz_sim_call *call)
{
    rz_assert(sim->starting || member == sim->stepping);
    rz_assert(sim->n_soon < sizeof(sim->soon) / sizeof(*sim->soon));
    sim->soon_member[sim->n_soon] = member;
    sim->soon[sim->n_soon++] = rz_sim_packet_of_call(call);
}

void rz_sim_tell(struct rz_sim *sim, rz_id member, rz_id failed)
{
    size_t row = (size_t)member * sim->row_words;
    if (!sim->alive[member] || rz_bit_get(sim->told + row, failed)) {
        return;
    }
    rz_bit_set(sim->told + row, failed);
    rz_bit_set(sim->pending + row, failed);
    const struct rz_sim_scenario *scenario = sim->scenario;
    if (scenario->tick > 0 && (scenario->latency_min > 0 || scenario->news_max > 0)) {
        sim->news_at[(size_t)member * sim->n + failed] = sim->common->now + scenario->latency_min;
    }
    sim->driver->tell(sim, member, failed);
}

void rz_sim_halt(struct rz_sim *sim, rz_id member)
{
    if (!sim->alive[member]) {
        return;
    }
    rz_trace_line(sim, "%u stops", member);
    rz_trace_show(sim, RZ_SIM_SEES_HALT, member, RZ_ID_NONE, NULL);
    lose_member(sim, member);
}

uint64_t rz_sim_random(struct rz_sim *sim, uint64_t bound)
{
    return rz_random_below(&sim->host, bound);
}
