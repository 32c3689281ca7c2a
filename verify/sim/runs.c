/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random runs: one seed, one run. Every event in flight has a date; the earliest one is next. The
 * style of delays is drawn per run, so that one run has an even network and the next has links that
 * are a thousand times slower than others: uniform delays alone find few interesting orders.
 */
#include "sim/world.h"

#include "base/assert.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX UINT64_C(4000000)

enum due_kind { DUE_PACKET, DUE_TELL, DUE_TICK, DUE_CRASH };

struct due {
    rz_time at;
    uint64_t tie; /* drawn: equal dates occur in any order */
    enum due_kind kind;
    rz_id to;
    rz_id about; /* TELL: the failed member; CRASH: number in the plan */
    struct rz_sim_packet *packet;
};

enum delay_style { DELAY_UNIFORM, DELAY_WILD, DELAY_SLOW_LINKS, DELAY_EVEN, DELAY_STYLES };

struct run {
    struct due *heap;
    size_t count, capacity;
    enum delay_style style;
    bool plain;
    uint32_t tell_shift; /* how much slower than messages the news of failures are at most */
    bool lag_differs;    /* each member has a lag of its own */
    uint64_t lost, doubled, waited;
    rz_time *tick_at; /* of each member: the date of its queued tick, or NEVER */
    rz_time *call_at; /* of each member: the date of its last queued ordered call */
    bool *armed;      /* of each crash of the plan: its date has come */
    struct rz_sim_plan plan;
};

/* ---- the heap ---- */

static bool due_before(const struct due *a, const struct due *b)
{
    return a->at != b->at ? a->at < b->at : a->tie < b->tie;
}

static void due_push(struct run *run, struct due due)
{
    if (run->count == run->capacity) {
        run->capacity = run->capacity > 0 ? 2 * run->capacity : 256;
        run->heap = rz_sim_memory(run->heap, run->capacity * sizeof(*run->heap));
    }
    size_t i = run->count++;
    while (i > 0 && due_before(&due, &run->heap[(i - 1) / 2])) {
        run->heap[i] = run->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    run->heap[i] = due;
}

static struct due due_pop(struct run *run)
{
    struct due top = run->heap[0];
    struct due last = run->heap[--run->count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= run->count) {
            break;
        }
        if (child + 1 < run->count && due_before(&run->heap[child + 1], &run->heap[child])) {
            child++;
        }
        if (!due_before(&run->heap[child], &last)) {
            break;
        }
        run->heap[i] = run->heap[child];
        i = child;
    }
    if (run->count > 0) {
        run->heap[i] = last;
    }
    return top;
}

/* ---- delays ---- */

/* Delays and lags have streams of their own: a shortened plan of crashes does not change them. */
static rz_time draw_delay(struct rz_sim *sim, struct rz_random *random, rz_id from, rz_id to)
{
    const struct run *run = sim->driver_data;
    const struct rz_sim_scenario *scenario = sim->scenario;
    rz_time spread = scenario->latency_max - scenario->latency_min;
    if (scenario->latency_max > 0) {
        if (run->plain || spread == 0) {
            return scenario->latency_min;
        }
        if (run->style == DELAY_WILD) {
            return rz_random_below(random, 2) ? scenario->latency_min : scenario->latency_max;
        }
        return scenario->latency_min + rz_random_below(random, spread + 1);
    }
    if (run->plain) {
        return 10;
    }
    switch (run->style) {
    case DELAY_WILD:
        return 1 + rz_random_below(random, UINT64_C(1) << rz_random_below(random, 13));
    case DELAY_SLOW_LINKS:
        return (rz_mix(sim->seed, ((uint64_t)from << 32) + to) % 4 == 0 ? 500 : 1) *
               (1 + rz_random_below(random, 10));
    case DELAY_EVEN:
        return 10 + rz_random_below(random, 3);
    default:
        return 1 + rz_random_below(random, 100);
    }
}

static void push(struct rz_sim *sim, enum due_kind kind, rz_time at, rz_id to, rz_id about,
                 struct rz_sim_packet *packet)
{
    due_push(sim->driver_data, (struct due){.at = at,
                                            .tie = rz_random_next(&sim->network),
                                            .kind = kind,
                                            .to = to,
                                            .about = about,
                                            .packet = packet});
}

/* The second copy has a stream of its own, as the other faults have: without it the rest of the run
 * is unchanged. */
static void push_copy(struct rz_sim *sim, struct rz_sim_packet *packet, rz_id from, rz_id to,
                      rz_time later)
{
    packet->refs++;
    rz_time at = sim->common->now + draw_delay(sim, &sim->trouble, from, to) + later;
    due_push(sim->driver_data, (struct due){.at = at,
                                            .tie = rz_random_next(&sim->trouble),
                                            .kind = DUE_PACKET,
                                            .to = to,
                                            .packet = packet});
}

