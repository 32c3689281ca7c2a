/* SPDX-License-Identifier: BSD-3-Clause */
/* One member of SWIM, rule by rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "swim_rig.h"

#include <stdlib.h>
#include <string.h>

#define N 12
#define SELF 3
#define PERIOD RZ_SECOND

static struct rz_swim_config basic(void)
{
    struct rz_swim_config config = rz_swim_config_scaled(PERIOD, N);
    config.push_pull_interval = 0;
    return config;
}

static int set_up(void **state)
{
    static struct rig rig;
    struct rz_swim_config config = basic();
    rig_open(&rig, &config, SELF);
    *state = &rig;
    return 0;
}

static int tear_down(void **state)
{
    rig_close(*state);
    return 0;
}

static void reopen(struct rig *rig, const struct rz_swim_config *config)
{
    rig_close(rig);
    rig_open(rig, config, SELF);
}

static void begin_probe(struct rig *rig)
{
    do {
        rig_tick(rig);
    } while (!rig_sent(rig, RZ_SWIM_PING));
}

static void acknowledge(struct rig *rig, const struct rig_action *ping)
{
    rig_receive(rig, RZ_SWIM_ACK, ping->to[0], ping->action.message.seq, 0, NULL, 0);
}

static bool carries(const struct rig_action *sent, rz_id member, uint32_t incarnation,
                    enum rz_swim_state state)
{
    for (uint32_t i = 0; i < sent->action.message.n_items; i += 2) {
        if ((rz_id)sent->items[i] == member &&
            sent->items[i + 1] == ((uint64_t)state << 32 | incarnation)) {
            return true;
        }
    }
    return false;
}

static void each_traversal_probes_all_others_once(void **state)
{
    struct rig *rig = *state;
    rz_time began = 0;
    uint64_t order[3] = {0};
    for (uint32_t traversal = 0; traversal < 3; traversal++) {
        uint32_t probed = 0;
        for (uint32_t i = 0; i < N - 1; i++) {
            rig_tick(rig);
            const struct rig_action *ping = rig_sent(rig, RZ_SWIM_PING);
            assert_non_null(ping);
            assert_int_not_equal(ping->to[0], SELF);
            assert_false(probed >> ping->to[0] & 1);
            probed |= 1u << ping->to[0];
            order[traversal] = order[traversal] << 4 | ping->to[0];
            assert_true(began == 0 || rig->now == began + PERIOD);
            began = rig->now;
            acknowledge(rig, ping);
        }
    }
    assert_true(order[0] != order[1] && order[1] != order[2]);
}

static void silence_asks_helpers_then_suspects(void **state)
{
    struct rig *rig = *state;
    begin_probe(rig);
    rz_id target = rig_sent(rig, RZ_SWIM_PING)->to[0];
    rz_time began = rig->now;
    rig_tick(rig);
    const struct rig_action *request = rig_sent(rig, RZ_SWIM_PING_REQUEST);
    assert_non_null(request);
    assert_true(rig->now == began + PERIOD / 2);
    assert_int_equal(request->action.n_to, 3);
    assert_int_equal(request->action.message.word[0], target);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(request->to[i] != target && request->to[i] != SELF);
        assert_true(request->to[i] != request->to[(i + 1) % 3]);
    }
    rig_tick(rig);
    assert_true(rig->now == began + PERIOD);
    assert_int_equal(rig_told(rig, RZ_SWIM_TOLD_SUSPECT)->action.arg[0], target);
    assert_int_equal(rz_swim_look(rig->swim, target).observers, 1);
}

static void late_and_relayed_answers_clear_within_the_interval(void **state)
{
    struct rig *rig = *state;
    begin_probe(rig);
    struct rig_action ping = *rig_sent(rig, RZ_SWIM_PING);
    rig_tick(rig);
    rz_id helper = rig_sent(rig, RZ_SWIM_PING_REQUEST)->to[0];
    rig_receive(rig, RZ_SWIM_ACK, helper, ping.action.message.seq + 7, 0, NULL, 0);
    rig_receive(rig, RZ_SWIM_ACK, helper, ping.action.message.seq, 0, NULL, 0);
    rig_tick(rig);
    assert_null(rig_told(rig, RZ_SWIM_TOLD_SUSPECT));
    assert_int_equal(rz_swim_records(rig->swim), 0);
}

static void helper_relays_the_answer_or_says_that_there_is_none(void **state)
{
    struct rig *rig = *state;
    rig_receive(rig, RZ_SWIM_PING_REQUEST, 1, 77, 9, NULL, 0);
    struct rig_action ping = *rig_sent(rig, RZ_SWIM_PING);
    assert_int_equal(ping.to[0], 9);
    rig_receive(rig, RZ_SWIM_ACK, 9, ping.action.message.seq, 0, NULL, 0);
    const struct rig_action *ack = rig_sent(rig, RZ_SWIM_ACK);
    assert_int_equal(ack->to[0], 1);
    assert_int_equal(ack->action.message.seq, 77);
    rig_receive(rig, RZ_SWIM_PING_REQUEST, 2, 78, 9, NULL, 0);
    rz_time asked = rig->now;
    rig_receive(rig, RZ_SWIM_PING_REQUEST, 4, 79, SELF, NULL, 0);
    assert_int_equal(rig->count, 0);
    do {
        rig_tick(rig);
    } while (!rig_sent(rig, RZ_SWIM_NACK));
    assert_true(rig->now == asked + PERIOD / 2);
    assert_int_equal(rig_sent(rig, RZ_SWIM_NACK)->to[0], 2);
    assert_int_equal(rig_sent(rig, RZ_SWIM_NACK)->action.message.seq, 78);
}

static void suspicion_becomes_failure_after_its_time(void **state)
{
    struct rig *rig = *state;
    rig_hear(rig, 7, 5, 0, RZ_SWIM_SUSPECT);
    rz_time expires = rz_swim_look(rig->swim, 7).expires_at;
    assert_true(expires == rz_swim_patience(rig->swim, 1));
    rig_hear(rig, 7, 5, 0, RZ_SWIM_SUSPECT); /* no second witness */
    assert_true(rz_swim_look(rig->swim, 7).expires_at == expires);
    rig_hear(rig, 7, 6, 0, RZ_SWIM_SUSPECT);
    assert_true(rz_swim_look(rig->swim, 7).expires_at == rz_swim_patience(rig->swim, 2));
    rig_hear(rig, 7, 8, 0, RZ_SWIM_SUSPECT);
    expires = rz_swim_patience(rig->swim, 3);
    assert_true(rz_swim_look(rig->swim, 7).expires_at == expires);
    rig_hear(rig, 7, 9, 0, RZ_SWIM_SUSPECT); /* enough is enough */
    assert_int_equal(rz_swim_look(rig->swim, 7).observers, 3);
    rig_pass(rig, expires - 1);
    assert_int_equal(rz_swim_look(rig->swim, 7).state, RZ_SWIM_SUSPECT);
    rig_pass(rig, expires);
    assert_int_equal(rz_swim_look(rig->swim, 7).state, RZ_SWIM_FAILED);
    assert_int_equal(rz_swim_timers(rig->swim) > 0, 1); /* of those that did not answer here */
    rig_hear(rig, 7, 7, 0, RZ_SWIM_ALIVE);
    assert_int_equal(rz_swim_look(rig->swim, 7).state, RZ_SWIM_FAILED);
}

