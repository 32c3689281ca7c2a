/* SPDX-License-Identifier: BSD-3-Clause */
/* One member of the heartbeat ring, step by step. Names of steps: docs/protocols/ring.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/ring/ring.h"

#include <stdlib.h>
#include <string.h>

#define N 8
#define SELF 3
#define VIEW 5
#define PERIOD UINT64_C(100)
#define TIMEOUT UINT64_C(300)
#define SLACK UINT64_C(1000)

struct fixture {
    struct rz_ring *ring;
    struct rz_action actions[RZ_ACTIONS_MIN];
    uint32_t count;
    uint64_t heartbeats;
};

static int set_up_group(void **state, uint32_t n, rz_id self)
{
    const struct rz_ring_config config = {.n_members = n,
                                          .view = VIEW,
                                          .hb_period = PERIOD,
                                          .hb_timeout = TIMEOUT,
                                          .start_slack = SLACK};
    struct fixture *f = calloc(1, sizeof(*f));
    f->ring = malloc(rz_ring_size(&config));
    rz_ring_init(f->ring, &config, self, 0, 1);
    *state = f;
    return 0;
}

static int set_up(void **state)
{
    return set_up_group(state, N, SELF);
}

static int set_up_alone(void **state)
{
    return set_up_group(state, 1, 0);
}

static int set_up_large(void **state)
{
    return set_up_group(state, 64, 0);
}

static int set_up_held(void **state)
{
    const struct rz_ring_config config = {
        .n_members = N, .view = VIEW, .hb_period = PERIOD, .hb_timeout = TIMEOUT, .held = true};
    set_up(state);
    struct fixture *f = *state;
    rz_ring_init(f->ring, &config, SELF, 0, 1);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    free(f->ring);
    free(f);
    return 0;
}

static void step(struct fixture *f, const struct rz_event *event)
{
    struct rz_actions out = {.v = f->actions, .max = RZ_ACTIONS_MIN};
    enum rz_more more = rz_ring_step(f->ring, event, &out);
    if (more == RZ_NEED) {
        assert_int_equal(out.count, 0);
        f->ring = realloc(f->ring, out.need);
        rz_ring_grow(f->ring, out.need);
        more = rz_ring_step(f->ring, event, &out);
    }
    assert_int_equal(more, RZ_DONE);
    f->count = out.count;
}

static void receive(struct fixture *f, rz_time now, rz_id from, enum rz_ring_message type)
{
    struct rz_message message = {.protocol = RZ_PROTOCOL_RING,
                                 .type = (uint8_t)type,
                                 .view = VIEW,
                                 .from = from,
                                 .origin = from,
                                 .seq = type == RZ_RING_HEARTBEAT ? ++f->heartbeats : 0};
    step(f, &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .now = now, .message = &message});
}

static void tick(struct fixture *f, rz_time now)
{
    step(f, &(struct rz_event){.kind = RZ_EVENT_TICK, .now = now});
}

static void tell_failed(struct fixture *f, rz_time now, const rz_id *ids, uint32_t n)
{
    step(f, &(struct rz_event){.kind = RZ_EVENT_FAILURE, .now = now, .ids = ids, .n_ids = n});
}

static const struct rz_action *sent(const struct fixture *f, enum rz_ring_message type, rz_id to)
{
    for (uint32_t i = 0; i < f->count; i++) {
        if (f->actions[i].kind == RZ_ACTION_SEND && f->actions[i].message.type == type &&
            f->actions[i].to[0] == to) {
            return &f->actions[i];
        }
    }
    return NULL;
}

static bool told(const struct fixture *f, enum rz_ring_notice what, rz_id about)
{
    for (uint32_t i = 0; i < f->count; i++) {
        if (f->actions[i].kind == RZ_ACTION_NOTIFY && f->actions[i].what == what &&
            f->actions[i].arg[0] == about) {
            return true;
        }
    }
    return false;
}

/* Serves each deadline up to `until`; returns the date at which a member was suspected, or
 * NEVER. */
