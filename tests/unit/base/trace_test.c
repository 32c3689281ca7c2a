/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of the trace: order, wrap, torn slots, threads; levels by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/trace.h"

#include <pthread.h>
#include <string.h>

static struct rz_trace_ring ring;
static _Atomic uint64_t ticks;

static uint64_t tick(void)
{
    return atomic_fetch_add(&ticks, 1);
}

static void begin(void)
{
    struct rz_trace_levels levels;
    const struct rz_trace_owner owner = {.slot = 3, .incarnation = 2, .node = 1, .pid = 77};
    rz_trace_levels_default(&levels);
    rz_trace_ring_make(&ring, &owner, &levels);
    assert_true(rz_trace_begin(&ring, tick));
}

static struct rz_trace_event events[RZ_TRACE_SLOTS + 1];

/* Reads all there is. */
static uint32_t all(void)
{
    uint64_t from = 0;
    return rz_trace_read(&ring, &from, events, RZ_TRACE_SLOTS + 1);
}

static void nothing_is_traced_without_a_ring(void **state)
{
    (void)state;
    rz_trace_put(RZ_TRACE_INIT, 1, 2, 3);
    assert_false(RZ_TRACE_ON(INIT));
    memset(&ring, 0, sizeof(ring));
    assert_false(rz_trace_begin(&ring, tick)); /* nothing made it */
    begin();
    ring.n_events++; /* of another build */
    assert_false(rz_trace_ring_valid(&ring));
    assert_false(rz_trace_begin(&ring, tick));
    rz_trace_end();
}

static void events_come_back_in_order(void **state)
{
    (void)state;
    begin();
    RZ_TRACE(FAILURE_LEARNT, 5, UINT64_MAX, 7);
    RZ_TRACE(DISCONNECTED, 5, 1, 0); /* info: not by default */
    RZ_TRACE(EPOCH_LEARNT, 2, 0, 1);
    rz_trace_end();
    RZ_TRACE(INIT, 0, 0, 0);
    assert_int_equal(all(), 2);
    assert_int_equal(events[0].event, RZ_TRACE_FAILURE_LEARNT);
    assert_int_equal(events[0].a, 5);
    assert_true(events[0].b == UINT64_MAX);
    assert_int_equal(events[0].c, 7);
    assert_int_equal(events[1].event, RZ_TRACE_EPOCH_LEARNT);
    assert_int_equal(events[1].number, 1);
    assert_true(events[1].at_ns > events[0].at_ns);
    const struct rz_trace_meaning *meaning = rz_trace_meaning(events[1].event);
    assert_string_equal(meaning->args[0], "epoch");
    assert_string_equal(rz_trace_module_name(meaning->module), "engine");
}

static void the_newest_events_stay(void **state)
{
    (void)state;
    begin();
    for (uint32_t i = 0; i < 3 * RZ_TRACE_SLOTS + 5; i++) {
        RZ_TRACE(CONNECT, i, i + 1, i);
    }
    rz_trace_end();
    assert_int_equal(all(), RZ_TRACE_SLOTS);
    for (uint32_t i = 0; i < RZ_TRACE_SLOTS; i++) {
        assert_int_equal(events[i].a, 2 * RZ_TRACE_SLOTS + 5 + i);
        assert_int_equal(events[i].a, events[i].number);
    }
    uint64_t from = rz_trace_last(&ring, 10);
    assert_int_equal(rz_trace_read(&ring, &from, events, 4), 4);
    assert_int_equal(events[0].number, 3 * RZ_TRACE_SLOTS - 5);
    assert_int_equal(rz_trace_read(&ring, &from, events, 100), 6);
    assert_int_equal(rz_trace_read(&ring, &from, events, 100), 0);
    from = UINT64_MAX; /* of a ring that was made again meanwhile */
    assert_int_equal(rz_trace_read(&ring, &from, events, RZ_TRACE_SLOTS), RZ_TRACE_SLOTS);
}

/* What a process leaves that was killed while it wrote, and what no writer makes. */
static void torn_slots_are_left_out(void **state)
{
    (void)state;
    begin();
    for (uint32_t i = 0; i < 6; i++) {
        RZ_TRACE(CONNECT, i, 0, 0);
    }
    ring.slots[1].number = 2 * 1 + 1;                    /* never completed */
    ring.slots[2].number = 2 * (2 + RZ_TRACE_SLOTS) + 2; /* a later event is there already */
    ring.slots[3].what = RZ_TRACE_EVENT_COUNT;           /* no event */
    ring.next = 9;                                       /* taken, and no slot yet */
    assert_int_equal(all(), 3);
    assert_int_equal(events[0].a, 0);
    assert_int_equal(events[1].a, 4);
    assert_int_equal(events[2].a, 5);
    /* The slot that is never completed loses what comes round to it; a later event stays. */
    ring.next = RZ_TRACE_SLOTS;
    for (uint32_t i = 0; i < 6; i++) {
        RZ_TRACE(CONNECT, 100 + i, 0, 0);
    }
    rz_trace_end();
    assert_int_equal(ring.lost, 2);
    uint64_t from = RZ_TRACE_SLOTS;
    assert_int_equal(rz_trace_read(&ring, &from, events, 10), 5);
    assert_int_equal(events[1].a, 2);
    assert_int_equal(events[2].a, 103);
    ring.next = UINT64_MAX; /* damaged: no more than a look at each slot */
    assert_int_equal(all(), 0);
}

