/* SPDX-License-Identifier: BSD-3-Clause */
/* When a job must end, from the reports of its daemons. */
#include "outcome/exit_codes.h"
#include "outcome/referee.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define LATER 77u /* a grace that no caller gives */

/* Two ranks on two nodes, both started. */
static void open_two(struct rz_referee *referee, bool no_ft)
{
    static const uint32_t placement[2] = {0, 1};
    uint32_t grace;
    rz_referee_open(referee, 2, placement, 2, no_ft ? RZ_JOB_NO_FT : 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const struct rz_launch_message started = {.type = RZ_LAUNCH_STARTED,
                                                  .started = {.rank = rank, .incarnation = 1}};
        assert_false(rz_referee_take(referee, rank, &started, &grace));
    }
}

/* The grace with which the job must end, or LATER. */
static uint32_t take(struct rz_referee *referee, uint32_t node,
                     const struct rz_launch_message *message)
{
    uint32_t grace = LATER;
    assert_true(rz_referee_take(referee, node, message, &grace) == (grace != LATER));
    return grace;
}

static uint32_t exits(struct rz_referee *referee, uint32_t rank, int status, bool clean, bool hello)
{
    const struct rz_launch_message message = {.type = RZ_LAUNCH_EXITED,
                                              .exited = {.rank = rank,
                                                         .incarnation = 1,
                                                         .status = (uint32_t)status,
                                                         .clean = clean,
                                                         .hello = hello}};
    return take(referee, rank, &message);
}

static uint32_t event(struct rz_referee *referee, enum rz_event_record kind, uint32_t rank,
                      uint32_t node)
{
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_EVENT,
        .event = {.kind = kind, .rank = rank, .node = node, .incarnation = 1, .note = ""}};
    return take(referee, 0, &message);
}

static void ends_with(struct rz_referee *referee, int expected, const char *words)
{
    const char *cause;
    assert_int_equal(rz_outcome_status(&referee->outcome, &cause), expected);
    if (words && (!cause || !strstr(cause, words))) {
        fail_msg("'%s' does not say '%s'", cause ? cause : "", words);
    }
    rz_referee_clear(referee);
}

static void test_all_end(void **state)
{
    struct rz_referee referee;
    (void)state;
    open_two(&referee, false);
    assert_int_equal(exits(&referee, 0, 0, true, true), LATER);
    assert_int_equal(exits(&referee, 1, 3 << 8, true, true), 0);
    ends_with(&referee, 3, "rank 1 exited with status 3");
}

static void test_a_failure_stays_open_until_it_is_noted(void **state)
{
    struct rz_referee referee;
    (void)state;
    open_two(&referee, false);
    assert_int_equal(exits(&referee, 1, SIGKILL, false, true), LATER);
    assert_int_equal(exits(&referee, 0, 0, true, true), LATER);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_NOTED, 1, 1), 0);
    ends_with(&referee, 137, "rank 1 was killed by signal 9");
}

static void test_a_node_is_lost(void **state)
{
    struct rz_referee referee;
    uint32_t grace = LATER;
    (void)state;
    open_two(&referee, false);
    assert_false(rz_referee_node_lost(&referee, 1, &grace));
    assert_int_equal(exits(&referee, 0, 0, true, true), LATER);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_NOTED, RZ_ID_NONE, 1), 0);
    ends_with(&referee, 137, "rank 1 was lost with node 1");
    open_two(&referee, true);
    assert_true(rz_referee_node_lost(&referee, 1, &grace));
    assert_int_equal(grace, RZ_END_GRACE_MS);
    ends_with(&referee, 137, "without fault tolerance");
}

static void test_without_fault_tolerance_the_first_failure_ends_it(void **state)
{
    struct rz_referee referee;
    (void)state;
    open_two(&referee, true);
    assert_int_equal(exits(&referee, 1, SIGSEGV, false, true), RZ_END_GRACE_MS);
    ends_with(&referee, 139, "rank 1 was killed by signal 11");
}