static rz_time serve_until(struct fixture *f, rz_time until, rz_id *suspected)
{
    for (rz_time at; (at = rz_ring_deadline(f->ring)) <= until;) {
        tick(f, at);
        for (uint32_t i = 0; i < f->count; i++) {
            if (f->actions[i].kind == RZ_ACTION_NOTIFY && f->actions[i].what == RZ_RING_SUSPECT) {
                *suspected = (rz_id)f->actions[i].arg[0];
                return at;
            }
        }
    }
    return RZ_TIME_NEVER;
}

static void heartbeats_go_to_the_observer_each_period(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(rz_ring_observing(f->ring), SELF - 1);
    assert_int_equal(rz_ring_observer(f->ring), SELF + 1);
    for (rz_time at = PERIOD; at < 10 * PERIOD; at += PERIOD) {
        assert_int_equal(rz_ring_deadline(f->ring), at);
        tick(f, at);
        assert_int_equal(f->count, 1);
        assert_non_null(sent(f, RZ_RING_HEARTBEAT, SELF + 1));
    }
}

static void first_heartbeat_has_the_start_slack(void **state)
{
    struct fixture *f = *state;
    rz_id suspected;
    assert_int_equal(serve_until(f, 10 * SLACK, &suspected), TIMEOUT + SLACK);
    assert_int_equal(suspected, SELF - 1);
}

static void silence_of_the_timeout_is_suspected_and_the_ring_mended(void **state)
{
    struct fixture *f = *state;
    rz_id suspected;
    receive(f, 50, SELF - 1, RZ_RING_HEARTBEAT);
    assert_int_equal(serve_until(f, 10 * SLACK, &suspected), 50 + TIMEOUT);
    assert_int_equal(suspected, SELF - 1);
    assert_non_null(sent(f, RZ_RING_REQUEST, SELF - 2));
    assert_int_equal(rz_ring_observing(f->ring), SELF - 2);
    /* The next one may need a timeout to get the request: two until suspicion, one after its first
     * heartbeat. */
    assert_int_equal(serve_until(f, 10 * SLACK, &suspected), 50 + 3 * TIMEOUT);
    assert_int_equal(suspected, SELF - 2);
}

static void only_new_heartbeats_of_the_observed_count(void **state)
{
    struct fixture *f = *state;
    rz_id suspected;
    f->heartbeats = 10;
    receive(f, 50, SELF - 1, RZ_RING_HEARTBEAT);
    receive(f, 200, SELF - 2, RZ_RING_HEARTBEAT);
    f->heartbeats = 5;
    receive(f, 250, SELF - 1, RZ_RING_HEARTBEAT);
    assert_int_equal(serve_until(f, 10 * SLACK, &suspected), 50 + TIMEOUT);
}

static void request_makes_a_farther_observer(void **state)
{
    struct fixture *f = *state;
    receive(f, 10, SELF + 3, RZ_RING_REQUEST);
    assert_int_equal(rz_ring_observer(f->ring), SELF + 3);
    assert_non_null(sent(f, RZ_RING_HEARTBEAT, SELF + 3));
    assert_int_equal(rz_ring_deadline(f->ring), 10 + PERIOD);
    /* A stale request of a nearer one changes nothing; a repeated one is answered. */
    receive(f, 20, SELF + 2, RZ_RING_REQUEST);
    assert_int_equal(f->count, 0);
    receive(f, 30, SELF + 3, RZ_RING_REQUEST);
    assert_non_null(sent(f, RZ_RING_HEARTBEAT, SELF + 3));
    /* Ahead wraps around: 1 is farther ahead of 3 than 6 is. */
    receive(f, 40, 1, RZ_RING_REQUEST);
    assert_int_equal(rz_ring_observer(f->ring), 1);
}

