/* SPDX-License-Identifier: BSD-3-Clause */
/* The roll call of one daemon, answered by hand. */
#include "proto/recover/recover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { VIEW = 7, DAEMONS_MAX = 200 };

struct daemon {
    struct rz_recover *recover;
    uint32_t doubts, asks, answers, asking, reports; /* sent; told */
    rz_id reported;
};

static void open_daemon(struct daemon *daemon, uint32_t n, rz_id self)
{
    static const uint32_t placement[1] = {0};
    static uint32_t slots[DAEMONS_MAX];
    const struct rz_recover_config config = {.n_daemons = n,
                                             .n_ranks = 1,
                                             .view = VIEW,
                                             .tie_breaker = RZ_ID_NONE,
                                             .placement = placement,
                                             .slots = slots};
    *daemon = (struct daemon){.recover = malloc(rz_recover_size(&config))};
    assert_non_null(daemon->recover);
    rz_recover_init(daemon->recover, &config, self, 0, 1);
}

static void close_daemon(struct daemon *daemon)
{
    free(daemon->recover);
}

static void take(struct daemon *daemon, const struct rz_action *action)
{
    if (action->kind == RZ_ACTION_SEND) {
        daemon->doubts += action->message.type == RZ_RECOVER_DOUBT ? action->n_to : 0;
        daemon->asks += action->message.type == RZ_RECOVER_ASK ? action->n_to : 0;
        daemon->answers += action->message.type == RZ_RECOVER_HERE ? action->n_to : 0;
        return;
    }
    daemon->asking += action->what == RZ_RECOVER_ASKING;
    if (action->what == RZ_RECOVER_REPORT) {
        daemon->reports++;
        daemon->reported = (rz_id)action->arg[0];
    }
}

static void step(struct daemon *daemon, struct rz_event event)
{
    struct rz_action actions[RZ_ACTIONS_MIN];
    enum rz_more more;
    do {
        struct rz_actions out = {.v = actions, .max = RZ_ACTIONS_MIN};
        more = rz_recover_step(daemon->recover, &event, &out);
        if (more == RZ_NEED) {
            daemon->recover = realloc(daemon->recover, out.need);
            assert_non_null(daemon->recover);
            rz_recover_grow(daemon->recover, out.need);
            continue;
        }
        for (uint32_t i = 0; i < out.count; i++) {
            take(daemon, &out.v[i]);
        }
        event = (struct rz_event){.kind = RZ_EVENT_CONTINUE, .now = event.now};
    } while (more != RZ_DONE);
}

static void suspect(struct daemon *daemon, rz_time now, rz_id silent, bool for_good)
{
    step(daemon, (struct rz_event){.kind = RZ_EVENT_CALL,
                                   .now = now,
                                   .call = RZ_RECOVER_SUSPECT,
                                   .arg = {silent, for_good}});
}

static void comes(struct daemon *daemon, rz_time now, rz_id from, enum rz_recover_message type)
{
    const struct rz_message message = {
        .protocol = RZ_PROTOCOL_RECOVER, .type = (uint8_t)type, .view = VIEW, .from = from};
    step(daemon, (struct rz_event){.kind = RZ_EVENT_RECEIVE, .now = now, .message = &message});
}

static void tick(struct daemon *daemon, rz_time now)
{
    step(daemon, (struct rz_event){.kind = RZ_EVENT_TICK, .now = now});
}

static void told_failed(struct daemon *daemon, rz_time now, rz_id failed, bool proof)
{
    step(daemon,
         (struct rz_event){
             .kind = RZ_EVENT_FAILURE, .now = now, .ids = &failed, .n_ids = 1, .arg = {proof}});
}

static void a_member_that_stays_silent_while_a_quorum_answers_is_reported(void **state)
{
    (void)state;
    struct daemon daemon;
    open_daemon(&daemon, 3, 0);
    suspect(&daemon, 100, 2, false);
    assert_int_equal(daemon.doubts, 2); /* the suspect is asked, too */
    assert_int_equal(daemon.asking, 1);
    assert_true(rz_recover_deadline(daemon.recover) == RZ_TIME_NEVER);
    comes(&daemon, 130, 1, RZ_RECOVER_HERE);
    assert_int_equal(daemon.reports, 0); /* it has as long again */
    assert_int_equal(rz_recover_deadline(daemon.recover), 160);
    tick(&daemon, 160);
    assert_int_equal(daemon.reports, 1);
    assert_int_equal(daemon.reported, 2);
    assert_false(rz_recover_asking(daemon.recover));
    close_daemon(&daemon);
}

static void a_member_that_answers_meanwhile_is_not_reported(void **state)
{
    (void)state;
    for (uint32_t by_host = 0; by_host < 2; by_host++) {
        struct daemon daemon;
        open_daemon(&daemon, 3, 0);
        suspect(&daemon, 100, 2, false);
        comes(&daemon, 130, 1, RZ_RECOVER_HERE);
        if (by_host) {
            step(&daemon,
                 (struct rz_event){
                     .kind = RZ_EVENT_CALL, .now = 150, .call = RZ_RECOVER_HEARD, .arg = {2}});
        } else {
            comes(&daemon, 150, 2, RZ_RECOVER_HERE);
        }
        assert_false(rz_recover_asking(daemon.recover));
        tick(&daemon, 160);
        assert_int_equal(daemon.reports, 0);
        suspect(&daemon, 200, 2, false); /* it is asked again */
        assert_int_equal(daemon.doubts, 4);
        close_daemon(&daemon);
    }
}

