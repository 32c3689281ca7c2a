#include "sim/explorer.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* A member's flights that a crash may take with it: 2^LOSS_MAX subsets are many already. */
#define LOSS_MAX 12

/* --- letters: each content once, so that a flight is a pointer -------------------------------- */

static struct rz_letter **letter_slot(struct rz_explorer *x, const struct rz_letter *letter)
{
    size_t i = letter->hash & (x->letters_max - 1);
    while (x->letters[i] && !rz_letter_equal(x->letters[i], letter))
        i = (i + 1) & (x->letters_max - 1);
    return &x->letters[i];
}

static void letters_enlarge(struct rz_explorer *x)
{
    struct rz_letter **old = x->letters;
    size_t old_max = x->letters_max;
    x->letters_max = old_max > 0 ? 2 * old_max : 1024;
    x->letters = rz_sim_memory(NULL, x->letters_max * sizeof(*x->letters));
    memset(x->letters, 0, x->letters_max * sizeof(*x->letters));
    for (size_t i = 0; i < old_max; i++)
        if (old[i])
            *letter_slot(x, old[i]) = old[i];
    free(old);
}

static struct rz_letter *letter_intern(struct rz_explorer *x, struct rz_letter *letter)
{
    if (2 * (x->n_letters + 1) > x->letters_max)
        letters_enlarge(x);
    struct rz_letter **slot = letter_slot(x, letter);
    if (*slot) {
        rz_letter_release(letter);
        return *slot;
    }
    *slot = letter;
    x->n_letters++;
    return letter;
}

/* --- flights ---------------------------------------------------------------------------------- */

static void flight_add(struct rz_explorer *x, struct rz_flight flight)
{
    if (x->n_flights == x->flights_max) {
        x->flights_max = x->flights_max > 0 ? 2 * x->flights_max : 64;
        x->flights = rz_sim_memory(x->flights, x->flights_max * sizeof *x->flights);
    }
    x->flights[x->n_flights++] = flight;
}

static void flight_remove(struct rz_explorer *x, uint32_t i)
{
    x->n_flights--;
    memmove(&x->flights[i], &x->flights[i + 1], (x->n_flights - i) * sizeof *x->flights);
}

static bool flight_from(const struct rz_flight *flight, rz_id from)
{
    return !flight->letter->is_call && flight->letter->message.from == from;
}

static void on_send(struct rz_sim *sim, struct rz_letter *letter, rz_id from, rz_id to)
{
    (void)from;
    struct rz_explorer *x = sim->driver_data;
    const struct rz_sim_scenario *scenario = sim->scenario;
    struct rz_flight flight = {
        .letter = letter_intern(x, letter), .to = to, .latest = RZ_TIME_NEVER};
    if (scenario->latency_max > 0) {
        flight.earliest = sim->common->now + scenario->latency_min;
        flight.latest = sim->common->now + scenario->latency_max;
    }
    flight_add(x, flight);
}

static void on_call(struct rz_sim *sim, struct rz_letter *letter, rz_id to)
{
    struct rz_explorer *x = sim->driver_data;
    uint32_t order = 0;
    for (uint32_t i = 0; i < x->n_flights && !letter->unordered; i++)
        if (x->flights[i].letter->is_call && !x->flights[i].letter->unordered &&
            x->flights[i].to == to)
            order++;
    /* In timed scenarios calls come before crash_until, like the other things that hosts and fate
     * do. */
    const struct rz_sim_scenario *scenario = sim->scenario;
    rz_time latest = scenario->latency_max > 0 ? scenario->crash_until : RZ_TIME_NEVER;
    flight_add(x,
               (struct rz_flight){.letter = letter_intern(x, letter),
                                  .to = to,
                                  .order = order,
                                  .latest = latest > sim->common->now ? latest : sim->common->now});
}

static void on_tell(struct rz_sim *sim, rz_id member, rz_id dead)
{
    (void)sim, (void)member, (void)dead; /* the world's pending bits say it */
}

static const struct rz_sim_driver explore_driver = {on_send, on_call, on_tell};