/* At the first deadline after the shortened wait, with no other suspicion to wake for; and the news
 * name the latest witness, so that others count it. */
static void each_new_witness_shortens_the_wait_and_is_named(void **state)
{
    struct rig *rig = *state;
    rz_time begin = rig->now = 5 * PERIOD;
    for (rz_id witness = 4; witness <= 6; witness++) {
        rig_hear(rig, 7, witness, 0, RZ_SWIM_SUSPECT);
        rig_receive(rig, RZ_SWIM_PING, 1, 1, 0, NULL, 0);
        const struct rig_action *ack = rig_sent(rig, RZ_SWIM_ACK);
        assert_true(carries(ack, 7, 0, RZ_SWIM_SUSPECT));
        assert_true(ack->items[0] == ((uint64_t)witness << 32 | 7));
    }
    rig->now = begin + rz_swim_patience(rig->swim, 3);
    assert_true(rz_swim_look(rig->swim, 7).expires_at == rig->now);
    rig_step(rig, &(struct rz_event){.kind = RZ_EVENT_TICK, .now = rig->now});
    assert_int_equal(rz_swim_look(rig->swim, 7).state, RZ_SWIM_FAILED);
}

static void newer_alive_ends_the_suspicion(void **state)
{
    struct rig *rig = *state;
    rig_hear(rig, 7, 5, 0, RZ_SWIM_SUSPECT);
    rig_hear(rig, 7, 7, 1, RZ_SWIM_ALIVE);
    assert_int_equal(rig_told(rig, RZ_SWIM_TOLD_ALIVE)->action.arg[1], 1);
    assert_int_equal(rz_swim_timers(rig->swim), 0);
    rig_hear(rig, 7, 5, 0, RZ_SWIM_SUSPECT);
    assert_int_equal(rz_swim_look(rig->swim, 7).state, RZ_SWIM_ALIVE);
}

