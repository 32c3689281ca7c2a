/* SPDX-License-Identifier: BSD-3-Clause */
/* Gossip member by member: which members it pings, what it merges, when it returns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gossip_group.h"
#include "proto/gossip/gossip_check.h"

#include <stdlib.h>
#include <string.h>

#define N 12

static struct group *make(enum rz_gossip_kind kind, uint32_t n, uint64_t seed)
{
    return group_create(n, (struct rz_gossip_config){.kind = kind, .report = true}, seed);
}

/* Delivers a message that no member sent. */
static void receive(struct group *group, rz_id to, struct rz_message message, const uint64_t *items)
{
    message.protocol = RZ_PROTOCOL_GOSSIP;
    if (message.view == 0) {
        message.view = group->config.view;
    }
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE,
                             .now = group->cycle * GROUP_CYCLE,
                             .message = &message,
                             .items = items};
    group_step(group, to, &event);
}

static uint32_t count_notices(const struct group *group, rz_id member, uint32_t what)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->n_notices; i++) {
        count += group->notices[i].member == member && group->notices[i].what == what;
    }
    return count;
}

/* ---- targets ---- */

/* 99.9 % of all honest generators stay below the bound; the seed is fixed. */
static void targets_are_uniform_and_never_self(void **state)
{
    (void)state;
    static uint32_t hits[16];
    const uint32_t draws = 160000;
    for (rz_id self = 0; self < 16; self += 5) {
        memset(hits, 0, sizeof(hits));
        for (uint64_t cycle = 0; cycle < draws; cycle++) {
            rz_id target = rz_gossip_target(77, 16, self, cycle, 0);
            assert_true(target < 16 && target != self);
            hits[target]++;
        }
        double expected = draws / 15.0, chi_square = 0;
        for (rz_id id = 0; id < 16; id++) {
            if (id != self) {
                chi_square += (hits[id] - expected) * (hits[id] - expected) / expected;
            }
        }
        assert_true(chi_square < 36.1); /* 14 degrees of freedom */
    }
}

static void attempts_and_members_draw_apart(void **state)
{
    (void)state;
    uint32_t same_attempt = 0, same_member = 0;
    for (uint64_t cycle = 1; cycle <= 10000; cycle++) {
        same_attempt +=
            rz_gossip_target(1, 1001, 0, cycle, 0) == rz_gossip_target(1, 1001, 0, cycle, 1);
        same_member +=
            rz_gossip_target(1, 1001, 0, cycle, 0) == rz_gossip_target(2, 1001, 0, cycle, 0);
    }
    assert_in_range(same_attempt, 0, 30);
    assert_in_range(same_member, 0, 30);
}

static void known_failed_are_not_pinged(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < RZ_GOSSIP_KIND_COUNT; kind++) {
        struct group *group = make(kind, N, 3);
        for (rz_id failed = 3; failed < N; failed++) {
            group_kill(group, failed);
        }
        for (rz_id id = 0; id < 3; id++) {
            for (rz_id failed = 3; failed < N; failed++) {
                group_tell(group, id, failed);
            }
        }
        for (uint32_t cycle = 0; cycle < 5; cycle++) {
            group_cycle(group);
            for (uint32_t i = 0; i < group->n_packets; i++) {
                assert_true(group->packets[i].to < 3);
            }
        }
        group_destroy(group);
    }
}

/* ---- merging ---- */

static void list_merges_to_the_union_and_twice_is_once(void **state)
{
    (void)state;
    struct group *group = make(RZ_GOSSIP_LIST, N, 1);
    const uint64_t first[] = {2, 5}, second[] = {5, 7};
    struct rz_message ping = {.type = RZ_GOSSIP_PING, .from = 1, .n_items = 2};
    receive(group, 0, ping, first);
    receive(group, 0, ping, second);
    uint32_t n;
    const uint64_t *failed = rz_gossip_failed(group->state[0], &n);
    assert_int_equal(n, 3);
    assert_true(failed[0] == 2 && failed[1] == 5 && failed[2] == 7);
    assert_int_equal(group->n_packets, 2);
    assert_int_equal(group->packets[1].message.n_items, 3); /* the answer has the union */
    uint64_t hash = rz_gossip_hash(group->state[0]);
    receive(group, 0, ping, first);
    assert_true(rz_gossip_hash(group->state[0]) == hash);
    group_destroy(group);
}

static void matrix_takes_the_senders_row_for_its_own(void **state)
{
    (void)state;
    struct group *group = make(RZ_GOSSIP_MATRIX, N, 1);
    uint64_t rows[N] = {0};
    rows[1] = 1 << 5;          /* the sender has detected 5 */
    rows[2] = 1 << 5 | 1 << 6; /* and knows that 2 has detected 5 and 6 */
    struct rz_message ping = {.type = RZ_GOSSIP_PING, .from = 1, .n_items = N};
    receive(group, 0, ping, rows);
    assert_true(rz_gossip_detected_by(group->state[0], 1, 5));
    assert_true(rz_gossip_detected_by(group->state[0], 2, 6));
    assert_true(rz_gossip_detected_by(group->state[0], 0, 5));
    assert_false(rz_gossip_detected_by(group->state[0], 0, 6));
    assert_int_equal(rz_gossip_phase(group->state[0], 5), 1);
    assert_int_equal(rz_gossip_phase(group->state[0], 6), 0);
    uint64_t hash = rz_gossip_hash(group->state[0]);
    receive(group, 0, ping, rows);
    assert_true(rz_gossip_hash(group->state[0]) == hash);
    group_destroy(group);
}

