/* SPDX-License-Identifier: BSD-3-Clause */
/* Computing rounds, settled by real daemons under a fake launcher for real processes, some of which
 * are killed. */
#include "fake_launcher.h"

#include "base/status.h"
#include "daemon/overlay/overlay.h" /* RZ_JOB_KEY_BYTES */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SHELL(...) ARGUMENTS("sh", "-c", __VA_ARGS__)
#define ONLY(rank, words)                                                                          \
    "if [ $RZ_RANK = " rank " ]; then exec " TEST_HELPER " join enter " words "; fi; "
#define OTHERS(words) "exec " TEST_HELPER " join enter " words

#define RANKS_MAX 8
#define ROUNDS_MAX 64

static int nothing_left(void **state)
{
    (void)state;
    unsetenv("RZ_KILL_AT");
    fake_assert_nothing_left("after the test");
    return 0;
}

/* All ranks that wrote a line about a round wrote the same; progress never falls. The first round
 * with this view; 0: there was none. */
static uint32_t check_rounds(struct fake_job *job, uint64_t view)
{
    static char text[FAKE_TEXT_MAX];
    static char rounds[ROUNDS_MAX][128];
    uint32_t first = 0;
    memset(rounds, 0, sizeof(rounds));
    for (uint32_t rank = 0; rank < job->n_ranks; rank++) {
        unsigned long long before = 0;
        fake_output(job, rank, 1, text);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            unsigned round;
            unsigned long long progress, in;
            if (sscanf(line, "round %u progress %llu view %llx", &round, &progress, &in) != 3) {
                continue;
            }
            assert_true(round > 0 && progress >= before && in != 0);
            before = progress;
            if (round >= ROUNDS_MAX) {
                continue;
            }
            if (rounds[round][0] != '\0') {
                assert_string_equal(rounds[round], line);
            }
            snprintf(rounds[round], sizeof(rounds[round]), "%s", line);
            first = first == 0 && in == view ? round : first;
        }
    }
    return first;
}

static void over_at(struct fake_job *job, uint32_t first, uint32_t end)
{
    for (uint32_t rank = first; rank < end; rank++) {
        fake_await_line(job, rank, "over");
    }
}

/* ---- rounds ---- */

static void all_are_told_the_same_rounds(void **state)
{
    (void)state;
    for (uint32_t nodes = 1; nodes <= 4; nodes++) {
        struct fake_job job;
        fake_start(&job, nodes);
        fake_run(&job, 6, SHELL(OTHERS("rounds:9 go say:over serve")));
        over_at(&job, 0, 6);
        for (uint32_t rank = 0; rank < 6; rank++) {
            fake_await_line(&job, rank, "round 1 progress 0 view 3f");
            fake_await_line(&job, rank, "round 9 progress 8 view 3f");
        }
        check_rounds(&job, 0x3f);
        fake_end(&job, 0);
    }
}

static void an_excluded_process_waits_and_comes_back(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 4,
             SHELL(ONLY("1", "rounds:1 view:f say:back view:d go say:over serve")
                       OTHERS("rounds:1 doubt:1,1 view:d doubt:1,2 view:f doubt:1,3 view:d go "
                              "say:over serve")));
    over_at(&job, 0, 4);
    fake_await_line(&job, 1, "back");
    assert_true(check_rounds(&job, 0xd) > 0);
    fake_end(&job, 0);
}

static void a_process_that_leaves_is_not_waited_for(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 3);
    fake_run(&job, 6,
             SHELL(ONLY("0", "rounds:2 go say:over serve") ONLY("5", "rounds:4 leave bye")
                       OTHERS("rounds:8 go say:over leave bye")));
    over_at(&job, 0, 5);
    assert_true(check_rounds(&job, 0x1e) > 0);
    fake_vanish(&job);
    fake_free(&job);
}

/* ---- failures ---- */

static void the_failed_are_not_waited_for(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 3);
    fake_run(&job, 6,
             SHELL(ONLY("3", "rounds:2 kill") ONLY("4", "rounds:3 arrive kill")
                       OTHERS("view:27 go say:over serve")));
    over_at(&job, 0, 3);
    over_at(&job, 5, 6);
    assert_true(check_rounds(&job, 0x27) >= 4);
    fake_end(&job, 0);
}