static void test_one_that_never_joins(void **state)
{
    struct rz_referee referee;
    (void)state;
    open_two(&referee, false);
    assert_int_equal(exits(&referee, 0, 5 << 8, true, false), LATER);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_JOINED, 1, 1), 0);
    ends_with(&referee, 5, "without MPI_Init");
    open_two(&referee, false);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_JOINED, 1, 1), LATER);
    assert_int_equal(exits(&referee, 0, 5 << 8, true, false), 0);
    ends_with(&referee, 5, "without MPI_Init");
    /* One that was killed on the way is a failure like any other: the job may repair it. */
    open_two(&referee, false);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_JOINED, 1, 1), LATER);
    assert_int_equal(exits(&referee, 0, SIGKILL, false, false), LATER);
    assert_int_equal(exits(&referee, 1, 0, true, true), LATER);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_NOTED, 0, 0), 0);
    ends_with(&referee, 137, "rank 0 was killed by signal 9");
    open_two(&referee, true);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_JOINED, 1, 1), LATER);
    assert_int_equal(exits(&referee, 0, SIGKILL, false, false), 0);
    ends_with(&referee, 137, "without MPI_Init");
}

/* All failed, before any reached its end: those that said that the program repairs itself wait. */
static void test_all_start_again(void **state)
{
    static const uint32_t placement[2] = {0, 1};
    struct rz_referee referee;
    (void)state;
    for (uint32_t left = 0; left < 2; left++) {
        open_two(&referee, false);
        rz_referee_clear(&referee);
        rz_referee_open(&referee, 2, placement, 2, RZ_JOB_REPAIRS);
        for (uint32_t rank = 0; rank < 2; rank++) {
            rz_outcome_started(&referee.outcome, rank, 1, rank);
        }
        if (left) {
            assert_int_equal(event(&referee, RZ_EVENT_RECORD_LEFT, RZ_ID_NONE, 0), LATER);
        }
        for (uint32_t rank = 0; rank < 2; rank++) {
            assert_int_equal(exits(&referee, rank, SIGKILL, false, true), LATER);
        }
        assert_int_equal(event(&referee, RZ_EVENT_RECORD_NOTED, 0, 0), LATER);
        assert_int_equal(event(&referee, RZ_EVENT_RECORD_NOTED, 1, 1), left ? 0 : LATER);
        ends_with(&referee, 137, "rank 0 was killed by signal 9");
    }
}

/* The last failure is named: of a process, or of a node, whose end is reported before, after, or
 * never. */
static void test_too_many_failures(void **state)
{
    struct rz_referee referee;
    const struct rz_launch_message stopping = {
        .type = RZ_LAUNCH_STOPPING,
        .stopping = {.status = RZ_ERR_JOB_ENDED, .reason = "too many restarts"}};
    (void)state;
    open_two(&referee, false);
    assert_int_equal(exits(&referee, 0, SIGKILL, false, true), LATER);
    assert_int_equal(exits(&referee, 1, SIGSEGV, false, true), LATER);
    assert_int_equal(take(&referee, 0, &stopping), RZ_END_GRACE_MS);
    ends_with(&referee, RZ_EXIT_RESTARTS,
              "too many restarts; the last failure: rank 1 was killed by signal 11 (Segmentation "
              "fault) on node 1");
    open_two(&referee, false);
    assert_int_equal(exits(&referee, 0, SIGKILL, false, true), LATER);
    rz_outcome_failing(&referee.outcome, 1, 1);
    assert_int_equal(take(&referee, 0, &stopping), RZ_END_GRACE_MS);
    assert_int_equal(exits(&referee, 1, 0, false, true), LATER);
    ends_with(&referee, RZ_EXIT_RESTARTS,
              "the last failure: rank 1 exited with status 0 before MPI_Finalize on node 1");
    open_two(&referee, false);
    assert_int_equal(exits(&referee, 1, SIGSEGV, false, true), LATER);
    rz_outcome_spawned(&referee.outcome, 1, 2, 0, false);
    assert_int_equal(take(&referee, 0, &stopping), RZ_END_GRACE_MS);
    assert_int_equal(exits(&referee, 0, SIGTERM, false, true), LATER); /* by our order */
    ends_with(&referee, RZ_EXIT_RESTARTS, "rank 1 was killed by signal 11 (Segmentation fault)");
    open_two(&referee, false);
    rz_outcome_node_lost(&referee.outcome, 1);
    assert_int_equal(take(&referee, 0, &stopping), RZ_END_GRACE_MS);
    ends_with(&referee, RZ_EXIT_RESTARTS, "the last failure: rank 1 was lost with node 1");
}