static void reported_member_refutes_in_its_answer(void **state)
{
    struct rig *rig = *state;
    const uint64_t items[] = {(uint64_t)1 << 32 | SELF, (uint64_t)RZ_SWIM_SUSPECT << 32 | 4};
    rig_receive(rig, RZ_SWIM_PING, 1, 50, 0, items, 2);
    assert_int_equal(rz_swim_incarnation(rig->swim), 5);
    assert_int_equal(rz_swim_health(rig->swim), 1);
    assert_true(carries(rig_sent(rig, RZ_SWIM_ACK), SELF, 5, RZ_SWIM_ALIVE));
    rig_receive(rig, RZ_SWIM_PING, 1, 51, 0, items, 2); /* already refuted */
    assert_int_equal(rz_swim_incarnation(rig->swim), 5);
    rig_hear(rig, SELF, 1, 5, RZ_SWIM_FAILED);
    assert_int_equal(rz_swim_incarnation(rig->swim), 6);
    assert_int_equal(rz_swim_look(rig->swim, SELF).state, RZ_SWIM_ALIVE);
}

static void where_failure_is_final_the_reported_is_fenced(void **state)
{
    struct rig *rig = *state;
    struct rz_swim_config config = basic();
    config.final = true;
    reopen(rig, &config);
    rig_hear(rig, SELF, 1, 0, RZ_SWIM_SUSPECT);
    assert_int_equal(rz_swim_incarnation(rig->swim), 1);
    rig_hear(rig, 9, 1, 0, RZ_SWIM_FAILED);
    rig_receive(rig, RZ_SWIM_PING, 9, 60, 0, NULL, 0);
    assert_int_equal(rig_sent(rig, RZ_SWIM_ACK)->action.message.n_items, 2);
    assert_true(carries(rig_sent(rig, RZ_SWIM_ACK), 9, 0, RZ_SWIM_FAILED));
    rig_hear(rig, SELF, 1, 0, RZ_SWIM_FAILED);
    assert_non_null(rig_told(rig, RZ_SWIM_FENCED));
    assert_true(rz_swim_silent(rig->swim));
    assert_true(rz_swim_deadline(rig->swim) == RZ_TIME_NEVER);
    rig_receive(rig, RZ_SWIM_PING, 1, 61, 0, NULL, 0);
    assert_int_equal(rig->count, 0);
}

static void buddy_tells_the_suspect_first(void **state)
{
    struct rig *rig = *state;
    for (rz_id id = 0; id < N; id++) {
        if (id != SELF) {
            rig_hear(rig, id, (id + 1) % N == SELF ? 0 : (id + 1) % N, 0, RZ_SWIM_SUSPECT);
        }
    }
    begin_probe(rig);
    const struct rig_action *ping = rig_sent(rig, RZ_SWIM_PING);
    assert_int_equal(ping->action.message.n_items, 2);
    assert_true(carries(ping, ping->to[0], 0, RZ_SWIM_SUSPECT));
}

