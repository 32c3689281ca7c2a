/* SPDX-License-Identifier: BSD-3-Clause */
/* The possible next events of an exhaustively explored world. */
#include "sim/explorer.h"

#include "base/assert.h"

/* Bound of the flights of a member that a crash may lose: 2^LOSS_MAX subsets are already many. */
#define LOSS_MAX 12

uint64_t rz_choice_identity(const struct rz_choice *choice)
{
    uint64_t key = ((uint64_t)choice->kind << 32) + choice->member;
    return rz_mix(rz_mix(key, choice->what), choice->kind == RZ_CHOOSE_TELL ? choice->bits : 0);
}

void rz_choice_push(struct rz_explorer *x, struct rz_choice choice)
{
    if (x->n_choices == x->choices_max) {
        x->choices_max = x->choices_max > 0 ? 2 * x->choices_max : 1024;
        x->choices = rz_sim_memory(x->choices, x->choices_max * sizeof(*x->choices));
    }
    choice.identity = rz_choice_identity(&choice);
    x->choices[x->n_choices++] = choice;
}

/* ---- events of a member ---- */

static bool flight_is_twin(const struct rz_explorer *x, uint32_t i)
{
    const struct rz_flight *a = &x->flights[i];
    for (uint32_t k = 0; k < i; k++) {
        const struct rz_flight *b = &x->flights[k];
        if (a->packet == b->packet && a->to == b->to && a->order == b->order &&
            a->earliest == b->earliest && a->latest == b->latest) {
            return true;
        }
    }
    return false;
}

void rz_choices_arrivals(struct rz_explorer *x, rz_id member)
{
    for (uint32_t i = 0; i < x->n_flights; i++) {
        const struct rz_flight *flight = &x->flights[i];
        if ((member != RZ_ID_NONE && flight->to != member) || flight->order > 0 ||
            flight->earliest > x->sim->common->now || flight_is_twin(x, i)) {
            continue;
        }
        rz_choice_push(x, (struct rz_choice){.kind = RZ_CHOOSE_ARRIVAL,
                                             .member = flight->to,
                                             .flight = i,
                                             .what = flight->packet->hash});
    }
}

/* Of the pending news, those that can have arrived by now. */
static uint64_t news_of(const struct rz_sim *sim, rz_id member)
{
    uint64_t pending = sim->pending[(size_t)member * sim->row_words];
    if (sim->scenario->tick == 0) {
        return pending;
    }
    for (rz_id failed = 0; failed < sim->n; failed++) {
        if (sim->news_at[(size_t)member * sim->n + failed] > sim->common->now) {
            pending &= ~(UINT64_C(1) << failed);
        }
    }
    return pending;
}

void rz_choices_news(struct rz_explorer *x, rz_id member)
{
    uint64_t news = news_of(x->sim, member);
    for (uint64_t bits = news; bits; bits = (bits - 1) & news) {
        bool single = (bits & (bits - 1)) == 0;
        if (single || !x->sim->scenario->failure_arg) {
            rz_choice_push(
                x, (struct rz_choice){.kind = RZ_CHOOSE_TELL, .member = member, .bits = bits});
        }
    }
}

static rz_time deadline_of(const struct rz_sim *sim, rz_id member)
{
    return sim->alive[member] ? sim->scenario->protocol->deadline(sim->members[member].state)
                              : RZ_TIME_NEVER;
}

void rz_choices_tick(struct rz_explorer *x, rz_id member)
{
    if (x->sim->scenario->tick > 0 && deadline_of(x->sim, member) <= x->sim->common->now) {
        rz_choice_push(x, (struct rz_choice){.kind = RZ_CHOOSE_TICK, .member = member});
    }
}

/* ---- time ---- */

static rz_time news_due(const struct rz_sim *sim, rz_id member)
{
    rz_time slack = sim->scenario->news_max - sim->scenario->latency_min, first = RZ_TIME_NEVER;
    uint64_t pending = sim->pending[(size_t)member * sim->row_words];
    for (rz_id failed = 0; sim->scenario->news_max > 0 && failed < sim->n; failed++) {
        rz_time due = sim->news_at[(size_t)member * sim->n + failed] + slack;
        if (pending >> failed & 1 && due < first) {
            first = due;
        }
    }
    return first;
}

/* The latest date that time may advance to without missing an event of the member. */
static rz_time first_due(const struct rz_explorer *x, rz_id member)
{
    rz_time first = deadline_of(x->sim, member), news = news_due(x->sim, member);
    first = news < first ? news : first;
    for (uint32_t i = 0; i < x->n_flights; i++) {
        if (x->flights[i].to == member && x->flights[i].latest < first) {
            first = x->flights[i].latest;
        }
    }
    return first;
}

bool rz_choices_overdue(const struct rz_explorer *x, rz_id member)
{
    return first_due(x, member) <= x->sim->common->now;
}

/* Time advances if nothing is overdue: by one tick, or to the next deadline if nothing is in
 * flight. */