static void test_what_ends_it_at_once(void **state)
{
    struct rz_referee referee;
    const struct rz_launch_message
        aborted = {.type = RZ_LAUNCH_ABORTED,
                   .aborted = {.rank = 1, .code = 9, .reason = "MPI_Abort"}},
        stopping = {.type = RZ_LAUNCH_STOPPING,
                    .stopping = {.status = RZ_ERR_JOB_ENDED, .reason = "too many restarts"}},
        lost = {.type = RZ_LAUNCH_STOPPING,
                .stopping = {.status = RZ_ERR_CHECKPOINT_LOST, .reason = "piece-3 is cut"}},
        no_slots = {.type = RZ_LAUNCH_STOPPING,
                    .stopping = {.status = RZ_ERR_NO_SLOTS, .reason = "4 slots are left"}},
        unkept = {.type = RZ_LAUNCH_STOPPING,
                  .stopping = {.status = RZ_ERR_CHECKPOINT_UNKEPT, .reason = "No space left"}},
        cut_off = {.type = RZ_LAUNCH_STOPPING,
                   .stopping = {.status = RZ_ERR_NO_QUORUM, .reason = "no quorum"}},
        finish = {.type = RZ_LAUNCH_FINISH, .finish = {.code = 143, .reason = "by rzrun --end"}};
    (void)state;
    open_two(&referee, false);
    assert_int_equal(take(&referee, 0, &finish), RZ_END_GRACE_MS);
    assert_int_equal(take(&referee, 1, &aborted), 0); /* later, and shorter */
    ends_with(&referee, 143, "by rzrun --end");
    open_two(&referee, false);
    assert_int_equal(take(&referee, 1, &aborted), 0);
    ends_with(&referee, 9, "rank 1 ended the job");
    open_two(&referee, false);
    assert_int_equal(take(&referee, 0, &stopping), RZ_END_GRACE_MS);
    ends_with(&referee, RZ_EXIT_RESTARTS, "too many restarts");
    open_two(&referee, false);
    assert_int_equal(take(&referee, 0, &no_slots), RZ_END_GRACE_MS);
    ends_with(&referee, RZ_EXIT_SLOTS, "4 slots are left");
    open_two(&referee, false);
    assert_int_equal(take(&referee, 0, &lost), RZ_END_GRACE_MS);
    ends_with(&referee, RZ_EXIT_CHECKPOINT, "piece-3 is cut");
    open_two(&referee, false);
    assert_int_equal(take(&referee, 0, &unkept), RZ_END_GRACE_MS);
    ends_with(&referee, RZ_EXIT_CHECKPOINT, "No space left");
    open_two(&referee, false);
    assert_int_equal(take(&referee, 1, &cut_off), LATER);
    rz_referee_all_lost(&referee, 1);
    ends_with(&referee, RZ_EXIT_LOST, "node 1, was cut off: no quorum");
    open_two(&referee, false);
    rz_referee_timed_out(&referee, 2 * RZ_SECOND);
    ends_with(&referee, RZ_EXIT_TIMEOUT, "--timeout (2 s)");
}

/* The report of the failed process's daemon is the last to arrive. */
static void test_news_of_a_failure_come_before_its_sight(void **state)
{
    struct rz_referee referee;
    const struct rz_launch_message aborted = {
        .type = RZ_LAUNCH_ABORTED,
        .aborted = {.rank = 1, .code = 1, .reason = "rank 0 has failed"}};
    (void)state;
    open_two(&referee, false);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_FAILURE_NEWS, 0, 0), LATER);
    assert_int_equal(take(&referee, 1, &aborted), 0);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_FAILURE_SEEN, 0, 0), LATER);
    exits(&referee, 0, SIGUSR1, false, true);
    exits(&referee, 1, SIGKILL, false, true);
    ends_with(&referee, 128 + SIGUSR1, "rank 0 was killed by signal");
}

/* Once the host has begun the end, what follows from it is no new reason. */
static void test_the_end_is_no_loss(void **state)
{
    struct rz_referee referee;
    uint32_t grace = LATER;
    (void)state;
    open_two(&referee, true);
    assert_int_equal(exits(&referee, 0, 0, true, true), LATER);
    assert_int_equal(exits(&referee, 1, 0, true, true), 0);
    referee.over = true;
    assert_false(rz_referee_node_lost(&referee, 1, &grace));
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_NOTED, RZ_ID_NONE, 1), LATER);
    ends_with(&referee, 0, NULL);
}

