/* SPDX-License-Identifier: BSD-3-Clause */
/* Timelines of recoveries, from events as the nodes tell them, and the work that is lost. */
#include "launch/timeline.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MS RZ_MILLISECOND

static struct rz_work work;
static struct rz_timeline timeline;

static int open_two(void **state)
{
    (void)state;
    work = (struct rz_work){0};
    rz_timeline_open(&timeline, 2, &work, NULL);
    return 0;
}

static int close_it(void **state)
{
    (void)state;
    rz_timeline_close(&timeline);
    return 0;
}

static void event(enum rz_event_record kind, uint32_t epoch, uint32_t rank, uint32_t incarnation,
                  uint64_t value, rz_time at)
{
    rz_timeline_event(&timeline, &(struct rz_launch_event){.kind = kind,
                                                           .epoch = epoch,
                                                           .rank = rank,
                                                           .incarnation = incarnation,
                                                           .value = value,
                                                           .at_ns = at,
                                                           .note = ""});
}

static void mark(uint32_t rank, uint32_t epoch, uint64_t iteration, rz_time at)
{
    rz_timeline_mark(&timeline,
                     &(struct rz_launch_mark){
                         .rank = rank, .epoch = epoch, .iteration = iteration, .at_ns = at});
}

static void is_ms(double value, double expected)
{
    assert_true(fabs(value - expected) < 1e-6);
}

/* Both ranks run, and have begun iteration 12; marks come every 10 ms from 100 ms on. */
static void begin(void)
{
    event(RZ_EVENT_RECORD_EPOCH, 1, RZ_ID_NONE, 0, 0, 1 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        event(RZ_EVENT_RECORD_BEGUN, 1, rank, 1, 0, 2 * MS);
        event(RZ_EVENT_RECORD_JOINED, 1, rank, 1, 0, 5 * MS);
        event(RZ_EVENT_RECORD_AT_START, 1, rank, 1, 0, 6 * MS);
    }
    event(RZ_EVENT_RECORD_RUN, 1, RZ_ID_NONE, 0, 0, 7 * MS);
    for (uint64_t i = 0; i <= 12; i++) {
        for (uint32_t rank = 2; rank-- > 0;) { /* the first one is received last */
            mark(rank, 1, i, (100 + 10 * i + rank) * MS);
        }
    }
}

/* Rank 1 fails at 225 ms and is begun again; to the barrier of epoch. */
static void recover(uint32_t epoch, uint32_t incarnation, rz_time from)
{
    event(RZ_EVENT_RECORD_FAILURE_NEWS, epoch - 1, 1, incarnation - 1, 0, from + 2 * MS);
    event(RZ_EVENT_RECORD_FAILURE_NEWS, epoch - 1, 1, incarnation - 1, 0, from + 3 * MS);
    event(RZ_EVENT_RECORD_EPOCH, epoch, RZ_ID_NONE, 0, 4, from + 5 * MS);
    event(RZ_EVENT_RECORD_EPOCH, epoch, RZ_ID_NONE, 0, 4, from + 4 * MS);
    event(RZ_EVENT_RECORD_BEGUN, epoch, 1, incarnation, 0, from + 6 * MS);
    event(RZ_EVENT_RECORD_AT_START, epoch, 0, 1, 0, from + 7 * MS);
    event(RZ_EVENT_RECORD_PROTECTED, epoch, RZ_ID_NONE, 0, 0, from + 8 * MS);
    event(RZ_EVENT_RECORD_JOINED, epoch, 1, incarnation, 0, from + 9 * MS);
    event(RZ_EVENT_RECORD_AT_START, epoch, 1, incarnation, 0, from + 10 * MS);
    event(RZ_EVENT_RECORD_RUN, epoch, RZ_ID_NONE, 0, 0, from + 11 * MS);
    event(RZ_EVENT_RECORD_RUN, epoch, RZ_ID_NONE, 0, 0, from + 12 * MS);
}

