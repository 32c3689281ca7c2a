/* SPDX-License-Identifier: BSD-3-Clause */
/* One daemon (or two) under a fake launcher: the states of a process as seen from outside. */
#include "fake_launcher.h"
#include "wire/message_balance.h"
#include "wire/traffic_groups.h"

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

static int nothing_left(void **state)
{
    (void)state;
    fake_assert_nothing_left("after the test");
    return 0;
}

/* ---- programs that do not use MPI ---- */

static void a_plain_program_ends_without_a_failure(void **state)
{
    struct fake_job job;
    char text[FAKE_TEXT_MAX];
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 2,
             ARGUMENTS("sh", "-c", "echo out $RZ_RANK $RZ_INCARNATION; echo err >&2; exit 3"));
    for (uint32_t rank = 0; rank < 2; rank++) {
        fake_await_exit(&job, rank, EXIT_STATUS(3), true, false);
    }
    fake_output(&job, 1, 1, text);
    assert_string_equal(text, "out 1 1\n");
    fake_output(&job, 1, 2, text);
    assert_string_equal(text, "err\n");
    fake_end(&job, 0);
}

static void a_program_finds_its_environment_and_nothing_else_open(void **state)
{
    struct fake_job job;
    char text[FAKE_TEXT_MAX];
    (void)state;
    fake_start(&job, 1);
    job.environment = ARGUMENTS("RZ_TEST_WORD=a b", "UCX_TLS=self");
    fake_run(&job, 1,
             ARGUMENTS("sh", "-c",
                       "echo \"$RZ_TEST_WORD|$UCX_TLS|$UCX_TCP_CONN_NB|$RZ_LINK_FD|$RZ_JOB_ID\"; "
                       "ls /proc/$$/fd | tr '\\n' ' '"));
    fake_await_exit(&job, 0, 0, true, false);
    fake_output(&job, 0, 1, text);
    assert_memory_equal(text, "a b|self||3|4711\n0 1 2 3 ", strlen("a b|self||3|4711\n0 1 2 3 "));
    fake_end(&job, 0);
}

static void a_program_that_cannot_be_executed_is_told_in_words(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 1, ARGUMENTS("/nonexistent/program"));
    struct fake_message *m = fake_await(&job, RZ_LAUNCH_ABORTED);
    assert_int_equal(m->message.aborted.code, 127);
    assert_non_null(
        strstr(m->message.aborted.reason, "cannot execute \"/nonexistent/program\": No such file"));
    free(m);
    fake_await_exit(&job, 0, EXIT_STATUS(127), true, false);
    fake_end(&job, 0);
}

static void what_a_program_leaves_behind_ends_with_it(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 1, ARGUMENTS("sh", "-c", "sleep 1000 & setsid sleep 1000 & exit 0"));
    fake_await_exit(&job, 0, 0, true, false);
    fake_end(&job, 0);
}

static void standard_input_reaches_rank_0(void **state)
{
    struct fake_job job;
    char text[FAKE_TEXT_MAX], line[1000];
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 2, ARGUMENTS("cat"));
    fake_await_exit(&job, 1, 0, true, false); /* nothing to read */
    memset(line, 'x', sizeof(line));
    uint32_t credit = 0, sent = 0;
    while (sent < 60) {
        if (credit < sizeof(line)) {
            struct fake_message *m = fake_await(&job, RZ_LAUNCH_STDIN_WANTED);
            credit += m->message.stdin_wanted.bytes;
            free(m);
            continue;
        }
        sent++;
        credit -= sizeof(line);
        struct rz_launch_message data = {.type = RZ_LAUNCH_STDIN,
                                         .stdin_data = {.data = (const uint8_t *)line,
                                                        .data_length = sizeof(line),
                                                        .end = sent == 60}};
        fake_send(&job, 0, &data);
    }
    fake_await_exit(&job, 0, 0, true, false);
    fake_output(&job, 0, 1, text);
    assert_int_equal(strlen(text), 60 * sizeof(line));
    fake_end(&job, 0);
}

