/* SPDX-License-Identifier: BSD-3-Clause */
/* The exit status: 0 iff the last incarnation of every rank returned 0 and every failure was
 * repaired or acknowledged; else the first cause. */
#include "outcome/outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define SIGNALLED(signal) (signal)
#define EXITED(code) ((code) << 8)

static void open_four(struct rz_outcome *outcome)
{
    static const uint32_t placement[4] = {0, 0, 1, 1};
    rz_outcome_open(outcome, 4, placement, 2);
    for (uint32_t rank = 0; rank < 4; rank++) {
        rz_outcome_started(outcome, rank, 1, placement[rank]);
    }
}

static int status_of(struct rz_outcome *outcome)
{
    const char *cause;
    int status = rz_outcome_status(outcome, &cause);
    assert_true((status == 0) == (!cause));
    rz_outcome_clear(outcome);
    return status;
}

static void test_all_return_0(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_false(rz_outcome_complete(&outcome));
        rz_outcome_exited(&outcome, rank, 1, EXITED(0), true);
    }
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 0);
}

static void test_a_kill_for_lack_of_memory_is_named(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_starved(&outcome, 2, 1);
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
    rz_outcome_starved(&outcome, 3, 1);
    rz_outcome_exited(&outcome, 3, 1, SIGNALLED(11), false);
    assert_string_equal(outcome.ranks[2].cause,
                        "rank 2 was killed by signal 9 (Killed), when the kernel killed a process "
                        "for lack of memory");
    assert_null(strstr(outcome.ranks[3].cause, "memory"));
    rz_outcome_clear(&outcome);
}

/* A process that fails when all have reached MPI_Finalize loses no result; before, it does. */
static void test_a_failure_behind_the_end_is_no_reason_to_begin_anew(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    for (int noted = 0; noted < 3; noted++) {
        open_four(&outcome);
        if (noted == 1) {
            rz_outcome_noted(&outcome, 3, 1);
        }
        if (noted == 2) {
            rz_outcome_node_noted(&outcome, 1);
        }
        rz_outcome_left(&outcome);
        rz_outcome_exited(&outcome, 3, 1, SIGNALLED(9), false);
        assert_true(rz_outcome_by_failure(&outcome) == (noted > 0));
        assert_int_equal(status_of(&outcome), 137);
    }
    open_four(&outcome);
    rz_outcome_spawned(&outcome, 6, 1, 0, true); /* a spawned process is not done yet */
    rz_outcome_left(&outcome);
    rz_outcome_exited(&outcome, 6, 1, SIGNALLED(9), false);
    assert_true(rz_outcome_by_failure(&outcome));
    assert_int_equal(status_of(&outcome), 137);
}

static void test_a_repaired_failure_is_forgotten(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
    assert_false(rz_outcome_complete(&outcome));
    rz_outcome_started(&outcome, 2, 2, 0);
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false); /* old news */
    for (uint32_t rank = 0; rank < 4; rank++) {
        rz_outcome_exited(&outcome, rank, rank == 2 ? 2 : 1, EXITED(0), true);
    }
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 0);
}

/* A rank that a node was told to start and that never started is neither known to be failed nor
 * acknowledged, though its incarnation is below all that were reported. */
static void test_a_rank_that_never_began_is_no_success(void **state)
{
    static const uint32_t placement[2] = {0, 1};
    struct rz_outcome outcome;
    (void)state;
    for (int noted = 0; noted < 2; noted++) {
        rz_outcome_open(&outcome, 2, placement, 2);
        rz_outcome_started(&outcome, 0, 1, 0);
        rz_outcome_exited(&outcome, 0, 1, EXITED(0), true);
        assert_int_not_equal(rz_outcome_status(&outcome, &(const char *){NULL}), 0);
        rz_outcome_node_lost(&outcome, 1);
        assert_false(rz_outcome_complete(&outcome));
        if (noted) {
            rz_outcome_node_noted(&outcome, 1);
        }
        assert_true(rz_outcome_complete(&outcome) == (noted > 0));
        assert_int_equal(status_of(&outcome), 137);
    }
    rz_outcome_open(&outcome, 2, placement, 2); /* it begins elsewhere: there was no failure */
    rz_outcome_node_lost(&outcome, 1);
    for (uint32_t rank = 0; rank < 2; rank++) {
        rz_outcome_started(&outcome, rank, 1, 0);
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        rz_outcome_exited(&outcome, rank, 1, EXITED(0), true);
    }
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 0);
}

