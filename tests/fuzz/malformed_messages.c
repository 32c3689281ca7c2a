/* Members that get nothing but nonsense: messages of any content, calls, deaths and dates at
 * random. They must survive (the address sanitizer looks on), stay quiet about members that do not
 * exist, come to an end of every step, and keep what they once settled. */
#include "base/random.h"
#include "proto/diagnose/diagnose.h"
#include "proto/paxos/paxos.h"
#include "proto/room.h"
#include "proto/rounds/rounds.h"
#include "proto/swim/swim.h"
#include "proto/twophase/twophase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

RZ_PROTO_ROOM(swim, RZ_ROOM_SWIM);
RZ_PROTO_ROOM(diagnose, RZ_ROOM_DIAGNOSE);
RZ_PROTO_ROOM(paxos, RZ_ROOM_PAXOS);
RZ_PROTO_ROOM(twophase, RZ_ROOM_TWOPHASE);
RZ_PROTO_ROOM(rounds, RZ_ROOM_ROUNDS);

#define VIEW 3
#define STEPS 40000
#define ITEMS_MAX 200
#define INSTANCES 4
#define MEMBERS_MAX 70
#define CONTINUES_MAX 10000
#define BYTES_MAX (1u << 20)

struct patient {
    const struct rz_proto_room *room;
    const void *config;
    uint32_t n, types;
    rz_id self;
    uint32_t view;
    void *state;
    size_t bytes;
    rz_time now;
    struct rz_random random;
    struct rz_message said; /* the last message it sent: nonsense that refers to it goes deeper */
    uint64_t memory[2 * MEMBERS_MAX]; /* of what it settled */
    uint64_t sum;
};

/* What a room adds: a call that a host may make now (false: none), and what must hold. */
typedef bool (*call_fn)(struct patient *patient, struct rz_event *event, uint64_t items[2]);
typedef void (*holds_fn)(struct patient *patient);

static uint64_t below(struct patient *patient, uint64_t bound)
{
    return rz_random_below(&patient->random, bound);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void look_at(struct patient *patient, const struct rz_action *action)
{
    bool sends = action->kind == RZ_ACTION_SEND;
    uint32_t n_items = sends ? action->message.n_items : action->n_items;
    for (uint32_t i = 0; i < n_items; i++)
        patient->sum += action->items[i];
    if (!sends)
        return;
    assert_true(action->n_to > 0 && action->n_to < patient->n);
    for (uint32_t i = 0; i < action->n_to; i++) {
        assert_true(action->to[i] < patient->n);
        assert_int_not_equal(action->to[i], patient->self);
    }
    assert_int_equal(action->message.from, patient->self);
    patient->said = action->message;
}

/* What is new in a block that has grown is not zero. */
static void grow(struct patient *patient, size_t need)
{
    assert_true(need > patient->bytes && need < BYTES_MAX);
    uint8_t *larger = malloc(need);
    memcpy(larger, patient->state, patient->bytes);
    memset(larger + patient->bytes, 0xA5, need - patient->bytes);
    free(patient->state);
    patient->state = larger;
    patient->bytes = need;
    patient->room->grow(larger, need);
}

static void step(struct patient *patient, struct rz_event *event)
{
    struct rz_action v[RZ_ACTIONS_MIN];
    event->now = patient->now;
    for (uint32_t i = 0; i < CONTINUES_MAX; i++) {
        struct rz_actions out = {.v = v, .max = RZ_ACTIONS_MIN};
        enum rz_more more = patient->room->step(patient->state, event, &out);
        if (more == RZ_NEED) {
            assert_int_equal(out.count, 0);
            grow(patient, out.need);
            continue;
        }
        assert_true(out.count <= RZ_ACTIONS_MIN);
        for (uint32_t k = 0; k < out.count; k++)
            look_at(patient, &v[k]);
        if (more == RZ_DONE)
            return;
        *event = (struct rz_event){.kind = RZ_EVENT_CONTINUE, .now = patient->now};
    }
    fail_msg("%s: the step does not end", patient->room->name);
}

/* --- nonsense --------------------------------------------------------------------------------- */

static uint64_t any_word(struct patient *patient)
{
    switch (below(patient, 8)) {
    case 0:
        return rz_random_next(&patient->random);
    case 1:
        return UINT64_MAX - below(patient, 3);
    case 2:
        return below(patient, 4) << 32 | below(patient, patient->n + 1);
    case 3:
        return UINT64_C(0xFFFFFFFF) << 32 | below(patient, patient->n + 1);
    case 4:
        return below(patient, patient->n + 1) << 32 | below(patient, 6);
    case 5:
        return patient->said.word[below(patient, 2)] + below(patient, 2);
    case 6:
        return patient->said.seq + below(patient, 3) - 1;
    default:
        return below(patient, patient->n + 2);
    }
}

static void any_message(struct patient *patient)
{
    uint32_t words = (patient->n + 63) / 64, random = (uint32_t)rz_random_next(&patient->random);
    uint32_t sizes[] = {0, words, 2, (uint32_t)below(patient, ITEMS_MAX)};
    struct rz_message message = {.room = (uint8_t)patient->room->number,
                                 .type = (uint8_t)below(patient, patient->types + 1),
                                 .flags = (uint16_t)below(patient, 2),
                                 .view = patient->view,
                                 .from = (rz_id)below(patient, patient->n),
                                 .origin = random,
                                 .seq = any_word(patient),
                                 .word = {any_word(patient), any_word(patient)},
                                 .n_items = sizes[below(patient, 4)]};
    if (below(patient, 16) == 0)
        message.view = random;
    if (below(patient, 16) == 0)
        message.from = random % 2 ? patient->n : random;
    if (below(patient, 16) == 0)
        message.type = (uint8_t)random;
    uint64_t *items = message.n_items > 0 ? malloc(message.n_items * sizeof *items) : NULL;
    for (uint32_t i = 0; i < message.n_items; i++)
        items[i] = any_word(patient);
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &message, .items = items};
    step(patient, &event);
    free(items);
}