/* One number of a line of /proc/PID/status, or the first letter of its value. 0: there is no such
 * process or line. */
static long look_up(pid_t pid, const char *name, bool protocol_message)
{
    char path[64], line[256];
    long value = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file && !value && fgets(line, sizeof(line), file)) {
        if (strncmp(line, name, strlen(name)) == 0) {
            value = protocol_message ? line[strlen(name) + 1] : atol(line + strlen(name));
        }
    }
    if (file) {
        fclose(file);
    }
    return value;
}

static void await_asleep(pid_t pid)
{
    for (int quiet = 0; quiet < 20; usleep(1000)) {
        quiet = look_up(pid, "State:", true) == 'S' ? quiet + 1 : 0;
    }
}

static void a_launcher_that_does_not_read_holds_writers_not_the_daemon(void **state)
{
    struct fake_job job;
    const size_t bytes = 64u << 20;
    size_t got = 0;
    char word[32];
    pid_t pid[2];
    (void)state;
    fake_start(&job, 1);
    snprintf(word, sizeof(word), "flood:%zu", bytes);
    fake_run(&job, 2, ARGUMENTS(TEST_HELPER, word));
    for (int i = 0; i < 2; i++) {
        struct fake_message *m = fake_await(&job, RZ_LAUNCH_STARTED);
        pid[m->message.started.rank] = (pid_t)m->message.started.pid;
        free(m);
    }
    await_asleep(pid[0]);
    await_asleep(pid[1]);
    assert_in_range(look_up(job.node[0].daemon, "VmRSS:", false), 1,
                    64 << 10); /* KiB; sanitizers take their share */
    /* It still obeys. */
    struct rz_launch_message inject = {.type = RZ_LAUNCH_INJECT,
                                       .inject = {.what = RZ_INJECT_KILL_RANK, .rank = 1}};
    fake_send(&job, 0, &inject);
    while (look_up(pid[1], "State:", true)) {
        usleep(1000);
    }
    for (bool ended = false; !ended;) {
        struct fake_message *m = fake_await_any(&job);
        if (m->message.type == RZ_LAUNCH_OUTPUT && m->message.output.rank == 0) {
            got += m->message.output.data_length;
        }
        ended = m->message.type == RZ_LAUNCH_EXITED && m->message.exited.rank == 0;
        free(m);
    }
    assert_true(got >= bytes);
    fake_end(&job, 0);
}

/* ---- what a launcher may get wrong ---- */

static void a_bad_job_is_refused_in_words(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    struct rz_launch_message bad = {.type = RZ_LAUNCH_JOB,
                                    .job = {.key = (const uint8_t *)"",
                                            .placement = (const uint8_t *)"",
                                            .slots = (const uint8_t *)"",
                                            .addresses = (const uint8_t *)"",
                                            .arguments = (const uint8_t *)"",
                                            .environment = (const uint8_t *)"",
                                            .checkpoint_folder = "",
                                            .checkpoint_name = "",
                                            .directory = ""}};
    fake_send(&job, 0, &bad);
    struct fake_message *m = fake_await(&job, RZ_LAUNCH_REFUSED);
    assert_non_null(strstr(m->message.refused.reason, "nodes or ranks"));
    free(m);
    fake_end(&job, 2);
}

static void noise_instead_of_a_job_ends_the_daemon(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    rz_frames_send(job.node[0].frames, "\xff\xff\xff\xffnoise", 9);
    free(fake_await(&job, RZ_LAUNCH_REFUSED));
    fake_end(&job, 2);
}

/* ---- programs that join ---- */

static void ranks_join_pass_the_barriers_and_leave(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 4,
             ARGUMENTS(TEST_HELPER, "join", "enter", "say:running", "leave", "bye", "exit:5"));
    for (uint32_t rank = 0; rank < 4; rank++) {
        char line[32];
        snprintf(line, sizeof(line), "running %u 1 1", rank);
        fake_await_line(&job, rank, line);
        fake_await_exit(&job, rank, EXIT_STATUS(5), true, true);
    }
    fake_end(&job, 0);
}

