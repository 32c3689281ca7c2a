/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement step by step: costs, stored decisions, rules F1 to F4, and messages that are dropped.
 */
#include "agree_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void without_failures_an_operation_costs_two_messages_per_edge(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 64; n++) {
        struct rig *rig = rig_create(n, 1);
        for (rz_id id = 0; id < n; id++) {
            rig_propose(rig, id);
        }
        rig_deliver_all(rig);
        assert_int_equal(rig->n_sent[RZ_AGREE_UP], n - 1);
        assert_int_equal(rig->n_sent[RZ_AGREE_DOWN], n - 1);
        assert_int_equal(rig->n_sent[RZ_AGREE_REQUEST], 0);
        for (rz_id id = 0; id < n; id++) {
            const struct rig_note *note;
            assert_int_equal(rig_told(rig, id, RZ_AGREE_DECIDED, 1, &note), 1);
            assert_true(note->and == (n == 64 ? 0 : ~UINT64_C(0) << n));
            assert_int_equal(note->min, 0);
            assert_int_equal(note->max, n - 1);
            assert_int_equal(note->n_items, n);
            assert_int_equal(note->n_failed, 0);
        }
        rig_destroy(rig);
    }
}

/* The size of the state does not depend on the membership. */
static void state_grows_with_failures_not_with_members(void **state)
{
    (void)state;
    struct rz_agree_config few = {.n_members = 4, .in_flight_max = 2, .items_max = 8};
    struct rz_agree_config many = few;
    many.n_members = 1u << 30;
    assert_int_equal(rz_agree_size(&few), rz_agree_size(&many));
}

static void others_wish_is_told_once(void **state)
{
    (void)state;
    struct rig *rig = rig_create(7, 2);
    rig_propose(rig, 5);
    rig_propose(rig, 6);
    rig_deliver_all(rig);
    assert_int_equal(rig_told(rig, 2, RZ_AGREE_REQUESTED, 1, NULL), 1);
    assert_int_equal(rig_told(rig, 0, RZ_AGREE_REQUESTED, 1, NULL), 0);
    /* A member that receives the second has a first one to catch up with, too. */
    rig_propose(rig, 3);
    rig_propose(rig, 3);
    rig_drop(rig, 0);
    rig_deliver_all(rig);
    assert_int_equal(rig_told(rig, 1, RZ_AGREE_REQUESTED, 1, NULL), 1);
    assert_int_equal(rig_told(rig, 1, RZ_AGREE_REQUESTED, 2, NULL), 1);
    /* Our own proposal needs no telling. */
    rig_propose(rig, 2);
    rig_deliver_all(rig);
    assert_int_equal(rig_told(rig, 2, RZ_AGREE_REQUESTED, 1, NULL), 1);
    assert_int_equal(rig_told(rig, 0, RZ_AGREE_REQUESTED, 1, NULL), 1);
    rig_destroy(rig);
}

static void the_members_that_a_member_waits_for(void **state)
{
    (void)state;
    struct rig *rig = rig_create(7, 1); /* 0 above 1 (3 4) and 2 (5 6) */
    assert_int_equal(rz_agree_awaited(rig->member[1]), RZ_ID_NONE);
    rig_propose(rig, 1);
    rig_propose(rig, 0);
    rig_propose(rig, 3);
    assert_int_equal(rz_agree_awaited(rig->member[0]), 1);
    assert_int_equal(rz_agree_awaited(rig->member[1]), 3);
    assert_int_equal(rz_agree_awaited(rig->member[3]), 1);
    rig_deliver_all(rig);
    assert_int_equal(rz_agree_awaited(rig->member[1]), 4);
    rig_propose(rig, 4);
    rig_deliver_all(rig);
    assert_int_equal(rz_agree_awaited(rig->member[1]), 0);
    assert_int_equal(rz_agree_awaited(rig->member[0]), 2);
    const rz_id failed = 2;
    rig_tell(rig, 0, &failed, 1); /* its children are awaited in its place */
    assert_int_equal(rz_agree_awaited(rig->member[0]), 5);
    rig_propose(rig, 5);
    rig_propose(rig, 6);
    for (rz_id id = 1; id < 7; id++) {
        rig_tell(rig, id, &failed, 1);
    }
    rig_deliver_all(rig);
    for (rz_id id = 0; id < 7; id++) {
        if (id != failed) {
            assert_int_equal(rz_agree_awaited(rig->member[id]), RZ_ID_NONE);
        }
    }
    rig_destroy(rig);
}