/* No answers: neither of targets nor of helpers. The interval grows to eight times and no
 * further. */
static void bad_health_slows_probing_down(void **state)
{
    struct rig *rig = *state;
    rz_time before = 0, longest = 0;
    for (uint32_t i = 0; i < N - 1; i++) {
        begin_probe(rig);
        longest = before > 0 && rig->now - before > longest ? rig->now - before : longest;
        before = rig->now;
    }
    assert_true(longest == 8 * PERIOD);
    assert_int_equal(rz_swim_health(rig->swim), 7);
    acknowledge(rig, rig_sent(rig, RZ_SWIM_PING));
    assert_int_equal(rz_swim_health(rig->swim), 6);
}

/* If there is no helper, the fault may be one's own. */
static void without_helpers_silence_is_bad_health(void **state)
{
    struct rig *rig = *state;
    struct rz_swim_config config = basic();
    config.n_members = SELF + 1;
    config.indirect_checks = 0;
    reopen(rig, &config);
    begin_probe(rig);
    begin_probe(rig);
    assert_int_equal(rz_swim_health(rig->swim), 1);
}

static void helpers_that_say_that_they_are_there_keep_health_up(void **state)
{
    struct rig *rig = *state;
    begin_probe(rig);
    uint64_t seq = rig_sent(rig, RZ_SWIM_PING)->action.message.seq;
    rig_tick(rig);
    struct rig_action request = *rig_sent(rig, RZ_SWIM_PING_REQUEST);
    rig_receive(rig, RZ_SWIM_NACK, request.to[0], seq, 0, NULL, 0);
    rig_receive(rig, RZ_SWIM_NACK, request.to[0], seq, 0, NULL, 0); /* a copy: no second helper */
    rig_receive(rig, RZ_SWIM_NACK, request.to[2], seq, 0, NULL, 0);
    rig_tick(rig);
    assert_int_equal(rz_swim_health(rig->swim), 1);
}

/* Nothing else is on: all transmissions are packets of gossip and pings. */
static void news_are_sent_on_as_often_as_the_limit_says(void **state)
{
    struct rig *rig = *state;
    uint32_t sent = 0;
    rig_hear(rig, 7, 7, 1, RZ_SWIM_ALIVE);
    assert_true(rz_swim_look(rig->swim, 7).queued);
    for (uint32_t i = 0; i < 40; i++) {
        rig_tick(rig);
        for (uint32_t k = 0; k < rig->count; k++) {
            if (rig->actions[k].action.kind == RZ_ACTION_SEND) {
                sent += carries(&rig->actions[k], 7, 1, RZ_SWIM_ALIVE);
            }
        }
        if (rig_sent(rig, RZ_SWIM_PING)) {
            acknowledge(rig, rig_sent(rig, RZ_SWIM_PING));
        }
    }
    assert_int_equal(sent, rz_swim_limit(rig->swim));
    assert_int_equal(sent, 4 * 2);
    assert_false(rz_swim_look(rig->swim, 7).queued);
}

static void what_was_sent_least_goes_first(void **state)
{
    struct rig *rig = *state;
    struct rz_swim_config config = basic();
    config.updates_max = 2;
    reopen(rig, &config);
    for (rz_id id = 5; id < 8; id++) {
        rig_hear(rig, id, id, 1, RZ_SWIM_ALIVE);
    }
    rig_receive(rig, RZ_SWIM_PING, 1, 1, 0, NULL, 0); /* the two latest */
    assert_true(carries(rig_sent(rig, RZ_SWIM_ACK), 7, 1, RZ_SWIM_ALIVE));
    assert_true(carries(rig_sent(rig, RZ_SWIM_ACK), 6, 1, RZ_SWIM_ALIVE));
    rig_receive(rig, RZ_SWIM_PING, 1, 2, 0, NULL, 0);
    assert_true(carries(rig_sent(rig, RZ_SWIM_ACK), 5, 1, RZ_SWIM_ALIVE));
    rig_hear(rig, 7, 7, 2, RZ_SWIM_ALIVE); /* replaces what is queued about 7 */
    rig_receive(rig, RZ_SWIM_PING, 1, 3, 0, NULL, 0);
    assert_true(carries(rig_sent(rig, RZ_SWIM_ACK), 7, 2, RZ_SWIM_ALIVE));
    for (uint64_t seq = 4; seq < 100; seq++) {
        rig_receive(rig, RZ_SWIM_PING, 1, seq, 0, NULL, 0);
        assert_false(carries(rig_sent(rig, RZ_SWIM_ACK), 7, 1, RZ_SWIM_ALIVE));
    }
    for (rz_id id = 5; id < 8; id++) {
        assert_int_equal(rz_swim_look(rig->swim, id).sent, rz_swim_limit(rig->swim));
    }
}

