/* SPDX-License-Identifier: BSD-3-Clause */
/* One member of the broadcast, step by step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/spread/spread.h"

#include <stdlib.h>
#include <string.h>

#define N 12
#define VIEW 5
#define LATER 1000

struct fixture {
    struct rz_spread *spread;
    struct rz_action actions[RZ_ACTIONS_MIN];
    uint32_t count;
    uint32_t grown;
    rz_time now;
};

static int open_member(void **state, rz_time redundant_after)
{
    const struct rz_spread_config config = {
        .n_members = N, .view = VIEW, .items_max = 2, .redundant_after = redundant_after};
    struct fixture *f = calloc(1, sizeof(*f));
    f->spread = malloc(rz_spread_size(&config));
    rz_spread_init(f->spread, &config, 3, 0, 1);
    *state = f;
    return 0;
}

static int set_up(void **state)
{
    return open_member(state, 0);
}

static int set_up_late(void **state)
{
    return open_member(state, LATER);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    free(f->spread);
    free(f);
    return 0;
}

static void step(struct fixture *f, const struct rz_event *event)
{
    struct rz_actions out = {.v = f->actions, .max = RZ_ACTIONS_MIN};
    struct rz_event dated = *event;
    dated.now = f->now;
    enum rz_more more = rz_spread_step(f->spread, &dated, &out);
    if (more == RZ_NEED) {
        assert_int_equal(out.count, 0);
        f->spread = realloc(f->spread, out.need);
        rz_spread_grow(f->spread, out.need);
        f->grown++;
        more = rz_spread_step(f->spread, &dated, &out);
    }
    assert_int_equal(more, RZ_DONE);
    f->count = out.count;
}

static void receive_flagged(struct fixture *f, rz_id from, rz_id origin, uint32_t view,
                            const uint64_t *items, uint32_t n, uint16_t flags)
{
    struct rz_message message = {.protocol = RZ_PROTOCOL_SPREAD,
                                 .type = RZ_SPREAD_NEWS,
                                 .flags = flags,
                                 .view = view,
                                 .from = from,
                                 .origin = origin,
                                 .n_items = n};
    step(f, &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .message = &message, .items = items});
}

static void receive(struct fixture *f, rz_id from, rz_id origin, uint32_t view,
                    const uint64_t *items, uint32_t n)
{
    receive_flagged(f, from, origin, view, items, n, 0);
}

static void tick(struct fixture *f, rz_time now)
{
    f->now = now;
    step(f, &(struct rz_event){.kind = RZ_EVENT_TICK});
}

static void broadcast(struct fixture *f, const uint64_t *items, uint32_t n)
{
    step(f, &(struct rz_event){
                .kind = RZ_EVENT_CALL, .call = RZ_SPREAD_BROADCAST, .items = items, .n_items = n});
}

static void tell_failed(struct fixture *f, const rz_id *ids, uint32_t n)
{
    step(f, &(struct rz_event){.kind = RZ_EVENT_FAILURE, .ids = ids, .n_ids = n});
}

static bool sends_to(const struct rz_action *action, rz_id id)
{
    for (uint32_t i = 0; i < action->n_to; i++) {
        if (action->to[i] == id) {
            return true;
        }
    }
    return false;
}

static void origin_sends_to_all_neighbours_then_tells_its_host(void **state)
{
    struct fixture *f = *state;
    const uint64_t item = 77;
    broadcast(f, &item, 1);
    assert_int_equal(f->count, 2);
    assert_int_equal(f->actions[0].kind, RZ_ACTION_SEND);
    assert_int_equal(f->actions[0].n_to, rz_spread_degree(N));
    /* The tree's children of the root come first: 4, 5, 7, 11. */
    assert_int_equal(f->actions[0].to[0], 4);
    assert_int_equal(f->actions[0].to[1], 5);
    assert_int_equal(f->actions[0].to[2], 7);
    assert_int_equal(f->actions[0].to[3], 11);
    assert_int_equal(f->actions[1].kind, RZ_ACTION_NOTIFY);
    assert_int_equal(f->actions[1].what, RZ_SPREAD_DELIVER);
    assert_true(f->actions[1].items[0] == item);
}

static void second_copy_and_subset_are_dropped(void **state)
{
    struct fixture *f = *state;
    const uint64_t items[] = {9, 8};
    receive(f, 2, 2, VIEW, items, 2);
    assert_int_equal(f->count, 2);
    assert_false(sends_to(&f->actions[0], 2));
    assert_int_equal(f->actions[1].n_items, 2);
    assert_true(f->actions[1].items[0] == 8);
    receive(f, 4, 2, VIEW, items, 2);
    assert_int_equal(f->count, 0);
    receive(f, 4, 4, VIEW, items + 1, 1);
    assert_int_equal(f->count, 0);
}

