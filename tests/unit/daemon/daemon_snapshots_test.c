/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshots that processes ask their daemons for, and the places of their output. */
#include "fake_launcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EXIT_STATUS(code) ((code) << 8)
#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static int nothing_left(void **state)
{
    (void)state;
    fake_assert_nothing_left("after the test");
    return 0;
}

/* Each rank runs its own words. */
static void run(struct fake_job *job, uint32_t nodes, uint32_t flags, const char *words_of_0,
                const char *words_of_1)
{
    fake_start(job, nodes);
    job->flags = RZ_JOB_REWIND | flags;
    job->environment = (const char *const[]){words_of_0, words_of_1, NULL};
    fake_run(job, 2,
             ARGUMENTS("sh", "-c",
                       "if [ $RZ_RANK = 0 ]; then exec " TEST_HELPER " $WORDS_0; fi; "
                       "exec " TEST_HELPER " $WORDS_1"));
}

static void await_both_ends(struct fake_job *job)
{
    for (uint32_t rank = 0; rank < 2; rank++) {
        fake_await_exit(job, rank, 0, true, true);
    }
    fake_end(job, 0);
}

static void a_wish_reaches_the_boards_of_all_nodes(void **state)
{
    struct fake_job job;
    (void)state;
    run(&job, 2, 0, "WORDS_0=join enter wished:1 leave bye",
        "WORDS_1=join enter wish wished:1 leave bye");
    await_both_ends(&job);
}

static void wishes_while_one_is_under_way_add_none(void **state)
{
    struct fake_job job;
    (void)state;
    run(&job, 1, 0,
        "WORDS_0=join enter wish wish wish wished:1 mark wished:1 over:1 wish wished:2 leave bye",
        "WORDS_1=join enter wished:2 leave bye");
    await_both_ends(&job);
}

static void the_next_one_comes_no_sooner_than_twice_what_a_refused_one_took(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    job.flags = RZ_JOB_REWIND;
    job.rewind_ns = RZ_MILLISECOND;
    fake_run(&job, 1,
             ARGUMENTS(TEST_HELPER, "join", "enter", "wished:1", "slow:400", "leave", "bye"));
    fake_await_exit(&job, 0, 0, true, true);
    fake_end(&job, 0);
}

/* The images of all ranks, the last one's too, are safe before. */
static void the_next_one_comes_after_the_commit(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    job.flags = RZ_JOB_REWIND;
    job.rewind_ns = RZ_MILLISECOND;
    job.environment = (const char *const[]){
        "WORDS_0=join enter wished:1 store:right imaged:1 unwished:2 leave bye",
        "WORDS_1=join enter wished:1 pause:300 store:right imaged:1 wished:2 leave bye", NULL};
    fake_run(&job, 2,
             ARGUMENTS("sh", "-c",
                       "if [ $RZ_RANK = 0 ]; then exec " TEST_HELPER " $WORDS_0; fi; "
                       "exec " TEST_HELPER " $WORDS_1"));
    await_both_ends(&job);
}

/* Of an attempt that nobody has asked for, or of an image that it has not sent: the next snapshots
 * would wait for it. */
static void a_lie_about_an_attempt_ends_the_liar(void **state)
{
    static const char *const lies[] = {"LIE=over:4294967295", "LIE=imaged:1"};
    (void)state;
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        struct fake_job job;
        fake_start(&job, 2);
        job.flags = RZ_JOB_REWIND;
        job.environment = (const char *const[]){lies[i], NULL};
        fake_run(&job, 2,
                 ARGUMENTS("sh", "-c",
                           "if [ $RZ_INCARNATION = 2 ]; then "
                           "  exec " TEST_HELPER
                           " join repairing enter wish wished:1 say:anew serve; fi; "
                           "if [ $RZ_RANK = 0 ]; then exec " TEST_HELPER
                           " join repairing enter wish wished:1 serve; fi; "
                           "exec " TEST_HELPER " join repairing enter wished:1 $LIE serve"));
        fake_await_line(&job, 0, "anew 0 2 2");
        fake_await_line(&job, 1, "anew 1 2 2");
        fake_vanish(&job);
        fake_free(&job);
    }
}