static void exchange_tells_all_and_takes_the_failed_for_suspects(void **state)
{
    struct rig *rig = *state;
    rig_hear(rig, 7, 1, 3, RZ_SWIM_FAILED);
    rig_hear(rig, 8, 8, 2, RZ_SWIM_ALIVE);
    const uint64_t items[] = {(uint64_t)1 << 32 | 9, (uint64_t)RZ_SWIM_FAILED << 32 | 1};
    rig_receive(rig, RZ_SWIM_PULL, 1, 0, 0, items, 2);
    const struct rig_action *push = rig_sent(rig, RZ_SWIM_PUSH);
    assert_int_equal(push->to[0], 1);
    assert_true(carries(push, 7, 3, RZ_SWIM_FAILED) && carries(push, 8, 2, RZ_SWIM_ALIVE));
    assert_int_equal(rz_swim_look(rig->swim, 9).state, RZ_SWIM_SUSPECT);
    assert_int_equal(rz_swim_look(rig->swim, 9).incarnation, 1);
}

static void leaver_tells_the_others_and_goes(void **state)
{
    struct rig *rig = *state;
    uint32_t told = 0;
    rig_step(rig, &(struct rz_event){.kind = RZ_EVENT_CALL, .call = RZ_SWIM_LEAVE});
    rig_hear(rig, SELF, 1, 0, RZ_SWIM_SUSPECT); /* it will not refute */
    assert_int_equal(rz_swim_incarnation(rig->swim), 0);
    while (!rz_swim_silent(rig->swim)) {
        rig_tick(rig);
        for (uint32_t k = 0; k < rig->count; k++) {
            if (rig->actions[k].action.kind == RZ_ACTION_SEND) {
                told += carries(&rig->actions[k], SELF, 0, RZ_SWIM_LEFT);
            }
        }
    }
    assert_int_equal(told, rz_swim_limit(rig->swim));
    assert_int_equal(rig_told(rig, RZ_SWIM_TOLD_LEFT)->action.arg[0], SELF);
    assert_true(rz_swim_deadline(rig->swim) == RZ_TIME_NEVER);
}

static void a_member_that_leaves_last_waits_for_no_member(void **state)
{
    struct rig *rig = *state;
    struct rz_swim_config config = basic();
    config.n_members = SELF + 1;
    reopen(rig, &config);
    for (rz_id id = 0; id < SELF; id++) {
        rig_hear(rig, id, id, 0, RZ_SWIM_LEFT);
    }
    rig_step(rig,
             &(struct rz_event){.kind = RZ_EVENT_CALL, .now = rig->now, .call = RZ_SWIM_LEAVE});
    rig_tick(rig);
    assert_non_null(rig_told(rig, RZ_SWIM_TOLD_LEFT));
    assert_true(rz_swim_silent(rig->swim));
}

