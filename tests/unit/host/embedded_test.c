/* SPDX-License-Identifier: BSD-3-Clause */
/* A embedded core: its event is repeated after it asked for memory, and continued until it is done.
 */
#include "host/embedded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define FIRST_BYTES 64
#define MORE_BYTES 4096
#define NOW 77
#define STEPS_MAX 8

/* A core that asks for memory once, then gives out one notice in each of three steps. */
struct counting {
    uint32_t grown, left;
    unsigned char room_for_more[FIRST_BYTES - 2 * sizeof(uint32_t)];
};

static enum rz_event_kind kinds[STEPS_MAX];
static unsigned n_steps;

static size_t counting_size(const void *config)
{
    (void)config;
    return sizeof(struct counting);
}

static void counting_init(void *state, const void *config, rz_id self, rz_time now, uint64_t seed)
{
    struct counting *counting = state;
    assert_int_equal(self, 3);
    assert_int_equal(seed, 4);
    assert_int_equal(now, NOW);
    counting->left = *(const uint32_t *)config;
}

static enum rz_more counting_step(void *state, const struct rz_event *event, struct rz_actions *out)
{
    struct counting *counting = state;
    assert_true(n_steps < STEPS_MAX);
    kinds[n_steps++] = event->kind;
    assert_int_equal(event->now, NOW);
    assert_int_equal(out->count, 0);
    assert_true(out->max >= RZ_ACTIONS_MIN);
    if (!counting->grown) {
        out->need = MORE_BYTES;
        return RZ_NEED;
    }
    out->v[out->count++] = (struct rz_action){.kind = RZ_ACTION_NOTIFY, .what = counting->left};
    return --counting->left > 0 ? RZ_MORE : RZ_DONE;
}

static void counting_grow(void *state, size_t bytes)
{
    struct counting *counting = state;
    const unsigned char *all = state;
    for (size_t i = sizeof(*counting); i < bytes; i++) {
        assert_int_equal(all[i], 0);
    }
    assert_int_equal(bytes, MORE_BYTES);
    counting->grown = 1;
}

static const struct rz_protocol counting_room = {.name = "counting",
                                                 .number = RZ_PROTOCOL_RING,
                                                 .size = counting_size,
                                                 .init = counting_init,
                                                 .step = counting_step,
                                                 .grow = counting_grow};

static void sum_up(void *arg, const struct rz_actions *actions)
{
    uint32_t *sum = arg;
    for (uint32_t i = 0; i < actions->count; i++) {
        *sum = *sum * 10 + actions->v[i].what;
    }
}

static void an_event_comes_to_its_end(void **state)
{
    struct rz_embedded embedded;
    uint32_t left = 3, sum = 0;
    (void)state;
    n_steps = 0;
    assert_true(rz_embedded_open(&embedded, &counting_room, &left, 3, NOW, 4));
    assert_true(rz_embedded_step(&embedded, &(struct rz_event){.kind = RZ_EVENT_TICK, .now = NOW},
                                 sum_up, &sum));
    assert_int_equal(n_steps, 4);
    assert_int_equal(kinds[0], RZ_EVENT_TICK); /* asked for memory: nothing happened */
    assert_int_equal(kinds[1], RZ_EVENT_TICK);
    assert_int_equal(kinds[2], RZ_EVENT_CONTINUE);
    assert_int_equal(kinds[3], RZ_EVENT_CONTINUE);
    assert_int_equal(sum, 321); /* in order, each once */
    assert_int_equal(embedded.bytes, MORE_BYTES);
    rz_embedded_close(&embedded);
    assert_null(embedded.state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_event_comes_to_its_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