/* A queue moves up when its first call is made. */
static void calls_move_up(struct rz_explorer *x, rz_id member)
{
    for (uint32_t i = 0; i < x->n_flights; i++) {
        struct rz_flight *flight = &x->flights[i];
        if (flight->letter->is_call && !flight->letter->unordered && flight->to == member) {
            rz_assert(flight->order > 0);
            flight->order--;
        }
    }
}

/* --- choices ---------------------------------------------------------------------------------- */

static void choice_push(struct rz_explorer *x, struct rz_choice choice)
{
    if (x->n_choices == x->choices_max) {
        x->choices_max = x->choices_max > 0 ? 2 * x->choices_max : 1024;
        x->choices = rz_sim_memory(x->choices, x->choices_max * sizeof *x->choices);
    }
    uint64_t who = ((uint64_t)choice.kind << 32) + choice.member;
    choice.identity =
        rz_mix(rz_mix(who, choice.identity), choice.kind == RZ_CHOOSE_TELL ? choice.bits : 0);
    x->choices[x->n_choices++] = choice;
}

static bool flight_is_twin(const struct rz_explorer *x, uint32_t i)
{
    const struct rz_flight *a = &x->flights[i];
    for (uint32_t k = 0; k < i; k++) {
        const struct rz_flight *b = &x->flights[k];
        if (a->letter == b->letter && a->to == b->to && a->order == b->order &&
            a->earliest == b->earliest && a->latest == b->latest)
            return true;
    }
    return false;
}

static void push_arrivals(struct rz_explorer *x)
{
    for (uint32_t i = 0; i < x->n_flights; i++) {
        const struct rz_flight *flight = &x->flights[i];
        if (flight->order > 0 || flight->earliest > x->sim->common->now || flight_is_twin(x, i))
            continue;
        choice_push(x, (struct rz_choice){.kind = RZ_CHOOSE_ARRIVAL,
                                          .member = flight->to,
                                          .flight = i,
                                          .identity = flight->letter->hash});
    }
}

static void push_tells(struct rz_explorer *x)
{
    const struct rz_sim *sim = x->sim;
    for (rz_id id = 0; id < sim->n; id++) {
        uint64_t pending = sim->pending[(size_t)id * sim->row_words];
        for (uint64_t bits = pending; bits; bits = (bits - 1) & pending) {
            bool single = (bits & (bits - 1)) == 0;
            if (single || !sim->scenario->death_arg)
                choice_push(x,
                            (struct rz_choice){.kind = RZ_CHOOSE_TELL, .member = id, .bits = bits});
        }
    }
}

static void push_crash(struct rz_explorer *x, rz_id victim)
{
    uint64_t letters[LOSS_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_flights && !x->sim->scenario->fenced; i++)
        if (flight_from(&x->flights[i], victim)) {
            rz_assert(n < LOSS_MAX);
            letters[n++] = rz_mix(x->flights[i].letter->hash, x->flights[i].to);
        }
    for (uint64_t bits = 0; bits < UINT64_C(1) << n; bits++) {
        struct rz_choice choice = {.kind = RZ_CHOOSE_CRASH, .member = victim, .bits = bits};
        for (uint32_t i = 0; i < n; i++)
            choice.identity += bits >> i & 1 ? letters[i] : 0;
        choice_push(x, choice);
    }
}

static void push_crashes(struct rz_explorer *x)
{
    const struct rz_sim *sim = x->sim;
    const struct rz_sim_scenario *scenario = sim->scenario;
    if (sim->common->n_crashed >= sim->crashes_max || sim->common->n_alive <= 1 ||
        (scenario->crash_until > 0 && sim->common->now >= scenario->crash_until))
        return;
    for (rz_id id = 0; id < sim->n; id++)
        if (sim->alive[id] && (scenario->crashable == 0 || scenario->crashable >> id & 1))
            push_crash(x, id);
}

/* Time goes on when nothing is overdue: by one tick, or to the next deadline where nothing is under
 * way at all. */
