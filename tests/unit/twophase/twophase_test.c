/* SPDX-License-Identifier: BSD-3-Clause */
/* The two-phase commit: its tree, and attempts step by step. */
#include "proto/twophase/twophase_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VIEW 3
#define MEMBERS_MAX 300
#define QUEUE_MAX 8192

struct packet {
    rz_id to;
    struct rz_message message;
    uint64_t items[8];
};

struct group {
    uint32_t n, n_queue;
    uint32_t n_sent[RZ_TWOPHASE_MESSAGE_COUNT];
    struct rz_twophase *member[MEMBERS_MAX];
    bool failed[MEMBERS_MAX];
    uint64_t flag[MEMBERS_MAX]; /* of the last reported decision */
    uint64_t attempt[MEMBERS_MAX];
    struct packet queue[QUEUE_MAX];
};

static struct group *create(uint32_t n)
{
    struct rz_twophase_config config = {.n_members = n, .view = VIEW};
    struct group *group = calloc(1, sizeof(*group));
    group->n = n;
    for (rz_id id = 0; id < n; id++) {
        group->member[id] = malloc(rz_twophase_size(&config));
        rz_twophase_init(group->member[id], &config, id, 0, 1);
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

static void carry_out(struct group *group, rz_id id, const struct rz_action *action)
{
    if (action->kind == RZ_ACTION_NOTIFY) {
        group->flag[id] = action->arg[1];
        group->attempt[id] = action->arg[2];
        return;
    }
    for (uint32_t k = 0; k < action->n_to; k++) {
        assert_true(group->n_queue < QUEUE_MAX && action->message.n_items <= 8);
        struct packet *packet = &group->queue[group->n_queue++];
        *packet = (struct packet){.to = action->to[k], .message = action->message};
        for (uint32_t i = 0; i < action->message.n_items; i++) {
            packet->items[i] = action->items[i];
        }
        group->n_sent[action->message.type]++;
    }
}

static void step(struct group *group, rz_id id, const struct rz_event *first)
{
    struct rz_event event = *first;
    for (enum rz_more more = RZ_MORE; more == RZ_MORE; event.kind = RZ_EVENT_CONTINUE) {
        struct rz_action v[RZ_ACTIONS_MIN];
        struct rz_actions out = {.v = v, .max = RZ_ACTIONS_MIN};
        more = rz_twophase_step(group->member[id], &event, &out);
        assert_int_not_equal(more, RZ_NEED);
        for (uint32_t i = 0; i < out.count; i++) {
            carry_out(group, id, &v[i]);
        }
    }
}

static void propose(struct group *group, rz_id id)
{
    struct rz_event event = {
        .kind = RZ_EVENT_CALL, .call = RZ_TWOPHASE_PROPOSE, .arg = {~(UINT64_C(1) << id % 64)}};
    step(group, id, &event);
}

static void tell(struct group *group, rz_id id, rz_id failed)
{
    struct rz_event event = {.kind = RZ_EVENT_FAILURE, .ids = &failed, .n_ids = 1};
    step(group, id, &event);
}

static void deliver(struct group *group, uint32_t at)
{
    struct packet packet = group->queue[at];
    group->n_queue--;
    memmove(group->queue + at, group->queue + at + 1,
            (group->n_queue - at) * sizeof(*group->queue));
    struct rz_event event = {
        .kind = RZ_EVENT_RECEIVE, .message = &packet.message, .items = packet.items};
    if (!group->failed[packet.to]) {
        step(group, packet.to, &event);
    }
}

static void deliver_all(struct group *group)
{
    while (group->n_queue > 0) {
        deliver(group, 0);
    }
}

static uint32_t find(const struct group *group, enum rz_twophase_message type, rz_id to)
{
    for (uint32_t i = 0; i < group->n_queue; i++) {
        if (group->queue[i].message.type == type && group->queue[i].to == to) {
            return i;
        }
    }
    fail_msg("there is no message %u to %u", type, to);
    return 0;
}

static void without_failures_an_operation_costs_two_messages_per_edge(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 7, 64, 65, 300};
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct group *group = create(sizes[i]);
        for (uint64_t seq = 1; seq <= 3; seq++) {
            for (rz_id id = 0; id < group->n; id++) {
                propose(group, id);
            }
            deliver_all(group);
            assert_int_equal(group->n_sent[RZ_TWOPHASE_VOTE], seq * (group->n - 1));
            assert_int_equal(group->n_sent[RZ_TWOPHASE_DECISION], seq * (group->n - 1));
            assert_int_equal(group->n_sent[RZ_TWOPHASE_ASK], 0);
            for (rz_id id = 0; id < group->n; id++) {
                assert_int_equal(rz_twophase_decided(group->member[id]), seq);
                assert_int_equal(group->attempt[id], 1);
                assert_true(group->flag[id] == (group->n >= 64 ? 0 : UINT64_MAX << group->n));
            }
        }
        destroy(group);
    }
}

