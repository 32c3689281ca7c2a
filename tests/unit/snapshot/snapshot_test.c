/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshots, step by step. */
#include "proto/snapshot/snapshot_private.h"
#include "wire/protocol_encoding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VIEW 3
#define MEMBERS_MAX 40
#define QUEUE_MAX 4096

struct packet {
    rz_id to;
    struct rz_message message;
};

struct host {
    uint64_t sent, delivered;
    bool busy;
    uint32_t asked, quiet, ended; /* notices so far */
    struct rz_snapshot_end end;   /* of the last ENDED */
};

struct group {
    uint32_t n, n_queue, n_sent[RZ_SNAPSHOT_MESSAGE_COUNT];
    struct rz_snapshot *member[MEMBERS_MAX];
    struct host host[MEMBERS_MAX];
    bool prompt; /* hosts answer ASKED and QUIET at once */
    uint32_t fails_to_save;
    struct packet queue[QUEUE_MAX];
};

static struct group *create(uint32_t n)
{
    struct rz_snapshot_config config = {.n_members = n, .view = VIEW};
    struct group *group = calloc(1, sizeof(*group));
    group->n = n;
    group->prompt = true;
    group->fails_to_save = RZ_ID_NONE;
    for (rz_id id = 0; id < n; id++) {
        group->member[id] = malloc(rz_snapshot_size(&config));
        rz_snapshot_init(group->member[id], &config, id, 0, 1);
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

static void put(struct group *group, const struct rz_action *action)
{
    for (uint32_t k = 0; k < action->n_to; k++) {
        uint8_t wire[RZ_PROTOCOL_HEADER_BYTES];
        struct packet *packet = &group->queue[group->n_queue++];
        assert_true(group->n_queue <= QUEUE_MAX);
        assert_int_equal(rz_protocol_message_encode(&action->message, NULL, wire, sizeof(wire)),
                         sizeof(wire));
        packet->to = action->to[k];
        assert_int_equal(rz_protocol_message_decode(&packet->message, NULL, 0, wire, sizeof(wire)),
                         RZ_OK);
        assert_memory_equal(&packet->message, &action->message, sizeof(action->message));
        group->n_sent[action->message.type]++;
    }
}

static void call(struct group *group, rz_id id, enum rz_snapshot_call what, uint64_t first,
                 uint64_t second);
static void local(struct group *group, rz_id id);

static void step(struct group *group, rz_id id, const struct rz_event *event)
{
    struct rz_action v[RZ_ACTIONS_MIN];
    struct rz_actions out = {.v = v, .max = RZ_ACTIONS_MIN};
    struct host *host = &group->host[id];
    bool asked = false, quiet = false;
    assert_int_equal(rz_snapshot_step(group->member[id], event, &out), RZ_DONE);
    assert_true(out.count <= 4);
    for (uint32_t i = 0; i < out.count; i++) {
        if (v[i].kind == RZ_ACTION_SEND) {
            put(group, &v[i]);
        } else if (v[i].what == RZ_SNAPSHOT_ASKED) {
            asked = true;
        } else if (v[i].what == RZ_SNAPSHOT_QUIET) {
            quiet = true;
        } else {
            host->ended++;
            host->end = (struct rz_snapshot_end){(rz_id)v[i].arg[1], (uint32_t)v[i].arg[2]};
        }
    }
    host->asked += asked;
    host->quiet += quiet;
    if (asked && group->prompt) {
        local(group, id);
    }
    if (quiet && group->prompt) {
        call(group, id, RZ_SNAPSHOT_SAVED, id == group->fails_to_save ? 9 : 0, 0);
    }
}

static void call(struct group *group, rz_id id, enum rz_snapshot_call what, uint64_t first,
                 uint64_t second)
{
    struct rz_event event = {.kind = RZ_EVENT_CALL, .call = what, .arg = {first, second}};
    step(group, id, &event);
}

static void local(struct group *group, rz_id id)
{
    const struct host *host = &group->host[id];
    struct rz_event event = {.kind = RZ_EVENT_CALL,
                             .call = RZ_SNAPSHOT_LOCAL,
                             .arg = {host->sent, host->delivered, host->busy}};
    step(group, id, &event);
}

static void start(struct group *group, rz_id id, uint64_t reason)
{
    call(group, id, RZ_SNAPSHOT_START, rz_snapshot_attempt(group->member[id]), reason);
}

static void start_all(struct group *group)
{
    for (rz_id id = 0; id < group->n; id++) {
        start(group, id, 0);
    }
}

static void deliver(struct group *group)
{
    for (uint32_t i = 0; i < group->n_queue; i++) {
        struct packet packet = group->queue[i];
        struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &packet.message};
        step(group, packet.to, &event);
    }
    group->n_queue = 0;
}

static void all_ended(const struct group *group, uint32_t attempts, rz_id member, uint32_t reason)
{
    for (rz_id id = 0; id < group->n; id++) {
        assert_int_equal(group->host[id].ended, attempts);
        assert_int_equal(group->host[id].end.member, member);
        assert_int_equal(group->host[id].end.reason, reason);
        assert_int_equal(rz_snapshot_attempt(group->member[id]), attempts + 1);
        assert_int_equal(rz_snapshot_phase(group->member[id]), RZ_SNAPSHOT_RUNNING);
    }
}

static void two_waves_and_a_barrier_when_nothing_moves(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MEMBERS_MAX; n++) {
        struct group *group = create(n);
        for (uint32_t attempt = 1; attempt <= 3; attempt++) {
            start_all(group);
            deliver(group);
            all_ended(group, attempt, RZ_ID_NONE, 0);
            assert_int_equal(group->n_sent[RZ_SNAPSHOT_REPORT], 2 * attempt * (n - 1));
            assert_int_equal(group->n_sent[RZ_SNAPSHOT_WAVE], attempt * (n - 1));
            assert_int_equal(group->n_sent[RZ_SNAPSHOT_SAVE], attempt * (n - 1));
            assert_int_equal(group->n_sent[RZ_SNAPSHOT_FIXED], attempt * (n - 1));
            assert_int_equal(group->n_sent[RZ_SNAPSHOT_END], attempt * (n - 1));
            assert_int_equal(group->n_sent[RZ_SNAPSHOT_CHANGED], 0);
        }
        destroy(group);
    }
}