static void late_asker_is_answered_from_the_store(void **state)
{
    (void)state;
    struct rig *rig = rig_create(3, 1);
    for (rz_id id = 0; id < 3; id++) {
        rig_propose(rig, id);
    }
    rig_deliver_all(rig);
    for (uint32_t type = RZ_AGREE_UP; type <= RZ_AGREE_REQUEST;
         type += RZ_AGREE_REQUEST - RZ_AGREE_UP) {
        uint64_t value[RZ_AGREE_VALUE_WORDS] = {1, 1, 1, 0};
        struct rz_message ask = {
            .protocol = RZ_PROTOCOL_RECOVER, /* a host may have put its own number there */
            .type = (uint8_t)type,
            .view = 3,
            .from = 2,
            .seq = 1,
            .n_items = type == RZ_AGREE_UP ? RZ_AGREE_VALUE_WORDS : 0};
        struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &ask, .items = value};
        rig_step(rig, 1, &event);
        assert_int_equal(rig->n_queue, 1);
        assert_int_equal(rig->queue[0].to, 2);
        assert_int_equal(rig->queue[0].message.type, RZ_AGREE_DOWN);
        assert_true(rig->queue[0].items[RZ_AGREE_AND] == ~UINT64_C(7));
        rig_deliver_all(rig);
    }
    rig_destroy(rig);
}

static void decisions_are_told_in_order(void **state)
{
    (void)state;
    struct rig *rig = rig_create(2, 3);
    for (uint32_t seq = 1; seq <= 3; seq++) {
        for (rz_id id = 0; id < 2; id++) {
            rig_propose(rig, id);
        }
    }
    while (rig_find(rig, RZ_AGREE_UP, 0) != RIG_QUEUE_MAX) {
        rig_deliver(rig, rig_find(rig, RZ_AGREE_UP, 0));
    }
    assert_int_equal(rig->n_queue, 3);
    rig_deliver(rig, 2);
    rig_deliver(rig, 1);
    assert_int_equal(rz_agree_decided(rig->member[1]), 0);
    rig->n_notes = 0;
    rig_deliver(rig, 0);
    assert_int_equal(rig->n_notes, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(rig->notes[i].seq, i + 1);
    }
    rig_destroy(rig);
}

/* Bounded memory: thousands of operations with the blocks of the beginning. */
static void decisions_are_forgotten_when_no_member_can_ask(void **state)
{
    (void)state;
    struct rig *rig = rig_create(5, 2);
    for (uint32_t round = 0; round < 1000; round++) {
        for (rz_id id = 0; id < 5; id++) {
            rig_propose(rig, id);
        }
        rig_deliver_all(rig);
        for (rz_id id = 0; id < 5; id++) {
            assert_int_equal(rz_agree_decided(rig->member[id]), round + 1);
            assert_int_equal(rig->member[id]->collected, round);
        }
        rig->n_notes = 0;
    }
    rig_destroy(rig);
}

static void the_failed_are_in_the_decision_and_out_of_later_trees(void **state)
{
    (void)state;
    struct rig *rig = rig_create(7, 1);
    const rz_id failed[] = {0, 1};
    rig->failed[0] = rig->failed[1] = true;
    for (rz_id id = 2; id < 7; id++) {
        rig_tell(rig, id, failed, 2);
    }
    for (uint32_t seq = 1; seq <= 2; seq++) {
        for (rz_id id = 2; id < 7; id++) {
            rig_propose(rig, id);
        }
        rig_deliver_all(rig);
        for (rz_id id = 2; id < 7; id++) {
            uint32_t n_failed;
            const rz_id *agreed = rz_agree_failed(rig->member[id], &n_failed);
            assert_int_equal(rz_agree_decided(rig->member[id]), seq);
            assert_int_equal(n_failed, 2);
            assert_int_equal(agreed[0], 0);
            assert_int_equal(agreed[1], 1);
        }
    }
    /* 2 had 3 to 6 below it in the mended tree, 3 and 4 in the new one. */
    const struct rz_agree_op *op = rz_agree_op_find(rig->member[2], 2);
    assert_int_equal(op->n_peers, 2);
    rig_destroy(rig);
}