static bool is_failure(const struct rz_launch_message *message, const void *arg)
{
    return message->type == RZ_LAUNCH_EVENT &&
           message->event.kind == RZ_EVENT_RECORD_FAILURE_SEEN &&
           message->event.rank == *(const uint32_t *)arg;
}

static void an_end_without_bye_is_a_failure(void **state)
{
    struct fake_job job;
    uint32_t rank = 0;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 1, ARGUMENTS(TEST_HELPER, "join", "enter", "exit:0"));
    struct fake_message *m = fake_await_match(&job, "FAILURE_SEEN", is_failure, &rank);
    /* A small process is torn down so fast that its exit may be seen first. */
    if (strcmp(m->message.event.note, "exit") != 0) {
        assert_string_equal(m->message.event.note, "robust mutex");
    }
    free(m);
    fake_await_exit(&job, 0, 0, false, true);
    fake_end(&job, 0);
}

/* However long the kernel takes to free what it held. */
static void the_cause_comes_before_the_exit(void **state)
{
    struct fake_job job;
    uint32_t rank = 0;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 1, ARGUMENTS(TEST_HELPER, "join", "enter", "grow:256", "say:grown", "serve"));
    fake_await_line(&job, 0, "grown");
    struct rz_launch_message inject = {.type = RZ_LAUNCH_INJECT,
                                       .inject = {.what = RZ_INJECT_KILL_RANK, .rank = 0}};
    fake_send(&job, 0, &inject);
    struct fake_message *m = fake_await_match(&job, "FAILURE_SEEN", is_failure, &rank);
    assert_string_equal(m->message.event.note, "robust mutex");
    free(m);
    fake_await_exit(&job, 0, SIGKILL, false, true);
    fake_end(&job, 0);
}

/* However a process misuses its link: it has failed, its neighbour lives and passes the next epoch.
 */
static void expect_failure_by(const char *word)
{
    struct fake_job job;
    char script[512];
    fake_start(&job, 1);
    snprintf(
        script, sizeof(script),
        "if [ $RZ_RANK = 1 ] && [ $RZ_INCARNATION = 1 ]; then exec %s join repairing enter %s; fi; "
        "if [ $RZ_RANK = 1 ]; then exec %s join enter say:second serve; fi; "
        "exec %s join repairing enter epoch:2 enter say:second serve",
        TEST_HELPER, word, TEST_HELPER, TEST_HELPER);
    fake_run(&job, 2, ARGUMENTS("sh", "-c", script));
    fake_await_line(&job, 0, "second 0 1 2");
    fake_await_line(&job, 1, "second 1 2 2");
    fake_await_exit(&job, 1, SIGKILL, false, true);
    fake_end(&job, 0);
}

static void a_process_that_never_reads_fails_alone(void **state)
{
    (void)state;
    expect_failure_by("deaf");
}

static void a_process_that_talks_nonsense_fails_alone(void **state)
{
    (void)state;
    expect_failure_by("noise");
}

static void a_process_that_closes_its_link_fails_alone(void **state)
{
    (void)state;
    expect_failure_by("unlink");
}

/* No rank leaves before all have agreed to: others would wait for it. */
static void a_rank_that_says_bye_too_early_fails_alone(void **state)
{
    (void)state;
    expect_failure_by("bye hang");
}

/* The daemon takes over what a process hands it only where that keeps the rules. */
static void a_process_that_stores_wrong_pieces_fails_alone(void **state)
{
    static const char *const ways[] = {"number-0", "number-2", "twice", "short",
                                       "unsealed", "pipe",     "no-fd", "holes"};
    char word[32];
    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        snprintf(word, sizeof(word), "store:%s", ways[i]);
        expect_failure_by(word);
    }
}

static void a_process_that_stores_a_piece_lives(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 1, ARGUMENTS(TEST_HELPER, "join", "enter", "store:right", "leave", "bye"));
    fake_await_exit(&job, 0, 0, true, true);
    fake_end(&job, 0);
}