/* Both sides of a partition report each other: only what was agreed puts a node out. */
static void test_an_excluded_process_is_refused(void **state)
{
    static const enum rz_launch_type of_processes[] = {RZ_LAUNCH_OUTPUT,  RZ_LAUNCH_MARK,
                                                       RZ_LAUNCH_EXITED,  RZ_LAUNCH_STARTED,
                                                       RZ_LAUNCH_ABORTED, RZ_LAUNCH_STDIN_WANTED};
    const struct rz_launch_message stopping = {.type = RZ_LAUNCH_STOPPING};
    const size_t n = sizeof(of_processes) / sizeof(*of_processes);
    struct rz_referee referee;
    (void)state;
    open_two(&referee, false);
    event(&referee, RZ_EVENT_RECORD_FAILURE_NEWS, RZ_ID_NONE, 1);
    event(&referee, RZ_EVENT_RECORD_FAILURE_NEWS, RZ_ID_NONE, 0);
    for (int out = 0; out < 2; out++) {
        for (size_t i = 0; i < n; i++) {
            const struct rz_launch_message told = {.type = of_processes[i]};
            assert_int_equal(rz_referee_refuses(&referee, 1, &told), out);
            assert_false(rz_referee_refuses(&referee, 0, &told));
            assert_false(rz_referee_refuses(&referee, 2, &told));
        }
        assert_false(rz_referee_refuses(&referee, 1, &stopping));
        assert_int_equal(event(&referee, RZ_EVENT_RECORD_EXCLUDED, RZ_ID_NONE, 1), LATER);
    }
    assert_int_equal(referee.outcome.refused[1], n);
    assert_int_equal(referee.outcome.refused[0], 0);
    rz_referee_clear(&referee);
}

/* A stranger cuts the connection of two nodes, and each takes that for the failure of the other. */
static void test_the_first_agreement_counts(void **state)
{
    const struct rz_launch_message first = {
        .type = RZ_LAUNCH_EVENT,
        .event = {.kind = RZ_EVENT_RECORD_EXCLUDED, .rank = RZ_ID_NONE, .node = 1}};
    struct rz_launch_message second = first;
    struct rz_referee referee;
    (void)state;
    second.event.node = 0;
    open_two(&referee, false);
    assert_false(rz_referee_refuses(&referee, 0, &first));
    assert_int_equal(take(&referee, 0, &first), LATER);
    assert_true(rz_referee_is_second_agreement(&referee, 1, &second));
    assert_true(rz_referee_refuses(&referee, 1, &second));
    assert_false(rz_referee_is_second_agreement(&referee, 1, &first)); /* of itself */
    assert_false(rz_referee_refuses(&referee, 0, &first));
    rz_referee_clear(&referee);
}

static void starts(struct rz_referee *referee, uint32_t node, uint32_t rank, uint32_t incarnation)
{
    const struct rz_launch_message started = {
        .type = RZ_LAUNCH_STARTED, .started = {.rank = rank, .incarnation = incarnation}};
    assert_false(rz_referee_refuses(referee, node, &started));
    assert_int_equal(take(referee, node, &started), LATER);
}

/* Nodes 0 and 1 take each other for failed. Node 1 goes on without node 0, and starts rank 0; node
 * 2 goes on without both, and starts all that is not its own with the same incarnations. Its
 * processes count, also if rzrun hears only then that node 1 has ended. */
static void test_what_a_second_agreement_has_started_does_not_count(void **state)
{
    static const uint32_t placement[3] = {0, 1, 2};
    struct rz_launch_message without = {
        .type = RZ_LAUNCH_EVENT, .event = {.kind = RZ_EVENT_RECORD_EXCLUDED, .rank = RZ_ID_NONE}};
    struct rz_launch_message exited = {.type = RZ_LAUNCH_EXITED,
                                       .exited = {.clean = true, .hello = true}};
    struct rz_referee referee;
    uint32_t grace = LATER;
    (void)state;
    rz_referee_open(&referee, 3, placement, 3, 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        starts(&referee, rank, rank, 1);
    }
    assert_int_equal(take(&referee, 1, &without), LATER); /* node 0 */
    starts(&referee, 1, 0, 2);
    assert_false(rz_referee_node_lost(&referee, 0, &grace));
    without.event.node = 1;
    assert_int_equal(take(&referee, 2, &without), LATER);
    starts(&referee, 2, 0, 2);
    assert_false(rz_referee_node_lost(&referee, 1, &grace));
    starts(&referee, 2, 1, 2);
    for (uint32_t rank = 0; rank < 3; rank++) {
        exited.exited.rank = rank;
        exited.exited.incarnation = rank == 2 ? 1 : 2;
        assert_int_equal(take(&referee, 2, &exited), rank == 2 ? 0 : LATER);
    }
    ends_with(&referee, 0, NULL);
}