static void news_of_the_observed_moves_on_at_once(void **state)
{
    struct fixture *f = *state;
    const rz_id failed[] = {SELF - 1, SELF - 2};
    tell_failed(f, 60, failed, 2);
    assert_int_equal(f->count, 1);
    assert_non_null(sent(f, RZ_RING_REQUEST, 0));
    rz_id suspected;
    assert_int_equal(serve_until(f, 10 * SLACK, &suspected), 60 + 2 * TIMEOUT);
    assert_int_equal(suspected, 0);
}

static void failed_observer_is_not_served(void **state)
{
    struct fixture *f = *state;
    const rz_id failed = SELF + 1;
    tell_failed(f, 60, &failed, 1);
    assert_int_equal(rz_ring_observer(f->ring), SELF + 2);
    tick(f, PERIOD);
    assert_null(sent(f, RZ_RING_HEARTBEAT, SELF + 1));
    assert_non_null(sent(f, RZ_RING_HEARTBEAT, SELF + 2));
    receive(f, 110, SELF + 1, RZ_RING_REQUEST);
    assert_int_equal(f->count, 0);
}

static void late_timer_is_no_proof(void **state)
{
    struct fixture *f = *state;
    rz_id suspected;
    receive(f, 50, SELF - 1, RZ_RING_HEARTBEAT);
    tick(f, 50 + TIMEOUT + PERIOD);
    assert_false(told(f, RZ_RING_SUSPECT, SELF - 1));
    /* Heard nothing for a further period: the silence is the other's. */
    assert_int_equal(serve_until(f, 10 * SLACK, &suspected), 50 + TIMEOUT + 2 * PERIOD);
}

static void quit_is_no_failure(void **state)
{
    struct fixture *f = *state;
    receive(f, 50, SELF - 1, RZ_RING_QUIT);
    assert_true(told(f, RZ_RING_LEFT, SELF - 1));
    assert_non_null(sent(f, RZ_RING_REQUEST, SELF - 2));
    receive(f, 60, SELF - 1, RZ_RING_QUIT);
    assert_int_equal(f->count, 0);
}

static void a_member_that_leaves_says_so_and_is_silent(void **state)
{
    struct fixture *f = *state;
    step(f, &(struct rz_event){.kind = RZ_EVENT_CALL, .now = 10, .call = RZ_RING_LEAVE});
    assert_non_null(sent(f, RZ_RING_QUIT, SELF + 1));
    assert_true(told(f, RZ_RING_LEFT, SELF));
    assert_true(rz_ring_silent(f->ring));
    assert_true(rz_ring_deadline(f->ring) == RZ_TIME_NEVER);
    receive(f, 20, SELF + 1, RZ_RING_REQUEST);
    assert_int_equal(f->count, 0);
}

static void a_member_that_is_declared_failed_stops(void **state)
{
    struct fixture *f = *state;
    const rz_id self = SELF;
    tell_failed(f, 60, &self, 1);
    assert_true(told(f, RZ_RING_FENCED, SELF));
    assert_true(rz_ring_deadline(f->ring) == RZ_TIME_NEVER);
    tick(f, 10 * SLACK);
    assert_int_equal(f->count, 0);
}

static void messages_of_other_views_are_dropped(void **state)
{
    struct fixture *f = *state;
    struct rz_message message = {
        .protocol = RZ_PROTOCOL_RING, .type = RZ_RING_REQUEST, .view = VIEW + 1, .from = SELF + 3};
    step(f, &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .now = 10, .message = &message});
    assert_int_equal(f->count, 0);
    assert_int_equal(rz_ring_observer(f->ring), SELF + 1);
}

static void alone_there_is_nothing_to_do(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(rz_ring_observing(f->ring), RZ_ID_NONE);
    assert_true(rz_ring_deadline(f->ring) == RZ_TIME_NEVER);
}

/* A list of the failed processes that grows past its first size, one by one, to the last survivor.
 */