/* Every set of failed of up to 9 members, agreed or only known: each live member is the child of
 * its parent, and of no other. */
static void every_tree_is_a_tree(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 9; n++) {
        for (uint32_t bits = 0; bits < (1u << n) - 1; bits++) {
            for (uint32_t attempt = 1; attempt <= n; attempt++) {
                struct group *group = create(n);
                uint32_t agreed = bits & 0x155; /* some of them */
                for (rz_id id = 0; id < n; id++) {
                    *rz_twophase_set(group->member[id], RZ_TWOPHASE_FAILED) = bits;
                    *rz_twophase_set(group->member[id], RZ_TWOPHASE_AGREED) = agreed;
                    group->member[id]->n_agreed = (uint32_t)__builtin_popcount(agreed);
                }
                rz_id root = RZ_ID_NONE;
                for (rz_id id = 0; id < n && root == RZ_ID_NONE; id++) {
                    if (!(bits >> id & 1)) {
                        root = rz_twophase_tree_root(group->member[id], attempt);
                    }
                }
                if (bits >> root & 1) {
                    destroy(group);
                    continue; /* the attempt would be given up */
                }
                uint64_t seen = UINT64_C(1) << root;
                for (rz_id id = 0; id < n; id++) {
                    if (bits >> id & 1) {
                        continue;
                    }
                    rz_twophase_tree_children(group->member[id], attempt);
                    uint64_t kids = *rz_twophase_set(group->member[id], RZ_TWOPHASE_KIDS);
                    assert_true((kids & (bits | seen)) == 0);
                    seen |= kids;
                    for (rz_id child = 0; child < n; child++) {
                        if (kids >> child & 1) {
                            assert_int_equal(rz_twophase_tree_parent(group->member[child], attempt),
                                             id);
                        }
                    }
                }
                assert_true(seen == (~(uint64_t)bits & ((1u << n) - 1)));
                destroy(group);
            }
        }
    }
}

/* The root decides, sends it to one member and fails: the others are uncertain, and get the old
 * decision by the next attempt. */
static void the_termination_protocol_finds_a_decision(void **state)
{
    (void)state;
    struct group *group = create(4);
    for (rz_id id = 0; id < 4; id++) {
        propose(group, id);
    }
    deliver(group, find(group, RZ_TWOPHASE_VOTE, 1));
    deliver(group, find(group, RZ_TWOPHASE_VOTE, 0));
    deliver(group, find(group, RZ_TWOPHASE_VOTE, 0));
    assert_int_equal(rz_twophase_decided(group->member[0]), 1);
    deliver(group, find(group, RZ_TWOPHASE_DECISION, 2));
    assert_int_equal(rz_twophase_decided(group->member[2]), 1);
    group->n_queue = 0;
    group->failed[0] = true;
    for (rz_id id = 1; id < 4; id++) {
        tell(group, id, 0);
    }
    deliver_all(group);
    assert_true(group->n_sent[RZ_TWOPHASE_ASK] > 0);
    for (rz_id id = 1; id < 4; id++) {
        assert_int_equal(rz_twophase_decided(group->member[id]), 1);
        assert_true(group->flag[id] == (UINT64_MAX << 4));
        assert_false(rz_twophase_agreed_failed(group->member[id], 0));
    }
    destroy(group);
}

/* ERA would do without: here the operation begins again, and the failed root's vote is lost. */
static void without_a_decision_the_attempt_is_given_up(void **state)
{
    (void)state;
    struct group *group = create(4);
    group->failed[0] = true;
    for (rz_id id = 1; id < 4; id++) {
        propose(group, id);
    }
    deliver_all(group);
    for (rz_id id = 1; id < 4; id++) {
        tell(group, id, 0);
    }
    deliver_all(group);
    for (rz_id id = 1; id < 4; id++) {
        assert_int_equal(group->attempt[id], 2);
        assert_true(group->flag[id] == (UINT64_MAX << 4 | 1));
        assert_true(rz_twophase_agreed_failed(group->member[id], 0));
    }
    destroy(group);
}

/* A member that votes in an abandoned attempt learns of the later one from its parent, before the
 * news of the root's failure. */