static void any_death(struct patient *patient)
{
    rz_id id = (rz_id)below(patient, patient->n);
    struct rz_event event = {.kind = RZ_EVENT_DEATH, .ids = &id, .n_ids = 1};
    if (id != patient->self)
        step(patient, &event);
}

static void pass_time(struct patient *patient)
{
    patient->now += below(patient, 400);
    for (uint32_t i = 0; patient->room->deadline(patient->state) <= patient->now; i++) {
        assert_true(i < CONTINUES_MAX);
        struct rz_event event = {.kind = RZ_EVENT_TICK};
        step(patient, &event);
    }
}

/* Of a room whose operations end, or whose members soon stop, many short lives show more. */
static void run(const struct rz_proto_room *room, const void *config, uint32_t n, uint32_t types,
                uint32_t steps, call_fn call, holds_fn holds)
{
    for (uint64_t seed = 1; seed <= STEPS / steps; seed++) {
        struct patient patient = {.room = room,
                                  .config = config,
                                  .n = n,
                                  .types = types,
                                  .view = VIEW,
                                  .random.state = seed,
                                  .bytes = room->size(config)};
        patient.self = (rz_id)below(&patient, n);
        patient.state = malloc(patient.bytes);
        room->init(patient.state, config, patient.self, 0, seed);
        for (uint32_t i = 0; i < steps; i++) {
            uint64_t items[2], what = below(&patient, 20);
            struct rz_event event = {.kind = RZ_EVENT_CALL, .items = items};
            if (what == 0 && below(&patient, 20) == 0)
                any_death(&patient);
            else if (what == 1 && call(&patient, &event, items))
                step(&patient, &event);
            else if (what < 4)
                pass_time(&patient);
            else
                any_message(&patient);
            patient.sum += room->hash(patient.state);
            holds(&patient);
        }
        free(patient.state);
    }
}

/* --- the rooms -------------------------------------------------------------------------------- */

static bool call_rounds(struct patient *patient, struct rz_event *event, uint64_t items[2])
{
    (void)items;
    event->call = RZ_ROUNDS_PROPOSE;
    event->arg[0] = rz_random_next(&patient->random);
    return patient->memory[0]++ == 0;
}