void rz_choices_time(struct rz_explorer *x)
{
    const struct rz_sim *sim = x->sim;
    const struct rz_sim_scenario *scenario = sim->scenario;
    rz_time now = sim->common->now, first = RZ_TIME_NEVER;
    if (scenario->tick == 0 || now >= scenario->horizon) {
        return;
    }
    bool idle = x->n_flights == 0;
    for (rz_id id = 0; id < sim->n; id++) {
        rz_time due = first_due(x, id);
        first = due < first ? due : first;
        idle = idle && sim->pending[(size_t)id * sim->row_words] == 0;
    }
    if (first <= now) {
        return;
    }
    rz_time until = now + scenario->tick;
    if (idle && first > until) {
        until = first < scenario->horizon ? first : scenario->horizon;
    }
    rz_choice_push(x, (struct rz_choice){.kind = RZ_CHOOSE_TIME, .until = until});
}

/* ---- failures ---- */

bool rz_flight_fails_with(const struct rz_explorer *x, const struct rz_flight *flight,
                          enum rz_choice_kind kind, rz_id member)
{
    if (flight->packet->is_call || flight->packet->message.from != member) {
        return false;
    }
    /* In worlds of turns, messages of earlier ticks are lost when the member is condemned. */
    return kind != RZ_CHOOSE_CRASH || !rz_view_change_taken(x) ||
           flight->sent == x->sim->common->now;
}

static uint64_t flight_hash(const struct rz_flight *flight)
{
    return rz_mix(flight->packet->hash, flight->to);
}

uint64_t rz_explorer_sent_by(const struct rz_explorer *x, rz_id member)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < x->n_flights; i++) {
        if (rz_flight_fails_with(x, &x->flights[i], RZ_CHOOSE_CONDEMN, member)) {
            sum += flight_hash(&x->flights[i]);
        }
    }
    return sum;
}

void rz_choices_failure(struct rz_explorer *x, enum rz_choice_kind kind, rz_id member)
{
    uint64_t packets[LOSS_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_flights && !x->sim->scenario->fenced; i++) {
        if (rz_flight_fails_with(x, &x->flights[i], kind, member)) {
            rz_assert(n < LOSS_MAX);
            packets[n++] = flight_hash(&x->flights[i]);
        }
    }
    for (uint64_t bits = kind == RZ_CHOOSE_CONDEMN; bits < UINT64_C(1) << n; bits++) {
        struct rz_choice choice = {.kind = kind, .member = member, .bits = bits};
        for (uint32_t i = 0; i < n; i++) {
            choice.what += bits >> i & 1 ? packets[i] : 0;
        }
        rz_choice_push(x, choice);
    }
}

bool rz_choices_may_fail(const struct rz_explorer *x, rz_id member)
{
    const struct rz_sim *sim = x->sim;
    const struct rz_sim_scenario *scenario = sim->scenario;
    uint64_t condemned = sim->common->condemned;
    uint32_t n_condemned = (uint32_t)__builtin_popcountll(condemned);
    if (!sim->alive[member] || (condemned >> member & 1)) {
        return sim->alive[member];
    }
    return sim->common->n_crashed + n_condemned < sim->crashes_max &&
           sim->common->n_alive - n_condemned > 1 &&
           (scenario->crash_until == 0 || sim->common->now < scenario->crash_until) &&
           (scenario->crashable == 0 || scenario->crashable >> member & 1);
}

/* ---- all of it ---- */

/* The first of the pending news alone. */
static void push_first_news(struct rz_explorer *x)
{
    const struct rz_sim *sim = x->sim;
    rz_id id = 0;
    while (sim->pending[(size_t)id * sim->row_words] == 0) {
        id++;
    }
    uint64_t pending = sim->pending[(size_t)id * sim->row_words];
    rz_choice_push(x, (struct rz_choice){
                          .kind = RZ_CHOOSE_TELL, .member = id, .bits = pending & (~pending + 1)});
}

uint32_t rz_explorer_choices(struct rz_explorer *x, uint32_t *active)
{
    const struct rz_sim *sim = x->sim;
    size_t first = x->n_choices;
    if (rz_view_change_taken(x)) {
        return rz_view_change_choices(x, active);
    }
    if (!x->trying && rz_reduce_to_news(x)) {
        push_first_news(x);
        return *active = 1;
    }
    rz_choices_arrivals(x, RZ_ID_NONE);
    for (rz_id id = 0; id < sim->n; id++) {
        rz_choices_news(x, id);
    }
    for (rz_id id = 0; id < sim->n; id++) {
        rz_choices_tick(x, id);
    }
    rz_choices_time(x);
    *active = (uint32_t)(x->n_choices - first);
    for (rz_id id = 0; id < sim->n; id++) {
        if (rz_choices_may_fail(x, id)) {
            rz_choices_failure(x, RZ_CHOOSE_CRASH, id);
        }
    }
    return (uint32_t)(x->n_choices - first);
}