static void partly_new_message_sends_on_what_is_new(void **state)
{
    struct fixture *f = *state;
    const uint64_t first[] = {1}, second[] = {1, 2};
    receive(f, 2, 2, VIEW, first, 1);
    receive(f, 4, 4, VIEW, second, 2);
    assert_int_equal(f->count, 2);
    assert_int_equal(f->actions[0].message.n_items, 1);
    assert_true(f->actions[0].items[0] == 2);
    assert_int_equal(f->actions[0].message.origin, 4);
}

static void other_views_and_impossible_members_are_dropped(void **state)
{
    struct fixture *f = *state;
    const uint64_t item = 1;
    receive(f, 2, 2, VIEW + 1, &item, 1);
    assert_int_equal(f->count, 0);
    receive(f, N, 2, VIEW, &item, 1);
    assert_int_equal(f->count, 0);
    receive(f, 2, N, VIEW, &item, 1);
    assert_int_equal(f->count, 0);
    receive(f, 2, 2, VIEW, NULL, 0);
    assert_int_equal(f->count, 0);
}

static void failed_are_left_out_and_the_ring_closes_over_them(void **state)
{
    struct fixture *f = *state;
    const rz_id failed[] = {4, 5, 2};
    const uint64_t item = 1;
    tell_failed(f, failed, 3);
    assert_int_equal(f->count, 0);
    broadcast(f, &item, 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_false(sends_to(&f->actions[0], failed[i]));
    }
    assert_true(sends_to(&f->actions[0], 6));
    assert_true(sends_to(&f->actions[0], 1));
    for (uint32_t i = 0; i < f->actions[0].n_to; i++) {
        for (uint32_t k = 0; k < i; k++) {
            assert_int_not_equal(f->actions[0].to[i], f->actions[0].to[k]);
        }
    }
}

static void new_neighbours_get_all_that_is_known(void **state)
{
    struct fixture *f = *state;
    const uint64_t items[] = {1, 2, 3};
    const rz_id next = 4, far = 9;
    broadcast(f, items, 3);
    tell_failed(f, &far, 1);
    assert_int_equal(f->count, 0);
    tell_failed(f, &next, 1);
    assert_int_equal(f->count, 1);
    assert_int_equal(f->actions[0].n_to, 1);
    assert_int_equal(f->actions[0].to[0], 5);
    assert_int_equal(f->actions[0].message.n_items, 3);
    tell_failed(f, &next, 1);
    assert_int_equal(f->count, 0);
}

static void sets_grow_by_need(void **state)
{
    struct fixture *f = *state;
    for (uint64_t item = 100; item > 0; item--) {
        broadcast(f, &item, 1);
    }
    for (rz_id id = 0; id < N; id++) {
        if (id != 3) {
            tell_failed(f, &id, 1);
        }
    }
    assert_true(f->grown >= 5);
    uint32_t n;
    const uint64_t *known = rz_spread_known(f->spread, &n);
    assert_int_equal(n, 100);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(known[i] == i + 1);
    }
    for (rz_id id = 0; id < N; id++) {
        assert_int_equal(rz_spread_knows_failed(f->spread, id), id != 3);
    }
    const uint64_t last = 1000;
    broadcast(f, &last, 1);
    assert_int_equal(f->count, 1); /* there is no receiver left; the host is notified */
    assert_int_equal(f->actions[0].kind, RZ_ACTION_NOTIFY);
}

/* ---- what is put off: the neighbours of 3 are 4, 5, 7, 11, its children, and 2, 1 ---- */

static void expect_late(struct fixture *f, uint32_t n_to, uint32_t n_items)
{
    assert_int_equal(f->count, 1);
    assert_int_equal(f->actions[0].kind, RZ_ACTION_SEND);
    assert_int_equal(f->actions[0].n_to, n_to);
    assert_int_equal(f->actions[0].message.flags, RZ_SPREAD_URGENT);
    assert_int_equal(f->actions[0].message.n_items, n_items);
    assert_true(rz_spread_deadline(f->spread) == RZ_TIME_NEVER);
}

static void children_hear_at_once_and_the_others_later(void **state)
{
    struct fixture *f = *state;
    const uint64_t item = 77;
    f->now = 500;
    broadcast(f, &item, 1);
    assert_int_equal(f->count, 2);
    assert_int_equal(f->actions[0].n_to, 4);
    assert_int_equal(f->actions[0].message.flags, 0);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(f->actions[0].to[i], 3 + (1 << i));
    }
    assert_int_equal(f->actions[1].what, RZ_SPREAD_DELIVER);
    assert_true(rz_spread_deadline(f->spread) == 500 + LATER);
    tick(f, 499 + LATER);
    assert_int_equal(f->count, 0);
    tick(f, 500 + LATER);
    expect_late(f, 2, 1);
    assert_true(sends_to(&f->actions[0], 2) && sends_to(&f->actions[0], 1));
    assert_true(f->actions[0].items[0] == item);
    tick(f, 500 + 2 * LATER);
    assert_int_equal(f->count, 0);
}