/* Node 0 decides, until it fails at that point; the others continue until its ranks are
 * excluded. */
static void fail_at(const char *point)
{
    struct fake_job job;
    setenv("RZ_KILL_AT", point, 1);
    fake_start(&job, 4);
    fake_run(&job, 8, SHELL(OTHERS("view:fc rounds:9 go say:over serve")));
    over_at(&job, 2, 8);
    check_rounds(&job, 0);
    fake_vanish(&job);
    fake_free(&job);
    nothing_left(NULL);
}

static void the_deciding_daemon_may_fail_at_any_step(void **state)
{
    (void)state;
    char point[64];
    for (uint32_t nth = 1; nth <= 9; nth++) { /* DECIDED and SETTLED, to three others each */
        snprintf(point, sizeof(point), "turn:%u@0", nth);
        fail_at(point);
    }
    for (uint32_t nth = 1; nth <= 10; nth++) { /* six arrivals, three that have kept it */
        snprintf(point, sizeof(point), "turn-read:%u@0", nth);
        fail_at(point);
    }
    fail_at("round@0");
    fail_at("round-told@0");
    fail_at("round-told:2@0");
    fail_at("round-told:3@0");
}

static void any_node_may_fail_while_others_decide(void **state)
{
    (void)state;
    for (uint32_t killed = 0; killed < 8; killed++) {
        struct fake_job job;
        char view[512];
        uint32_t node = killed % 4, gone = 2 * node;
        snprintf(view, sizeof(view), OTHERS("view:%x go say:over serve"), 0xffu & ~(3u << gone));
        fake_start(&job, 4);
        fake_run(&job, 8, SHELL(view));
        char line[64];
        snprintf(line, sizeof(line), "round %u ", 1 + 7 * killed);
        fake_await_line(&job, gone, line);
        kill(job.node[node].daemon, SIGKILL);
        over_at(&job, 0, gone);
        over_at(&job, gone + 2, 8);
        fake_vanish(&job);
        fake_free(&job);
        nothing_left(NULL);
    }
}

static void all_but_one_may_fail(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 4);
    fake_run(&job, 4,
             SHELL(ONLY("3", "view:8 rounds:9 go say:over serve") OTHERS("rounds:999999 serve")));
    for (uint32_t node = 0; node < 3; node++) {
        fake_await_line(&job, 3, "round 1 ");
        kill(job.node[node].daemon, SIGKILL);
    }
    fake_await_line(&job, 3, "over");
    fake_vanish(&job);
    fake_free(&job);
}

static void a_spawned_process_is_of_another_group(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 4,
             SHELL("if [ $RZ_RANK = 3 ] && [ $RZ_INCARNATION = 1 ]; then exec " TEST_HELPER
                   " join enter rounds:2 kill; fi; "
                   "if [ $RZ_RANK = 3 ]; then exec " TEST_HELPER
                   " join enter group:1 rounds:3 go say:over serve; fi; "
                   "exec " TEST_HELPER
                   " join enter view:7 failed:3 replace:3,2 group:1 rounds:3 go "
                   "say:over serve"));
    over_at(&job, 0, 4);
    for (uint32_t rank = 0; rank < 4; rank++) {
        fake_await_line(&job, rank, "round 3 progress 2 view f");
    }
    fake_end(&job, 0);
}

static void a_roll_back_forgets_all_groups(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 4,
             SHELL("if [ $RZ_RANK = 3 ] && [ $RZ_INCARNATION = 1 ]; then exec " TEST_HELPER
                   " join repairing enter rounds:3 kill; fi; "
                   "if [ $RZ_RANK = 3 ]; then exec " TEST_HELPER
                   " join repairing enter say:second rounds:5 go say:over serve; fi; "
                   "exec " TEST_HELPER " join repairing enter rounds:999999 epoch:2 enter "
                   "say:second rounds:5 go say:over serve"));
    over_at(&job, 0, 4);
    static char text[FAKE_TEXT_MAX];
    for (uint32_t rank = 0; rank < 4; rank++) {
        fake_output(&job, rank, 1, text);
        char *second = strstr(text, "second");
        assert_non_null(second);
        assert_non_null(strstr(second, "round 1 progress 0 view f"));
    }
    fake_end(&job, 0);
}