static void holds_rounds(struct patient *patient)
{
    struct rz_rounds_decision decision = rz_rounds_decision(patient->state);
    if (!decision.made)
        return;
    if (patient->memory[1]++ > 0)
        assert_true(patient->memory[2] == decision.and &&patient->memory[3] == decision.members);
    patient->memory[2] = decision.and;
    patient->memory[3] = decision.members;
    assert_int_equal(decision.members >> patient->n, 0);
}

static void rounds_survives(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 5, 16};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rz_rounds_config config = {.n_members = sizes[i], .view = VIEW};
        run(&rz_proto_room_rounds, &config, sizes[i], 2, 30, call_rounds, holds_rounds);
    }
}

static bool call_twophase(struct patient *patient, struct rz_event *event, uint64_t items[2])
{
    (void)items;
    event->call = RZ_TWOPHASE_PROPOSE;
    event->arg[0] = rz_random_next(&patient->random);
    return rz_twophase_proposed(patient->state) == rz_twophase_decided(patient->state);
}

static void holds_twophase(struct patient *patient)
{
    uint64_t decided = rz_twophase_decided(patient->state);
    assert_true(decided >= patient->memory[0] && decided <= rz_twophase_proposed(patient->state));
    patient->memory[0] = decided;
}

static void twophase_survives(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 5, 64, MEMBERS_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rz_twophase_config config = {.n_members = sizes[i], .view = VIEW};
        run(&rz_proto_room_twophase, &config, sizes[i], 6, 30, call_twophase, holds_twophase);
    }
}

static bool call_paxos(struct patient *patient, struct rz_event *event, uint64_t items[2])
{
    static const uint32_t calls[] = {RZ_PAXOS_PROPOSE, RZ_PAXOS_VOTE, RZ_PAXOS_DOUBT};
    event->call = calls[below(patient, 3)];
    event->arg[0] = below(patient, INSTANCES);
    event->arg[1] = below(patient, 2);
    items[0] = rz_random_next(&patient->random) & rz_random_next(&patient->random);
    items[1] = rz_random_next(&patient->random);
    event->n_items = event->call == RZ_PAXOS_DOUBT ? 2 : 0;
    return true;
}

static void holds_paxos(struct patient *patient)
{
    for (uint64_t i = 0; i < INSTANCES; i++) {
        uint64_t *seen = &patient->memory[4 * i], value;
        uint64_t promised = rz_paxos_promised(patient->state, i);
        uint64_t accepted = rz_paxos_accepted(patient->state, i, &value);
        assert_true(promised >= seen[0] && accepted >= seen[1] && accepted <= promised);
        seen[0] = promised, seen[1] = accepted;
        bool decided = rz_paxos_decision(patient->state, i, &value);
        assert_true(seen[2] == 0 || (decided && value == seen[3]));
        seen[2] = decided, seen[3] = decided ? value : 0;
    }
}

static void paxos_survives(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 5, MEMBERS_MAX};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        struct rz_paxos_config config = {.n_members = sizes[i / 2],
                                         .view = VIEW,
                                         .retry = 50,
                                         .votes = i % 2,
                                         .instances_max = 1};
        run(&rz_proto_room_paxos, &config, config.n_members, 7, 600, call_paxos, holds_paxos);
    }
}

static bool call_diagnose(struct patient *patient, struct rz_event *event, uint64_t items[2])
{
    event->call = (uint32_t)below(patient, 3);
    event->arg[0] = below(patient, patient->n);
    event->arg[1] = below(patient, 4);
    if (event->call == RZ_DIAGNOSE_READMIT)
        event->arg[1] |= 1;
    if (event->call == RZ_DIAGNOSE_VIEW)
        event->n_items = patient->n > 1 ? 2 : 1;
    items[0] = RZ_DIAGNOSE_ITEM(0, below(patient, 4));
    items[1] = RZ_DIAGNOSE_ITEM(patient->n - 1, below(patient, 4));
    return event->call != RZ_DIAGNOSE_ANSWER || event->arg[0] != patient->self;
}