static uint32_t count_events(const struct fake_job *job, uint32_t rank, uint32_t kind)
{
    uint32_t n = 0;
    for (const struct fake_message *m = job->node[0].first; m; m = m->next) {
        n += m->message.type == RZ_LAUNCH_EVENT && m->message.event.kind == kind &&
             m->message.event.rank == rank;
    }
    return n;
}

/* The launcher may not read: what waits for it must be little. */
static void what_a_process_says_again_is_recorded_once(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 2, ARGUMENTS(TEST_HELPER, "join", "enter", "if:1", "again:300", "abort:5"));
    free(fake_await(&job, RZ_LAUNCH_ABORTED));
    assert_int_equal(count_events(&job, 1, RZ_EVENT_RECORD_AT_START), 1);
    assert_int_equal(count_events(&job, 1, RZ_EVENT_RECORD_RESTORED), 1);
    fake_end(&job, 0);
}

/* The question waits until it is clear that there will never be an endpoint address. */
static void a_process_that_asks_for_an_ended_rank_is_answered(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 2,
             ARGUMENTS("sh", "-c",
                       "if [ $RZ_RANK = 0 ]; then exec " TEST_HELPER
                       " join address:1 say:told serve; fi; exit 0"));
    fake_await_line(&job, 0, "endpoint address 1 ");
    fake_await_line(&job, 0, "told 0");
    fake_end(&job, 0);
}

static void to_be_killed_before_hello_is_a_failure(void **state)
{
    struct fake_job job;
    uint32_t rank = 0;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 1, ARGUMENTS(TEST_HELPER, "kill"));
    struct fake_message *m = fake_await_match(&job, "FAILURE_SEEN", is_failure, &rank);
    assert_string_equal(m->message.event.note, "exit");
    free(m);
    fake_await_exit(&job, 0, SIGKILL, false, false);
    fake_end(&job, 0);
}

static void a_killed_rank_comes_again_in_a_new_epoch(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    /* Each incarnation of rank 2 before the third fails in RUN; the others follow the epochs. */
    fake_run(&job, 4,
             ARGUMENTS("sh", "-c",
                       "if [ $RZ_RANK = 2 ] && [ $RZ_INCARNATION -lt 3 ]; then "
                       "  exec " TEST_HELPER " join repairing enter say:first kill; fi; "
                       "if [ $RZ_RANK = 2 ]; then exec " TEST_HELPER
                       " join repairing enter say:last serve; fi; "
                       "exec " TEST_HELPER
                       " join repairing enter epoch:2 enter epoch:3 enter say:last serve"));
    fake_await_line(&job, 2, "first 2 1 1");
    fake_await_exit(&job, 2, SIGKILL, false, true);
    fake_await_line(&job, 2, "first 2 2 2");
    for (uint32_t rank = 0; rank < 4; rank++) {
        char line[32];
        snprintf(line, sizeof(line), "last %u %u 3", rank, rank == 2 ? 3 : 1);
        fake_await_line(&job, rank, line);
    }
    fake_end(&job, 0);
}

/* Rank 2 fails again and again; ranks 0 and 1 follow the epochs. The lane of each of its
 * incarnations, by their order. */
static void lanes_of_many(const char *program_of_1, unsigned lane[], unsigned n)
{
    struct fake_job job;
    char script[1024], text[FAKE_TEXT_MAX];
    fake_start(&job, 1);
    snprintf(script, sizeof(script),
             "if [ $RZ_RANK = 2 ]; then if [ $RZ_INCARNATION -lt %u ]; then "
             "exec " TEST_HELPER " join repairing lane enter kill; fi; "
             "exec " TEST_HELPER " join repairing lane lanes enter say:last serve; fi; "
             "all=\"%s\"; [ $RZ_RANK = 0 ] && all=\"join lanes\"; e=1; "
             "while [ $e -lt %u ]; do e=$((e+1)); all=\"$all repairing enter epoch:$e\"; done; "
             "exec " TEST_HELPER " $all enter say:last serve",
             n, program_of_1, n);
    fake_run(&job, 3, ARGUMENTS("sh", "-c", script));
    for (uint32_t rank = 0; rank < 3; rank++) {
        fake_await_line(&job, rank, "last");
    }
    fake_output(&job, 2, 1, text);
    const char *at = text;
    for (unsigned i = 0; i < n; i++) {
        at = strstr(at, "lane ");
        assert_non_null(at);
        lane[i] = (unsigned)atoi(at + strlen("lane "));
        at++;
    }
    fake_end(&job, 0);
}