/* ---- Threads ---- */

enum { THREADS = 4, EACH = 20000 };

static atomic_bool over;

static void *write_many(void *arg)
{
    uint64_t thread = (uintptr_t)arg;
    rz_trace_thread(thread == 0 ? "the first of the many" : "other");
    for (uint64_t i = 0; i < EACH; i++) {
        RZ_TRACE(CONNECT, thread << 32 | i, ~(thread << 32 | i), (uint32_t)i);
    }
    return NULL;
}

static void check_whole(const struct rz_trace_event *event)
{
    assert_int_equal(event->event, RZ_TRACE_CONNECT);
    assert_true(event->b == ~event->a);
    assert_int_equal(event->c, (uint32_t)event->a);
}

static void *read_many(void *arg)
{
    uint64_t from = 0, *seen = arg;
    static struct rz_trace_event some[64];
    while (!atomic_load(&over)) {
        uint32_t n = rz_trace_read(&ring, &from, some, 64);
        for (uint32_t i = 0; i < n; i++) {
            check_whole(&some[i]);
        }
        *seen += n;
    }
    return NULL;
}

static void threads_write_and_one_reads(void **state)
{
    (void)state;
    pthread_t writers[THREADS], reader;
    uint64_t seen = 0;
    char name[RZ_TRACE_THREAD_NAME];
    begin();
    assert_int_equal(pthread_create(&reader, NULL, read_many, &seen), 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&writers[i], NULL, write_many, (void *)i), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(writers[i], NULL);
    }
    atomic_store(&over, true);
    pthread_join(reader, NULL);
    rz_trace_end();
    assert_int_equal(ring.next, THREADS * EACH);
    uint32_t n = all();
    assert_true(n <= RZ_TRACE_SLOTS && n + ring.lost >= RZ_TRACE_SLOTS);
    bool named = false;
    for (uint32_t i = 0; i < n; i++) {
        check_whole(&events[i]);
        rz_trace_thread_name(&ring, events[i].thread, name);
        assert_true(events[i].thread < THREADS);
        named |= strcmp(name, "the first of th") == 0 || strcmp(name, "other") == 0;
    }
    assert_true(named);
}

/* ---- Levels ---- */

static void levels_are_read(void **state)
{
    (void)state;
    struct rz_trace_levels levels;
    char text[512];
    rz_trace_levels_default(&levels);
    assert_true(
        rz_trace_levels_parse(&levels, "mpi:info,agree:off,overlay:debug", text, sizeof(text)));
    assert_int_equal(levels.of[RZ_TRACE_MODULE_engine], RZ_TRACE_LEVEL_info);
    assert_int_equal(levels.of[RZ_TRACE_MODULE_agree], RZ_TRACE_LEVEL_off);
    assert_int_equal(levels.of[RZ_TRACE_MODULE_overlay], RZ_TRACE_LEVEL_debug);
    assert_int_equal(levels.of[RZ_TRACE_MODULE_process], RZ_TRACE_LEVEL_notice);
    rz_trace_levels_raise(&levels, RZ_TRACE_LEVEL_info);
    assert_int_equal(levels.of[RZ_TRACE_MODULE_agree], RZ_TRACE_LEVEL_info);
    assert_int_equal(levels.of[RZ_TRACE_MODULE_overlay], RZ_TRACE_LEVEL_debug);
    assert_true(rz_trace_levels_parse(&levels, "all:off", text, sizeof(text)));
    assert_int_equal(levels.of[RZ_TRACE_MODULE_base], RZ_TRACE_LEVEL_off);
    static const char *const wrong[] = {
        "",         ",",        "mpi",       "mpi:",          ":info",
        "mpi:loud", "moi:info", "mpi:info,", "mpi:info:info", "mpi:inf"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        const struct rz_trace_levels before = levels;
        assert_false(rz_trace_levels_parse(&levels, wrong[i], text, sizeof(text)));
        assert_memory_equal(&before, &levels, sizeof(levels));
        assert_non_null(strstr(text, "overlay"));
        assert_non_null(strstr(text, "notice"));
        assert_false(rz_trace_levels_parse(&levels, wrong[i], text, 9)); /* a small place */
    }
}

static void the_table_is_sound(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RZ_TRACE_EVENT_COUNT; i++) {
        const struct rz_trace_meaning *meaning = rz_trace_meaning(i);
        assert_true(meaning->level > RZ_TRACE_LEVEL_off);
        assert_true(meaning->name[0] >= 'A' && meaning->name[0] <= 'Z');
        bool lasts = meaning->kind != RZ_TRACE_POINT;
        assert_true(!lasts || strstr(meaning->name, "_BEGIN") || strstr(meaning->name, "_END"));
        assert_true(!lasts || meaning->args[0][0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_traced_without_a_ring),
                                       cmocka_unit_test(events_come_back_in_order),
                                       cmocka_unit_test(the_newest_events_stay),
                                       cmocka_unit_test(torn_slots_are_left_out),
                                       cmocka_unit_test(threads_write_and_one_reads),
                                       cmocka_unit_test(levels_are_read),
                                       cmocka_unit_test(the_table_is_sound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
