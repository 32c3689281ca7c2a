/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that begin while the job runs: replaced and spawned, by real daemons under a fake
 * launcher. */
#include "fake_launcher.h"

#include "link/board.h"
#include "wire/link_messages.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define EXIT_STATUS(code) ((code) << 8)
#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SHELL(...) ARGUMENTS("sh", "-c", __VA_ARGS__)

/* A rank's first incarnation does the one thing, later ones the other. */
#define FIRST_OF(rank, first, later)                                                               \
    "if [ $RZ_RANK = " rank " ]; then if [ $RZ_INCARNATION = 1 ]; then exec " TEST_HELPER " join " \
    "enter " first "; else exec " TEST_HELPER " join enter " later "; fi; fi; "
#define ONLY(rank, words)                                                                          \
    "if [ $RZ_RANK = " rank " ]; then exec " TEST_HELPER " join enter " words "; fi; "
#define OTHERS(words) "exec " TEST_HELPER " join enter " words

static int nothing_left(void **state)
{
    (void)state;
    fake_assert_nothing_left("after the test");
    return 0;
}

struct event_wanted {
    uint32_t kind, rank, incarnation;
};

static bool is_event(const struct rz_launch_message *message, const void *arg)
{
    const struct event_wanted *wanted = arg;
    return message->type == RZ_LAUNCH_EVENT && message->event.kind == wanted->kind &&
           message->event.rank == wanted->rank && message->event.incarnation == wanted->incarnation;
}

/* An event of that kind about that process: its value; *node: where it says it was. */
static uint64_t await_event(struct fake_job *job, uint32_t kind, uint32_t rank,
                            uint32_t incarnation, uint32_t *node)
{
    const struct event_wanted wanted = {kind, rank, incarnation};
    struct fake_message *m = fake_await_match(job, "EVENT", is_event, &wanted);
    uint64_t value = m->message.event.value;
    if (node) {
        *node = m->message.event.node;
    }
    free(m);
    return value;
}

static bool nothing_aborted(const struct fake_job *job)
{
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        for (const struct fake_message *m = job->node[i].first; m; m = m->next) {
            if (m->message.type == RZ_LAUNCH_ABORTED || m->message.type == RZ_LAUNCH_STOPPING) {
                return false;
            }
        }
    }
    return true;
}

/* ---- replace ---- */

static void a_failed_process_is_replaced_where_it_was(void **state)
{
    struct fake_job job;
    uint32_t node;
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 4,
             SHELL(FIRST_OF("3", "kill", "say:second leave bye")
                       OTHERS("failed:3 replace:3,2 leave bye say:out")));
    for (uint32_t rank = 0; rank < 3; rank++) {
        fake_await_line(&job, rank, "spawned 3 0");
        fake_await_line(&job, rank, "slot 3 incarnation 2 node 1 state 0");
    }
    fake_await_line(&job, 3, "second 3 2 1");
    for (int i = 0; i < 2; i++) { /* each daemon says so */
        assert_int_equal(await_event(&job, RZ_EVENT_RECORD_SPAWNED, 3, 2, &node),
                         RZ_START_REPLACES);
        assert_int_equal(node, 1);
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        fake_await_line(&job, rank, "out"); /* the barrier of the end counts the spawned process */
    }
    assert_true(nothing_aborted(&job));
    fake_end(&job, 0);
}

static void a_process_that_asks_late_is_answered_at_once(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 3,
             SHELL(FIRST_OF("1", "kill", "say:second serve") ONLY(
                 "0", "failed:1 replace:1,2 serve") "exec " TEST_HELPER
                                                    " join enter failed:1 grown:1,2 say:asks "
                                                    "replace:1,2 serve"));
    fake_await_line(&job, 0, "spawned 1 0");
    fake_await_line(&job, 1, "second");
    fake_await_line(&job, 2, "asks");
    fake_await_line(&job, 2, "spawned 1 0");
    fake_end(&job, 0);
}