/* A node that was cut off in a recovery hears of its end late, when it is reached again. */
static void test_a_late_agreement_is_no_second_one(void **state)
{
    static const uint32_t placement[3] = {0, 1, 2};
    struct rz_launch_message without = {
        .type = RZ_LAUNCH_EVENT, .event = {.kind = RZ_EVENT_RECORD_EXCLUDED, .rank = RZ_ID_NONE}};
    struct rz_referee referee;
    (void)state;
    rz_referee_open(&referee, 3, placement, 3, 0);
    for (uint32_t node = 1; node < 3; node++) {
        without.event.node = node;
        assert_int_equal(take(&referee, 0, &without), LATER);
    }
    assert_false(rz_referee_is_second_agreement(&referee, 1, &without)); /* without node 2 */
    without.event.node = 0;
    assert_true(rz_referee_is_second_agreement(&referee, 1, &without));
    rz_referee_clear(&referee);
}

/* Numbers that no daemon of this job would send. */
static uint32_t told(struct rz_referee *referee, enum rz_event_record kind, uint32_t rank,
                     uint32_t incarnation, uint64_t value)
{
    const struct rz_launch_message message = {.type = RZ_LAUNCH_EVENT,
                                              .event = {.kind = kind,
                                                        .rank = rank,
                                                        .node = 0,
                                                        .incarnation = incarnation,
                                                        .value = value,
                                                        .note = "rank 0: enough"}};
    return take(referee, 0, &message);
}

static void test_spawns_and_acknowledgements(void **state)
{
    struct rz_referee referee;
    (void)state;
    open_two(&referee, false);
    assert_int_equal(exits(&referee, 1, SIGKILL, false, true), LATER);
    assert_int_equal(told(&referee, RZ_EVENT_RECORD_ACKNOWLEDGED, 1, 1, 0), LATER);
    assert_int_equal(told(&referee, RZ_EVENT_RECORD_NOTED, 1, 1, 0), LATER);
    assert_int_equal(told(&referee, RZ_EVENT_RECORD_SPAWNED, 3, 1, RZ_START_SPAWNED), LATER);
    assert_int_equal(exits(&referee, 0, 0, true, true), LATER); /* one was spawned */
    assert_int_equal(exits(&referee, 3, 0, true, false), 0);    /* and needs no MPI_Init */
    ends_with(&referee, 0, NULL);
}

static void test_an_abort_of_some_is_told(void **state)
{
    struct rz_referee referee;
    (void)state;
    open_two(&referee, false);
    assert_int_equal(told(&referee, RZ_EVENT_RECORD_ENDED_BY, 1, 1, 9), LATER);
    assert_int_equal(exits(&referee, 1, SIGKILL, false, true), LATER);
    assert_int_equal(told(&referee, RZ_EVENT_RECORD_NOTED, 1, 1, 0), LATER);
    assert_int_equal(exits(&referee, 0, 0, true, true), 0);
    ends_with(&referee, 9, "ended by MPI_Abort: rank 0: enough");
}

static void test_the_first_failure_ends_it_on_demand(void **state)
{
    static const uint32_t placement[2] = {0, 1};
    struct rz_referee referee;
    uint32_t grace = LATER;
    (void)state;
    open_two(&referee, false);
    referee.abort = true;
    assert_int_equal(exits(&referee, 1, SIGKILL, false, true), RZ_END_GRACE_MS);
    assert_true(rz_outcome_by_failure(&referee.outcome));
    ends_with(&referee, 128 + SIGKILL, "--on-failure");
    rz_referee_open(&referee, 2, placement, 2, RZ_JOB_ABORT);
    assert_true(rz_referee_node_lost(&referee, 1, &grace));
    assert_true(rz_outcome_by_failure(&referee.outcome));
    ends_with(&referee, 128 + SIGKILL, "node 1 was lost; --on-failure");
    /* A silent node: its connection to rzrun does not end. */
    rz_referee_open(&referee, 2, placement, 2, RZ_JOB_ABORT);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_NOTED, RZ_ID_NONE, 1), RZ_END_GRACE_MS);
    assert_true(rz_outcome_by_failure(&referee.outcome));
    ends_with(&referee, 128 + SIGKILL, "node 1 was lost; --on-failure");
}