static void a_member_that_shows_that_it_knows_is_left_out(void **state)
{
    struct fixture *f = *state;
    const uint64_t items[] = {77, 78};
    receive(f, 1, 1, VIEW, items, 1); /* in the tree of 1 the children of 3 are 7 and 11 */
    assert_int_equal(f->actions[0].n_to, 2);
    receive(f, 2, 1, VIEW, items + 1, 1); /* something else: proves nothing */
    receive(f, 4, 1, VIEW, items, 2);
    tick(f, LATER);
    expect_late(f, 3, 2); /* 1, 2 and 5: each lacks one of the two, as far as is known here */
    assert_false(sends_to(&f->actions[0], 4));
    const uint64_t other = 80;
    broadcast(f, &other, 1);
    receive(f, 1, 3, VIEW, &other, 1);
    receive(f, 2, 3, VIEW, &other, 1);
    assert_true(rz_spread_deadline(f->spread) == RZ_TIME_NEVER);
}

static void a_failure_sends_what_was_put_off(void **state)
{
    struct fixture *f = *state;
    const uint64_t item = 77;
    const rz_id far = 9, next = 4;
    broadcast(f, &item, 1);
    tell_failed(f, &far, 1);
    expect_late(f, 2, 1);
    tell_failed(f, &next, 1);
    expect_late(f, 1, 1); /* the ring is closed, nothing else */
    assert_int_equal(f->actions[0].to[0], 5);
}

static void the_failed_get_nothing_late(void **state)
{
    struct fixture *f = *state;
    const uint64_t item = 77;
    const rz_id failed[] = {1, 4};
    broadcast(f, &item, 1);
    tell_failed(f, failed, 2);
    assert_int_equal(f->count, 2); /* to 2, late; to 5, which closes the ring */
    assert_int_equal(f->actions[0].n_to, 1);
    assert_int_equal(f->actions[0].to[0], 2);
    assert_int_equal(f->actions[1].n_to, 1);
    assert_int_equal(f->actions[1].to[0], 5);
}

static void nothing_is_put_off_where_a_failure_is_known_or_the_news_are_urgent(void **state)
{
    struct fixture *f = *state;
    const uint64_t items[] = {77, 78};
    const rz_id far = 9;
    receive_flagged(f, 2, 2, VIEW, items, 1, RZ_SPREAD_URGENT);
    assert_int_equal(f->actions[0].n_to, rz_spread_degree(N) - 1);
    assert_int_equal(f->actions[0].message.flags, RZ_SPREAD_URGENT);
    assert_true(rz_spread_deadline(f->spread) == RZ_TIME_NEVER);
    tell_failed(f, &far, 1);
    broadcast(f, items + 1, 1);
    assert_int_equal(f->actions[0].n_to, rz_spread_degree(N));
    assert_int_equal(f->actions[0].message.flags, RZ_SPREAD_URGENT);
    assert_true(rz_spread_deadline(f->spread) == RZ_TIME_NEVER);
}

static void what_is_put_off_grows_with_the_sets(void **state)
{
    struct fixture *f = *state;
    for (uint64_t item = 100; item > 0; item--) {
        broadcast(f, &item, 1);
    }
    assert_true(f->grown >= 5);
    tick(f, LATER);
    expect_late(f, 2, 100);
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(f->actions[0].items[i] == 100 - i);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_LATE(name) cmocka_unit_test_setup_teardown(name, set_up_late, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(origin_sends_to_all_neighbours_then_tells_its_host),
        TEST(second_copy_and_subset_are_dropped),
        TEST(partly_new_message_sends_on_what_is_new),
        TEST(other_views_and_impossible_members_are_dropped),
        TEST(failed_are_left_out_and_the_ring_closes_over_them),
        TEST(new_neighbours_get_all_that_is_known),
        TEST(sets_grow_by_need),
        TEST_LATE(children_hear_at_once_and_the_others_later),
        TEST_LATE(a_member_that_shows_that_it_knows_is_left_out),
        TEST_LATE(a_failure_sends_what_was_put_off),
        TEST_LATE(the_failed_get_nothing_late),
        TEST_LATE(nothing_is_put_off_where_a_failure_is_known_or_the_news_are_urgent),
        TEST_LATE(what_is_put_off_grows_with_the_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