static void push_time(struct rz_explorer *x)
{
    const struct rz_sim *sim = x->sim;
    const struct rz_sim_scenario *scenario = sim->scenario;
    rz_time now = sim->common->now, first = RZ_TIME_NEVER;
    if (scenario->tick == 0 || now >= scenario->horizon)
        return;
    for (rz_id id = 0; id < sim->n; id++) {
        rz_time deadline =
            sim->alive[id] ? scenario->room->deadline(sim->members[id].state) : RZ_TIME_NEVER;
        first = deadline < first ? deadline : first;
    }
    bool idle = x->n_flights == 0;
    for (uint32_t i = 0; i < x->n_flights; i++)
        first = x->flights[i].latest < first ? x->flights[i].latest : first;
    for (size_t i = 0; i < (size_t)sim->n * sim->row_words; i++)
        idle = idle && sim->pending[i] == 0;
    if (first <= now)
        return;
    rz_time until = now + scenario->tick;
    if (idle && first > until)
        until = first < scenario->horizon ? first : scenario->horizon;
    choice_push(x, (struct rz_choice){.kind = RZ_CHOOSE_TIME, .until = until});
}

uint32_t rz_explorer_choices(struct rz_explorer *x, uint32_t *active)
{
    const struct rz_sim *sim = x->sim;
    size_t first = x->n_choices;
    push_arrivals(x);
    push_tells(x);
    for (rz_id id = 0; id < sim->n && sim->scenario->tick > 0; id++)
        if (sim->alive[id] &&
            sim->scenario->room->deadline(sim->members[id].state) <= sim->common->now)
            choice_push(x, (struct rz_choice){.kind = RZ_CHOOSE_TICK, .member = id});
    push_time(x);
    *active = (uint32_t)(x->n_choices - first);
    push_crashes(x);
    return (uint32_t)(x->n_choices - first);
}

/* --- letting a choice happen ------------------------------------------------------------------ */

/* Messages of one known dead would be dropped on arrival (the room is asked); they need not stay in
 * flight. */
static bool drop_fenced(struct rz_explorer *x, rz_id member, uint64_t dead)
{
    for (uint32_t i = x->n_flights; i-- > 0;) {
        const struct rz_flight *flight = &x->flights[i];
        if (flight->to != member || flight->letter->is_call ||
            !(dead >> flight->letter->message.from & 1))
            continue;
        if (!rz_world_check_fence(x->sim, member, flight->letter))
            return false;
        flight_remove(x, i);
    }
    return true;
}

static bool apply_tell(struct rz_explorer *x, const struct rz_choice *choice)
{
    rz_id dead[64];
    uint32_t n = 0;
    for (rz_id id = 0; id < x->sim->n; id++)
        if (choice->bits >> id & 1)
            dead[n++] = id;
    return rz_world_tell(x->sim, choice->member, dead, n, NULL) &&
           (!x->sim->scenario->fenced || !x->sim->alive[choice->member] ||
            drop_fenced(x, choice->member, choice->bits));
}

static bool apply_crash(struct rz_explorer *x, const struct rz_choice *choice)
{
    rz_id victim = choice->member;
    uint32_t own = 0;
    bool keep;
    for (uint32_t i = 0; i < x->n_flights; i += keep) {
        keep = true;
        if (flight_from(&x->flights[i], victim) && choice->bits >> own++ & 1) {
            rz_trace_letter(x->sim, "loses", victim, x->flights[i].letter);
            keep = false;
            flight_remove(x, i);
        }
    }
    return rz_world_crash(x->sim, victim);
}

static bool apply_arrival(struct rz_explorer *x, const struct rz_choice *choice)
{
    const struct rz_letter *letter = x->flights[choice->flight].letter;
    flight_remove(x, choice->flight);
    if (letter->is_call && !letter->unordered)
        calls_move_up(x, choice->member);
    return rz_world_deliver(x->sim, choice->member, letter, NULL);
}