static void test_phases_of_a_global_restart(void **state)
{
    struct rz_recovery_times times = {0};
    (void)state;
    begin();
    assert_false(rz_timeline_take(&timeline, &times)); /* no process has failed */
    rz_timeline_failure(&timeline, 225 * MS, 0, true);
    rz_timeline_failure(&timeline, 0, 226 * MS, false);
    assert_false(rz_timeline_runs(&timeline));
    recover(2, 2, 225 * MS);
    assert_true(rz_timeline_runs(&timeline) && !rz_timeline_settled(&timeline));
    event(RZ_EVENT_RECORD_RESTORED, 2, 0, 1, 4, 239 * MS);
    assert_false(rz_timeline_settled(&timeline));
    event(RZ_EVENT_RECORD_RESTORED, 2, 1, 2, 4, 241 * MS);
    assert_true(rz_timeline_settled(&timeline));
    assert_true(rz_timeline_take(&timeline, &times));
    assert_true(times.way == RZ_RECOVERY_REINIT && times.epoch == 2 && times.generation == 4);
    assert_true(times.failures == 1 && times.rounds == 1);
    const double *ms = times.phase_ms;
    is_ms(ms[RZ_RECOVERY_DETECT], 1);
    is_ms(ms[RZ_RECOVERY_SPREAD], 2);
    is_ms(ms[RZ_RECOVERY_AGREE], 2);
    is_ms(ms[RZ_RECOVERY_PLACE], 1);
    is_ms(ms[RZ_RECOVERY_START], 4);
    is_ms(ms[RZ_RECOVERY_ROLL_BACK], 2); /* from the decision */
    is_ms(ms[RZ_RECOVERY_PROTECT], 3);
    is_ms(ms[RZ_RECOVERY_BARRIER], 2);
    is_ms(ms[RZ_RECOVERY_RESTORE], 4);
    assert_true(isnan(ms[RZ_RECOVERY_STOP]));
    is_ms(times.whole_ms, 12);
    assert_false(times.lost.known);                    /* none has said where it continues */
    assert_false(rz_timeline_take(&timeline, &times)); /* it was reported */
}

/* What the others say is read before the words of the observer: it is awaited, as long as the job
 * goes on. */
static void test_the_observer_is_read_last(void **state)
{
    struct rz_recovery_times times = {0};
    (void)state;
    begin();
    rz_timeline_failure(&timeline, 225 * MS, 0, true);
    recover(2, 2, 225 * MS);
    event(RZ_EVENT_RECORD_RESTORED, 2, 0, 1, 4, 239 * MS);
    event(RZ_EVENT_RECORD_RESTORED, 2, 1, 2, 4, 241 * MS);
    mark(0, 2, 9, 900 * MS);
    assert_true(rz_timeline_runs(&timeline) && !rz_timeline_settled(&timeline));
    rz_timeline_failure(&timeline, 0, 226 * MS, false);
    assert_true(rz_timeline_settled(&timeline));
    assert_true(rz_timeline_take(&timeline, &times));
    is_ms(times.phase_ms[RZ_RECOVERY_DETECT], 1);
    rz_timeline_failure(&timeline, 1000 * MS, 0, true); /* the observer fails before it says so */
    recover(3, 3, 1000 * MS);
    assert_true(rz_timeline_take(&timeline, &times));
    assert_true(isnan(times.phase_ms[RZ_RECOVERY_DETECT]) && times.seen == 1000 * MS);
}

/* The phases add up to the whole, whichever of those side by side is the last. */
static void test_the_sum_is_the_whole(void **state)
{
    struct rz_recovery_times times = {0};
    (void)state;
    begin();
    rz_timeline_failure(&timeline, 225 * MS, 226 * MS, true);
    recover(2, 2, 225 * MS);
    event(RZ_EVENT_RECORD_PROTECTED, 2, RZ_ID_NONE, 0, 0, 236 * MS); /* another node, later */
    assert_true(rz_timeline_take(&timeline, &times));
    const double *ms = times.phase_ms;
    is_ms(ms[RZ_RECOVERY_PROTECT], 6);
    is_ms(ms[RZ_RECOVERY_DETECT] + ms[RZ_RECOVERY_SPREAD] + ms[RZ_RECOVERY_AGREE] +
              ms[RZ_RECOVERY_PROTECT] + ms[RZ_RECOVERY_BARRIER],
          times.whole_ms);
}

