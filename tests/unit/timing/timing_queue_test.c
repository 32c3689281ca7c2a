/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of events against a plain sorted list, and the pool of blobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "timing/timing_memory.h"
#include "timing/timing_queue.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 20000

struct entry {
    rz_time date;
    uint32_t number;
};

static int by_date_and_number(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->date != y->date) {
        return x->date < y->date ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Pushes and pops at random; the dates are up to `spread` after the clock. */
static void mix_up(struct rz_timing_queue *queue, uint64_t seed, rz_time spread)
{
    static struct entry pushed[EVENTS_MAX], popped[EVENTS_MAX];
    struct rz_random random = {seed};
    uint32_t n_pushed = 0, n_popped = 0;
    rz_time now = queue->last;
    struct rz_timing_event event;
    while (n_popped < EVENTS_MAX) {
        bool push = n_pushed < EVENTS_MAX && rz_random_below(&random, 3) > 0;
        if (push) {
            rz_time date =
                now +
                (rz_random_below(&random, 4) == 0 ? 0 : rz_random_below(&random, spread) / 5 * 5);
            rz_timing_queue_push(queue, date)->member = n_pushed;
            pushed[n_pushed] = (struct entry){date, n_pushed};
            n_pushed++;
        } else if (rz_timing_queue_pop(queue, RZ_TIME_NEVER, &event)) {
            assert_true(event.date >= now);
            now = event.date;
            popped[n_popped++] = (struct entry){event.date, event.member};
        }
    }
    qsort(pushed, EVENTS_MAX, sizeof(*pushed), by_date_and_number);
    assert_int_equal(queue->count, 0);
    assert_memory_equal(pushed, popped, sizeof(pushed));
}

static void events_leave_by_date_and_then_as_they_came(void **state)
{
    (void)state;
    struct rz_timing_queue *queue = malloc(sizeof(*queue));
    rz_timing_queue_init(queue);
    static const rz_time spreads[] = {6, 300, 70000, 5000000, RZ_SECOND, UINT64_C(1) << 50};
    for (uint32_t i = 0; i < sizeof(spreads) / sizeof(*spreads); i++) {
        mix_up(queue, i + 1, spreads[i]);
    }
    rz_timing_queue_release(queue);
    free(queue);
}

static void nothing_leaves_after_the_limit(void **state)
{
    (void)state;
    struct rz_timing_queue *queue = malloc(sizeof(*queue));
    rz_timing_queue_init(queue);
    struct rz_timing_event event;
    rz_timing_queue_push(queue, 1000000)->member = 0;
    assert_false(rz_timing_queue_pop(queue, 999999, &event));
    rz_timing_queue_push(queue, 5)->member = 7; /* the clock has not gone on */
    assert_true(rz_timing_queue_pop(queue, 999999, &event));
    assert_int_equal(event.member, 7);
    rz_timing_queue_push(queue, 9)->member = 8;
    assert_false(rz_timing_queue_pop(queue, 8, &event));
    assert_true(rz_timing_queue_pop(queue, 9, &event));
    assert_true(rz_timing_queue_pop(queue, 1000000, &event));
    assert_false(rz_timing_queue_pop(queue, RZ_TIME_NEVER, &event));
    rz_timing_queue_release(queue);
    free(queue);
}

static void chunks_are_used_again(void **state)
{
    (void)state;
    struct rz_timing_queue *queue = malloc(sizeof(*queue));
    rz_timing_queue_init(queue);
    struct rz_timing_event event = {.date = 0};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 200000; i++) {
        rz_timing_queue_push(queue, event.date + rz_mix(i, 1) % 100000)->member = i;
        assert_true(rz_timing_queue_pop(queue, RZ_TIME_NEVER, &event));
        bytes = i == 0 ? queue->bytes : bytes;
    }
    assert_int_equal(queue->bytes, bytes);
    rz_timing_queue_release(queue);
    free(queue);
}

/* Blocks of all sizes, filled with their own number, taken and given back at random. */
static void blocks_of_a_pool_do_not_overlap(void **state)
{
    (void)state;
    enum { LIVE = 300, ROUNDS = 20000 };
    static struct {
        uint32_t handle, bytes;
    } live[LIVE];
    struct rz_timing_pool pool;
    struct rz_random random = {5};
    rz_timing_pool_init(&pool);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t k = (uint32_t)rz_random_below(&random, LIVE);
        if (live[k].bytes > 0) {
            const unsigned char *at = rz_timing_pool_at(&pool, live[k].handle);
            assert_int_equal(at[0], k % 256);
            assert_int_equal(at[live[k].bytes - 1], k % 256);
            rz_timing_pool_give(&pool, live[k].handle, live[k].bytes);
        }
        uint32_t bits = (uint32_t)rz_random_below(&random, i % 50 == 0 ? 21 : 12);
        live[k].bytes = 1 + (uint32_t)rz_random_below(&random, UINT64_C(1) << bits);
        live[k].handle = rz_timing_pool_take(&pool, live[k].bytes);
        memset(rz_timing_pool_at(&pool, live[k].handle), (int)(k % 256), live[k].bytes);
    }
    assert_true(pool.bytes < (uint64_t)300 << 20);
    rz_timing_pool_release(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_leave_by_date_and_then_as_they_came),
        cmocka_unit_test(nothing_leaves_after_the_limit),
        cmocka_unit_test(chunks_are_used_again),
        cmocka_unit_test(blocks_of_a_pool_do_not_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