static void last_survivor_has_found_all_others(void **state)
{
    struct fixture *f = *state;
    rz_id suspected;
    for (rz_id failed = 63; failed > 0; failed--) {
        assert_true(serve_until(f, RZ_TIME_NEVER - 1, &suspected) != RZ_TIME_NEVER);
        assert_int_equal(suspected, failed);
    }
    uint32_t n;
    rz_ring_out(f->ring, &n);
    assert_int_equal(n, 63);
    assert_int_equal(rz_ring_observing(f->ring), RZ_ID_NONE);
    assert_int_equal(rz_ring_observer(f->ring), RZ_ID_NONE);
    assert_true(rz_ring_deadline(f->ring) == RZ_TIME_NEVER);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* ---- lateness ---- */

#define LATE UINT64_C(2000)

static int set_up_late(void **state)
{
    const struct rz_ring_config config = {.n_members = N,
                                          .view = VIEW,
                                          .hb_period = PERIOD,
                                          .hb_timeout = TIMEOUT,
                                          .lateness_max = 3000};
    struct fixture *f = calloc(1, sizeof(*f));
    f->ring = malloc(rz_ring_size(&config));
    rz_ring_init(f->ring, &config, SELF, 0, 1);
    *state = f;
    return 0;
}

static void heartbeat_of_late(struct fixture *f, rz_time now, rz_time late)
{
    struct rz_message message = {.protocol = RZ_PROTOCOL_RING,
                                 .type = RZ_RING_HEARTBEAT,
                                 .view = VIEW,
                                 .from = SELF - 1,
                                 .origin = SELF - 1,
                                 .seq = ++f->heartbeats,
                                 .word = {late}};
    step(f, &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .now = now, .message = &message});
}

static void run_late(struct fixture *f, rz_time now, rz_time late)
{
    step(f, &(struct rz_event){
                .kind = RZ_EVENT_CALL, .call = RZ_RING_LATENESS, .arg = {late}, .now = now});
}

static void one_that_says_it_is_late_gets_twice_that(void **state)
{
    struct fixture *f = *state;
    rz_id suspected;
    heartbeat_of_late(f, PERIOD, LATE);
    assert_int_equal(serve_until(f, RZ_SECOND, &suspected), PERIOD + TIMEOUT + 2 * LATE);
    assert_int_equal(suspected, SELF - 1);
    assert_int_equal(serve_until(f, RZ_SECOND, &suspected),
                     PERIOD + TIMEOUT + 2 * LATE + 2 * TIMEOUT + 2 * LATE);
    assert_int_equal(suspected,
                     SELF - 2); /* nothing is known of it: as late as the one before it */
}

static void no_more_is_believed_than_the_bound(void **state)
{
    struct fixture *f = *state;
    rz_id suspected;
    heartbeat_of_late(f, PERIOD, RZ_TIME_NEVER);
    assert_int_equal(serve_until(f, RZ_SECOND, &suspected), PERIOD + TIMEOUT + 6000);
}

static void own_lateness_counts_for_the_silence_under_way(void **state)
{
    struct fixture *f = *state;
    rz_id suspected;
    heartbeat_of_late(f, PERIOD, 0);
    run_late(f, 2 * PERIOD, LATE);
    run_late(f, 2 * PERIOD, LATE / 2); /* less says nothing new */
    assert_int_equal(serve_until(f, RZ_SECOND, &suspected), PERIOD + TIMEOUT + 2 * LATE);
}

static void lateness_is_told_and_fades(void **state)
{
    struct fixture *f = *state;
    run_late(f, 0, LATE);
    tick(f, PERIOD);
    const struct rz_action *told_first = sent(f, RZ_RING_HEARTBEAT, SELF + 1);
    assert_non_null(told_first);
    assert_int_equal(told_first->message.word[0], LATE);
    assert_int_equal(rz_ring_lateness(f->ring, 10 * RZ_SECOND), LATE / 2);
    assert_int_equal(rz_ring_lateness(f->ring, 15 * RZ_SECOND), LATE / 2 * 3 / 4);
    assert_int_equal(rz_ring_lateness(f->ring, 20 * RZ_SECOND), LATE / 4);
    assert_int_equal(rz_ring_lateness(f->ring, 3600 * RZ_SECOND), 0);
}