static void lanes_of_the_failed_serve_others_once_all_have_closed_them(void **state)
{
    enum { N = 20, JOBS_MAX = 20 };
    unsigned lane[N], again = 0;
    (void)state;
    /* The next one may join before all have answered: on a loaded machine each one of a job. */
    for (unsigned jobs = 0; jobs < JOBS_MAX && again == 0; jobs++) {
        lanes_of_many("join lanes", lane, N);
        for (unsigned i = 1; i < N; i++) {
            for (unsigned k = 0; k < i; k++) {
                again += lane[k] == lane[i];
            }
        }
    }
    assert_true(again > 0);
}

static void a_lane_that_one_has_not_closed_serves_no_other(void **state)
{
    enum { N = 6 };
    unsigned lane[N];
    (void)state;
    lanes_of_many("join", lane, N);
    for (unsigned i = 1; i < N; i++) {
        assert_int_equal(lane[i], 2 + i);
    }
}

static void the_ranks_of_a_failed_node_come_again_elsewhere(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 4);
    fake_run(&job, 8,
             ARGUMENTS("sh", "-c",
                       "if [ $RZ_INCARNATION = 1 ]; then "
                       "  exec " TEST_HELPER
                       " join repairing enter say:first epoch:2 enter say:second serve; fi; "
                       "exec " TEST_HELPER " join repairing enter say:second serve"));
    for (uint32_t rank = 0; rank < 8; rank++) {
        fake_await_line(&job, rank, "first");
    }
    struct rz_launch_message inject = {.type = RZ_LAUNCH_INJECT,
                                       .inject = {.what = RZ_INJECT_KILL_NODE}};
    fake_send(&job, 2, &inject);
    for (uint32_t rank = 0; rank < 8; rank++) {
        char line[32];
        snprintf(line, sizeof(line), "second %u %u 2", rank, rank / 2 == 2 ? 2 : 1);
        fake_await_line(&job, rank, line);
    }
    int status;
    assert_int_equal(waitpid(job.node[2].keeper, &status, 0), job.node[2].keeper);
    assert_int_equal(WEXITSTATUS(status), 128 + SIGKILL);
    fake_vanish(&job);
    fake_free(&job);
}

static void a_process_with_a_wrong_key_is_refused(void **state)
{
    struct fake_job job;
    char text[FAKE_TEXT_MAX];
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 1, ARGUMENTS("sh", "-c", "RZ_JOB_KEY=00$RZ_JOB_KEY exec " TEST_HELPER " join"));
    fake_await_exit(&job, 0, EXIT_STATUS(76), true, false);
    fake_output(&job, 0, 2, text);
    assert_non_null(strstr(text, "did not prove"));
    fake_end(&job, 0);
}

static void local_and_remote_ranks_are_reached(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_run(&job, 4,
             ARGUMENTS("sh", "-c",
                       "if [ $RZ_RANK = 0 ]; then exec " TEST_HELPER
                       " join enter open:1 address:1 address:3 serve; fi; "
                       "sleep 0.$RZ_RANK; exec " TEST_HELPER " join net enter serve"));
    fake_await_line(&job, 0, "opened 1 2");
    fake_await_line(&job, 0, "endpoint address 1 endpoint address-of-1");
    fake_await_line(&job, 0, "endpoint address 3 endpoint address-of-3");
    fake_end(&job, 0);
}