/* Its daemon kills it, and this signal is not the cause of the exit status. */
static void test_a_rank_that_ends_with_its_node(void **state)
{
    struct rz_outcome outcome;
    const char *cause;
    (void)state;
    open_four(&outcome);
    rz_outcome_cut_off(&outcome, 1, "silent for 2.1 s");
    rz_outcome_exited(&outcome, 3, 1, SIGNALLED(9), false);
    assert_int_equal(rz_outcome_status(&outcome, &cause), 137);
    assert_string_equal(cause, "rank 3 was ended with node 1, which was cut off: silent for 2.1 s");
    rz_outcome_clear(&outcome);
}

/* No process reached its end: then none is left that acknowledged anything. */
static void test_all_failed_is_no_success(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    for (uint32_t rank = 0; rank < 4; rank++) {
        rz_outcome_acknowledged(&outcome, rank, 1);
    }
    rz_outcome_node_lost(&outcome, 0);
    rz_outcome_node_lost(&outcome, 1);
    assert_int_not_equal(status_of(&outcome), 0);
}

/* A node that others exclude has decided alone: it has placed the replacement on itself, and the
 * others then decide the same of a node of theirs. */
static void test_an_incarnation_that_two_nodes_begin(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_failure_known(&outcome);
    rz_outcome_spawned(&outcome, 0, 2, 1, false);
    rz_outcome_node_lost(&outcome, 1);
    rz_outcome_spawned(&outcome, 0, 2, 1, false); /* late news of the lost one */
    for (uint32_t rank = 0; rank < 4; rank++) {
        rz_outcome_spawned(&outcome, rank, 2, 0, false);
    }
    assert_false(rz_outcome_complete(&outcome));
    for (uint32_t rank = 0; rank < 4; rank++) {
        rz_outcome_started(&outcome, rank, 2, 0);
        rz_outcome_exited(&outcome, rank, 2, EXITED(0), true);
    }
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 0);
}

static void end_others(struct rz_outcome *outcome, uint32_t but)
{
    for (uint32_t rank = 0; rank < 4; rank++) {
        if (rank != but) {
            rz_outcome_exited(outcome, rank, 1, EXITED(0), true);
        }
    }
}

/* --accept-failures: of the processes that ended in order the status is, if there is one. */
static void test_failures_are_accepted(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    for (int code = 0; code < 2; code++) {
        open_four(&outcome);
        outcome.accepts = true;
        rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
        rz_outcome_noted(&outcome, 2, 1);
        for (uint32_t rank = 0; rank < 4; rank++) {
            rz_outcome_exited(&outcome, rank, 1, EXITED(rank == 1 ? 7 * code : 0), true);
        }
        assert_int_equal(status_of(&outcome), 7 * code);
    }
    open_four(&outcome);
    outcome.accepts = true;
    rz_outcome_ended_by(&outcome, 2, 1, 5, "rank 0");
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
    rz_outcome_noted(&outcome, 2, 1);
    for (uint32_t rank = 0; rank < 4; rank++) {
        rz_outcome_exited(&outcome, rank, 1, EXITED(0), true);
    }
    assert_int_equal(status_of(&outcome), 5); /* which the program has chosen */
    open_four(&outcome);
    outcome.accepts = true;
    for (uint32_t rank = 0; rank < 4; rank++) {
        rz_outcome_exited(&outcome, rank, 1, SIGNALLED(9), false);
        rz_outcome_noted(&outcome, rank, 1);
    }
    assert_int_equal(status_of(&outcome), 128 + 9); /* no process is left that went on */
}

