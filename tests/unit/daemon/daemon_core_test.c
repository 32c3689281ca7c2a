/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of a core: what its daemon slept through does not pass for a detector. */
#include "daemon/state/core.h"
#include "port/clock.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define PERIOD (20 * RZ_MILLISECOND)
#define SLEEP_MS 300
#define LATE_MS 50 /* after the deadline, but no sleep yet */
#define OVERSLEEPS (100 * RZ_MILLISECOND)

/* A component that only reads its clock. */
struct clock_room {
    rz_time deadline, last_now, largest_step;
    unsigned ticks;
};

static enum rz_more clock_step(void *state, const struct rz_event *event, struct rz_actions *out)
{
    struct clock_room *protocol = state;
    (void)out;
    assert_true(event->now >= protocol->last_now);
    if (protocol->last_now > 0 && event->now - protocol->last_now > protocol->largest_step) {
        protocol->largest_step = event->now - protocol->last_now;
    }
    protocol->last_now = event->now;
    if (event->kind == RZ_EVENT_TICK) {
        assert_true(event->now >= protocol->deadline);
        protocol->ticks++;
        protocol->deadline = event->now + PERIOD;
    }
    return RZ_DONE;
}

static rz_time clock_deadline(const void *state)
{
    return ((const struct clock_room *)state)->deadline;
}

static size_t clock_size(const void *config)
{
    (void)config;
    return sizeof(struct clock_room);
}

static void clock_init(void *state, const void *config, rz_id self, rz_time now, uint64_t seed)
{
    (void)config, (void)self, (void)seed;
    ((struct clock_room *)state)->deadline = now + PERIOD;
}

static const struct rz_protocol clock_room = {.name = "clock",
                                              .number = RZ_PROTOCOL_RING,
                                              .size = clock_size,
                                              .init = clock_init,
                                              .step = clock_step,
                                              .deadline = clock_deadline};

static void before_tick(void *arg, enum rz_protocol_number protocol)
{
    (void)arg, (void)protocol;
}

static const struct rz_core_host host = {.before_tick = before_tick};

struct fixture {
    struct event_base *base;
    struct rz_core core;
    struct rz_core_notices notices;
    struct clock_room *protocol;
};

static void begin(struct fixture *f, rz_time oversleeps)
{
    f->base = event_base_new();
    assert_non_null(f->base);
    event_base_priority_init(f->base, 2);
    rz_core_notices_init(&f->notices, NULL);
    rz_core_open(&f->core, &(struct rz_core_setup){.protocol = &clock_room,
                                                   .now = rz_clock_now(),
                                                   .host = &host,
                                                   .notices = &f->notices,
                                                   .base = f->base});
    f->protocol = f->core.embedded.state;
    f->core.oversleeps = oversleeps;
    rz_core_started(&f->core);
}

static void run_ticks(struct fixture *f, unsigned n)
{
    for (unsigned until = f->protocol->ticks + n; f->protocol->ticks < until;) {
        event_base_loop(f->base, EVLOOP_ONCE);
    }
}

static void end(struct fixture *f)
{
    rz_core_close(&f->core);
    event_base_free(f->base);
}

/* The machine may be busy: only what was slept on purpose is looked at. */
static void sleep_is_left_out(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, OVERSLEEPS);
    run_ticks(&f, 3);
    rz_time before = f.protocol->last_now;
    poll(NULL, 0, SLEEP_MS);
    run_ticks(&f, 1);
    assert_true(f.protocol->last_now - before <= PERIOD + OVERSLEEPS);
    run_ticks(&f, 3);
    assert_true(f.protocol->largest_step <= PERIOD + OVERSLEEPS);
    end(&f);
}

/* Also when another event wakes it first, with a time that is already later than the deadline. */
static void a_message_first(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, OVERSLEEPS);
    run_ticks(&f, 3);
    poll(NULL, 0, LATE_MS);
    rz_core_step(&f.core, &(struct rz_event){.kind = RZ_EVENT_RECEIVE});
    rz_time before = f.protocol->last_now;
    poll(NULL, 0, SLEEP_MS);
    rz_core_step(&f.core, &(struct rz_event){.kind = RZ_EVENT_RECEIVE});
    assert_true(f.protocol->last_now - before <= PERIOD + OVERSLEEPS);
    run_ticks(&f, 3);
    assert_true(f.protocol->largest_step <= PERIOD + OVERSLEEPS);
    end(&f);
}

static void others_are_told_the_time_as_it_is(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, 0);
    run_ticks(&f, 1);
    poll(NULL, 0, SLEEP_MS);
    run_ticks(&f, 1);
    assert_true(f.protocol->largest_step >= SLEEP_MS * RZ_MILLISECOND);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sleep_is_left_out),
                                       cmocka_unit_test(a_message_first),
                                       cmocka_unit_test(others_are_told_the_time_as_it_is)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