static void messages_of_the_failed_are_dropped(void **state)
{
    (void)state;
    struct rig *rig = rig_create(3, 1);
    const rz_id failed[] = {0};
    for (rz_id id = 0; id < 3; id++) {
        rig_propose(rig, id);
    }
    rig_deliver(rig, rig_find(rig, RZ_AGREE_UP, 0));
    rig_deliver(rig, rig_find(rig, RZ_AGREE_UP, 0));
    assert_int_equal(rz_agree_decided(rig->member[0]), 1);
    rig->failed[0] = true;
    rig_tell(rig, 1, failed, 1);
    uint64_t before = rz_agree_hash(rig->member[1]);
    rig_deliver(rig, rig_find(rig, RZ_AGREE_DOWN, 1));
    assert_true(rz_agree_hash(rig->member[1]) == before);
    /* 2 had it in time and hands it on: what a survivor decided stands. */
    rig_deliver_all(rig);
    assert_int_equal(rz_agree_decided(rig->member[1]), 1);
    assert_int_equal(rz_agree_decided(rig->member[2]), 1);
    rig_destroy(rig);
}

static void strange_messages_are_dropped(void **state)
{
    (void)state;
    struct rig *rig = rig_create(4, 1);
    rig_propose(rig, 1);
    const uint64_t items[] = {0, 0, 0, 0, 2, 3, 9, 8};
    const struct rz_message good = {
        .type = RZ_AGREE_UP, .view = 3, .from = 3, .seq = 1, .n_items = 6, .word = {2, 0}};
    struct rz_message bad[9];
    for (uint32_t i = 0; i < 9; i++) {
        bad[i] = good;
    }
    bad[0].view = 4;
    bad[1].type = RZ_AGREE_MESSAGE_COUNT;
    bad[2].from = 4;
    bad[3].from = 1;
    bad[4].seq = 0;
    bad[5].seq = 3;
    bad[6].n_items = 3;
    bad[7].word[0] = 3;
    bad[8].n_items = 8;
    uint64_t before = rz_agree_hash(rig->member[1]);
    for (uint32_t i = 0; i < 9; i++) {
        struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &bad[i], .items = items};
        rig_step(rig, 1, &event);
        if (rz_agree_hash(rig->member[1]) != before || rig->n_queue > 0) {
            fail_msg("message %u was heard", i);
        }
    }
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &good, .items = items};
    rig_step(rig, 1, &event);
    assert_true(rz_agree_hash(rig->member[1]) != before);
    rig_destroy(rig);
}

static void a_member_that_is_declared_failed_stops(void **state)
{
    (void)state;
    struct rig *rig = rig_create(3, 1);
    const rz_id failed[] = {2};
    rig_propose(rig, 2);
    rig_tell(rig, 0, failed, 1);
    rig_tell(rig, 1, failed, 1);
    rig_propose(rig, 0);
    rig_propose(rig, 1);
    rig_deliver_all(rig);
    assert_int_equal(rz_agree_decided(rig->member[0]), 1);
    assert_false(rz_agree_knows_failed(rig->member[2], 2));
    rig_tell(rig, 2, failed, 1);
    assert_true(rz_agree_knows_failed(rig->member[2], 2));
    rig_propose(rig, 2);
    assert_int_equal(rig->n_queue, 0);
    rig_destroy(rig);
}

/* A member that is declared failed and has not contributed receives a decision that names it, and
 * nothing after it. */
static void a_member_that_is_agreed_failed_is_told(void **state)
{
    (void)state;
    struct rig *rig = rig_create(3, 1);
    const uint64_t value[] = {5, 6, 7, 0, 2, 42};
    struct rz_message down = {
        .type = RZ_AGREE_DOWN, .view = 3, .from = 0, .seq = 1, .n_items = 6, .word = {0, 0}};
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &down, .items = value};
    rig_step(rig, 2, &event);
    assert_int_equal(rz_agree_decided(rig->member[2]), 0);
    down.word[0] = 1;
    rig_step(rig, 2, &event);
    const struct rig_note *note;
    assert_int_equal(rig_told(rig, 2, RZ_AGREE_DECIDED, 1, &note), 1);
    assert_int_equal(note->items[0], 42);
    assert_true(rz_agree_knows_failed(rig->member[2], 2));
    rig_destroy(rig);
}