static void an_abort_is_told_and_is_no_failure(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 2, ARGUMENTS(TEST_HELPER, "join", "enter", "if:1", "abort:9"));
    struct fake_message *m = fake_await(&job, RZ_LAUNCH_ABORTED);
    assert_int_equal(m->message.aborted.rank, 1);
    assert_int_equal(m->message.aborted.code, 9);
    assert_string_equal(m->message.aborted.reason, "as told");
    free(m);
    fake_end(&job, 0);
}

static void the_hang_report_names_call_and_peer(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 1, ARGUMENTS(TEST_HELPER, "join", "waits", "say:waiting", "hang"));
    fake_await_line(&job, 0, "waiting");
    struct rz_launch_message dump = {.type = RZ_LAUNCH_DUMP_WAITING};
    fake_send(&job, 0, &dump);
    struct fake_message *m = fake_await(&job, RZ_LAUNCH_WAITING);
    assert_int_equal(m->message.waiting.state, RZ_WAITING_IN_CALL);
    assert_string_equal(m->message.waiting.call, "MPI_Recv");
    assert_int_equal(m->message.waiting.context, 0xbeef);
    assert_int_equal(m->message.waiting.peer, 1);
    assert_int_equal(m->message.waiting.tag, 7);
    free(m);
    free(fake_await(&job, RZ_LAUNCH_WAITING_END));
    fake_end(&job, 0);
}

/* Both ranks show three messages for each other, and one of the other: two are under way each way.
 * Of messages to rank 2, which is not asked for, nothing is said. */
static void the_hang_report_balances_what_is_under_way(void **state)
{
    const uint8_t ranks = 3;
    const struct rz_launch_message dump = {.type = RZ_LAUNCH_DUMP_WAITING,
                                           .dump_waiting = {.ranks = &ranks, .ranks_length = 1}};
    struct fake_job job;
    struct rz_wire_reader r;
    (void)state;
    fake_start(&job, 1);
    fake_run(
        &job, 2,
        ARGUMENTS(TEST_HELPER, "join", "handed:0", "handed:1", "handed:2", "say:handed", "hang"));
    fake_await_line(&job, 0, "handed");
    fake_await_line(&job, 1, "handed");
    fake_send(&job, 0, &dump);
    struct fake_message *m = fake_await(&job, RZ_LAUNCH_UNDER_WAY);
    assert_int_equal(m->message.under_way.balance_length, 2 * RZ_BALANCE_ENTRY_BYTES);
    rz_wire_reader_init(&r, m->message.under_way.balance, 2 * RZ_BALANCE_ENTRY_BYTES);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(rz_wire_get_u32(&r), rank);
        assert_int_equal(rz_wire_get_u64(&r), 2);
        assert_int_equal(rz_wire_get_u64(&r), 2);
    }
    free(m);
    m = fake_await(&job, RZ_LAUNCH_WAITING);
    assert_true(m->message.waiting.still_ns < RZ_TIME_NEVER);
    free(m);
    free(fake_await(&job, RZ_LAUNCH_WAITING_END));
    fake_end(&job, 0);
}

/* ---- traffic ---- */

/* What rank 0 is said to have sent: so many messages to a group. Another one is told first. */
static void await_traffic(struct fake_job *job, uint32_t group, uint64_t messages)
{
    struct fake_message *m = fake_await(job, RZ_LAUNCH_TRAFFIC);
    const struct rz_launch_traffic *told = &m->message.traffic;
    struct rz_wire_reader r;
    assert_int_equal(told->rank, 0);
    assert_int_equal(told->incarnation, 1);
    rz_wire_reader_init(&r, told->sent, told->sent_length);
    assert_int_equal(told->sent_length, 2 * RZ_TRAFFIC_ENTRY_BYTES);
    assert_int_equal(rz_wire_get_u32(&r), group);
    assert_int_equal(rz_wire_get_u64(&r), messages);
    assert_int_equal(rz_wire_get_u64(&r), 100 * messages);
    assert_int_equal(rz_wire_get_u32(&r), rz_traffic_groups(job->n_ranks)); /* spawned */
    free(m);
}

