/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks of files: with two nodes before the process goes on, and who is told to restore them. */
#include "fake_launcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static int nothing_left(void **state)
{
    (void)state;
    unsetenv("RZ_FILE_MARKS_EACH");
    unsetenv("RZ_FILE_CONTENTS_EACH");
    fake_assert_nothing_left("after the test");
    return 0;
}

/* Each rank runs its own words. */
static void run(struct fake_job *job, uint32_t nodes, uint32_t flags, const char *words_of_0,
                const char *words_of_1)
{
    fake_start(job, nodes);
    job->flags = flags;
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

/* Three nodes, of which the first one fails when rank 0 has said so. Then the next one, which has
 * its marks, runs the ranks 0 and 1. */
static void run_until_node_0_fails(struct fake_job *job, const char *words_of_0,
                                   const char *words_of_1, const char *words_then)
{
    fake_start(job, 3);
    job->flags = RZ_JOB_REWIND;
    job->environment = (const char *const[]){words_of_0, words_of_1, words_then, NULL};
    fake_run(job, 3,
             ARGUMENTS("sh", "-c",
                       "case $RZ_INCARNATION.$RZ_RANK in"
                       "  1.0) exec " TEST_HELPER " join repairing enter $WORDS_0 say:made serve;;"
                       "  1.1) exec " TEST_HELPER " join repairing enter $WORDS_1 serve;;"
                       "  1.2) exec " TEST_HELPER " join repairing enter serve;;"
                       "  *.2) exec " TEST_HELPER " join repairing want enter serve;;"
                       "esac;"
                       "exec " TEST_HELPER
                       " join repairing want $WORDS_THEN enter say:anew serve"));
    fake_await_line(job, 0, "made 0 1 1");
    const struct rz_launch_message inject = {.type = RZ_LAUNCH_INJECT,
                                             .inject = {.what = RZ_INJECT_KILL_NODE}};
    fake_send(job, 0, &inject);
}

static void end_on_node_1(struct fake_job *job)
{
    fake_await_line(job, 0, "anew 0 2 2");
    fake_await_line(job, 1, "anew 1 2 2");
    fake_vanish(job);
    fake_free(job);
}

static void another_node_has_it_before_the_process_goes_on(void **state)
{
    struct fake_job job;
    (void)state;
    run_until_node_0_fails(&job, "WORDS_0=file-mark:5,100",
                           "WORDS_1=", "WORDS_THEN=file-marks:0 file-marks:1");
    fake_await_line(&job, 0, "marks of-0:100\nmarks of-0:100\n");
    fake_await_line(&job, 1, "marks\nmarks\n"); /* one process restores it */
    end_on_node_1(&job);
}

/* The wish tells rank 1 that the mark is made. */
static void while_a_node_lives_no_other_one_restores(void **state)
{
    struct fake_job job;
    (void)state;
    run(&job, 2, RZ_JOB_REWIND, "WORDS_0=join enter file-mark:5,100 wish wished:1 leave bye",
        "WORDS_1=join enter wished:1 file-marks:0 file-marks:1 say:none leave bye");
    fake_await_line(&job, 1, "marks\nmarks\nnone 1 1 1");
    await_both_ends(&job);
}

static void each_rank_of_a_node_is_told_its_own(void **state)
{
    struct fake_job job;
    (void)state;
    run(&job, 1, RZ_JOB_REWIND,
        "WORDS_0=join enter file-mark:5,100 file-mark:6,120 wish wished:1 file-marks:0 leave bye",
        "WORDS_1=join enter file-mark:5,9 wished:1 file-marks:0 leave bye");
    fake_await_line(&job, 0, "marks of-0:100 of-0:120");
    fake_await_line(&job, 1, "marks of-1:9");
    await_both_ends(&job);
}

static void only_those_of_what_is_rolled_back(void **state)
{
    struct fake_job job;
    (void)state;
    run(&job, 1, RZ_JOB_REWIND,
        "WORDS_0=join enter file-mark:5,100 file-mark:6,120 file-mark:6,110 file-marks:6 leave bye",
        "WORDS_1=join enter leave bye");
    fake_await_line(&job, 0, "marks of-0:110"); /* the least length of a moment */
    await_both_ends(&job);
}

static void files_that_are_gone_push_no_mark_out(void **state)
{
    struct fake_job job;
    (void)state;
    setenv("RZ_FILE_MARKS_EACH", "8", 1);
    run(&job, 2, RZ_JOB_REWIND,
        "WORDS_0=join enter file-mark:5,100 new-files:5,50 file-marks:1 leave bye",
        "WORDS_1=join enter leave bye");
    fake_await_line(&job, 0, "marks of-0:100");
    await_both_ends(&job);
}

/* The first content of a moment; and no more of it than the file had when it was marked first. */
static void the_content_is_kept_by_two_nodes(void **state)
{
    struct fake_job job;
    (void)state;
    run_until_node_0_fails(
        &job,
        "WORDS_0=file-content:5,1 file-again:5,1 file-length:5,1 file-again:6,1 file-length:6,2 "
        "file-content:6,2 file-marks:5",
        "WORDS_1=", "WORDS_THEN=file-marks:6");
    fake_await_line(&job, 0, "marks of-0-1=content of-0-1=another of-0-2=con");
    fake_await_line(&job, 0, "marks of-0-1=another of-0-2=con");
    end_on_node_1(&job);
}

/* Room for two at each node: the oldest one loses it. Each rank has its own room. */
static void the_oldest_content_is_dropped(void **state)
{
    struct fake_job job;
    (void)state;
    setenv("RZ_FILE_CONTENTS_EACH", "14", 1);
    run_until_node_0_fails(
        &job,
        "WORDS_0=file-content:5,1 file-content:5,2 file-marks:5 file-content:6,3 file-marks:5 "
        "file-marks:6",
        "WORDS_1=file-content:7,7", "WORDS_THEN=file-marks:5");
    fake_await_line(&job, 0, "marks of-0-1=content of-0-2=content");
    fake_await_line(&job, 0, "marks of-0-1! of-0-2=content of-0-3=content");
    fake_await_line(&job, 0, "marks of-0-3=content");
    fake_await_line(&job, 0, "marks of-0-1! of-0-2=content of-0-3=content");
    fake_await_line(&job, 1, "marks of-1-7=content");
    end_on_node_1(&job);
}

/* Its sender is no process of this library; the daemon and the other rank go on. */
static void too_long_a_content_ends_its_process(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    job.flags = RZ_JOB_REWIND;
    fake_run(&job, 2,
             ARGUMENTS("sh", "-c",
                       "case $RZ_INCARNATION.$RZ_RANK in"
                       "  1.0) exec " TEST_HELPER
                       " join repairing enter file-lost:5 say:wrong serve;;"
                       "  1.1) exec " TEST_HELPER " join repairing enter serve;;"
                       "esac;"
                       "exec " TEST_HELPER " join repairing want got:0 enter say:anew serve"));
    fake_await_line(&job, 0, "anew 0 2 2");
    fake_await_line(&job, 1, "anew 1 2 2");
    fake_vanish(&job);
    fake_free(&job);
}

static bool is_given_up(const struct rz_launch_message *message, const void *arg)
{
    (void)arg;
    return message->type == RZ_LAUNCH_EVENT && message->event.kind == RZ_EVENT_RECORD_FELL_BACK;
}

/* Rank 1's marks stay; the job goes back to no snapshot before those of rank 0, but begins at its
 * start. */
static void without_a_mark_no_image_is_restored(void **state)
{
    struct fake_job job;
    (void)state;
    setenv("RZ_FILE_MARKS_EACH", "2", 1);
    fake_start(&job, 2);
    job.flags = RZ_JOB_REWIND;
    fake_run(&job, 2,
             ARGUMENTS("sh", "-c",
                       "case $RZ_INCARNATION.$RZ_RANK in"
                       "  1.0) exec " TEST_HELPER
                       " join repairing enter store:right committed:1 file-mark:1,1 file-mark:1,2"
                       " kill;;"
                       "  1.1) exec " TEST_HELPER
                       " join repairing enter store:right file-mark:1,9 serve;;"
                       "esac;"
                       "exec " TEST_HELPER
                       " join repairing want file-marks:1 enter say:anew serve"));
    fake_await_line(&job, 0, "anew 0 2 2");
    fake_await_line(&job, 1, "anew 1 2 2");
    fake_vanish(&job);
    fake_free(&job);
    fake_start(&job, 2);
    job.flags = RZ_JOB_REWIND;
    fake_run(&job, 2,
             ARGUMENTS("sh", "-c",
                       "case $RZ_INCARNATION.$RZ_RANK in"
                       "  1.0) exec " TEST_HELPER
                       " join repairing enter store:right committed:1 other-marks:1,3 kill;;"
                       "  1.1) exec " TEST_HELPER
                       " join repairing enter store:right file-mark:1,9 serve;;"
                       "  2.*) exec " TEST_HELPER
                       " join repairing want got:1 file-marks:1 say:wrong serve;;"
                       "esac;"
                       "exec " TEST_HELPER " join repairing want got:0 enter say:anew serve"));
    free(fake_await_match(&job, "the record", is_given_up, NULL));
    fake_await_line(&job, 0, "anew 0 3 3");
    fake_await_line(&job, 1, "anew 1 3 3");
    fake_vanish(&job);
    fake_free(&job);
}

/* The next nodes keep the marks of one each. */
static void two_ranks_give_one_name(void **state)
{
    struct fake_job job;
    const struct rz_launch_message kill = {.type = RZ_LAUNCH_INJECT,
                                           .inject = {.what = RZ_INJECT_KILL_RANK, .rank = 0}};
    (void)state;
    fake_start(&job, 4);
    job.flags = RZ_JOB_REWIND;
    fake_run(&job, 4,
             ARGUMENTS("sh", "-c",
                       "T='" TEST_HELPER " join repairing';"
                       "case $RZ_INCARNATION.$RZ_RANK in"
                       "  1.0|1.2) exec $T enter store:right committed:1 file-renamed:1,/a"
                       " say:made serve;;"
                       "  1.*) exec $T enter store:right serve;;"
                       "  2.*) exec $T want got:1 file-marks:1 say:wrong serve;;"
                       "esac;"
                       "exec $T want got:0 enter say:anew serve"));
    fake_await_line(&job, 0, "made 0 1 1");
    fake_await_line(&job, 2, "made 2 1 1");
    fake_send(&job, 0, &kill);
    free(fake_await_match(&job, "the record", is_given_up, NULL));
    fake_await_line(&job, 0, "anew 0 3 3");
    fake_await_line(&job, 2, "anew 2 3 3");
    fake_vanish(&job);
    fake_free(&job);
}

/* What the last one has done before is known to all that go on: at the node that answers, which
 * hears it first, and at those that hear of it there. */
static void nobody_goes_on_before_all_have_restored(void **state)
{
    struct fake_job job;
    (void)state;
    for (unsigned last = 0; last < 2; last++) {
        fake_start(&job, 3);
        job.flags = RZ_JOB_REWIND;
        job.environment = (const char *const[]){last == 0 ? "LAST=2" : "LAST=0",
                                                last == 0 ? "KNOWS=0" : "KNOWS=12", NULL};
        fake_run(&job, 3,
                 ARGUMENTS("sh", "-c",
                           "T='exec " TEST_HELPER " join enter';"
                           "case $RZ_RANK in"
                           "  $LAST) $T pause:200 wish files-restored leave bye;;"
                           "  [$KNOWS]) $T files-restored is-wished:1 leave bye;;"
                           "esac;"
                           "$T files-restored leave bye"));
        for (uint32_t rank = 0; rank < 3; rank++) {
            fake_await_exit(&job, rank, 0, true, true);
        }
        fake_end(&job, 0);
    }
}

/* Those of moment 1 are older than both images. The first one is that of epoch 1, attempt 1. */
static void what_no_image_needs_is_forgotten(void **state)
{
    struct fake_job job;
    (void)state;
    run(&job, 2, RZ_JOB_REWIND,
        "WORDS_0=join enter file-mark:1,100 file-content:1,1 wish wished:1 store:right imaged:1 "
        "committed:1 file-mark:4294967297,7 file-marks:1 wish wished:2 store:next imaged:2 "
        "committed:2 file-marks:1 leave bye",
        "WORDS_1=join enter wished:1 store:right imaged:1 committed:1 wished:2 store:next imaged:2 "
        "committed:2 leave bye");
    fake_await_line(&job, 0, "marks of-0:100 of-0-1=content of-0:7");
    fake_await_line(&job, 0, "marks of-0:7");
    await_both_ends(&job);
}

/* It runs, or speaks of an epoch that is not: what another one is to restore stays for that one. */
static void who_restores_nothing_takes_no_marks(void **state)
{
    struct fake_job job;
    const struct rz_launch_message kill_node = {.type = RZ_LAUNCH_INJECT,
                                                .inject = {.what = RZ_INJECT_KILL_NODE}},
                                   kill_rank = {.type = RZ_LAUNCH_INJECT,
                                                .inject = {.what = RZ_INJECT_KILL_RANK, .rank = 2}};
    (void)state;
    fake_start(&job, 4);
    job.flags = RZ_JOB_REWIND;
    fake_run(&job, 3,
             ARGUMENTS("sh", "-c",
                       "T='" TEST_HELPER " join repairing';"
                       "case $RZ_INCARNATION.$RZ_RANK in"
                       "  1.0) exec $T enter file-mark:5,100 say:made serve;;"
                       "  1.*) exec $T enter serve;;"
                       "  2.1) exec $T want file-marks:1 enter ask-as:2 ask-as:3 ask-as:4294967295"
                       " say:asked serve;;"
                       "  2.*) exec $T want file-marks:1 enter serve;;"
                       "esac;"
                       "exec $T want file-marks:1 enter say:third serve"));
    fake_await_line(&job, 0, "made 0 1 1");
    fake_send(&job, 0, &kill_node);
    fake_await_line(&job, 1, "marks of-0:100\nasked 1 2 2");
    fake_send(&job, 2, &kill_rank);
    fake_await_line(&job, 1, "marks of-0:100\nthird 1 3 3");
    fake_vanish(&job);
    fake_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(another_node_has_it_before_the_process_goes_on, nothing_left),
        cmocka_unit_test_teardown(while_a_node_lives_no_other_one_restores, nothing_left),
        cmocka_unit_test_teardown(each_rank_of_a_node_is_told_its_own, nothing_left),
        cmocka_unit_test_teardown(only_those_of_what_is_rolled_back, nothing_left),
        cmocka_unit_test_teardown(files_that_are_gone_push_no_mark_out, nothing_left),
        cmocka_unit_test_teardown(the_content_is_kept_by_two_nodes, nothing_left),
        cmocka_unit_test_teardown(the_oldest_content_is_dropped, nothing_left),
        cmocka_unit_test_teardown(too_long_a_content_ends_its_process, nothing_left),
        cmocka_unit_test_teardown(without_a_mark_no_image_is_restored, nothing_left),
        cmocka_unit_test_teardown(two_ranks_give_one_name, nothing_left),
        cmocka_unit_test_teardown(nobody_goes_on_before_all_have_restored, nothing_left),
        cmocka_unit_test_teardown(what_no_image_needs_is_forgotten, nothing_left),
        cmocka_unit_test_teardown(who_restores_nothing_takes_no_marks, nothing_left),
    };
    fake_adopt();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