/* More sends and notices than the least room for actions holds: nothing is lost, and pointers stay
 * whole. */
static void little_room_for_actions_loses_nothing(void **state)
{
    (void)state;
    enum { FLIGHT = 30 };
    for (uint32_t actions_max = RZ_ACTIONS_MIN; actions_max <= 64; actions_max += 56) {
        struct rig *rig = rig_create(4, FLIGHT);
        const rz_id failed[] = {0};
        rig->actions_max = actions_max;
        for (uint32_t seq = 1; seq <= FLIGHT; seq++) {
            for (rz_id id = 1; id < 4; id++) {
                rig_propose(rig, id);
            }
        }
        rig->failed[0] = true;
        rig_deliver_all(rig);
        for (rz_id id = 1; id < 4; id++) {
            rig_tell(rig, id, failed, 1);
        }
        rig_deliver_all(rig);
        for (rz_id id = 1; id < 4; id++) {
            for (uint64_t seq = 1; seq <= FLIGHT; seq++) {
                const struct rig_note *note;
                assert_int_equal(rig_told(rig, id, RZ_AGREE_DECIDED, seq, &note), 1);
                assert_int_equal(note->n_items, 3);
                assert_int_equal(note->items[0], 100 * seq + 1);
                assert_int_equal(note->n_failed, 1);
            }
        }
        assert_true(rig->n_more > 0 || actions_max > RZ_ACTIONS_MIN);
        rig_destroy(rig);
    }
}

/* Two hundred failures and thousands of items in blocks that began small. */
static void lists_grow_and_nothing_is_cut(void **state)
{
    (void)state;
    enum { MEMBERS = 300, FAILED = 200, ITEMS = 40 };
    struct rig *rig = rig_create(MEMBERS, 1);
    rz_id failed[FAILED];
    for (uint32_t i = 0; i < FAILED; i++) {
        failed[i] = i + (i >= 100 ? 50 : 0);
        rig->failed[failed[i]] = true;
    }
    for (rz_id id = 0; id < MEMBERS; id++) {
        uint64_t items[ITEMS];
        for (uint32_t i = 0; i < ITEMS; i++) {
            items[i] = i * 1000 + id;
        }
        if (rig->failed[id]) {
            continue;
        }
        rig_propose_items(rig, id, items, ITEMS);
    }
    for (uint32_t i = 0; i < FAILED; i++) {
        for (rz_id id = 0; id < MEMBERS; id++) {
            if (!rig->failed[id]) {
                rig_tell(rig, id, &failed[(i + id) % FAILED], 1);
            }
        }
    }
    rig_deliver_all(rig);
    assert_true(rig->n_grown > 0);
    for (rz_id id = 0; id < MEMBERS; id++) {
        const struct rig_note *note;
        if (rig->failed[id]) {
            continue;
        }
        assert_int_equal(rig_told(rig, id, RZ_AGREE_DECIDED, 1, &note), 1);
        assert_int_equal(note->n_items, (MEMBERS - FAILED) * ITEMS);
        assert_int_equal(note->n_failed, FAILED);
    }
    rig_destroy(rig);
}

/* A copy of the block is a snapshot: it goes on as the original does. */
static void a_copy_is_a_snapshot(void **state)
{
    (void)state;
    struct rig *rig = rig_create(4, 1);
    rig_propose(rig, 3);
    rig_deliver_all(rig);
    struct rz_agree *original = rig->member[1];
    struct rz_agree *copy = malloc(rig->bytes[1]);
    assert_non_null(copy);
    memcpy(copy, original, rig->bytes[1]);
    rig_propose_items(rig, 1, NULL, 0); /* nothing that would move the block */
    assert_true(rz_agree_hash(copy) != rz_agree_hash(original));
    rig->member[1] = copy;
    rig_propose_items(rig, 1, NULL, 0); /* nothing that would move the block */
    assert_true(rz_agree_hash(copy) == rz_agree_hash(original));
    assert_int_equal(rig->n_queue, 2);
    assert_memory_equal(&rig->queue[0].message, &rig->queue[1].message,
                        sizeof(rig->queue[0].message));
    free(original);
    rig_destroy(rig);
}