/* A suspicion that the host holds expires later. */
static void a_held_suspicion_expires_later(void **state)
{
    struct rig *rig = *state;
    rig_hear(rig, 5, 1, 0, RZ_SWIM_SUSPECT);
    rz_time before = rz_swim_look(rig->swim, 5).expires_at;
    assert_int_equal(rz_swim_suspect(rig->swim, 0), 5);
    assert_int_equal(rz_swim_suspect(rig->swim, 1), RZ_ID_NONE);
    for (rz_id member = 5; member <= 6; member++) { /* 6 is no suspect */
        rig_step(rig, &(struct rz_event){.kind = RZ_EVENT_CALL,
                                         .now = rig->now,
                                         .call = RZ_SWIM_HOLD,
                                         .arg = {member, before - rig->now + RZ_SECOND}});
    }
    assert_int_equal(rz_swim_look(rig->swim, 5).expires_at, before + RZ_SECOND);
    assert_int_equal(rz_swim_look(rig->swim, 6).state, RZ_SWIM_ALIVE);
    rig_pass(rig, before + RZ_SECOND - 1);
    assert_int_equal(rz_swim_look(rig->swim, 5).state, RZ_SWIM_SUSPECT);
    rig_pass(rig, before + RZ_SECOND);
    assert_int_equal(rz_swim_look(rig->swim, 5).state, RZ_SWIM_FAILED);
}

static void only_the_living_are_asked_for_help(void **state)
{
    struct rig *rig = *state;
    struct rz_swim_config config = basic();
    config.n_members = 8;
    reopen(rig, &config);
    for (rz_id id = 4; id < 8; id++) {
        rig_hear(rig, id, 0, 0, id % 2 ? RZ_SWIM_SUSPECT : RZ_SWIM_FAILED);
    }
    do {
        rig_tick(rig);
    } while (!rig_sent(rig, RZ_SWIM_PING_REQUEST));
    const struct rig_action *request = rig_sent(rig, RZ_SWIM_PING_REQUEST);
    assert_true(request->action.n_to >= 2);
    for (uint32_t i = 0; i < request->action.n_to; i++) {
        assert_true(request->to[i] < SELF);
    }
}

static void large_groups_exchange_less_often(void **state)
{
    struct rig *rig = *state;
    struct rz_swim_config config = basic();
    config.n_members = 1000;
    config.push_pull_interval = PERIOD;
    reopen(rig, &config);
    rz_time before = 0;
    for (uint32_t i = 0; i < 3; i++) {
        do {
            rig_tick(rig);
        } while (!rig_sent(rig, RZ_SWIM_PULL));
        assert_true(before == 0 || rig->now == before + 6 * PERIOD);
        before = rig->now;
    }
}

static void alone_one_leaves_at_once(void **state)
{
    struct rig *rig = *state;
    struct rz_swim_config config = rz_swim_config_scaled(PERIOD, 1);
    rig_close(rig);
    rig_open(rig, &config, 0);
    assert_true(rz_swim_deadline(rig->swim) == RZ_TIME_NEVER);
    rig_step(rig, &(struct rz_event){.kind = RZ_EVENT_CALL, .call = RZ_SWIM_LEAVE});
    assert_non_null(rig_told(rig, RZ_SWIM_TOLD_LEFT));
}

static void other_detectors_news_count(void **state)
{
    struct rig *rig = *state;
    const rz_id failed[] = {1, 9, SELF};
    rig_step(rig, &(struct rz_event){.kind = RZ_EVENT_FAILURE, .ids = failed, .n_ids = 2});
    assert_int_equal(rz_swim_look(rig->swim, 9).state, RZ_SWIM_FAILED);
    rig_step(rig, &(struct rz_event){.kind = RZ_EVENT_FAILURE, .ids = failed, .n_ids = 3});
    assert_non_null(rig_told(rig, RZ_SWIM_FENCED));
}