static void on_send(struct rz_sim *sim, struct rz_sim_packet *packet, rz_id from, rz_id to)
{
    struct run *run = sim->driver_data;
    struct rz_sim_fate fate = rz_plan_fate(sim, &run->plan, from, to);
    rz_time at = sim->common->now + draw_delay(sim, &sim->network, from, to) + fate.later;
    run->lost += fate.lost;
    run->doubled += fate.doubled;
    if (fate.lost) {
        rz_trace_line(sim, "%u   its message to %u is lost", from, to);
        rz_trace_show(sim, RZ_SIM_SEES_LOSS, from, to, packet);
        rz_protocol_message_release(packet);
        return;
    }
    if (fate.doubled) {
        push_copy(sim, packet, from, to, fate.later);
    }
    push(sim, DUE_PACKET, at, to, 0, packet);
}

static void on_call(struct rz_sim *sim, struct rz_sim_packet *packet, rz_id to)
{
    struct run *run = sim->driver_data;
    rz_time at = sim->common->now + draw_delay(sim, &sim->network, to, to);
    if (!packet->unordered) {
        if (at <= run->call_at[to]) {
            at = run->call_at[to] + 1;
        }
        run->call_at[to] = at;
    }
    push(sim, DUE_PACKET, at, to, 0, packet);
}

static void on_tell(struct rz_sim *sim, rz_id member, rz_id failed)
{
    const struct run *run = sim->driver_data;
    uint32_t shift = run->tell_shift;
    if (run->lag_differs) {
        shift = (uint32_t)(rz_mix(rz_mix(sim->seed, 7), member) % (shift + 1));
    }
    rz_time delay = draw_delay(sim, &sim->network, failed, member) << shift;
    push(sim, DUE_TELL, sim->common->now + delay, member, failed, NULL);
}

static const struct rz_sim_driver random_driver = {on_send, on_call, on_tell};

/* ---- crashes ---- */

/* The cut that applies to the member's next step, or NULL. */
static const struct rz_sim_cut *cut_of(const struct rz_sim *sim, rz_id member)
{
    const struct run *run = sim->driver_data;
    for (uint32_t i = 0; i < run->plan.n; i++) {
        const struct rz_sim_crash *crash = &run->plan.v[i];
        if (crash->victim == member &&
            (run->armed[i] || (!crash->dated && sim->members[member].steps >= crash->at))) {
            return &crash->cut;
        }
    }
    return NULL;
}

/* ---- the run ---- */

static void tick_schedule(struct rz_sim *sim, rz_id member)
{
    struct run *run = sim->driver_data;
    if (!sim->alive[member]) {
        return;
    }
    rz_time deadline = sim->scenario->protocol->deadline(sim->members[member].state);
    if (deadline >= run->tick_at[member]) {
        return;
    }
    run->tick_at[member] = deadline;
    rz_time late = sim->scenario->timer_slack > 0 && !run->plain
                       ? rz_random_below(&sim->network, sim->scenario->timer_slack + 1)
                       : 0;
    rz_time at = deadline > sim->common->now ? deadline : sim->common->now;
    push(sim, DUE_TICK, at + late, member, 0, NULL);
}

static bool serve_tick(struct rz_sim *sim, rz_id member)
{
    struct run *run = sim->driver_data;
    run->tick_at[member] = RZ_TIME_NEVER;
    bool safe = true;
    if (sim->scenario->protocol->deadline(sim->members[member].state) <= sim->common->now) {
        safe = rz_world_tick(sim, member, cut_of(sim, member));
    }
    return safe;
}

static bool serve_tell(struct rz_sim *sim, const struct due *due)
{
    uint64_t *row = sim->pending + (size_t)due->to * sim->row_words;
    if (!rz_bit_get(row, due->about)) {
        return true; /* it was delivered together with another one */
    }
    rz_id failed[RZ_SIM_PLAN_MAX] = {due->about};
    uint32_t n = 1;
    if (!sim->scenario->failure_arg && rz_random_below(&sim->lag, 2)) {
        for (rz_id id = 0; id < sim->n && n < RZ_SIM_PLAN_MAX; id++) {
            if (id != due->about && rz_bit_get(row, id)) {
                failed[n++] = id;
            }
        }
    }
    return rz_world_tell(sim, due->to, failed, n, cut_of(sim, due->to));
}

/* Events for a paused member wait; its timers are served after all other waiting events, as in the
 * hosts. */
static bool wait_for_pause(struct rz_sim *sim, const struct due *due)
{
    struct run *run = sim->driver_data;
    rz_time until = rz_plan_paused_until(sim, &run->plan, due->to);
    if (until == 0) {
        return false;
    }
    struct due later = *due;
    later.at = until;
    if (due->kind == DUE_TICK) {
        later.tie = UINT64_MAX;
    } else if (due->packet && due->packet->is_call && !due->packet->unordered &&
               due->tie > due->at) {
        later.tie = due->at; /* the calls of a host keep their order */
    }
    run->waited++;
    due_push(run, later);
    return true;
}

