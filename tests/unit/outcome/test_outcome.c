/* The exit status: 0 iff the last incarnation of every rank returned 0 and every death was
 * repaired; else the first cause. */
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
    for (uint32_t rank = 0; rank < 4; rank++)
        rz_outcome_started(outcome, rank, 1, placement[rank]);
}

static int status_of(struct rz_outcome *outcome)
{
    const char *cause;
    int status = rz_outcome_status(outcome, &cause);
    assert_true((status == 0) == (cause == NULL));
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

static void test_a_repaired_death_is_forgotten(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
    assert_false(rz_outcome_complete(&outcome));
    rz_outcome_started(&outcome, 2, 2, 0);
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false); /* old news */
    for (uint32_t rank = 0; rank < 4; rank++)
        rz_outcome_exited(&outcome, rank, rank == 2 ? 2 : 1, EXITED(0), true);
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 0);
}

static void test_an_unrepaired_death_ends_with_its_signal(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(11), false);
    for (uint32_t rank = 0; rank < 4; rank++)
        if (rank != 2)
            rz_outcome_exited(&outcome, rank, 1, EXITED(rank == 3 ? 5 : 0), true);
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
    rz_outcome_dying(&outcome, 2, 1);
    rz_outcome_noted(&outcome, 2, 1);
    for (uint32_t rank = 0; rank < 4; rank++)
        if (rank != 2)
            rz_outcome_exited(&outcome, rank, 1, EXITED(0), true);
    assert_false(rz_outcome_complete(&outcome)); /* how it ended is still to be told */
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(9), false);
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 128 + 9);
}

static void test_a_death_after_finalize_is_waited_for_by_nobody(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    for (uint32_t rank = 0; rank < 4; rank++)
        rz_outcome_exited(&outcome, rank, 1, rank == 1 ? SIGNALLED(9) : EXITED(0), true);
    assert_true(rz_outcome_complete(&outcome));
    assert_int_equal(status_of(&outcome), 128 + 9);
}

static void test_a_death_precedes_the_abort_of_a_survivor(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_dying(&outcome, 2, 1);
    rz_outcome_aborted(&outcome, 0, 1, "MPI_Abort");
    rz_outcome_exited(&outcome, 3, 1, SIGNALLED(9), false); /* by our own shutdown */
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(11), false);
    assert_int_equal(status_of(&outcome), 128 + 11);

    open_four(&outcome);
    rz_outcome_aborted(&outcome, 0, 7, "MPI_Abort");
    rz_outcome_dying(&outcome, 2, 1);
    rz_outcome_exited(&outcome, 2, 1, SIGNALLED(11), false);
    assert_int_equal(status_of(&outcome), 7);

    open_four(&outcome);
    rz_outcome_dying(&outcome, 2, 1);
    rz_outcome_started(&outcome, 2, 2, 0);
    rz_outcome_aborted(&outcome, 0, 7, "MPI_Abort");
    assert_int_equal(status_of(&outcome), 7); /* that death was repaired */
}

static void test_an_end_before_finalize_is_no_success(void **state)
{
    struct rz_outcome outcome;
    (void)state;
    open_four(&outcome);
    rz_outcome_noted(&outcome, 1, 1); /* the news may overtake the death */
    rz_outcome_exited(&outcome, 1, 1, EXITED(0), false);
    for (uint32_t rank = 0; rank < 4; rank++)
        if (rank != 1)
            rz_outcome_exited(&outcome, rank, 1, EXITED(0), true);
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
    assert_int_equal(outcome.ranks[3].state, RZ_RANK_DIED);
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
        cmocka_unit_test(test_a_repaired_death_is_forgotten),
        cmocka_unit_test(test_an_unrepaired_death_ends_with_its_signal),
        cmocka_unit_test(test_the_agreement_may_overtake_the_exit),
        cmocka_unit_test(test_a_death_after_finalize_is_waited_for_by_nobody),
        cmocka_unit_test(test_a_death_precedes_the_abort_of_a_survivor),
        cmocka_unit_test(test_an_end_before_finalize_is_no_success),
        cmocka_unit_test(test_a_lost_node_takes_its_running_ranks),
        cmocka_unit_test(test_a_hung_rank_is_told_apart_from_a_killed_one),
        cmocka_unit_test(test_a_node_that_is_cut_off_says_why),
        cmocka_unit_test(test_the_first_decision_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