/* Not by the word of the process that asks: its daemon must know of the failure. The spawn is
 * decided after the replacement was asked for, and before the process is ended. */
static void a_process_that_lives_is_not_replaced(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    job.environment = ARGUMENTS("TEST_SPAWN=" TEST_HELPER " join enter serve");
    fake_run(&job, 2,
             SHELL(FIRST_OF("1", "say:first serve", "say:second serve")
                       OTHERS("wants:1,2 spawn:1 end:1,42 grown:1,2 say:done serve")));
    assert_int_equal(await_event(&job, RZ_EVENT_RECORD_ENDED_BY, 1, 1, NULL), 42);
    fake_await_line(&job, 1, "second 1 2 1");
    fake_await_line(&job, 0, "done");
    fake_await_exit(&job, 1, SIGKILL, false, true);
    fake_end(&job, 0);
}

static void the_lost_processes_of_a_node_begin_elsewhere(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 3);
    fake_run(
        &job, 6,
        SHELL("if [ $RZ_RANK = 4 ] || [ $RZ_RANK = 5 ]; then if [ $RZ_INCARNATION = 1 ]; then "
              "exec " TEST_HELPER " join enter say:first serve; else exec " TEST_HELPER
              " join enter say:second leave bye; fi; fi; "
              "exec " TEST_HELPER
              " join enter say:first failed:4 failed:5 replace:5,2 replace:4,2 leave bye say:out"));
    for (uint32_t rank = 0; rank < 6; rank++) {
        fake_await_line(&job, rank, "first");
    }
    kill(job.node[2].daemon, SIGKILL);
    for (uint32_t rank = 0; rank < 4; rank++) {
        fake_await_line(&job, rank, "spawned 5 0");
        fake_await_line(&job, rank, "spawned 4 0");
        fake_await_line(&job, rank, "out");
    }
    fake_await_line(&job, 4, "second 4 2 1");
    fake_await_line(&job, 5, "second 5 2 1");
    fake_vanish(&job);
    fake_free(&job);
}

static void a_process_is_replaced_again_and_again(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_run(
        &job, 2,
        SHELL("if [ $RZ_RANK = 1 ] && [ $RZ_INCARNATION -lt 6 ]; then exec " TEST_HELPER
              " join enter kill; fi; if [ $RZ_RANK = 1 ]; then exec " TEST_HELPER
              " join enter say:last leave bye; fi; "
              "exec " TEST_HELPER
              " join enter failed:1,1 replace:1,2 failed:1,2 replace:1,3 failed:1,3 replace:1,4 "
              "failed:1,4 replace:1,5 failed:1,5 replace:1,6 leave bye say:out"));
    fake_await_line(&job, 1, "last 1 6 1");
    fake_await_line(&job, 0, "out");
    fake_end(&job, 0);
}

static void a_new_rank_0_reads_what_is_left_of_the_input(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 2,
             SHELL("if [ $RZ_RANK = 0 ] && [ $RZ_INCARNATION = 1 ]; then read one; echo got $one; "
                   "exec " TEST_HELPER " join enter kill; fi; "
                   "if [ $RZ_RANK = 0 ]; then exec " TEST_HELPER " join enter stdin leave bye; fi; "
                   "exec " TEST_HELPER " join enter failed:0 replace:0,2 leave bye"));
    free(fake_await(&job, RZ_LAUNCH_STDIN_WANTED));
    static const char text[] = "first\nsecond\nthird\n";
    const struct rz_launch_message data = {
        .type = RZ_LAUNCH_STDIN,
        .stdin_data = {.data = (const uint8_t *)text, .data_length = sizeof(text) - 1, .end = 1}};
    fake_send(&job, 0, &data);
    fake_await_line(&job, 0, "got first");
    fake_await_line(&job, 0, "second");
    fake_await_line(&job, 0, "third");
    fake_await_exit(&job, 1, 0, true, true);
    fake_end(&job, 0);
}