static bool serve(struct rz_sim *sim, const struct due *due)
{
    struct run *run = sim->driver_data;
    if (due->kind == DUE_CRASH) {
        run->armed[due->about] = true;
        return true;
    }
    bool safe = true;
    if (sim->alive[due->to]) {
        if (wait_for_pause(sim, due)) {
            return true;
        }
        if (due->kind == DUE_PACKET) {
            safe = rz_world_deliver(sim, due->to, due->packet, cut_of(sim, due->to));
        } else if (due->kind == DUE_TELL) {
            safe = serve_tell(sim, due);
        } else {
            safe = serve_tick(sim, due->to);
        }
        tick_schedule(sim, due->to);
    }
    if (due->packet) {
        rz_protocol_message_release(due->packet);
    }
    return safe;
}

/* Nothing is in flight any more: a crash of the plan whose step never occurred happens now. False:
 * there is none. */
static bool crash_leftover(struct rz_sim *sim, bool *safe)
{
    struct run *run = sim->driver_data;
    for (uint32_t i = 0; i < run->plan.n; i++) {
        if (!sim->alive[run->plan.v[i].victim]) {
            continue;
        }
        *safe = rz_world_crash(sim, run->plan.v[i].victim);
        return true;
    }
    return false;
}

static bool run_to_end(struct rz_sim *sim)
{
    struct run *run = sim->driver_data;
    rz_time horizon = sim->scenario->horizon > 0 ? sim->scenario->horizon : RZ_TIME_NEVER;
    for (;;) {
        bool safe = true;
        if (run->count == 0 || run->heap[0].at > horizon) {
            if (!rz_world_check_liveness(sim)) {
                return false;
            }
            if (horizon != RZ_TIME_NEVER || !crash_leftover(sim, &safe)) {
                return true;
            }
        } else {
            struct due due = due_pop(run);
            sim->common->now = due.at;
            safe = serve(sim, &due);
        }
        if (!safe) {
            return false;
        }
        if (sim->steps > STEPS_MAX) {
            return rz_sim_say(sim, "no end after %llu steps", (unsigned long long)STEPS_MAX);
        }
    }
}

static void run_init(struct rz_sim *sim, struct run *run, const struct rz_sim_options *options,
                     const struct rz_sim_plan *plan)
{
    run->plain = options->plain;
    run->style = (enum delay_style)rz_random_below(&sim->network, DELAY_STYLES);
    run->tell_shift = sim->scenario->latency_max > 0 ? (uint32_t)rz_random_below(&sim->network, 3)
                                                     : (uint32_t)rz_random_below(&sim->network, 7);
    run->lag_differs = rz_random_below(&sim->lag, 2);
    if (plan) {
        run->plan = *plan;
    } else {
        rz_plan_draw(sim, &run->plan);
    }
    rz_plan_trace(sim, &run->plan);
    run->tick_at = rz_sim_memory(NULL, sim->n * sizeof(*run->tick_at));
    run->call_at = rz_sim_memory(NULL, sim->n * sizeof(*run->call_at));
    run->armed = rz_sim_memory(NULL, (run->plan.n + 1) * sizeof(*run->armed));
    memset(run->armed, 0, (run->plan.n + 1) * sizeof(*run->armed));
    for (rz_id id = 0; id < sim->n; id++) {
        run->tick_at[id] = RZ_TIME_NEVER;
        run->call_at[id] = 0;
        tick_schedule(sim, id);
    }
    for (uint32_t i = 0; i < run->plan.n; i++) {
        rz_assert(run->plan.v[i].victim < sim->n); /* rz_sim_plan_fits */
        if (run->plan.v[i].dated) {
            push(sim, DUE_CRASH, run->plan.v[i].at, run->plan.v[i].victim, i, NULL);
        }
    }
}

static void run_free(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        if (run->heap[i].packet) {
            rz_protocol_message_release(run->heap[i].packet);
        }
    }
    free(run->heap);
    free(run->tick_at);
    free(run->call_at);
    free(run->armed);
}

bool rz_run_once(const struct rz_sim_options *options, uint64_t seed,
                 const struct rz_sim_plan *plan, struct rz_sim_plan *drawn,
                 struct rz_sim_trace *trace, struct rz_sim_result *result)
{
    struct run run = {0};
    struct rz_sim *sim = rz_world_create(options, seed, &random_driver, &run);
    sim->trace = trace;
    sim->watcher = trace ? options->watcher : NULL;
    run_init(sim, &run, options, plan);
    bool violated = !(rz_world_start(sim) && run_to_end(sim));
    if (violated) {
        rz_world_reason(sim, result);
    }
    if (drawn) {
        *drawn = run.plan;
    }
    for (rz_id i = 0; i < sim->n; i++) {
        const void *state = rz_sim_state(sim, i);
        uint64_t hash = state ? sim->scenario->protocol->hash(state) : 0;
        result->finals += rz_mix(rz_mix(seed, i), hash);
    }
    result->runs++;
    result->steps += sim->steps;
    result->messages += sim->messages;
    result->crashes += sim->common->n_crashed;
    result->lost += run.lost;
    result->doubled += run.doubled;
    result->waited += run.waited;
    run_free(&run);
    rz_world_destroy(sim);
    return violated;
}