static void malformed_and_foreign_messages_are_dropped(void **state)
{
    struct rig *rig = *state;
    static const uint64_t bad[][2] = {
        {(uint64_t)5 << 32 | 5, (uint64_t)RZ_SWIM_SUSPECT << 32},   /* reports itself */
        {(uint64_t)5 << 32 | 6, (uint64_t)RZ_SWIM_ALIVE << 32 | 1}, /* speaks for another */
        {(uint64_t)5 << 32 | 6, (uint64_t)RZ_SWIM_LEFT << 32},      /* the same */
        {(uint64_t)5 << 32 | N, (uint64_t)RZ_SWIM_FAILED << 32},    /* no member */
        {(uint64_t)N << 32 | 5, (uint64_t)RZ_SWIM_FAILED << 32},    /* by no member */
        {(uint64_t)5 << 32 | 6, (uint64_t)4 << 32},                 /* no state */
        {(uint64_t)6 << 32 | 6, UINT32_MAX},                        /* not to be refuted */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        rig_receive(rig, RZ_SWIM_GOSSIP, 1, 0, 0, bad[i], 2);
        assert_int_equal(rig->count, 0);
    }
    assert_int_equal(rz_swim_records(rig->swim), 0);
    rig_receive(rig, RZ_SWIM_PING, N, 0, 0, NULL, 0);
    assert_int_equal(rig->count, 0);
    rig_receive(rig, RZ_SWIM_PING, SELF, 0, 0, NULL, 0);
    assert_int_equal(rig->count, 0);
    rig_receive(rig, RZ_SWIM_MESSAGE_COUNT, 1, 0, 0, NULL, 0);
    assert_int_equal(rig->count, 0);
    rig_receive(rig, RZ_SWIM_PING_REQUEST, 1, 0, N, NULL, 0);
    assert_int_equal(rig->count, 0);
    struct rz_message message = {.protocol = RZ_PROTOCOL_SWIM, .view = RIG_VIEW + 1, .from = 1};
    rig_step(rig, &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .message = &message});
    assert_int_equal(rig->count, 0);
}

/* Two members with the same history in blocks of different sizes. */
static void hash_does_not_know_the_size_of_the_block(void **state)
{
    struct rig *small = *state;
    static struct rig large;
    struct rz_swim_config config = basic();
    config.records_max = 32;
    rig_open(&large, &config, SELF);
    for (rz_id id = 4; id < N; id++) {
        rig_hear(small, id, 1, 0, id % 2 ? RZ_SWIM_SUSPECT : RZ_SWIM_FAILED);
        rig_hear(&large, id, 1, 0, id % 2 ? RZ_SWIM_SUSPECT : RZ_SWIM_FAILED);
        rig_receive(small, RZ_SWIM_PING_REQUEST, 1, id, 2, NULL, 0);
        rig_receive(&large, RZ_SWIM_PING_REQUEST, 1, id, 2, NULL, 0);
        assert_true(rz_swim_hash(small->swim) == rz_swim_hash(large.swim));
    }
    for (uint32_t i = 0; i < 50; i++) {
        rig_tick(small);
        rig_tick(&large);
        assert_true(rz_swim_hash(small->swim) == rz_swim_hash(large.swim));
    }
    assert_true(small->grown > large.grown);
    rig_close(&large);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_traversal_probes_all_others_once),
        TEST(silence_asks_helpers_then_suspects),
        TEST(late_and_relayed_answers_clear_within_the_interval),
        TEST(helper_relays_the_answer_or_says_that_there_is_none),
        TEST(suspicion_becomes_failure_after_its_time),
        TEST(each_new_witness_shortens_the_wait_and_is_named),
        TEST(newer_alive_ends_the_suspicion),
        TEST(reported_member_refutes_in_its_answer),
        TEST(where_failure_is_final_the_reported_is_fenced),
        TEST(buddy_tells_the_suspect_first),
        TEST(bad_health_slows_probing_down),
        TEST(without_helpers_silence_is_bad_health),
        TEST(helpers_that_say_that_they_are_there_keep_health_up),
        TEST(news_are_sent_on_as_often_as_the_limit_says),
        TEST(what_was_sent_least_goes_first),
        TEST(exchange_tells_all_and_takes_the_failed_for_suspects),
        TEST(leaver_tells_the_others_and_goes),
        TEST(a_member_that_leaves_last_waits_for_no_member),
        TEST(a_held_suspicion_expires_later),
        TEST(only_the_living_are_asked_for_help),
        TEST(large_groups_exchange_less_often),
        TEST(alone_one_leaves_at_once),
        TEST(other_detectors_news_count),
        TEST(malformed_and_foreign_messages_are_dropped),
        TEST(hash_does_not_know_the_size_of_the_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