static void no_wave_begins_until_something_has_changed(void **state)
{
    (void)state;
    struct group *group = create(4);
    group->host[1].sent = 1; /* in flight to 3 */
    start_all(group);
    deliver(group);
    for (rz_id id = 0; id < 4; id++) {
        assert_int_equal(rz_snapshot_wave(group->member[id]), 1);
        assert_int_equal(group->host[id].quiet, 0);
        local(group, id); /* nothing new */
    }
    assert_int_equal(group->n_queue, 0);
    group->host[3].delivered = 1;
    local(group, 3);
    assert_int_equal(group->n_queue, 1);
    deliver(group);
    all_ended(group, 1, RZ_ID_NONE, 0);
    assert_int_equal(group->n_sent[RZ_SNAPSHOT_CHANGED], 2); /* 3 is below 1 */
    assert_int_equal(group->n_sent[RZ_SNAPSHOT_WAVE], 2 * 3);
    destroy(group);
}

/* Message a from 1 to 2 is in neither contribution of the first wave; message b from 2 to 1 was
 * sent after that of 2 and came before that of 1: the sums are balanced. */
static void a_balanced_wave_is_confirmed(void **state)
{
    (void)state;
    struct group *group = create(3);
    start(group, 0, 0);
    start(group, 2, 0);
    group->host[1].sent = 1;
    group->host[1].delivered = 1;
    start(group, 1, 0);
    group->host[2].sent = 1;
    deliver(group);
    assert_int_equal(rz_snapshot_wave(group->member[0]), 2);
    assert_int_equal(group->host[0].quiet, 0);
    group->host[2].delivered = 1;
    local(group, 2);
    deliver(group);
    all_ended(group, 1, RZ_ID_NONE, 0);
    destroy(group);
}

static void a_busy_member_is_waited_for(void **state)
{
    (void)state;
    struct group *group = create(3);
    group->host[2].busy = true;
    start_all(group);
    deliver(group);
    assert_int_equal(group->host[0].asked, 1);
    group->host[2].busy = false;
    local(group, 2);
    deliver(group);
    all_ended(group, 1, RZ_ID_NONE, 0);
    destroy(group);
}

/* A wave that arrives does not take numbers given before. */
static void a_wave_asks_anew(void **state)
{
    (void)state;
    struct group *group = create(2);
    group->prompt = false;
    start_all(group);
    local(group, 0);
    local(group, 1);
    deliver(group);
    assert_int_equal(group->n_sent[RZ_SNAPSHOT_REPORT], 1);
    assert_int_equal(group->host[0].asked, 2);
    assert_int_equal(group->host[1].asked, 2);
    local(group, 0);
    deliver(group);
    assert_int_equal(group->n_sent[RZ_SNAPSHOT_REPORT], 1);
    local(group, 1);
    deliver(group);
    assert_int_equal(group->host[1].quiet, 1);
    call(group, 1, RZ_SNAPSHOT_SAVED, 0, 0);
    deliver(group);
    assert_int_equal(group->host[1].ended, 0);
    call(group, 0, RZ_SNAPSHOT_SAVED, 0, 0);
    deliver(group);
    all_ended(group, 1, RZ_ID_NONE, 0);
    destroy(group);
}

static void refusals_are_known_to_all(void **state)
{
    (void)state;
    for (rz_id first = 0; first < 6; first++) {
        struct group *group = create(6);
        for (rz_id id = 0; id < 6; id++) {
            group->host[id].busy = id >= first; /* a refusal waits for no work */
            start(group, id, id >= first ? 5 + id : 0);
            deliver(group);
        }
        all_ended(group, 1, first, 5 + first);
        destroy(group);
    }
}