static void a_late_tick_is_lateness(void **state)
{
    struct fixture *f = *state;
    tick(f, PERIOD + LATE);
    assert_int_equal(rz_ring_lateness(f->ring, PERIOD + LATE), LATE);
    assert_false(told(f, RZ_RING_SUSPECT, SELF - 1)); /* though it was silent for longer */
}

/* The numbers of heartbeats are each sender's own. */
static void a_new_observed_is_heard_however_few_it_has_sent(void **state)
{
    struct fixture *f = *state;
    rz_id suspected, failed = SELF - 1;
    f->heartbeats = 1000;
    receive(f, PERIOD, failed, RZ_RING_HEARTBEAT);
    tell_failed(f, 2 * PERIOD, &failed, 1);
    assert_int_equal(rz_ring_observing(f->ring), SELF - 2);
    f->heartbeats = 0;
    receive(f, 3 * PERIOD, SELF - 2, RZ_RING_HEARTBEAT);
    assert_int_equal(serve_until(f, 100 * PERIOD, &suspected), 3 * PERIOD + TIMEOUT);
}

/* Until the host says that it is out; each further timeout is told. */
static void a_member_that_is_silent_is_watched_on_where_the_host_decides(void **state)
{
    struct fixture *f = *state;
    rz_id suspected, silent = SELF - 1;
    assert_int_equal(serve_until(f, 100 * PERIOD, &suspected), TIMEOUT);
    assert_int_equal(suspected, silent);
    assert_null(sent(f, RZ_RING_REQUEST, SELF - 2));
    assert_int_equal(serve_until(f, 100 * PERIOD, &suspected), 2 * TIMEOUT);
    assert_int_equal(suspected, silent);
    receive(f, 2 * TIMEOUT + PERIOD, silent, RZ_RING_HEARTBEAT);
    assert_int_equal(serve_until(f, 100 * PERIOD, &suspected), 3 * TIMEOUT + PERIOD);
    tell_failed(f, 4 * TIMEOUT, &silent, 1);
    assert_non_null(sent(f, RZ_RING_REQUEST, SELF - 2));
    assert_int_equal(serve_until(f, 100 * PERIOD, &suspected), 6 * TIMEOUT);
    assert_int_equal(suspected, SELF - 2);
}

#define TEST_LATE(test) cmocka_unit_test_setup_teardown(test, set_up_late, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(heartbeats_go_to_the_observer_each_period),
        TEST(first_heartbeat_has_the_start_slack),
        TEST(silence_of_the_timeout_is_suspected_and_the_ring_mended),
        TEST(only_new_heartbeats_of_the_observed_count),
        TEST(request_makes_a_farther_observer),
        TEST(news_of_the_observed_moves_on_at_once),
        TEST(failed_observer_is_not_served),
        TEST(late_timer_is_no_proof),
        TEST(quit_is_no_failure),
        TEST(a_member_that_leaves_says_so_and_is_silent),
        TEST(a_member_that_is_declared_failed_stops),
        TEST(messages_of_other_views_are_dropped),
        TEST(a_new_observed_is_heard_however_few_it_has_sent),
        TEST_LATE(one_that_says_it_is_late_gets_twice_that),
        TEST_LATE(no_more_is_believed_than_the_bound),
        TEST_LATE(own_lateness_counts_for_the_silence_under_way),
        TEST_LATE(lateness_is_told_and_fades),
        TEST_LATE(a_late_tick_is_lateness),
        cmocka_unit_test_setup_teardown(
            a_member_that_is_silent_is_watched_on_where_the_host_decides, set_up_held, tear_down),
        cmocka_unit_test_setup_teardown(alone_there_is_nothing_to_do, set_up_alone, tear_down),
        cmocka_unit_test_setup_teardown(last_survivor_has_found_all_others, set_up_large,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