/* A program that cannot be told of failures: what was reported first does not matter. */
static void test_intolerant_program(void **state)
{
    struct rz_referee referee;
    uint32_t grace = LATER;
    (void)state;
    open_two(&referee, false);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_INTOLERANT, 1, 0), LATER);
    assert_int_equal(exits(&referee, 1, SIGKILL, false, true), RZ_END_GRACE_MS);
    ends_with(&referee, 128 + SIGKILL, "the program has not asked to be told of failures");
    open_two(&referee, false);
    assert_int_equal(exits(&referee, 1, SIGKILL, false, true), LATER);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_INTOLERANT, 1, 0), RZ_END_GRACE_MS);
    ends_with(&referee, 128 + SIGKILL, "the program has not asked to be told of failures");
    open_two(&referee, false);
    assert_false(rz_referee_node_lost(&referee, 1, &grace));
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_INTOLERANT, 1, 0), RZ_END_GRACE_MS);
    ends_with(&referee, 128 + SIGKILL, "node 1 was lost; the program has not asked");
    const struct rz_launch_message at_start = {.type = RZ_LAUNCH_EVENT,
                                               .event = {.kind = RZ_EVENT_RECORD_INTOLERANT,
                                                         .rank = 1,
                                                         .incarnation = 1,
                                                         .value = RZ_INTOLERANT_START,
                                                         .note = ""}};
    open_two(&referee, false);
    assert_int_equal(exits(&referee, 1, SIGKILL, false, true), LATER);
    assert_int_equal(take(&referee, 0, &at_start), RZ_END_GRACE_MS);
    ends_with(&referee, 128 + SIGKILL, "it had not connected yet");
}

static void test_a_silent_node_is_told_so(void **state)
{
    struct rz_referee referee;
    uint32_t grace_ms;
    const struct rz_launch_message silent = {.type = RZ_LAUNCH_EVENT,
                                             .event = {.kind = RZ_EVENT_RECORD_FAILURE_SEEN,
                                                       .rank = RZ_ID_NONE,
                                                       .node = 1,
                                                       .value = RZ_FAILURE_SILENT,
                                                       .note = "silence"}};
    (void)state;
    open_two(&referee, false);
    take(&referee, 0, &silent);
    rz_referee_node_lost(&referee, 1, &grace_ms);
    ends_with(&referee, 128 + SIGKILL, "rank 1 was lost with node 1, which was silent");
}

static void test_nonsense(void **state)
{
    struct rz_referee referee;
    const struct rz_launch_message cut_off = {
        .type = RZ_LAUNCH_STOPPING,
        .stopping = {.status = RZ_ERR_NO_QUORUM, .reason = "no quorum"}};
    (void)state;
    open_two(&referee, false);
    assert_int_equal(exits(&referee, 2, 1 << 8, true, true), LATER);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_NOTED, 2, 2), LATER);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_FAILURE_SEEN, 2, 2), LATER);
    assert_int_equal(event(&referee, RZ_EVENT_RECORD_EXCLUDED, RZ_ID_NONE, 2), LATER);
    assert_int_equal(take(&referee, 2, &cut_off), LATER);
    assert_int_equal(exits(&referee, 0, 0, true, true), LATER);
    assert_int_equal(exits(&referee, 1, 0, true, true), 0);
    ends_with(&referee, 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_end),
        cmocka_unit_test(test_a_failure_stays_open_until_it_is_noted),
        cmocka_unit_test(test_a_node_is_lost),
        cmocka_unit_test(test_without_fault_tolerance_the_first_failure_ends_it),
        cmocka_unit_test(test_one_that_never_joins),
        cmocka_unit_test(test_all_start_again),
        cmocka_unit_test(test_too_many_failures),
        cmocka_unit_test(test_what_ends_it_at_once),
        cmocka_unit_test(test_news_of_a_failure_come_before_its_sight),
        cmocka_unit_test(test_the_end_is_no_loss),
        cmocka_unit_test(test_an_excluded_process_is_refused),
        cmocka_unit_test(test_what_a_second_agreement_has_started_does_not_count),
        cmocka_unit_test(test_a_late_agreement_is_no_second_one),
        cmocka_unit_test(test_the_first_agreement_counts),
        cmocka_unit_test(test_spawns_and_acknowledgements),
        cmocka_unit_test(test_an_abort_of_some_is_told),
        cmocka_unit_test(test_the_first_failure_ends_it_on_demand),
        cmocka_unit_test(test_intolerant_program),
        cmocka_unit_test(test_a_silent_node_is_told_so),
        cmocka_unit_test(test_nonsense)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