static void test_lost_work(void **state)
{
    struct rz_recovery_times times = {0};
    (void)state;
    begin();
    rz_timeline_failure(&timeline, 225 * MS, 226 * MS, true);
    mark(0, 1, 13, 230 * MS); /* a survivor that had not noticed */
    recover(2, 2, 225 * MS);
    mark(1, 2, 9, 242 * MS);
    assert_false(rz_timeline_settled(&timeline)); /* rank 0 may be about to begin an earlier one */
    mark(0, 2, 8, 243 * MS);
    assert_true(rz_timeline_settled(&timeline) && rz_timeline_take(&timeline, &times));
    assert_true(times.lost.known && times.lost.from == 8 && times.lost.to == 13);
    is_ms(times.lost.seconds * 1000, 225 - 180); /* the first process began it at 180 ms */
    /* From then on the second incarnation counts. */
    mark(0, 2, 9, 250 * MS);
    rz_timeline_failure(&timeline, 0, 260 * MS, true);
    recover(3, 3, 260 * MS);
    mark(0, 3, 8, 280 * MS);
    mark(1, 3, 8, 280 * MS);
    assert_true(rz_timeline_take(&timeline, &times));
    assert_true(times.lost.from == 8 && times.lost.to == 9 && isnan(times.phase_ms[0]));
    is_ms(times.lost.seconds * 1000, 260 - 243);
}

/* Sent before the roll-back, and received after the decision: it belongs to the time before. */
static void test_a_late_mark(void **state)
{
    struct rz_recovery_times times = {0};
    (void)state;
    begin();
    rz_timeline_failure(&timeline, 225 * MS, 226 * MS, true);
    event(RZ_EVENT_RECORD_EPOCH, 2, RZ_ID_NONE, 0, 4, 230 * MS);
    mark(0, 2, 14, 231 * MS);
    event(RZ_EVENT_RECORD_AT_START, 2, 0, 1, 0, 232 * MS);
    event(RZ_EVENT_RECORD_JOINED, 2, 1, 2, 0, 234 * MS);
    event(RZ_EVENT_RECORD_AT_START, 2, 1, 2, 0, 235 * MS);
    event(RZ_EVENT_RECORD_RUN, 2, RZ_ID_NONE, 0, 0, 236 * MS);
    mark(0, 2, 10, 240 * MS);
    mark(1, 2, 10, 240 * MS);
    assert_true(rz_timeline_take(&timeline, &times));
    assert_true(times.lost.from == 10 && times.lost.to == 14);
}

/* A second failure: marks of survivors before its decision are not where they continue. */
static void test_marks_between_two_recoveries(void **state)
{
    struct rz_recovery_times times = {0};
    (void)state;
    begin();
    rz_timeline_failure(&timeline, 225 * MS, 226 * MS, true);
    recover(2, 2, 225 * MS);
    mark(0, 2, 8, 243 * MS);
    mark(1, 2, 8, 243 * MS);
    assert_true(rz_timeline_take(&timeline, &times));
    rz_timeline_failure(&timeline, 0, 260 * MS, true);
    mark(0, 2, 9, 261 * MS);
    recover(3, 3, 260 * MS);
    mark(0, 3, 10, 280 * MS);
    mark(1, 3, 10, 280 * MS);
    assert_true(rz_timeline_take(&timeline, &times));
    assert_true(times.rounds == 1 && times.lost.from == 10 && times.lost.to == 10);
    assert_true(times.lost.seconds == 0);
}

/* The events of each node arrive in order, those of different nodes in any order. */
static void test_the_decision_is_heard_before_the_notice(void **state)
{
    struct rz_recovery_times times = {0};
    (void)state;
    begin();
    event(RZ_EVENT_RECORD_FAILURE_NEWS, 1, 1, 1, 0, 228 * MS);
    event(RZ_EVENT_RECORD_EPOCH, 2, RZ_ID_NONE, 0, 4, 230 * MS);
    event(RZ_EVENT_RECORD_AT_START, 2, 0, 1, 0, 232 * MS);
    rz_timeline_failure(&timeline, 0, 226 * MS, true);
    event(RZ_EVENT_RECORD_EPOCH, 2, RZ_ID_NONE, 0, 4, 229 * MS);
    event(RZ_EVENT_RECORD_RUN, 2, RZ_ID_NONE, 0, 0, 240 * MS);
    assert_true(rz_timeline_take(&timeline, &times));
    assert_true(times.failures == 1 && times.rounds == 1);
    is_ms(times.phase_ms[RZ_RECOVERY_SPREAD], 2);
    is_ms(times.phase_ms[RZ_RECOVERY_AGREE], 2);
    is_ms(times.phase_ms[RZ_RECOVERY_ROLL_BACK], 2);
    is_ms(times.whole_ms, 14);
}