static void what_is_found_for_good_is_reported_though_it_answers(void **state)
{
    (void)state;
    struct daemon daemon;
    open_daemon(&daemon, 3, 0);
    suspect(&daemon, 100, 2, true);
    comes(&daemon, 110, 2, RZ_RECOVER_HERE);
    assert_int_equal(daemon.reports, 0); /* it is no voter for its own report */
    comes(&daemon, 110, 1, RZ_RECOVER_HERE);
    tick(&daemon, 120);
    assert_int_equal(daemon.reports, 1);
    close_daemon(&daemon);
}

static void a_side_without_quorum_reports_no_member(void **state)
{
    (void)state;
    struct daemon daemon;
    open_daemon(&daemon, 5, 4);
    suspect(&daemon, 100, 2, false);
    comes(&daemon, 110, 3, RZ_RECOVER_HERE);
    tick(&daemon, 100000);
    assert_int_equal(daemon.reports, 0);
    assert_true(rz_recover_asking(daemon.recover));
    const uint8_t *answers = rz_recover_answers(daemon.recover);
    assert_int_equal(answers[0], RZ_VOTE_SILENT);
    assert_int_equal(answers[3], RZ_VOTE_LIVE);
    close_daemon(&daemon);
}

static void a_member_that_is_held_for_failed_is_no_voter(void **state)
{
    (void)state;
    for (uint32_t proof = 0; proof < 2; proof++) {
        struct daemon daemon;
        open_daemon(&daemon, 4, 0);
        suspect(&daemon, 100, 1, false);
        told_failed(&daemon, 100, 2, proof);
        comes(&daemon, 110, 2, RZ_RECOVER_HERE);
        comes(&daemon, 120, 2, RZ_RECOVER_DOUBT);
        assert_int_equal(daemon.answers, 0);
        /* Of four one is missed and one is held for failed by its silence: two are no more than
         * half, and hold the tie-breaker. Without the one that is failed for certain: two of three.
         */
        comes(&daemon, 130, 3, RZ_RECOVER_HERE);
        tick(&daemon, 160);
        assert_int_equal(daemon.reports, 1);
        close_daemon(&daemon);
    }
    struct daemon daemon;
    open_daemon(&daemon, 3, 0);
    told_failed(&daemon, 100, 1, false); /* by news */
    suspect(&daemon, 110, 2, false);
    tick(&daemon, 1000);
    assert_int_equal(daemon.reports, 0); /* alone of three */
    comes(&daemon, 1010, 2, RZ_RECOVER_HERE);
    assert_false(rz_recover_asking(daemon.recover));
    close_daemon(&daemon);
}

static void of_two_the_one_that_breaks_the_tie_reports_at_once(void **state)
{
    (void)state;
    struct daemon daemon;
    open_daemon(&daemon, 2, 0);
    suspect(&daemon, 100, 1, false);
    assert_int_equal(daemon.reports, 1);
    close_daemon(&daemon);
    open_daemon(&daemon, 2, 1);
    suspect(&daemon, 100, 0, false);
    assert_int_equal(daemon.reports, 0);
    told_failed(&daemon, 200, 0, true);
    assert_false(rz_recover_asking(daemon.recover));
    close_daemon(&daemon);
}

static void a_member_that_is_asked_answers_and_asks_once(void **state)
{
    (void)state;
    struct daemon daemon;
    open_daemon(&daemon, 3, 0);
    comes(&daemon, 100, 1, RZ_RECOVER_ASK);
    assert_int_equal(daemon.answers, 1);
    assert_int_equal(daemon.asks, 0);
    close_daemon(&daemon);
    open_daemon(&daemon, 5, 0);
    comes(&daemon, 100, 1, RZ_RECOVER_DOUBT);
    comes(&daemon, 100, 1, RZ_RECOVER_DOUBT);
    assert_int_equal(daemon.answers, 2);
    assert_int_equal(daemon.asks, 4);
    assert_int_equal(daemon.asking, 1);
    comes(&daemon, 110, 2, RZ_RECOVER_HERE); /* three of five */
    assert_false(rz_recover_asking(daemon.recover));
    assert_int_equal(daemon.reports, 0);
    close_daemon(&daemon);
}

static void of_many_a_sample_and_the_suspect_are_asked(void **state)
{
    (void)state;
    struct daemon daemon;
    open_daemon(&daemon, DAEMONS_MAX, 10);
    suspect(&daemon, 100, 9, false);
    assert_true(daemon.doubts > 32 && daemon.doubts <= 65);
    const uint8_t *answers = rz_recover_answers(daemon.recover);
    uint32_t voters = 0;
    for (rz_id d = 0; d < DAEMONS_MAX; d++) {
        voters += answers[d] != RZ_VOTE_GONE;
    }
    assert_int_equal(voters, daemon.doubts + 1);
    assert_int_equal(answers[9], RZ_VOTE_SILENT);
    close_daemon(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_that_stays_silent_while_a_quorum_answers_is_reported),
        cmocka_unit_test(a_member_that_answers_meanwhile_is_not_reported),
        cmocka_unit_test(what_is_found_for_good_is_reported_though_it_answers),
        cmocka_unit_test(a_side_without_quorum_reports_no_member),
        cmocka_unit_test(a_member_that_is_held_for_failed_is_no_voter),
        cmocka_unit_test(of_two_the_one_that_breaks_the_tie_reports_at_once),
        cmocka_unit_test(a_member_that_is_asked_answers_and_asks_once),
        cmocka_unit_test(of_many_a_sample_and_the_suspect_are_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