/* Counters never fall, but at a member that is or was out. */
static void holds_diagnose(struct patient *patient)
{
    uint32_t in = 0;
    bool was_out = patient->memory[patient->self] % 2 == 1;
    bool out = was_out || !rz_diagnose_has(patient->state, patient->self);
    for (rz_id k = 0; k < patient->n; k++) {
        uint64_t counter = rz_diagnose_counter(patient->state, k);
        assert_true(out || counter >= patient->memory[k]);
        patient->memory[k] = counter;
        in += counter % 2 == 0;
    }
    assert_int_equal(in, rz_diagnose_group_size(patient->state));
}

static void diagnose_survives(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 5, MEMBERS_MAX};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        struct rz_diagnose_config config = {.n_members = sizes[i / 2],
                                            .view = VIEW,
                                            .interval = 300,
                                            .threshold_first = 200,
                                            .threshold_max = 1000,
                                            .zeta = 2,
                                            .by_host = i % 2,
                                            .report = true};
        run(&rz_proto_room_diagnose, &config, config.n_members, 3, 600, call_diagnose,
            holds_diagnose);
    }
}

static bool call_swim(struct patient *patient, struct rz_event *event, uint64_t items[2])
{
    (void)items;
    event->call = RZ_SWIM_LEAVE;
    return below(patient, 20) == 0;
}

static void holds_swim(struct patient *patient)
{
    if (rz_swim_silent(patient->state))
        return;
    for (rz_id id = 0; id < patient->n; id++) {
        struct rz_swim_view view = rz_swim_look(patient->state, id);
        assert_int_equal(view.timers, view.state == RZ_SWIM_SUSPECT);
        assert_true(!view.queued || view.sent < rz_swim_limit(patient->state));
        assert_true(id != patient->self || view.state == RZ_SWIM_ALIVE ||
                    rz_swim_leaving(patient->state));
    }
    assert_true(rz_swim_records(patient->state) <= patient->n);
}

static void swim_survives(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 5, MEMBERS_MAX};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        struct rz_swim_config config = rz_swim_config_scaled(1000, sizes[i / 2]);
        config.view = VIEW;
        config.records_max = 1;
        config.final = i % 2;
        run(&rz_proto_room_swim, &config, config.n_members, 7, 600, call_swim, holds_swim);
    }
}

/* Room is asked for by what may become a record, not by whatever somebody sends. */
static void swim_asks_no_room_for_junk(void **state)
{
    (void)state;
    struct rz_swim_config config = rz_swim_config_scaled(1000, 5);
    struct rz_swim *swim = malloc(rz_swim_size(&config));
    uint64_t items[ITEMS_MAX];
    for (uint32_t i = 0; i < ITEMS_MAX; i++)
        items[i] = i % 2 ? (uint64_t)RZ_SWIM_SUSPECT << 32 : (uint64_t)1 << 32 | (5 + i);
    struct rz_message message = {
        .room = RZ_ROOM_SWIM, .type = RZ_SWIM_GOSSIP, .from = 1, .n_items = ITEMS_MAX};
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &message, .items = items};
    struct rz_action v[RZ_ACTIONS_MIN];
    struct rz_actions out = {.v = v, .max = RZ_ACTIONS_MIN};
    rz_swim_init(swim, &config, 0, 0, 1);
    assert_int_equal(rz_swim_step(swim, &event, &out), RZ_DONE);
    assert_int_equal(rz_swim_records(swim), 0);
    for (uint32_t i = 0; i < ITEMS_MAX; i += 2)
        items[i] = (uint64_t)1 << 32 | 2;
    assert_int_equal(rz_swim_step(swim, &event, &out), RZ_NEED);
    assert_true(out.need <= rz_swim_size(&(struct rz_swim_config){.records_max = 5}));
    free(swim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_survives), cmocka_unit_test(twophase_survives),
        cmocka_unit_test(paxos_survives),  cmocka_unit_test(diagnose_survives),
        cmocka_unit_test(swim_survives),   cmocka_unit_test(swim_asks_no_room_for_junk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