static void traffic_is_told_while_it_runs_and_when_it_was_killed(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    job.flags = RZ_JOB_TRAFFIC;
    fake_run(&job, 1,
             ARGUMENTS(TEST_HELPER, "join", "sent:0", "sent:0", "sent:1", "sent:64", "say:sent",
                       "stdin", "sent:0", "kill"));
    fake_await_line(&job, 0, "sent");
    struct rz_launch_message dump = {.type = RZ_LAUNCH_DUMP_WAITING,
                                     .dump_waiting = {.traffic = 1}};
    fake_send(&job, 0, &dump);
    await_traffic(&job, 0, 2);
    free(fake_await(&job, RZ_LAUNCH_WAITING_END));
    struct rz_launch_message end = {.type = RZ_LAUNCH_STDIN,
                                    .stdin_data = {.data = (const uint8_t *)"", .end = 1}};
    fake_send(&job, 0, &end);
    await_traffic(&job, 0, 3);
    fake_end(&job, 0);
}

static void nothing_is_counted_unless_the_job_says_so(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 1, ARGUMENTS(TEST_HELPER, "join", "sent:0", "say:sent", "hang"));
    fake_await_line(&job, 0, "sent");
    struct rz_launch_message dump = {.type = RZ_LAUNCH_DUMP_WAITING,
                                     .dump_waiting = {.traffic = 1}};
    fake_send(&job, 0, &dump);
    for (bool over = false; !over;) {
        struct fake_message *m = fake_await_any(&job);
        assert_int_not_equal(m->message.type, RZ_LAUNCH_TRAFFIC);
        over = m->message.type == RZ_LAUNCH_WAITING_END;
        free(m);
    }
    fake_end(&job, 0);
}

/* ---- faults on order ---- */

static void stops_and_goes_on(uint32_t what, rz_time for_ns)
{
    struct fake_job job;
    fake_start(&job, 1);
    fake_run(&job, 1, ARGUMENTS(TEST_HELPER, "join", "say:here", "stdin", "say:on", "hang"));
    fake_await_line(&job, 0, "here");
    struct rz_launch_message inject = {.type = RZ_LAUNCH_INJECT,
                                       .inject = {.what = what, .for_ns = for_ns}};
    struct rz_launch_message end = {.type = RZ_LAUNCH_STDIN,
                                    .stdin_data = {.data = (const uint8_t *)"", .end = 1}};
    fake_send(&job, 0, &inject);
    fake_send(&job, 0, &end);
    fake_await_line(&job, 0, "on");
    fake_end(&job, 0);
}

static void a_stopped_rank_goes_on(void **state)
{
    (void)state;
    stops_and_goes_on(RZ_INJECT_STOP_RANK, 200 * RZ_MILLISECOND);
}

static void a_stopped_node_goes_on(void **state)
{
    (void)state;
    stops_and_goes_on(RZ_INJECT_STOP_NODE, 300 * RZ_MILLISECOND);
}

static void a_signal_is_forwarded(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 1,
             ARGUMENTS("sh", "-c", "trap 'exit 7' USR1; echo ready; while :; do sleep 0.01; done"));
    fake_await_line(&job, 0, "ready");
    struct rz_launch_message signal = {.type = RZ_LAUNCH_SIGNAL, .signal = {.number = SIGUSR1}};
    fake_send(&job, 0, &signal);
    fake_await_exit(&job, 0, EXIT_STATUS(7), true, false);
    fake_end(&job, 0);
}

