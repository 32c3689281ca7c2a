/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kill of any process at any moment leaves no process behind. Each round starts one node whose
 * ranks have children of their own (some in sessions of their own), waits a random time from JOB to
 * well into the run, and kills one victim.
 *
 *   RZ_TEST_SEED=N: only the round of that seed.   RZ_TEST_ROUNDS=N: number of rounds (default 60).
 */
#include "fake_launcher.h"

#include "base/random.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum victim {
    VICTIM_KEEPER,
    VICTIM_DAEMON,
    VICTIM_LAUNCHER,
    VICTIM_RANK,        /* then the launcher */
    VICTIM_KEEPER_TERM, /* requested to end, not killed */
    VICTIM_DAEMON_TERM,
    VICTIM_STOPPED_KEEPER, /* the keeper of a stopped node */
    VICTIM_COUNT
};

static const char *const victim_name[VICTIM_COUNT] = {"keeper",
                                                      "daemon",
                                                      "launcher",
                                                      "rank",
                                                      "keeper (SIGTERM)",
                                                      "daemon (SIGTERM)",
                                                      "keeper of a stopped node"};

/* What the ranks run: with children, alone, as a plain program. */
static const char *const *program(uint64_t choice)
{
    static const char *const bare[] = {TEST_HELPER, "join", "repairing", "enter", "serve", NULL};
    static const char *const family[] = {"sh", "-c",
                                         "sleep 1000 & setsid sleep 1000 & " TEST_HELPER
                                         " join repairing enter serve; sleep 1000",
                                         NULL};
    static const char *const plain[] = {
        "sh", "-c", "trap '' TERM; (sleep 1000; true) & while :; do sleep 0.001; done", NULL};
    static const char *const *const programs[] = {bare, family, plain};
    return programs[choice % 3];
}

static void pass(uint64_t nanoseconds)
{
    struct timespec time = {.tv_sec = 0, .tv_nsec = (long)nanoseconds};
    nanosleep(&time, NULL);
}

static bool is_started(const struct rz_launch_message *message, const void *arg)
{
    (void)arg;
    return message->type == RZ_LAUNCH_STARTED;
}

static void kill_rank(struct fake_job *job)
{
    struct fake_message *m = fake_await_match(job, "STARTED", is_started, NULL);
    kill((pid_t)m->message.started.pid, SIGKILL);
    free(m);
    fake_pump(job, 5);
    fake_vanish(job);
}

static void strike(struct fake_job *job, enum victim victim)
{
    const struct fake_node *node = &job->node[0];
    struct rz_launch_message stop = {
        .type = RZ_LAUNCH_INJECT,
        .inject = {.what = RZ_INJECT_STOP_NODE, .for_ns = 3600 * RZ_SECOND}};
    switch (victim) {
    case VICTIM_KEEPER:
        kill(node->keeper, SIGKILL);
        break;
    case VICTIM_DAEMON:
        kill(node->daemon, SIGKILL);
        break;
    case VICTIM_LAUNCHER:
        fake_vanish(job);
        break;
    case VICTIM_RANK:
        kill_rank(job);
        break;
    case VICTIM_KEEPER_TERM:
        kill(node->keeper, SIGTERM);
        break;
    case VICTIM_DAEMON_TERM:
        kill(node->daemon, SIGTERM);
        break;
    case VICTIM_STOPPED_KEEPER:
        fake_send(job, 0, &stop);
        fake_pump(job, 20);
        kill(node->keeper, SIGKILL);
        break;
    case VICTIM_COUNT:
        break;
    }
}

static void one_round(uint64_t seed)
{
    struct rz_random random = {seed};
    struct fake_job job;
    char when[128];
    enum victim victim = (enum victim)rz_random_below(&random, VICTIM_COUNT);
    uint64_t choice = rz_random_next(&random);
    uint64_t delay = rz_random_below(&random, (seed & 1 ? 1 : 40) * RZ_MILLISECOND);
    snprintf(when, sizeof(when), "%s, %llu us after JOB (replay: RZ_TEST_SEED=%llu)",
             victim_name[victim], (unsigned long long)(delay / RZ_MICROSECOND),
             (unsigned long long)seed);
    fake_start(&job, 1);
    fake_run(&job, 3, program(choice));
    pass(delay);
    strike(&job, victim);
    fake_assert_nothing_left(when);
    fake_free(&job);
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void nothing_outlives_any_kill(void **state)
{
    (void)state;
    if (getenv("RZ_TEST_SEED")) {
        one_round(number("RZ_TEST_SEED", 0));
        return;
    }
    uint64_t rounds = number("RZ_TEST_ROUNDS", 60);
    for (uint64_t seed = 1; seed <= rounds; seed++) {
        one_round(seed);
    }
}

/* While keeper and daemon are just coming into being. */
static void nothing_outlives_a_kill_of_the_keeper_at_its_start(void **state)
{
    (void)state;
    for (uint64_t delay_us = 0; delay_us < 3000; delay_us += 150) {
        struct fake_job job;
        char when[64];
        snprintf(when, sizeof(when), "keeper, %llu us after its start",
                 (unsigned long long)delay_us);
        fake_start_only(&job, 1);
        pass(delay_us * RZ_MICROSECOND);
        kill(job.node[0].keeper, SIGKILL);
        fake_assert_nothing_left(when);
        fake_free(&job);
    }
}

/* Before JOB, too. */
static void nothing_outlives_a_launcher_that_never_sent_a_job(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 2);
    fake_vanish(&job);
    fake_assert_nothing_left("launcher before JOB");
    fake_free(&job);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_outlives_any_kill),
        cmocka_unit_test(nothing_outlives_a_kill_of_the_keeper_at_its_start),
        cmocka_unit_test(nothing_outlives_a_launcher_that_never_sent_a_job),
    };
    signal(SIGPIPE, SIG_IGN);
    fake_adopt();
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]); /* a name, with * and ? */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
