/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement by rounds, step by step. */
#include "proto/rounds/rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VIEW 3
#define QUEUE_MAX 4096

struct packet {
    rz_id to;
    struct rz_message message;
};

struct group {
    uint32_t n, n_queue, n_sent;
    struct rz_rounds *member[RZ_ROUNDS_MEMBERS_MAX];
    bool failed[RZ_ROUNDS_MEMBERS_MAX];
    uint32_t told[RZ_ROUNDS_MEMBERS_MAX];
    struct packet queue[QUEUE_MAX];
};

static struct group *create(uint32_t n)
{
    struct rz_rounds_config config = {.n_members = n, .view = VIEW};
    struct group *group = calloc(1, sizeof(*group));
    group->n = n;
    for (rz_id id = 0; id < n; id++) {
        group->member[id] = malloc(rz_rounds_size(&config));
        rz_rounds_init(group->member[id], &config, id, 0, 1);
    }
    return group;
}

static void destroy(struct group *group)
{
    for (rz_id id = 0; id < group->n; id++) {
        free(group->member[id]);
    }
    free(group);
}

static void step(struct group *group, rz_id id, const struct rz_event *event)
{
    struct rz_action v[RZ_ACTIONS_MIN];
    struct rz_actions out = {.v = v, .max = RZ_ACTIONS_MIN};
    assert_int_equal(rz_rounds_step(group->member[id], event, &out), RZ_DONE);
    for (uint32_t i = 0; i < out.count; i++) {
        group->told[id] += v[i].kind == RZ_ACTION_NOTIFY;
        for (uint32_t k = 0; v[i].kind == RZ_ACTION_SEND && k < v[i].n_to; k++) {
            assert_true(group->n_queue < QUEUE_MAX);
            group->queue[group->n_queue++] = (struct packet){v[i].to[k], v[i].message};
            group->n_sent++;
        }
    }
}

static void propose(struct group *group, rz_id id)
{
    struct rz_event event = {
        .kind = RZ_EVENT_CALL, .call = RZ_ROUNDS_PROPOSE, .arg = {~(UINT64_C(1) << id)}};
    step(group, id, &event);
}

static void tell(struct group *group, rz_id id, rz_id failed)
{
    struct rz_event event = {.kind = RZ_EVENT_FAILURE, .ids = &failed, .n_ids = 1};
    step(group, id, &event);
}

static void deliver_all(struct group *group)
{
    for (uint32_t i = 0; i < group->n_queue; i++) {
        struct packet packet = group->queue[i];
        struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &packet.message};
        if (!group->failed[packet.to]) {
            step(group, packet.to, &event);
        }
    }
    group->n_queue = 0;
}

static void two_rounds_without_failures(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= RZ_ROUNDS_MEMBERS_MAX; n++) {
        struct group *group = create(n);
        for (rz_id id = 0; id < n; id++) {
            propose(group, id);
        }
        deliver_all(group);
        for (rz_id id = 0; id < n; id++) {
            struct rz_rounds_decision decision = rz_rounds_decision(group->member[id]);
            assert_true(decision.made);
            assert_int_equal(group->told[id], 1);
            assert_int_equal(decision.round, n == 1 ? 1 : 2);
            assert_int_equal(decision.members, (UINT32_C(1) << n) - 1);
            assert_true(decision.and == ~(((uint64_t)1 << n) - 1));
        }
        /* Two estimates and the decision, from each member to each other. */
        assert_int_equal(group->n_sent, n == 1 ? 0 : 3 * n * (n - 1));
        destroy(group);
    }
}

static void no_member_waits_for_the_failed(void **state)
{
    (void)state;
    struct group *group = create(4);
    group->failed[0] = true;
    for (rz_id id = 1; id < 4; id++) {
        propose(group, id);
    }
    deliver_all(group);
    assert_false(rz_rounds_decision(group->member[1]).made);
    for (rz_id id = 1; id < 4; id++) {
        tell(group, id, 0);
    }
    deliver_all(group);
    for (rz_id id = 1; id < 4; id++) {
        struct rz_rounds_decision decision = rz_rounds_decision(group->member[id]);
        assert_true(decision.made && decision.round <= 3);
        assert_int_equal(decision.members, 0xE);
    }
    destroy(group);
}

/* A member that learns of a failure from an estimate need not learn it from the detector. */
static void failures_travel_with_estimates(void **state)
{
    (void)state;
    struct group *group = create(3);
    group->failed[0] = true;
    propose(group, 1);
    propose(group, 2);
    deliver_all(group);
    tell(group, 1, 0);
    deliver_all(group);
    assert_int_equal(rz_rounds_failed(group->member[2]), 1);
    assert_true(rz_rounds_decision(group->member[2]).made);
    destroy(group);
}

static void strange_messages_are_dropped(void **state)
{
    (void)state;
    struct group *group = create(3);
    propose(group, 1);
    const struct rz_message good = {
        .view = VIEW, .from = 0, .seq = 1, .word = {1 | 7 << 16 | UINT64_C(1) << 32, 5}};
    struct rz_message bad[5];
    for (uint32_t i = 0; i < 5; i++) {
        bad[i] = good;
    }
    bad[0].view = VIEW + 1;
    bad[1].type = 2;
    bad[2].from = 3;
    bad[3].from = 1;
    bad[4].word[0] = 3 | 7 << 16;
    uint64_t before = rz_rounds_hash(group->member[1]);
    for (uint32_t i = 0; i < 5; i++) {
        struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &bad[i]};
        step(group, 1, &event);
        if (rz_rounds_hash(group->member[1]) != before) {
            fail_msg("message %u was heard", i);
        }
    }
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &good};
    step(group, 1, &event);
    assert_true(rz_rounds_hash(group->member[1]) != before);
    destroy(group);
}

static void a_member_that_is_declared_failed_stops(void **state)
{
    (void)state;
    struct group *group = create(3);
    propose(group, 1);
    group->n_queue = 0;
    tell(group, 1, 1);
    tell(group, 1, 0);
    tell(group, 1, 2);
    assert_int_equal(group->n_queue, 0);
    assert_false(rz_rounds_decision(group->member[1]).made);
    destroy(group);
}

/* Rounds begin at 1: an estimate of round 0 must not wait in the box of round 2. */
static void there_is_no_round_before_the_first(void **state)
{
    (void)state;
    struct group *group = create(2);
    struct rz_message message = {.protocol = RZ_PROTOCOL_ROUNDS,
                                 .view = VIEW,
                                 .from = 1,
                                 .word = {UINT64_C(2) << 32 | 3 << 16, UINT64_MAX}};
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &message};
    step(group, 0, &event);
    propose(group, 0);
    message.word[0] |= 1;
    step(group, 0, &event);
    assert_int_equal(group->n_sent, 2);
    assert_int_equal(group->told[0], 0);
    assert_false(rz_rounds_decision(group->member[0]).made);
    destroy(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_no_round_before_the_first),
        cmocka_unit_test(two_rounds_without_failures),
        cmocka_unit_test(no_member_waits_for_the_failed),
        cmocka_unit_test(failures_travel_with_estimates),
        cmocka_unit_test(strange_messages_are_dropped),
        cmocka_unit_test(a_member_that_is_declared_failed_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