static void numbers_begin_anew_with_the_epoch(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    job.flags = RZ_JOB_REWIND;
    fake_run(&job, 2,
             ARGUMENTS("sh", "-c",
                       "if [ $RZ_INCARNATION = 2 ]; then "
                       "  exec " TEST_HELPER
                       " join repairing enter wish wished:1 say:anew serve; fi; "
                       "if [ $RZ_RANK = 0 ]; then exec " TEST_HELPER
                       " join repairing enter wish wished:1 over:1 wish wished:2 kill; fi; "
                       "exec " TEST_HELPER " join repairing enter serve"));
    fake_await_line(&job, 0, "anew 0 2 2");
    fake_await_line(&job, 1, "anew 1 2 2");
    fake_vanish(&job);
    fake_free(&job);
}

static void output_is_counted_from_where_a_process_says(void **state)
{
    struct fake_job job;
    (void)state;
    run(&job, 1, 0, "WORDS_0=join enter say:a mark begin-at:1000 mark say:b mark leave bye",
        "WORDS_1=join enter mark leave bye");
    fake_await_line(&job, 0, "marked 8 0"); /* "a 0 1 1" and its end */
    fake_await_line(&job, 0, "marked 1000 0");
    fake_await_line(&job, 0, "marked 1022 0"); /* behind that line and "b 0 1 1" */
    fake_await_line(&job, 1, "marked 0 0");
    await_both_ends(&job);
}

static bool is_empty_at(const struct rz_launch_message *message, const void *place)
{
    return message->type == RZ_LAUNCH_OUTPUT && message->output.data_length == 0 &&
           message->output.rank == 0 && message->output.at == *(const uint64_t *)place;
}

static void a_place_is_told_at_once_where_rzrun_holds_output(void **state)
{
    static const uint64_t place = 1000;
    struct fake_job job;
    (void)state;
    run(&job, 1, RZ_JOB_HOLD_OUTPUT, "WORDS_0=join enter begin-at:1000 leave bye",
        "WORDS_1=join enter leave bye");
    struct fake_message *m = fake_await_match(&job, "an empty output", is_empty_at, &place);
    assert_int_equal(m->message.output.epoch, 1);
    free(m);
    await_both_ends(&job);
}

static bool is_safe_of(const struct rz_launch_message *message, const void *rank)
{
    return message->type == RZ_LAUNCH_OUTPUT_SAFE &&
           message->output_safe.rank == *(const uint32_t *)rank;
}

static void what_is_in_committed_images_is_safe(void **state)
{
    static const uint64_t written[2] = {8, 0}; /* "a 0 1 1" and its end */
    struct fake_job job;
    (void)state;
    run(&job, 2, RZ_JOB_HOLD_OUTPUT,
        "WORDS_0=join repairing enter say:a mark store:right say:b serve",
        "WORDS_1=join repairing enter mark store:right serve");
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct fake_message *m = fake_await_match(&job, "what is safe", is_safe_of, &rank);
        assert_int_equal(m->message.output_safe.out, written[rank]);
        assert_int_equal(m->message.output_safe.error, 0);
        free(m);
    }
    fake_vanish(&job);
    fake_free(&job);
}

/* A generation; then rank 0 fails, and the process in place of rank 1 does what `words` say. Those
 * after it get the generation `before`. */