static void test_a_failure_in_the_recovery(void **state)
{
    struct rz_recovery_times times = {0};
    (void)state;
    begin();
    rz_timeline_failure(&timeline, 0, 226 * MS, true);
    event(RZ_EVENT_RECORD_EPOCH, 2, RZ_ID_NONE, 0, 4, 230 * MS);
    event(RZ_EVENT_RECORD_AT_START, 2, 0, 1, 0, 231 * MS);
    rz_timeline_failure(&timeline, 0, 232 * MS, true); /* of the new one */
    recover(3, 3, 232 * MS);
    event(RZ_EVENT_RECORD_RUN, 2, RZ_ID_NONE, 0, 0,
          500 * MS); /* of the round that came to nothing */
    assert_true(rz_timeline_take(&timeline, &times));
    assert_true(times.failures == 2 && times.rounds == 2 && times.epoch == 3);
    assert_true(times.seen == 226 * MS && times.run == 244 * MS);
    is_ms(times.whole_ms, 18);
}

static void test_a_damaged_checkpoint(void **state)
{
    struct rz_recovery_times times = {0};
    char *text = NULL;
    size_t bytes;
    (void)state;
    begin();
    rz_timeline_failure(&timeline, 0, 226 * MS, true);
    event(RZ_EVENT_RECORD_EPOCH, 2, RZ_ID_NONE, 0, 4, 230 * MS);
    event(RZ_EVENT_RECORD_EPOCH, 3, RZ_ID_NONE, 0, 3, 231 * MS);
    event(RZ_EVENT_RECORD_FELL_BACK, 3, RZ_ID_NONE, 0, 4, 231 * MS);
    event(RZ_EVENT_RECORD_FELL_BACK, 2, RZ_ID_NONE, 0, 5, 232 * MS); /* of a round that is over */
    event(RZ_EVENT_RECORD_EPOCH, 4, RZ_ID_NONE, 0, 3, 233 * MS);     /* another failure */
    recover(4, 2, 233 * MS);
    assert_true(rz_timeline_take(&timeline, &times));
    assert_true(times.rounds == 3 && times.generation == 3 && times.damaged == 4);
    FILE *out = open_memstream(&text, &bytes);
    rz_recovery_times_record(&times, out);
    rz_recovery_tell(&times, out);
    fclose(out);
    assert_non_null(strstr(text, " generation=3 damaged_generation=4 "));
    assert_non_null(
        strstr(text, "\n            checkpoint 4 could not be restored: back to the one before\n"));
    free(text);
    rz_timeline_failure(&timeline, 0, 300 * MS, true);
    recover(5, 3, 300 * MS);
    assert_true(rz_timeline_take(&timeline, &times) && times.damaged == 0);
}

static void test_replacement(void **state)
{
    struct rz_recovery_times times = {0};
    (void)state;
    begin();
    rz_timeline_failure(&timeline, 225 * MS, 226 * MS, true);
    event(RZ_EVENT_RECORD_FAILURE_NEWS, 1, 1, 1, 0, 227 * MS);
    event(RZ_EVENT_RECORD_SPAWNED, 1, 1, 2, RZ_START_REPLACES, 229 * MS);
    event(RZ_EVENT_RECORD_SPAWNED, 1, 1, 2, RZ_START_REPLACES, 230 * MS); /* another node reports */
    event(RZ_EVENT_RECORD_BEGUN, 1, 1, 2, 0, 231 * MS);
    assert_false(rz_timeline_runs(&timeline));
    event(RZ_EVENT_RECORD_JOINED, 1, 1, 2, 0, 235 * MS);
    assert_true(rz_timeline_runs(&timeline) && !rz_timeline_settled(&timeline));
    mark(1, 1, 10, 240 * MS);
    assert_true(rz_timeline_settled(&timeline) && rz_timeline_take(&timeline, &times));
    assert_true(times.way == RZ_RECOVERY_REPLACE && times.lost.from == 10 && times.lost.to == 12);
    is_ms(times.phase_ms[RZ_RECOVERY_AGREE], 3);
    is_ms(times.phase_ms[RZ_RECOVERY_PLACE], 1);
    is_ms(times.phase_ms[RZ_RECOVERY_START], 4);
    assert_true(isnan(times.phase_ms[RZ_RECOVERY_BARRIER]));
    is_ms(times.whole_ms, 10);
}