static void shutdown_gives_grace_then_kills(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 2,
             ARGUMENTS("sh", "-c",
                       "if [ $RZ_RANK = 0 ]; then trap 'exit 8' TERM; else trap '' TERM; fi; "
                       "echo ready; while :; do sleep 0.01; done"));
    fake_await_line(&job, 0, "ready");
    fake_await_line(&job, 1, "ready");
    struct rz_launch_message shutdown = {.type = RZ_LAUNCH_SHUTDOWN, .shutdown = {.grace_ms = 500}};
    fake_send(&job, 0, &shutdown);
    fake_await_exit(&job, 0, EXIT_STATUS(8), true, false);
    fake_await_exit(&job, 1, SIGKILL, false, false);
    fake_end(&job, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_plain_program_ends_without_a_failure, nothing_left),
        cmocka_unit_test_teardown(a_program_finds_its_environment_and_nothing_else_open,
                                  nothing_left),
        cmocka_unit_test_teardown(a_program_that_cannot_be_executed_is_told_in_words, nothing_left),
        cmocka_unit_test_teardown(what_a_program_leaves_behind_ends_with_it, nothing_left),
        cmocka_unit_test_teardown(standard_input_reaches_rank_0, nothing_left),
        cmocka_unit_test_teardown(a_launcher_that_does_not_read_holds_writers_not_the_daemon,
                                  nothing_left),
        cmocka_unit_test_teardown(a_bad_job_is_refused_in_words, nothing_left),
        cmocka_unit_test_teardown(noise_instead_of_a_job_ends_the_daemon, nothing_left),
        cmocka_unit_test_teardown(ranks_join_pass_the_barriers_and_leave, nothing_left),
        cmocka_unit_test_teardown(an_end_without_bye_is_a_failure, nothing_left),
        cmocka_unit_test_teardown(the_cause_comes_before_the_exit, nothing_left),
        cmocka_unit_test_teardown(a_process_that_never_reads_fails_alone, nothing_left),
        cmocka_unit_test_teardown(a_process_that_talks_nonsense_fails_alone, nothing_left),
        cmocka_unit_test_teardown(a_rank_that_says_bye_too_early_fails_alone, nothing_left),
        cmocka_unit_test_teardown(a_process_that_stores_wrong_pieces_fails_alone, nothing_left),
        cmocka_unit_test_teardown(a_process_that_stores_a_piece_lives, nothing_left),
        cmocka_unit_test_teardown(a_process_that_closes_its_link_fails_alone, nothing_left),
        cmocka_unit_test_teardown(what_a_process_says_again_is_recorded_once, nothing_left),
        cmocka_unit_test_teardown(a_process_that_asks_for_an_ended_rank_is_answered, nothing_left),
        cmocka_unit_test_teardown(to_be_killed_before_hello_is_a_failure, nothing_left),
        cmocka_unit_test_teardown(a_killed_rank_comes_again_in_a_new_epoch, nothing_left),
        cmocka_unit_test_teardown(lanes_of_the_failed_serve_others_once_all_have_closed_them,
                                  nothing_left),
        cmocka_unit_test_teardown(a_lane_that_one_has_not_closed_serves_no_other, nothing_left),
        cmocka_unit_test_teardown(the_ranks_of_a_failed_node_come_again_elsewhere, nothing_left),
        cmocka_unit_test_teardown(a_process_with_a_wrong_key_is_refused, nothing_left),
        cmocka_unit_test_teardown(local_and_remote_ranks_are_reached, nothing_left),
        cmocka_unit_test_teardown(an_abort_is_told_and_is_no_failure, nothing_left),
        cmocka_unit_test_teardown(the_hang_report_names_call_and_peer, nothing_left),
        cmocka_unit_test_teardown(the_hang_report_balances_what_is_under_way, nothing_left),
        cmocka_unit_test_teardown(traffic_is_told_while_it_runs_and_when_it_was_killed,
                                  nothing_left),
        cmocka_unit_test_teardown(nothing_is_counted_unless_the_job_says_so, nothing_left),
        cmocka_unit_test_teardown(a_stopped_rank_goes_on, nothing_left),
        cmocka_unit_test_teardown(a_stopped_node_goes_on, nothing_left),
        cmocka_unit_test_teardown(a_signal_is_forwarded, nothing_left),
        cmocka_unit_test_teardown(shutdown_gives_grace_then_kills, nothing_left),
    };
    signal(SIGPIPE, SIG_IGN);
    fake_adopt();
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]); /* a name, with * and ? */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