static void matrix_counts_failed_members_as_silent_witnesses(void **state)
{
    (void)state;
    struct group *group = make(RZ_GOSSIP_MATRIX, 3, 1);
    group_kill(group, 2);
    group_finish(group, 40);
    for (rz_id id = 0; id < 2; id++) {
        assert_int_equal(rz_gossip_phase(group->state[id], 2), 2);
    }
    assert_false(rz_gossip_detected_by(group->state[0], 2, 2));
    group_destroy(group);
}

static void bad_messages_are_dropped(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < RZ_GOSSIP_KIND_COUNT; kind++) {
        struct group *group = make(kind, N, 1);
        uint64_t hash = rz_gossip_hash(group->state[0]);
        uint64_t items[3 * N] = {4, 3, 2, 1};
        const struct rz_message bad[] = {
            {.type = RZ_GOSSIP_PING, .from = N},
            {.type = RZ_GOSSIP_PING, .from = 0},
            {.type = RZ_GOSSIP_MESSAGE_COUNT, .from = 1},
            {.type = RZ_GOSSIP_PING, .from = 1, .view = 1},
            {.type = RZ_GOSSIP_PING, .from = 1, .n_items = 4},
            {.type = RZ_GOSSIP_PING, .from = 1, .n_items = N - 1},
            {.type = RZ_GOSSIP_PING, .from = 1, .n_items = 3 * N},
        };
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
            receive(group, 0, bad[i], items);
        }
        assert_true(rz_gossip_hash(group->state[0]) == hash);
        assert_int_equal(group->n_packets, 0);
        group_destroy(group);
    }
}

static void all_news_are_told_however_many(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < RZ_GOSSIP_KIND_COUNT; kind++) {
        struct group *group = make(kind, 100, 1);
        for (rz_id failed = 20; failed < 100; failed++) {
            group_kill(group, failed);
        }
        for (rz_id failed = 20; failed < 100; failed++) {
            group_tell(group, 0, failed);
        }
        group_finish(group, 200);
        for (rz_id id = 0; id < 20; id++) {
            assert_int_equal(count_notices(group, id, RZ_GOSSIP_DETECTED), 80);
            assert_int_equal(count_notices(group, id, RZ_GOSSIP_CONSENSUS), 80);
            assert_int_equal(count_notices(group, id, RZ_GOSSIP_COMMITTED),
                             kind == RZ_GOSSIP_SUM ? 80 : 0);
            assert_int_equal(count_notices(group, id, RZ_GOSSIP_RETURNED), 1);
        }
        group_destroy(group);
    }
}

/* ---- returning ---- */

static void list_has_no_variance(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct group *group = make(RZ_GOSSIP_LIST, 64, seed);
        group_kill(group, 5);
        group_kill(group, 40);
        group_finish(group, 100);
        for (uint32_t i = 0; i < group->n_notices; i++) {
            if (group->notices[i].what == RZ_GOSSIP_CONSENSUS) {
                assert_int_equal(group->notices[i].arg[2], 6 + 8 + 1);
            }
        }
        assert_true(rz_gossip_check_agreed(group_check(group), 2));
        group_destroy(group);
    }
}

static void a_member_that_has_returned_still_answers(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < RZ_GOSSIP_KIND_COUNT; kind++) {
        struct group *group = make(kind, N, 4);
        group_kill(group, 7);
        group_finish(group, 100);
        for (uint32_t i = 0; i < 3; i++) {
            group_cycle(group);
        }
        assert_int_equal(group->n_packets, 0);
        assert_true(rz_gossip_deadline(group->state[0]) == RZ_TIME_NEVER);
        static const uint64_t nothing[N];
        struct rz_message ping = {.type = RZ_GOSSIP_PING, .from = 1, .seq = 99};
        ping.n_items = kind == RZ_GOSSIP_MATRIX ? N : 0;
        receive(group, 0, ping, nothing);
        assert_int_equal(group->n_packets, 1);
        assert_int_equal(group->packets[0].message.type, RZ_GOSSIP_REPLY);
        assert_true(group->packets[0].message.seq == 99);
        group_destroy(group);
    }
}

/* News after the return wake those that have returned, until they are settled too. (Not so the
 * list: a member that has seen the id in one answer has done with it.) */