static void checkpoints_of_a_spawned_process_are_refused_in_words(void **state)
{
    struct fake_job job;
    char text[FAKE_TEXT_MAX];
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 2,
             SHELL(FIRST_OF("1", "kill", "store:right refusal want say:lives leave bye")
                       OTHERS("failed:1 replace:1,2 leave bye")));
    fake_await_line(&job, 1, "refused a process that was replaced or spawned has no part");
    fake_await_line(&job, 1, "lives 1 2 1");
    fake_output(&job, 1, 1, text);
    fake_await_exit(&job, 1, SIGKILL, false, true);
    fake_await_exit(&job, 1, 0, true, true);
    fake_end(&job, 0);
}

static void an_answer_to_the_failed_is_not_given_to_its_successor(void **state)
{
    struct fake_job job;
    char text[FAKE_TEXT_MAX];
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 4,
             SHELL(FIRST_OF("1", "ask:3 ask:2 kill",
                            "say:second grown:0,2 address:3 address:2 say:done serve")
                   /* the end of rank 0 says that both endpoint addresses are there */
                   FIRST_OF("0", "grown:1,2 failed:1 serve", "serve")
                       ONLY("2", "failed:1 replace:1,2 put say:put serve")
                           OTHERS("grown:1,2 put say:put end:0,3 failed:0 replace:0,2 serve")));
    fake_await_line(&job, 2, "put");
    fake_await_line(&job, 3, "put");
    fake_await_line(&job, 1, "done");
    fake_output(&job, 1, 1, text);
    char *first = strstr(text, "endpoint address 3");
    assert_non_null(first);
    assert_null(strstr(first + 1, "endpoint address 3"));
    fake_end(&job, 0);
}

/* ---- spawn ---- */

static void a_program_spawns_processes(void **state)
{
    struct fake_job job;
    uint32_t node;
    (void)state;
    fake_start(&job, 2);
    job.environment =
        ARGUMENTS("TEST_SPAWN=" TEST_HELPER " join enter cohort net serve",
                  "TEST_SPAWN2=" TEST_HELPER " join enter cohort net address:2 state:1 serve");
    fake_run(&job, 2,
             SHELL(ONLY("1", "spawn:2,1 state:2 state:3 state:4 address:4 serve")
                       OTHERS("address:4 serve")));
    fake_await_line(
        &job, 0,
        "endpoint address 4 endpoint address-of-4"); /* asked for before it was even requested */
    fake_await_line(&job, 1, "spawned 77 0 2.1 3.1 4.1");
    fake_await_line(&job, 1,
                    "endpoint address 4 endpoint address-of-4"); /* wherever it is, however early
                                                                    the question was */
    fake_await_line(&job, 2, "cohort 0 of 3 command 0 restarted 0 parents spawned: 2.1 3.1 4.1");
    fake_await_line(&job, 3, "cohort 1 of 3 command 0 restarted 0 parents spawned: 2.1 3.1 4.1");
    fake_await_line(&job, 4, "cohort 2 of 3 command 1 restarted 0 parents spawned: 2.1 3.1 4.1");
    fake_await_line(&job, 4, "endpoint address 2 endpoint address-of-2");
    fake_await_line(&job, 4, "slot 1 incarnation 1 node 1 state 0");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(await_event(&job, RZ_EVENT_RECORD_SPAWNED, 3, 1, &node), RZ_START_SPAWNED);
    }
    fake_end(&job, 0);
}

static void a_spawned_process_is_replaced_as_what_it_was(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    job.environment = ARGUMENTS("TEST_SPAWN=" TEST_HELPER " join enter cohort serve",
                                "TEST_SPAWN2=" TEST_HELPER " join enter cohort failed:4 serve");
    fake_run(&job, 2,
             SHELL(ONLY("0", "spawn:1,2 end:4,9 failed:4 replace:4,2 serve") OTHERS("serve")));
    fake_await_line(&job, 0, "spawned 4 0");
    fake_await_line(&job, 4, "cohort 2 of 3 command 1 restarted 1 parents spawned: 2.1 3.1 4.2");
    fake_end(&job, 0);
}