static void an_old_attempt_is_told_of_the_new_one(void **state)
{
    (void)state;
    struct group *group = create(4);
    group->failed[0] = true;
    for (rz_id id = 1; id < 4; id++) {
        propose(group, id);
    }
    tell(group, 1, 0);
    deliver(group, find(group, RZ_TWOPHASE_VOTE, 1));
    deliver(group, find(group, RZ_TWOPHASE_ABORT, 3));
    uint32_t vote = find(group, RZ_TWOPHASE_VOTE, 1);
    assert_int_equal(group->queue[vote].message.from, 3);
    assert_int_equal(group->queue[vote].message.word[0], 2);
    assert_false(rz_twophase_knows_failed(group->member[3], 0));
    destroy(group);
}

/* An inner member fails: its child asks the grandparent, which needs its vote. */
static void orphans_vote_again(void **state)
{
    (void)state;
    struct group *group = create(4);
    propose(group, 0);
    propose(group, 2);
    propose(group, 3);
    group->failed[1] = true;
    deliver_all(group);
    tell(group, 3, 1);
    assert_int_equal(group->n_sent[RZ_TWOPHASE_QUERY], 1);
    deliver_all(group);
    assert_int_equal(group->n_sent[RZ_TWOPHASE_GATHER], 1);
    tell(group, 0, 1);
    tell(group, 2, 1);
    deliver_all(group);
    for (rz_id id = 0; id < 4; id++) {
        if (id != 1) {
            assert_int_equal(group->attempt[id], 1);
        }
    }
    assert_true(rz_twophase_agreed_failed(group->member[3], 1));
    destroy(group);
}

/* Its host must be able to ask, whether it had voted before or not: it has to end the process. */
static void a_member_that_is_held_for_failed_knows(void **state)
{
    (void)state;
    for (int votes = 0; votes < 2; votes++) {
        struct group *group = create(3);
        tell(group, 0, 2); /* and no other member knows anything of it */
        propose(group, 0);
        propose(group, 1);
        if (votes) {
            propose(group, 2);
        }
        deliver_all(group);
        assert_int_equal(rz_twophase_decided(group->member[0]), 1);
        const uint64_t items = 1 << 2;
        const struct rz_message decision = {.type = RZ_TWOPHASE_DECISION,
                                            .view = VIEW,
                                            .from = 1,
                                            .origin = 1,
                                            .seq = 1,
                                            .word = {1, 0},
                                            .n_items = 1};
        struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &decision, .items = &items};
        assert_false(rz_twophase_knows_failed(group->member[2], 2));
        step(group, 2, &event);
        assert_true(rz_twophase_knows_failed(group->member[2], 2));
        destroy(group);
    }
}

static void strange_messages_are_dropped(void **state)
{
    (void)state;
    struct group *group = create(5);
    propose(group, 1);
    const struct rz_message good = {
        .type = RZ_TWOPHASE_VOTE, .view = VIEW, .from = 3, .seq = 1, .word = {1, 5}, .n_items = 1};
    struct rz_message bad[9];
    uint64_t items[2] = {0, 0};
    for (uint32_t i = 0; i < 9; i++) {
        bad[i] = good;
    }
    bad[0].view = VIEW + 1;
    bad[1].type = RZ_TWOPHASE_MESSAGE_COUNT;
    bad[2].from = 5;
    bad[3].from = 1;
    bad[4].seq = 0;
    bad[5].seq = 3;
    bad[6].word[0] = 0;
    bad[7].word[0] = 6;
    bad[8].n_items = 2;
    uint64_t before = rz_twophase_hash(group->member[1]);
    for (uint32_t i = 0; i < 10; i++) {
        struct rz_event event = {
            .kind = RZ_EVENT_RECEIVE, .message = i < 9 ? &bad[i] : &good, .items = items};
        items[0] = i < 9 ? 0 : 32; /* a bit beyond the members */
        step(group, 1, &event);
        if (rz_twophase_hash(group->member[1]) != before || group->n_queue > 0) {
            fail_msg("message %u was heard", i);
        }
    }
    items[0] = 0;
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &good, .items = items};
    step(group, 1, &event);
    assert_true(rz_twophase_hash(group->member[1]) != before);
    destroy(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_failures_an_operation_costs_two_messages_per_edge),
        cmocka_unit_test(every_tree_is_a_tree),
        cmocka_unit_test(the_termination_protocol_finds_a_decision),
        cmocka_unit_test(without_a_decision_the_attempt_is_given_up),
        cmocka_unit_test(an_old_attempt_is_told_of_the_new_one),
        cmocka_unit_test(orphans_vote_again),
        cmocka_unit_test(a_member_that_is_held_for_failed_knows),
        cmocka_unit_test(strange_messages_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