static void test_the_job_restarted(void **state)
{
    struct rz_recovery_times before = {0}, times = {0};
    (void)state;
    begin();
    assert_false(rz_timeline_again(&timeline, 300 * MS, &before));
    rz_timeline_failure(&timeline, 225 * MS, 226 * MS, true);
    assert_true(rz_timeline_again(&timeline, 300 * MS, &before));
    rz_timeline_close(&timeline);
    rz_timeline_open(&timeline, 2, &work, &before);
    event(RZ_EVENT_RECORD_EPOCH, 1, RZ_ID_NONE, 0, 0, 310 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        event(RZ_EVENT_RECORD_BEGUN, 1, rank, 1, 0, 312 * MS);
        event(RZ_EVENT_RECORD_JOINED, 1, rank, 1, 0, 317 * MS);
        event(RZ_EVENT_RECORD_AT_START, 1, rank, 1, 0, 318 * MS);
    }
    event(RZ_EVENT_RECORD_RUN, 1, RZ_ID_NONE, 0, 0, 319 * MS);
    mark(0, 1, 12, 330 * MS);
    mark(1, 1, 12, 330 * MS);
    assert_true(rz_timeline_settled(&timeline) && rz_timeline_take(&timeline, &times));
    assert_true(times.way == RZ_RECOVERY_RESTART && times.failures == 1);
    is_ms(times.phase_ms[RZ_RECOVERY_STOP], 74);
    is_ms(times.phase_ms[RZ_RECOVERY_PLACE], 12);
    is_ms(times.phase_ms[RZ_RECOVERY_START], 6);
    is_ms(times.phase_ms[RZ_RECOVERY_BARRIER], 1);
    is_ms(times.whole_ms, 94);
    assert_true(times.lost.from == 12 && times.lost.to == 12);
    is_ms(times.lost.seconds * 1000, 225 - 220);
}

/* Of very many iterations only some dates are kept; between them time is taken in proportion. */
static void test_very_many_iterations(void **state)
{
    const uint64_t many = 10 * RZ_WORK_DATES_MAX;
    struct rz_work_lost lost;
    (void)state;
    for (uint64_t i = 0; i <= many; i++) {
        rz_work_mark(&work, i, (i + 1) * MS);
    }
    assert_true(work.n <= RZ_WORK_DATES_MAX);
    rz_work_failed(&work, (many + 2) * MS);
    for (uint64_t again = 1; again < many; again = again * 3 + 1) {
        struct rz_work copy = work;
        rz_work_resume(&copy, again, (many + 10) * MS);
        lost = rz_work_lost(&copy);
        assert_true(lost.known && lost.from == again && lost.to == many);
        is_ms(lost.seconds * 1000, (double)(many + 2 - (again + 1)));
    }
}

static void test_lines(void **state)
{
    struct rz_recovery_times times = {0};
    char *text = NULL;
    size_t bytes;
    (void)state;
    begin();
    rz_timeline_failure(&timeline, 225 * MS, 226 * MS, true);
    recover(2, 2, 225 * MS);
    mark(0, 2, 8, 243 * MS);
    mark(1, 2, 8, 243 * MS);
    assert_true(rz_timeline_take(&timeline, &times));
    FILE *out = open_memstream(&text, &bytes);
    rz_recovery_times_record(&times, out);
    rz_recovery_tell(&times, out);
    fclose(out);
    assert_string_equal(
        text, "event=recovery way=reinit epoch=2 failures=1 rounds=1 generation=4 detect_ms=1.000 "
              "spread_ms=2.000 agree_ms=2.000 place_ms=1.000 start_ms=4.000 roll_back_ms=2.000 "
              "protect_ms=3.000 barrier_ms=2.000 whole_ms=12.000 newest_iteration=12 "
              "again_iteration=8 lost_iterations=4 lost_s=0.045000\n"
              "            detect 1.00, spread 2.00, agree 2.00, place 1.00, start 4.00, roll back "
              "2.00, protect 3.00, barrier 2.00 ms\n"
              "            continues with iteration 8 of 12: 4 lost, 0.045 s of work\n");
    free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_two, close_it)
    const struct CMUnitTest tests[] = {TEST(test_phases_of_a_global_restart),
                                       TEST(test_the_observer_is_read_last),
                                       TEST(test_the_sum_is_the_whole),
                                       TEST(test_lost_work),
                                       TEST(test_a_late_mark),
                                       TEST(test_marks_between_two_recoveries),
                                       TEST(test_the_decision_is_heard_before_the_notice),
                                       TEST(test_a_failure_in_the_recovery),
                                       TEST(test_a_damaged_checkpoint),
                                       TEST(test_replacement),
                                       TEST(test_the_job_restarted),
                                       TEST(test_very_many_iterations),
                                       TEST(test_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