static void a_late_refusal_ends_the_attempt(void **state)
{
    (void)state;
    struct group *group = create(4);
    group->host[1].sent = 1; /* never to arrive */
    start_all(group);
    deliver(group);
    struct rz_event event = {.kind = RZ_EVENT_CALL, .call = RZ_SNAPSHOT_LOCAL, .arg = {0, 0, 1, 8}};
    step(group, 3, &event);
    deliver(group);
    all_ended(group, 1, 3, 8);
    destroy(group);
}

static void an_image_that_fails_is_known_to_all(void **state)
{
    (void)state;
    struct group *group = create(5);
    group->fails_to_save = 3;
    start_all(group);
    deliver(group);
    all_ended(group, 1, 3, 9);
    group->fails_to_save = RZ_ID_NONE;
    start_all(group);
    deliver(group);
    all_ended(group, 2, RZ_ID_NONE, 0);
    destroy(group);
}

/* 1 has ended attempt 1 and starts attempt 2 while its parent has not started it. */
static void early_contributions_are_kept(void **state)
{
    (void)state;
    struct group *group = create(4);
    start_all(group);
    deliver(group);
    start(group, 3, 0);
    start(group, 1, 0);
    start(group, 2, 7);
    deliver(group);
    assert_int_equal(rz_snapshot_phase(group->member[0]), RZ_SNAPSHOT_RUNNING);
    start(group, 0, 0);
    deliver(group);
    all_ended(group, 2, 2, 7);
    destroy(group);
}

static void nothing_is_said_after_a_failure(void **state)
{
    (void)state;
    struct group *group = create(3);
    rz_id failed = 1;
    struct rz_event event = {.kind = RZ_EVENT_FAILURE, .ids = &failed, .n_ids = 1};
    step(group, 0, &event);
    start(group, 2, 0);
    start(group, 1, 0);
    call(group, 0, RZ_SNAPSHOT_START, 1, 0);
    call(group, 0, RZ_SNAPSHOT_SAVED, 0, 0);
    deliver(group);
    assert_int_equal(rz_snapshot_phase(group->member[0]), RZ_SNAPSHOT_BROKEN);
    assert_int_equal(group->n_queue, 0);
    assert_int_equal(group->host[0].asked + group->host[0].quiet + group->host[0].ended, 0);
    destroy(group);
}

static void strange_messages_are_dropped(void **state)
{
    (void)state;
    struct group *group = create(4);
    start(group, 1, 0);
    const struct rz_message good = {.protocol = RZ_PROTOCOL_SNAPSHOT,
                                    .type = RZ_SNAPSHOT_REPORT,
                                    .view = VIEW,
                                    .from = 3,
                                    .seq = UINT64_C(1) << 32 | 1,
                                    .word = {2, 1}};
    struct rz_message bad[11];
    for (uint32_t i = 0; i < 11; i++) {
        bad[i] = good;
    }
    bad[0].view = VIEW + 1;
    bad[1].type = RZ_SNAPSHOT_MESSAGE_COUNT;
    bad[2].from = 2; /* no child of 1 */
    bad[3].from = 77;
    bad[4].seq = UINT64_C(1) << 32 | 2;
    bad[5].seq = UINT64_C(2) << 32 | 1;
    bad[6].type = RZ_SNAPSHOT_FIXED;
    bad[7].flags = RZ_SNAPSHOT_REFUSED;
    bad[7].word[0] = 4;             /* no member */
    bad[8].type = RZ_SNAPSHOT_WAVE; /* from a child */
    bad[8].seq = UINT64_C(1) << 32 | 2;
    bad[9].type = RZ_SNAPSHOT_SAVE;
    bad[9].from = 0; /* the parent, but nothing was contributed */
    bad[10].type = RZ_SNAPSHOT_END;
    bad[10].from = 0;
    uint64_t before = rz_snapshot_hash(group->member[1]);
    for (uint32_t i = 0; i < 11; i++) {
        struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &bad[i]};
        step(group, 1, &event);
        if (rz_snapshot_hash(group->member[1]) != before || group->n_queue > 0) {
            fail_msg("message %u was heard", i);
        }
    }
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &good};
    step(group, 1, &event);
    assert_true(rz_snapshot_hash(group->member[1]) != before);
    assert_int_equal(group->n_queue, 1);
    before = rz_snapshot_hash(group->member[1]);
    step(group, 1, &event); /* twice */
    assert_true(rz_snapshot_hash(group->member[1]) == before);
    destroy(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_waves_and_a_barrier_when_nothing_moves),
        cmocka_unit_test(no_wave_begins_until_something_has_changed),
        cmocka_unit_test(a_balanced_wave_is_confirmed),
        cmocka_unit_test(a_busy_member_is_waited_for),
        cmocka_unit_test(a_wave_asks_anew),
        cmocka_unit_test(refusals_are_known_to_all),
        cmocka_unit_test(a_late_refusal_ends_the_attempt),
        cmocka_unit_test(an_image_that_fails_is_known_to_all),
        cmocka_unit_test(early_contributions_are_kept),
        cmocka_unit_test(nothing_is_said_after_a_failure),
        cmocka_unit_test(strange_messages_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