static void test_an_acknowledged_failure_does_not_spoil_it(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
    rz_outcome_noted(&outcome, 2, 1);
    rz_outcome_acknowledged(&outcome, 2, 1);
    end_others(&outcome, 2);
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 0);
    open_four(&outcome); /* the next incarnation's is not known by that */
    rz_outcome_acknowledged(&outcome, 2, 1);
    rz_outcome_spawned(&outcome, 2, 2, 0, false);
    rz_outcome_started(&outcome, 2, 2, 0);
    rz_outcome_exited(&outcome, 2, 2, SIGNALLED(9), false);
    rz_outcome_noted(&outcome, 2, 2);
    end_others(&outcome, 2);
    assert_int_equal(status_of(&outcome), 137);
    open_four(&outcome); /* nor does it excuse what a process that ended in order returned */
    rz_outcome_exited(&outcome, 2, 1, EXITED(3), true);
    rz_outcome_acknowledged(&outcome, 2, 1);
    end_others(&outcome, 2);
    assert_int_equal(status_of(&outcome), 3);
}

static void test_a_process_that_is_spawned_is_waited_for(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
    rz_outcome_noted(&outcome, 2, 1);
    rz_outcome_spawned(&outcome, 2, 2, 0, false);
    end_others(&outcome, 2);
    assert_false(rz_outcome_complete(&outcome));
    rz_outcome_started(&outcome, 2, 2, 0);
    rz_outcome_exited(&outcome, 2, 2, EXITED(0), true);
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 0);
}

static void test_spawned_processes_count(void **state)
{
    struct rz_outcome outcome;
    const char *cause;
    (void)state;
    open_four(&outcome);
    rz_outcome_spawned(&outcome, 5, 1, 1, true);
    end_others(&outcome, 5);
    assert_false(rz_outcome_complete(&outcome));
    rz_outcome_started(&outcome, 5, 1, 1);
    rz_outcome_exited(&outcome, 5, 1, EXITED(7), true);
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(rz_outcome_status(&outcome, &cause), 7);
    assert_string_equal(cause, "process 5 (spawned) exited with status 7");
    rz_outcome_spawned(&outcome, 5, 2, 0,
                       true); /* another, in its slot: that one is not forgotten */
    rz_outcome_exited(&outcome, 5, 2, EXITED(4), false); /* it had failed before it ran */
    assert_false(rz_outcome_complete(&outcome));
    rz_outcome_noted(&outcome, 5, 2);
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 7);
}

static void test_an_abort_of_some_is_the_status(void **state)
{
    struct rz_outcome outcome;
    const char *cause;
    (void)state;
    open_four(&outcome);
    rz_outcome_ended_by(&outcome, 2, 1, 42, "rank 0: no more");
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
    rz_outcome_noted(&outcome, 2, 1);
    rz_outcome_acknowledged(&outcome, 2, 1);
    end_others(&outcome, 2);
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(rz_outcome_status(&outcome, &cause), 42);
    assert_string_equal(cause, "rank 2 was ended by MPI_Abort: rank 0: no more");
    assert_false(rz_outcome_by_failure(&outcome));
    rz_outcome_clear(&outcome);
    open_four(&outcome); /* with its node, before it could end */
    rz_outcome_ended_by(&outcome, 2, 1, 0x100, "rank 0: no more");
    rz_outcome_node_lost(&outcome, 1);
    rz_outcome_node_noted(&outcome, 1);
    rz_outcome_acknowledged(&outcome, 3, 1);
    end_others(&outcome, 2);
    assert_int_equal(status_of(&outcome), 1);
}

static void test_the_first_failure_seen_is_the_cause(void **state)
{
    struct rz_outcome outcome;
    const char *cause;
    (void)state;
    open_four(&outcome);
    rz_outcome_failing(&outcome, 3, 1);
    rz_outcome_ended_by(&outcome, 2, 1, 7, "rank 2"); /* it gave up because of rank 3 */
    rz_outcome_failing(&outcome, 2, 1);
    rz_outcome_failing(&outcome, 3, 1); /* once more is no other failure */
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
    rz_outcome_exited(&outcome, 3, 1, SIGNALLED(11), false);
    end_others(&outcome, 2);
    assert_int_equal(rz_outcome_status(&outcome, &cause), 128 + 11);
    assert_int_equal(status_of(&outcome), 128 + 11);
}