static void a_process_that_has_ended_makes_room(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    job.environment = ARGUMENTS("TEST_SPAWN=" TEST_HELPER " join enter cohort bye");
    fake_run(&job, 1,
             SHELL(OTHERS("spawn:64 all-failed:1,64 state:1 spawn:64 say:again grown:7,2 "
                          "leave bye say:out")));
    fake_await_line(&job, 0, "slot 1 incarnation 1 node 1 state 4");
    fake_await_line(&job, 0, "again");
    fake_end(&job, 0);
}

static void the_end_of_the_job_does_not_wait_for_spawned_processes(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    job.environment = ARGUMENTS("TEST_SPAWN=" TEST_HELPER " join enter cohort serve");
    fake_run(&job, 2, SHELL(ONLY("0", "spawn:3 leave bye say:out") OTHERS("leave bye say:out")));
    fake_await_line(&job, 0, "out");
    fake_await_line(&job, 1, "out");
    fake_await_line(&job, 4, "cohort");
    fake_end(&job, 0);
}

static void a_program_that_cannot_be_spawned_is_a_failure(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    job.environment = ARGUMENTS("TEST_SPAWN=/nonexistent/spawned");
    fake_run(&job, 2, SHELL(ONLY("0", "spawn:2 failed:2 failed:3 state:2 serve") OTHERS("serve")));
    fake_await_line(&job, 0, "spawned 77 0 2.1 3.1");
    fake_await_line(&job, 0, "slot 2 incarnation 1 node");
    fake_await_exit(&job, 2, EXIT_STATUS(127), false, false);
    fake_await_exit(&job, 3, EXIT_STATUS(127), false, false);
    assert_true(nothing_aborted(&job)); /* the job continues */
    fake_end(&job, 0);
}

/* ---- refusals ---- */

static void refused_with(uint32_t flags, uint32_t detector, const char *replace, const char *spawn)
{
    struct fake_job job;
    fake_start(&job, 1);
    job.flags = flags;
    job.detector = detector;
    job.environment = ARGUMENTS("TEST_SPAWN=" TEST_HELPER " join serve");
    fake_run(&job, 2, SHELL(ONLY("0", "spawn:1 replace:1,2 say:lives serve") OTHERS("serve")));
    fake_await_line(&job, 0, spawn);
    fake_await_line(&job, 0, replace);
    fake_await_line(&job, 0, "lives");
    fake_end(&job, 0);
}

static void spawns_are_refused_where_no_process_decides_them(void **state)
{
    char replace[32], spawn[32];
    (void)state;
    snprintf(replace, sizeof(replace), "spawned 1 %d", RZ_ERR_UNSUPPORTED);
    snprintf(spawn, sizeof(spawn), "spawned 77 %d", RZ_ERR_UNSUPPORTED);
    refused_with(RZ_JOB_NO_FT | RZ_JOB_REPAIR_NEVER, RZ_DETECTOR_RING, replace, spawn);
    refused_with(0, RZ_DETECTOR_FLAT, replace, spawn);
    refused_with(RZ_JOB_REPAIR_NEVER | RZ_JOB_REPLACE_NEVER, RZ_DETECTOR_RING, replace,
                 "spawned 77 0 2.1");
}