/* What `from` would answer is received by member; false: it may not be. */
static bool take_cached(struct rig *rig, rz_id member, rz_id from)
{
    struct rz_message own, message;
    const uint64_t *items = rz_agree_cached(rig->member[from], 1, &own);
    assert_non_null(items);
    if (!rz_agree_is_cached(rig->member[member], from, 1, own.word[0], own.n_items, &message)) {
        return false;
    }
    assert_memory_equal(&message, &own, sizeof(message));
    rig_step(rig, member,
             &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .message = &message, .items = items});
    return true;
}

static void all_but_decisions(struct rig *rig)
{
    for (rz_id id = 0; id < rig->n; id++) {
        rig_propose(rig, id);
    }
    for (rz_id to = 0; to < rig->n; to++) {
        while (rig_find(rig, RZ_AGREE_UP, (rz_id)(rig->n - 1 - to)) < RIG_QUEUE_MAX) {
            rig_deliver(rig, rig_find(rig, RZ_AGREE_UP, (rz_id)(rig->n - 1 - to)));
        }
    }
}

static void a_cached_of_the_new_parent_is_its_answer(void **state)
{
    (void)state;
    struct rig *rig = rig_create(5, 1);
    const rz_id failed = 1;
    struct rz_message none;
    all_but_decisions(rig);
    assert_null(rz_agree_cached(rig->member[1], 1, &none));
    rig_deliver(rig, rig_find(rig, RZ_AGREE_DOWN, 1));
    assert_int_equal(rz_agree_asked(rig->member[3], 0), 1);
    assert_false(take_cached(rig, 3, 0)); /* not asked: it knows no failure */
    rig_tell(rig, 3, &failed, 1);
    assert_int_equal(rz_agree_asked(rig->member[3], 7), 0);
    assert_false(take_cached(rig, 3, 1));
    assert_true(take_cached(rig, 3, 0));
    assert_int_equal(rig_told(rig, 3, RZ_AGREE_DECIDED, 1, NULL), 1);
    assert_int_equal(rz_agree_asked(rig->member[3], 0), RZ_ID_NONE);
    assert_false(take_cached(rig, 3, 0)); /* decided already */
    assert_int_equal(rz_agree_asked(rig->member[0], 0), RZ_ID_NONE);
    rig_destroy(rig);
}

static void a_cached_of_a_child_that_the_new_root_asked_is_its_answer(void **state)
{
    (void)state;
    struct rig *rig = rig_create(4, 1);
    const rz_id failed = 0;
    all_but_decisions(rig);
    rig_deliver(rig, rig_find(rig, RZ_AGREE_DOWN, 2));
    rig_tell(rig, 1, &failed, 1);
    assert_int_equal(rz_agree_asked(rig->member[1], 0), 2); /* 3 is gathered */
    assert_int_equal(rz_agree_asked(rig->member[1], 1), 2);
    assert_false(take_cached(rig, 1, 0));
    assert_true(take_cached(rig, 1, 2));
    assert_int_equal(rig_told(rig, 1, RZ_AGREE_DECIDED, 1, NULL), 1);
    rig_deliver(rig, rig_find(rig, RZ_AGREE_DOWN, 3));
    assert_int_equal(rig_told(rig, 3, RZ_AGREE_DECIDED, 1, NULL), 1);
    rig_destroy(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_failures_an_operation_costs_two_messages_per_edge),
        cmocka_unit_test(state_grows_with_failures_not_with_members),
        cmocka_unit_test(others_wish_is_told_once),
        cmocka_unit_test(the_members_that_a_member_waits_for),
        cmocka_unit_test(late_asker_is_answered_from_the_store),
        cmocka_unit_test(decisions_are_told_in_order),
        cmocka_unit_test(decisions_are_forgotten_when_no_member_can_ask),
        cmocka_unit_test(the_failed_are_in_the_decision_and_out_of_later_trees),
        cmocka_unit_test(messages_of_the_failed_are_dropped),
        cmocka_unit_test(strange_messages_are_dropped),
        cmocka_unit_test(a_member_that_is_declared_failed_stops),
        cmocka_unit_test(a_member_that_is_agreed_failed_is_told),
        cmocka_unit_test(little_room_for_actions_loses_nothing),
        cmocka_unit_test(lists_grow_and_nothing_is_cut),
        cmocka_unit_test(a_copy_is_a_snapshot),
        cmocka_unit_test(a_cached_of_the_new_parent_is_its_answer),
        cmocka_unit_test(a_cached_of_a_child_that_the_new_root_asked_is_its_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