static void test_whether_a_failure_ended_it(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    end_others(&outcome, 2);
    rz_outcome_exited(&outcome, 2, 1, EXITED(3), true);
    assert_false(rz_outcome_by_failure(&outcome));
    rz_outcome_clear(&outcome);
    open_four(&outcome);
    rz_outcome_aborted(&outcome, 1, 3, "it wants to");
    assert_false(rz_outcome_by_failure(&outcome));
    rz_outcome_exited(&outcome, 3, 1, SIGNALLED(9), false); /* by the end of the job */
    assert_false(rz_outcome_by_failure(&outcome));
    rz_outcome_failing(&outcome, 2, 1); /* which is why */
    assert_true(rz_outcome_by_failure(&outcome));
    rz_outcome_clear(&outcome);
    open_four(&outcome);
    rz_outcome_node_lost(&outcome, 1); /* no daemon sees its processes fail */
    rz_outcome_aborted(&outcome, 0, 3, "it gives up because of them");
    assert_true(rz_outcome_by_failure(&outcome));
    rz_outcome_clear(&outcome);
    open_four(&outcome);
    rz_outcome_aborted(&outcome, 0, 3, "it wants to");
    rz_outcome_node_lost(&outcome, 1); /* by the end of the job */
    assert_false(rz_outcome_by_failure(&outcome));
    rz_outcome_clear(&outcome);
    open_four(&outcome);
    rz_outcome_failure_known(&outcome); /* by the daemon of a survivor, which reports first */
    rz_outcome_aborted(&outcome, 0, 3, "it gives up because of that");
    assert_true(rz_outcome_by_failure(&outcome));
    rz_outcome_clear(&outcome);
    open_four(&outcome);
    rz_outcome_aborted(&outcome, 0, 3, "it wants to");
    rz_outcome_failure_known(&outcome);
    assert_false(rz_outcome_by_failure(&outcome));
    rz_outcome_clear(&outcome);
    open_four(&outcome);
    rz_outcome_decide(&outcome, 130, "%s", "");
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
    assert_false(rz_outcome_by_failure(&outcome));
    rz_outcome_clear(&outcome);
}

static void test_an_unrepaired_failure_ends_with_its_signal(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(11), false);
    for (uint32_t rank = 0; rank < 4; rank++) {
        if (rank != 2) {
            rz_outcome_exited(&outcome, rank, 1, EXITED(rank == 3 ? 5 : 0), true);
        }
    }
    assert_false(rz_outcome_complete(&outcome)); /* it might still be repaired */
    rz_outcome_noted(&outcome, 2, 1);
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 128 + 11);
}

static void test_the_agreement_may_overtake_the_exit(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_failing(&outcome, 2, 1);
    rz_outcome_noted(&outcome, 2, 1);
    for (uint32_t rank = 0; rank < 4; rank++) {
        if (rank != 2) {
            rz_outcome_exited(&outcome, rank, 1, EXITED(0), true);
        }
    }
    assert_false(rz_outcome_complete(&outcome)); /* the report of how it ended is still to come */
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 128 + 9);
}

static void test_a_failure_after_finalize_is_not_waited_for(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    for (uint32_t rank = 0; rank < 4; rank++) {
        rz_outcome_exited(&outcome, rank, 1, rank == 1 ? SIGNALLED(9) : EXITED(0), true);
    }
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 128 + 9);
}

static void test_a_failure_precedes_the_abort_of_a_survivor(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_failing(&outcome, 2, 1);
    rz_outcome_aborted(&outcome, 0, 1, "MPI_Abort");
    rz_outcome_exited(&outcome, 3, 1, SIGNALLED(9), false); /* by our own shutdown */
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(11), false);
    assert_int_equal(status_of(&outcome), 128 + 11);

    open_four(&outcome);
    rz_outcome_aborted(&outcome, 0, 7, "MPI_Abort");
    rz_outcome_failing(&outcome, 2, 1);
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(11), false);
    assert_int_equal(status_of(&outcome), 7);

    open_four(&outcome);
    rz_outcome_failing(&outcome, 2, 1);
    rz_outcome_started(&outcome, 2, 2, 0);
    rz_outcome_aborted(&outcome, 0, 7, "MPI_Abort");
    assert_int_equal(status_of(&outcome), 7); /* that failure was repaired */
}

static void test_an_end_before_finalize_is_no_success(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_noted(&outcome, 1, 1); /* the news may overtake the failure */
    rz_outcome_exited(&outcome, 1, 1, EXITED(0), false);
    for (uint32_t rank = 0; rank < 4; rank++) {
        if (rank != 1) {
            rz_outcome_exited(&outcome, rank, 1, EXITED(0), true);
        }
    }
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 1);
}