static void too_many_are_refused_and_none_is_begun(void **state)
{
    struct fake_job job;
    char line[64];
    (void)state;
    fake_start(&job, 2);
    job.environment = ARGUMENTS("TEST_SPAWN=" TEST_HELPER " join enter serve");
    fake_run(
        &job, 2,
        SHELL(ONLY("0", "spawn:65 spawn:3 say:between spawn:62 spawn:61 serve") OTHERS("serve")));
    snprintf(line, sizeof(line), "spawned 77 %d\nspawned 77 0 2.1 3.1 4.1\nbetween",
             RZ_ERR_NO_MEMORY);
    fake_await_line(&job, 0, line);
    snprintf(line, sizeof(line), "between 0 1 1\nspawned 77 %d\nspawned 77 0 5.1",
             RZ_ERR_NO_MEMORY);
    fake_await_line(&job, 0, line);
    fake_end(&job, 0);
}

/* COHORT has 20 bytes, and 8 for each process, beside the parents' bytes. */
static void what_does_not_fit_into_one_message_is_refused(void **state)
{
    enum { N = 30, FITS = RZ_LINK_MESSAGE_MAX - 20 - 8 * N };
    struct fake_job job;
    char words[512], line[64];
    (void)state;
    fake_start(&job, 2);
    job.environment = ARGUMENTS("TEST_SPAWN=" TEST_HELPER " join enter say:here serve");
    snprintf(words, sizeof(words),
             ONLY("0", "heavy:%d,%d say:between heavy:%d,%d serve") OTHERS("serve"), N, FITS + 1, N,
             FITS);
    fake_run(&job, 2, SHELL(words));
    snprintf(line, sizeof(line), "spawned 77 %d\nbetween", RZ_ERR_TRUNCATE);
    fake_await_line(&job, 0, line);
    fake_await_line(&job, 0, "between 0 1 1\nspawned 77 0 2.1");
    for (uint32_t slot = 2; slot < 2 + N; slot++) {
        fake_await_line(&job, slot, "here");
    }
    fake_end(&job, 0);
}

static void a_job_that_repairs_itself_refuses(void **state)
{
    struct fake_job job;
    char line[32];
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 2,
             SHELL(FIRST_OF("1", "repairing kill", "say:second serve")
                       OTHERS("repairing epoch:2 enter replace:1,2 say:lives serve")));
    snprintf(line, sizeof(line), "spawned 1 %d", RZ_ERR_UNSUPPORTED);
    fake_await_line(&job, 1, "second 1 2 2");
    fake_await_line(&job, 0, line);
    fake_await_line(&job, 0, "lives");
    fake_end(&job, 0);
}

/* ---- what a program says of failures ---- */

static void one_process_is_ended_and_the_others_go_on(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 4,
             SHELL(ONLY("0", "end:3,42 failed:3 ack:3 leave bye say:out")
                       ONLY("3", "say:here serve") OTHERS("failed:3 leave bye say:out")));
    assert_int_equal(await_event(&job, RZ_EVENT_RECORD_ENDED_BY, 3, 1, NULL), 42);
    assert_int_equal(await_event(&job, RZ_EVENT_RECORD_FAILURE_SEEN, 3, 1, NULL), RZ_FAILURE_PLAIN);
    await_event(&job, RZ_EVENT_RECORD_ACKNOWLEDGED, 3, 1, NULL);
    fake_await_exit(&job, 3, SIGKILL, false, true);
    for (uint32_t rank = 0; rank < 3; rank++) {
        fake_await_line(&job, rank, "out");
    }
    assert_true(nothing_aborted(&job));
    fake_end(&job, 0);
}

static unsigned acknowledgements(const struct fake_job *job)
{
    unsigned n = 0;
    for (const struct fake_message *m = job->node[0].first; m; m = m->next) {
        n += m->message.type == RZ_LAUNCH_EVENT &&
             m->message.event.kind == RZ_EVENT_RECORD_ACKNOWLEDGED;
    }
    return n;
}