static void drop_for_dead(struct rz_explorer *x)
{
    for (uint32_t i = x->n_flights; i-- > 0;)
        if (!x->sim->alive[x->flights[i].to])
            flight_remove(x, i);
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
        safe = apply_crash(x, choice);
        break;
    }
    if (alive != sim->common->n_alive)
        drop_for_dead(x);
    if (choice->kind < RZ_CHOOSE_TIME && sim->alive[choice->member])
        sim->members[choice->member].hash =
            sim->scenario->room->hash(sim->members[choice->member].state);
    return safe;
}

/* --- the way back ----------------------------------------------------------------------------- */

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
    if (bytes > 0)
        memcpy(x->saved + x->saved_bytes, data, bytes);
    x->saved_bytes += bytes;
}

void rz_explorer_save(struct rz_explorer *x, const struct rz_choice *choice)
{
    const struct rz_sim *sim = x->sim;
    size_t begin = x->saved_bytes;
    struct saved_tail tail = {.n_flights = x->n_flights};
    saved_put(x, sim->common, sim->common_bytes);
    saved_put(x, x->flights, x->n_flights * sizeof *x->flights);
    if (choice->kind < RZ_CHOOSE_TIME) {
        const struct rz_sim_member *member = &sim->members[choice->member];
        tail.member_bytes = member->bytes;
        tail.member_hash = member->hash;
        saved_put(x, member->state, member->bytes);
    }
    tail.level_bytes = x->saved_bytes - begin + sizeof tail;
    saved_put(x, &tail, sizeof tail);
}

void rz_explorer_undo(struct rz_explorer *x, const struct rz_choice *choice)
{
    struct rz_sim *sim = x->sim;
    struct saved_tail tail;
    memcpy(&tail, x->saved + x->saved_bytes - sizeof tail, sizeof tail);
    x->saved_bytes -= tail.level_bytes;
    const char *from = x->saved + x->saved_bytes;
    memcpy(sim->common, from, sim->common_bytes);
    from += sim->common_bytes;
    x->n_flights = tail.n_flights;
    if (tail.n_flights > 0)
        memcpy(x->flights, from, tail.n_flights * sizeof *x->flights);
    from += tail.n_flights * sizeof *x->flights;
    if (choice->kind < RZ_CHOOSE_TIME) {
        struct rz_sim_member *member = &sim->members[choice->member];
        memcpy(member->state, from, tail.member_bytes);
        member->bytes = tail.member_bytes;
        member->hash = tail.member_hash;
    }
    for (rz_id id = 0; id < sim->n; id++)
        sim->states[id] = sim->alive[id] ? sim->members[id].state : NULL;
}

uint64_t rz_explorer_hash(const struct rz_explorer *x)
{
    const struct rz_sim *sim = x->sim;
    const uint64_t *words = (const uint64_t *)sim->common;
    uint64_t hash = 0, flights = 0;
    for (size_t i = 0; i < sim->common_bytes / sizeof *words; i++)
        hash = rz_mix(hash, words[i]);
    for (rz_id id = 0; id < sim->n; id++)
        hash = rz_mix(hash, sim->alive[id] ? sim->members[id].hash : 0);
    for (uint32_t i = 0; i < x->n_flights; i++) {
        const struct rz_flight *flight = &x->flights[i];
        uint64_t one = rz_mix(flight->letter->hash, ((uint64_t)flight->order << 32) + flight->to);
        flights += flight->latest == RZ_TIME_NEVER ? one : rz_mix(one, flight->latest);
    }
    return rz_mix(hash, flights);
}

/* --- life ------------------------------------------------------------------------------------- */

void rz_explorer_open(struct rz_explorer *x, const struct rz_sim_options *options)
{
    memset(x, 0, sizeof *x);
    x->sim = rz_world_create(options, 1, &explore_driver, x);
    rz_assert(x->sim->n <= 32);
}

void rz_explorer_close(struct rz_explorer *x)
{
    for (size_t i = 0; i < x->letters_max; i++)
        if (x->letters[i])
            rz_letter_release(x->letters[i]);
    free(x->letters);
    free(x->saved);
    free(x->choices);
    free(x->flights);
    rz_world_destroy(x->sim);
}