/* ---- sockets, and what cannot be ---- */

static void each_process_gets_a_socket_and_the_key_of_all(void **state)
{
    static char text[2][FAKE_TEXT_MAX];
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 2, SHELL(OTHERS("socket say:over serve")));
    over_at(&job, 0, 2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        fake_output(&job, rank, 1, text[rank]);
        char *key = strstr(text[rank], "socket myself 1 key ");
        assert_non_null(key);
        key[strcspn(key, "\n")] = '\0';
        assert_int_equal(strlen(key), strlen("socket myself 1 key ") + 2 * RZ_JOB_KEY_BYTES);
        memmove(text[rank], key, strlen(key) + 1);
    }
    assert_string_equal(text[0], text[1]);
    fake_end(&job, 0);
}

static void lines_of_one_process_are_bounded(void **state)
{
    char line[64];
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 2, SHELL(ONLY("1", "lines serve") OTHERS("pause:300 socket say:over serve")));
    snprintf(line, sizeof(line), "lines 64, then %d", RZ_ERR_TOO_MANY);
    fake_await_line(&job, 1, line);
    fake_await_line(&job, 0, "over");
    fake_end(&job, 0);
}

static void a_process_that_breaks_the_protocol_is_killed(void **state)
{
    static const char *const ways[] = {"rank",     "other",    "processes", "none",
                                       "counters", "unsorted", "strangers", "name"};
    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        struct fake_job job;
        char words[512];
        snprintf(words, sizeof(words), ONLY("1", "wrong:%s") OTHERS("rounds:3 go say:over serve"),
                 ways[i]);
        fake_start(&job, 1);
        fake_run(&job, 3, SHELL(words));
        fake_await_exit(&job, 1, SIGKILL, false, true);
        fake_await_line(&job, 0, "over"); /* no process waits for it */
        fake_await_line(&job, 2, "over");
        fake_end(&job, 0);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    struct fake_job job;
    char line[32];
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 3,
             SHELL(ONLY("0", "wrong:round rounds:1 go say:over serve")
                       ONLY("1", "rounds:1 wrong:fewer arrive go say:over serve")
                           OTHERS("rounds:1 go say:over serve")));
    over_at(&job, 0, 3);
    snprintf(line, sizeof(line), "refused %d", RZ_ERR_NOT_FOUND);
    fake_await_line(&job, 0, line);
    snprintf(line, sizeof(line), "refused %d", RZ_ERR_INVALID);
    fake_await_line(&job, 1, line);
    fake_end(&job, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(all_are_told_the_same_rounds, nothing_left),
        cmocka_unit_test_teardown(an_excluded_process_waits_and_comes_back, nothing_left),
        cmocka_unit_test_teardown(a_process_that_leaves_is_not_waited_for, nothing_left),
        cmocka_unit_test_teardown(the_failed_are_not_waited_for, nothing_left),
        cmocka_unit_test_teardown(the_deciding_daemon_may_fail_at_any_step, nothing_left),
        cmocka_unit_test_teardown(any_node_may_fail_while_others_decide, nothing_left),
        cmocka_unit_test_teardown(all_but_one_may_fail, nothing_left),
        cmocka_unit_test_teardown(a_spawned_process_is_of_another_group, nothing_left),
        cmocka_unit_test_teardown(a_roll_back_forgets_all_groups, nothing_left),
        cmocka_unit_test_teardown(each_process_gets_a_socket_and_the_key_of_all, nothing_left),
        cmocka_unit_test_teardown(lines_of_one_process_are_bounded, nothing_left),
        cmocka_unit_test_teardown(a_process_that_breaks_the_protocol_is_killed, nothing_left),
        cmocka_unit_test_teardown(what_cannot_be_is_refused, nothing_left),
    };
    signal(SIGPIPE, SIG_IGN);
    fake_adopt();
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]); /* a name, with * and ? */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