/* What a process said that failed then is no excuse for a later failure. */
static void a_failure_is_acknowledged_once_and_by_the_living(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 4,
             SHELL(ONLY("0", "ack:2 ack:2 say:early serve") ONLY("3", "ack:2 ack:1 kill")
                       ONLY("2", "failed:3 pause:500 kill")
                           OTHERS("failed:2 ack:2 ack:2 ack:2 say:late serve")));
    fake_await_line(&job, 0, "early");
    assert_int_equal(acknowledgements(&job), 0);
    fake_await_line(&job, 1, "late");
    uint64_t first = await_event(&job, RZ_EVENT_RECORD_ACKNOWLEDGED, 2, 1, NULL);
    uint64_t second = await_event(&job, RZ_EVENT_RECORD_ACKNOWLEDGED, 2, 1, NULL);
    assert_true(first + second == 1 && first * second == 0);
    assert_int_equal(acknowledgements(&job), 0);
    fake_end(&job, 0);
}

/* ---- at any moment ---- */

/* The node of a process that spawns and replaces is killed during this. Whatever part of it was
 * done: the others can continue, and no process waits for one that never started. */
static void the_node_that_asked_fails(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 12; round++) {
        struct fake_job job;
        fake_start(&job, 3);
        job.environment = ARGUMENTS("TEST_SPAWN=" TEST_HELPER " join enter cohort hang");
        fake_run(&job, 3,
                 SHELL(FIRST_OF("0", "say:first spawn:5 spawn:5 spawn:5 serve", "say:second serve")
                           ONLY("1", "failed:0 replace:0,2 spawn:2 say:went serve")
                               OTHERS("serve")));
        fake_await_line(&job, 0, "first");
        usleep(round * 400); /* sweeps over the decision */
        kill(job.node[0].daemon, SIGKILL);
        fake_await_line(&job, 1, "spawned 0 0");
        fake_await_line(&job, 1, "spawned 77 0");
        fake_await_line(&job, 1, "went");
        fake_await_line(&job, 0, "second 0 2 1");
        fake_vanish(&job);
        fake_free(&job);
        fake_assert_nothing_left("after a round");
    }
}

int main(void)
{
    fake_adopt();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_failed_process_is_replaced_where_it_was, nothing_left),
        cmocka_unit_test_teardown(a_process_that_asks_late_is_answered_at_once, nothing_left),
        cmocka_unit_test_teardown(a_process_that_lives_is_not_replaced, nothing_left),
        cmocka_unit_test_teardown(the_lost_processes_of_a_node_begin_elsewhere, nothing_left),
        cmocka_unit_test_teardown(a_process_is_replaced_again_and_again, nothing_left),
        cmocka_unit_test_teardown(a_new_rank_0_reads_what_is_left_of_the_input, nothing_left),
        cmocka_unit_test_teardown(checkpoints_of_a_spawned_process_are_refused_in_words,
                                  nothing_left),
        cmocka_unit_test_teardown(an_answer_to_the_failed_is_not_given_to_its_successor,
                                  nothing_left),
        cmocka_unit_test_teardown(a_program_spawns_processes, nothing_left),
        cmocka_unit_test_teardown(a_spawned_process_is_replaced_as_what_it_was, nothing_left),
        cmocka_unit_test_teardown(a_process_that_has_ended_makes_room, nothing_left),
        cmocka_unit_test_teardown(the_end_of_the_job_does_not_wait_for_spawned_processes,
                                  nothing_left),
        cmocka_unit_test_teardown(a_program_that_cannot_be_spawned_is_a_failure, nothing_left),
        cmocka_unit_test_teardown(spawns_are_refused_where_no_process_decides_them, nothing_left),
        cmocka_unit_test_teardown(too_many_are_refused_and_none_is_begun, nothing_left),
        cmocka_unit_test_teardown(what_does_not_fit_into_one_message_is_refused, nothing_left),
        cmocka_unit_test_teardown(a_job_that_repairs_itself_refuses, nothing_left),
        cmocka_unit_test_teardown(a_failure_is_acknowledged_once_and_by_the_living, nothing_left),
        cmocka_unit_test_teardown(one_process_is_ended_and_the_others_go_on, nothing_left),
        cmocka_unit_test_teardown(the_node_that_asked_fails, nothing_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