static void test_a_lost_node_takes_its_running_ranks(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_exited(&outcome, 2, 1, EXITED(0), true);
    rz_outcome_node_noted(&outcome, 1);
    rz_outcome_node_lost(&outcome, 1);
    rz_outcome_exited(&outcome, 0, 1, EXITED(0), true);
    rz_outcome_exited(&outcome, 1, 1, EXITED(0), true);
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(outcome.ranks[2].state, RZ_RANK_ENDED);
    assert_int_equal(outcome.ranks[3].state, RZ_RANK_FAILED);
    assert_int_equal(status_of(&outcome), 137);
}

static void test_a_hung_rank_is_told_apart_from_a_killed_one(void **state)
{
    struct rz_outcome outcome;
    const char *cause;
    (void)state;
    open_four(&outcome);
    rz_outcome_hung(&outcome, 1, 1);
    rz_outcome_exited(&outcome, 1, 1, SIGNALLED(9), false);
    assert_int_equal(rz_outcome_status(&outcome, &cause), 128 + 9);
    assert_non_null(strstr(cause, "no progress"));
    rz_outcome_clear(&outcome);
}

static void test_a_node_that_is_cut_off_says_why(void **state)
{
    struct rz_outcome outcome;
    const char *cause;
    (void)state;
    open_four(&outcome);
    rz_outcome_cut_off(&outcome, 1, "no quorum");
    rz_outcome_node_lost(&outcome, 1);
    assert_int_equal(rz_outcome_status(&outcome, &cause), 128 + 9);
    assert_non_null(strstr(cause, "was lost with node 1, which was cut off: no quorum"));
    rz_outcome_clear(&outcome);
}

static void test_a_node_that_was_silent_is_told_so(void **state)
{
    struct rz_outcome outcome;
    const char *cause;
    (void)state;
    open_four(&outcome);
    rz_outcome_silent(&outcome, 1);
    rz_outcome_node_lost(&outcome, 1);
    assert_int_equal(rz_outcome_status(&outcome, &cause), 128 + 9);
    assert_non_null(strstr(cause, "was lost with node 1, which was silent (--hb-timeout)"));
    rz_outcome_clear(&outcome);
}

static void test_the_first_decision_counts(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_decide(&outcome, 7, "rank %d called MPI_Abort", 3);
    rz_outcome_decide(&outcome, 8, "another");
    assert_int_equal(status_of(&outcome), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_return_0),
        cmocka_unit_test(test_a_kill_for_lack_of_memory_is_named),
        cmocka_unit_test(test_a_failure_behind_the_end_is_no_reason_to_begin_anew),
        cmocka_unit_test(test_a_repaired_failure_is_forgotten),
        cmocka_unit_test(test_failures_are_accepted),
        cmocka_unit_test(test_an_acknowledged_failure_does_not_spoil_it),
        cmocka_unit_test(test_a_process_that_is_spawned_is_waited_for),
        cmocka_unit_test(test_spawned_processes_count),
        cmocka_unit_test(test_an_abort_of_some_is_the_status),
        cmocka_unit_test(test_the_first_failure_seen_is_the_cause),
        cmocka_unit_test(test_whether_a_failure_ended_it),
        cmocka_unit_test(test_an_unrepaired_failure_ends_with_its_signal),
        cmocka_unit_test(test_the_agreement_may_overtake_the_exit),
        cmocka_unit_test(test_a_failure_after_finalize_is_not_waited_for),
        cmocka_unit_test(test_a_failure_precedes_the_abort_of_a_survivor),
        cmocka_unit_test(test_an_end_before_finalize_is_no_success),
        cmocka_unit_test(test_a_lost_node_takes_its_running_ranks),
        cmocka_unit_test(test_a_hung_rank_is_told_apart_from_a_killed_one),
        cmocka_unit_test(test_a_node_that_is_cut_off_says_why),
        cmocka_unit_test(test_a_node_that_was_silent_is_told_so),
        cmocka_unit_test(test_a_rank_that_never_began_is_no_success),
        cmocka_unit_test(test_a_rank_that_ends_with_its_node),
        cmocka_unit_test(test_an_incarnation_that_two_nodes_begin),
        cmocka_unit_test(test_all_failed_is_no_success),
        cmocka_unit_test(test_the_first_decision_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