static void late_news_are_settled_without_a_second_return(void **state)
{
    (void)state;
    static const enum rz_gossip_kind kinds[] = {RZ_GOSSIP_MATRIX, RZ_GOSSIP_SUM};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct group *group = make(kinds[seed % 2], N, seed);
        group_kill(group, 7);
        group_finish(group, 80);
        for (uint32_t i = 0; i < 5; i++) {
            group_cycle(group);
        }
        group_kill(group, 8);
        group_tell(group, 0, 8);
        for (uint32_t i = 0; i < 40; i++) {
            group_cycle(group);
        }
        assert_true(rz_gossip_check_agreed(group_check(group), seed % 2 == 1 ? 3 : 2));
        assert_int_equal(group->n_packets, 0);
        for (rz_id id = 0; id < N; id++) {
            assert_int_equal(count_notices(group, id, RZ_GOSSIP_RETURNED), id != 7);
        }
        group_destroy(group);
    }
}

static void nothing_failed_returns_nothing(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 16};
    for (uint32_t kind = 0; kind < RZ_GOSSIP_KIND_COUNT; kind++) {
        for (size_t i = 0; i < 4; i++) {
            struct group *group = make(kind, sizes[i], 2);
            uint64_t cycles = group_finish(group, 100);
            assert_in_range(cycles, 8, 8 + 4 + 1);
            assert_int_equal(group->n_notices, sizes[i]);
            assert_true(group->notices[0].arg[0] == 1 && group->notices[0].n_items == 0);
            group_destroy(group);
        }
    }
}

static void the_limit_of_cycles_ends_a_call_without_success(void **state)
{
    (void)state;
    struct group *group = group_create(
        N, (struct rz_gossip_config){.kind = RZ_GOSSIP_SUM, .cycles_max = 6, .report = true}, 1);
    group_kill(group, 3);
    assert_int_equal(group_finish(group, 100), 6);
    for (uint32_t i = 0; i < group->n_notices; i++) {
        if (group->notices[i].what == RZ_GOSSIP_RETURNED) {
            assert_true(group->notices[i].arg[0] == 0 && group->notices[i].arg[2] == 6);
        }
    }
    group_cycle(group);
    assert_int_equal(group->n_packets, 0);
    group_destroy(group);
}

static void a_member_that_has_not_begun_answers_and_remembers(void **state)
{
    (void)state;
    for (uint32_t kind = RZ_GOSSIP_LIST; kind < RZ_GOSSIP_KIND_COUNT; kind++) {
        struct group *group = make(kind, N, 1);
        const uint64_t items[] = {5, RZ_GOSSIP_ONE, 0};
        struct rz_message ping = {.type = RZ_GOSSIP_PING, .from = 1, .seq = 3};
        ping.n_items = kind == RZ_GOSSIP_SUM ? 3 : 1;
        assert_true(rz_gossip_deadline(group->state[0]) == RZ_TIME_NEVER);
        receive(group, 0, ping, items);
        assert_int_equal(group->n_packets, 1);
        assert_int_equal(rz_gossip_phase(group->state[0], 5), 1);
        assert_true(rz_gossip_deadline(group->state[0]) == RZ_TIME_NEVER);
        group_destroy(group);
    }
}

static void a_start_is_spread_over_the_time_allowed(void **state)
{
    (void)state;
    struct rz_gossip_config config = {.n_members = N,
                                      .kind = RZ_GOSSIP_LIST,
                                      .cycle = 1000,
                                      .timeout = 100,
                                      .start_spread = 1000};
    struct rz_gossip *gossip = malloc(rz_gossip_size(&config));
    uint64_t sum = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct rz_action v[RZ_ACTIONS_MIN];
        struct rz_actions out = {.v = v, .max = RZ_ACTIONS_MIN};
        struct rz_event begin = {.kind = RZ_EVENT_CALL, .now = 5000, .call = RZ_GOSSIP_BEGIN};
        rz_gossip_init(gossip, &config, 0, 5000, seed);
        rz_gossip_step(gossip, &begin, &out);
        rz_time first = out.count > 0 ? 5000 : rz_gossip_deadline(gossip);
        assert_in_range(first, 5000, 5999);
        sum += first - 5000;
    }
    assert_in_range(sum / 1000, 450, 550);
    free(gossip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_uniform_and_never_self),
        cmocka_unit_test(attempts_and_members_draw_apart),
        cmocka_unit_test(known_failed_are_not_pinged),
        cmocka_unit_test(list_merges_to_the_union_and_twice_is_once),
        cmocka_unit_test(matrix_takes_the_senders_row_for_its_own),
        cmocka_unit_test(matrix_counts_failed_members_as_silent_witnesses),
        cmocka_unit_test(bad_messages_are_dropped),
        cmocka_unit_test(all_news_are_told_however_many),
        cmocka_unit_test(list_has_no_variance),
        cmocka_unit_test(a_member_that_has_returned_still_answers),
        cmocka_unit_test(late_news_are_settled_without_a_second_return),
        cmocka_unit_test(nothing_failed_returns_nothing),
        cmocka_unit_test(the_limit_of_cycles_ends_a_call_without_success),
        cmocka_unit_test(a_member_that_has_not_begun_answers_and_remembers),
        cmocka_unit_test(a_start_is_spread_over_the_time_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