static void restore(struct fake_job *job, const char *words, const char *before)
{
    fake_start(job, 2);
    job->flags = RZ_JOB_REWIND;
    job->environment = (const char *const[]){words, before, NULL};
    fake_run(
        job, 2,
        ARGUMENTS("sh", "-c",
                  "case $RZ_INCARNATION.$RZ_RANK in"
                  "  1.0) exec " TEST_HELPER " join repairing enter store:right committed:1 kill;;"
                  "  1.1) exec " TEST_HELPER " join repairing enter store:right serve;;"
                  "  2.0) exec " TEST_HELPER " join repairing want got:1 enter serve;;"
                  "  2.1) exec " TEST_HELPER " join repairing want got:1 $WORDS;;"
                  "esac;"
                  "exec " TEST_HELPER " join repairing want got:$BEFORE enter say:anew serve"));
    fake_await_line(job, 0, "anew 0 3 3");
    fake_await_line(job, 1, "anew 1 3 3");
}

static bool is_given_up(const struct rz_launch_message *message, const void *arg)
{
    return message->type == RZ_LAUNCH_EVENT && message->event.kind == RZ_EVENT_RECORD_FELL_BACK &&
           message->event.value == *(const uint64_t *)arg;
}

static void an_image_of_no_use_is_given_up(void **state)
{
    static const char *const ways[] = {"WORDS=exit:99", "WORDS=unrestored exit:1",
                                       "WORDS=unrestored serve"};
    static const uint64_t given_up = 1;
    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        struct fake_job job;
        restore(&job, ways[i], "BEFORE=0");
        free(fake_await_match(&job, "the record", is_given_up, &given_up));
        fake_vanish(&job);
        fake_free(&job);
    }
}

/* A failure while it is restored says nothing of the image. */
static void a_killed_process_gets_the_same_image_again(void **state)
{
    struct fake_job job;
    (void)state;
    restore(&job, "WORDS=kill", "BEFORE=1");
    fake_vanish(&job);
    fake_free(&job);
}

static void a_job_that_must_be_saved_ends_when_a_rank_cannot_be(void **state)
{
    struct fake_job job;
    (void)state;
    run(&job, 1, RZ_JOB_REWIND_OR_ABORT, "WORDS_0=join enter serve",
        "WORDS_1=join enter unsaved serve");
    struct fake_message *m = fake_await(&job, RZ_LAUNCH_ABORTED);
    assert_int_equal(m->message.aborted.rank, 1);
    assert_int_equal(m->message.aborted.code, EXIT_FAILURE);
    assert_non_null(strstr(m->message.aborted.reason, "--rewind-or-abort"));
    assert_non_null(strstr(m->message.aborted.reason, "it has a socket"));
    free(m);
    fake_end(&job, 0);
}

static void any_other_job_goes_on(void **state)
{
    struct fake_job job;
    (void)state;
    run(&job, 1, 0, "WORDS_0=join enter leave bye", "WORDS_1=join enter unsaved leave bye");
    await_both_ends(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_wish_reaches_the_boards_of_all_nodes, nothing_left),
        cmocka_unit_test_teardown(wishes_while_one_is_under_way_add_none, nothing_left),
        cmocka_unit_test_teardown(the_next_one_comes_no_sooner_than_twice_what_a_refused_one_took,
                                  nothing_left),
        cmocka_unit_test_teardown(the_next_one_comes_after_the_commit, nothing_left),
        cmocka_unit_test_teardown(a_lie_about_an_attempt_ends_the_liar, nothing_left),
        cmocka_unit_test_teardown(numbers_begin_anew_with_the_epoch, nothing_left),
        cmocka_unit_test_teardown(output_is_counted_from_where_a_process_says, nothing_left),
        cmocka_unit_test_teardown(a_place_is_told_at_once_where_rzrun_holds_output, nothing_left),
        cmocka_unit_test_teardown(what_is_in_committed_images_is_safe, nothing_left),
        cmocka_unit_test_teardown(an_image_of_no_use_is_given_up, nothing_left),
        cmocka_unit_test_teardown(a_killed_process_gets_the_same_image_again, nothing_left),
        cmocka_unit_test_teardown(a_job_that_must_be_saved_ends_when_a_rank_cannot_be,
                                  nothing_left),
        cmocka_unit_test_teardown(any_other_job_goes_on, nothing_left),
    };
    fake_adopt();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
