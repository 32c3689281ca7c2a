/* SPDX-License-Identifier: BSD-3-Clause */
/* Hand-written sequences of a group of daemons. */
#include "base/status.h"
#include "recover_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_job_without_failures_enters_runs_and_leaves(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 5; n++) {
        struct rig *rig = rig_open(n);
        for (rz_id d = 0; d + 1 < n; d++) {
            rig_call(rig, d, RZ_RECOVER_REACHED, 1, RZ_PHASE_ENTER, 0);
        }
        rig_run(rig);
        if (n > 1) {
            assert_all(rig, 1, RZ_PHASE_ENTER);
        }
        rig_call(rig, n - 1, RZ_RECOVER_REACHED, 1, RZ_PHASE_ENTER, 0);
        rig_run(rig);
        assert_all(rig, 1, RZ_PHASE_RUN);
        all_reach(rig, 1, RZ_PHASE_RUN);
        assert_all(rig, 1, RZ_PHASE_LEFT);
        ALL(rig, d)
        assert_int_equal(rig_count(rig, d, RZ_RECOVER_PHASE), 2);
        rig_close(rig);
    }
}

static void a_failed_process_is_replaced_where_it_was(void **state)
{
    (void)state;
    struct rig *rig = rig_running(3);
    rig_call(rig, 0, RZ_RECOVER_COMMITTED, 4, 1, 0);
    rig_call(rig, 2, RZ_RECOVER_COMMITTED, 5, 1, 0);
    rig_call(rig, 2, RZ_RECOVER_COMMITTED, 9, 2, 0); /* of no epoch there is */
    all_hear_of(rig, 3, 1);
    assert_all(rig, 2, RZ_PHASE_ENTER);
    ALL(rig, d)
    {
        const struct rig_notice *epoch = rig_next(rig, d, RZ_RECOVER_EPOCH);
        assert_non_null(epoch);
        assert_int_equal(epoch->arg[0], 2);
        assert_int_equal(epoch->arg[1], 5);
        for (uint32_t rank = 0; rank < 6; rank++) {
            assert_int_equal(rz_recover_daemon_of(rig->state[d], rank), rank / 2);
            assert_int_equal(rz_recover_incarnation_of(rig->state[d], rank), rank == 3 ? 2 : 1);
        }
    }
    /* Old news, and what was reached in the old epoch, mean nothing any more. */
    all_hear_of(rig, 3, 1);
    all_reach(rig, 1, RZ_PHASE_ENTER);
    all_reach(rig, 1, RZ_PHASE_RUN);
    assert_all(rig, 2, RZ_PHASE_ENTER);
    all_reach(rig, 2, RZ_PHASE_ENTER);
    assert_all(rig, 2, RZ_PHASE_RUN);
    rig_close(rig);
}

static void all_ranks_begin_anew_if_wanted(void **state)
{
    (void)state;
    struct rig rig;
    open_with(&rig, 3, (struct rz_recover_config){.tie_breaker = RZ_ID_NONE, .all_begin = true});
    ALL(&rig, d)
    rig_call(&rig, d, RZ_RECOVER_REPAIRING, 0, 0, 0);
    all_hear_of(&rig, 3, 1);
    assert_all(&rig, 2, RZ_PHASE_ENTER);
    all_hear_of(&rig, 4, 1); /* it ended with the old epoch: no news */
    assert_all(&rig, 2, RZ_PHASE_ENTER);
    all_hear_of(&rig, 0, 2);
    assert_all(&rig, 3, RZ_PHASE_ENTER);
    ALL(&rig, d)
    for (uint32_t rank = 0; rank < 6; rank++) {
        assert_int_equal(rz_recover_daemon_of(rig.state[d], rank), rank / 2);
        assert_int_equal(rz_recover_incarnation_of(rig.state[d], rank), 3);
        assert_int_equal(rz_recover_next_begun(rig.state[d], rank), rank);
    }
    rig_close(&rig);
}

static void a_failed_daemons_ranks_move(void **state)
{
    (void)state;
    struct rig *rig = rig_running(4);
    rig_kill(rig, 1);
    ALL(rig, d)
    rig_tell(rig, d, 1, true);
    rig_run(rig);
    assert_all(rig, 2, RZ_PHASE_ENTER);
    ALL(rig, d)
    {
        assert_int_equal(rz_recover_daemon_of(rig->state[d], 2), 0);
        assert_int_equal(rz_recover_daemon_of(rig->state[d], 3), 2);
        assert_int_equal(rz_recover_incarnation_of(rig->state[d], 2), 2);
        assert_int_equal(rz_recover_next_begun(rig->state[d], 0), 2);
        assert_int_equal(rz_recover_next_begun(rig->state[d], 3), 3);
        assert_int_equal(rz_recover_next_begun(rig->state[d], 4), 8);
        assert_true(rz_recover_daemon_agreed_failed(rig->state[d], 1));
        assert_int_equal(rig_count(rig, d, RZ_RECOVER_EPOCH), 1);
    }
    rig_close(rig);
}

/* One daemon with this number of ranks. */
static void open_wide(struct rig *rig, uint32_t n_ranks)
{
    uint32_t *placement = calloc(n_ranks, sizeof(*placement));
    const struct rz_recover_config config = {.n_daemons = 1,
                                             .n_ranks = n_ranks,
                                             .tie_breaker = RZ_ID_NONE,
                                             .placement = placement,
                                             .slots = &n_ranks};
    open_with(rig, 1, (struct rz_recover_config){.tie_breaker = RZ_ID_NONE});
    free(rig->state[0]);
    rig->state[0] = malloc(rz_recover_size(&config));
    assert_non_null(rig->state[0]);
    rz_recover_init(rig->state[0], &config, 0, 0, 17);
    free(placement);
}

static void an_epoch_names_the_processes_that_restart(void **state)
{
    static const uint32_t failed[] = {0, 1, 62, 63, 64, 127, 128, 199};
    enum { N = sizeof(failed) / sizeof(*failed), RANKS = 200 };
    static struct rig rig;
    (void)state;
    for (uint32_t set = 1; set < 1u << N; set++) {
        open_wide(&rig, RANKS);
        rig_call(&rig, 0, RZ_RECOVER_REPAIRING, 0, 0, 0);
        all_reach(&rig, 1, RZ_PHASE_ENTER);
        assert_int_equal(rz_recover_next_begun(rig.state[0], 0), RANKS);
        uint32_t epochs = 1, begun;
        for (uint32_t i = 0; i < N; i++) {
            if (!(set & 1u << i)) {
                continue;
            }
            all_hear_of(&rig, failed[i], 1);
            assert_all(&rig, ++epochs, RZ_PHASE_ENTER);
            begun = rz_recover_next_begun(rig.state[0], 0);
            assert_int_equal(begun, failed[i]);
            assert_int_equal(rz_recover_next_begun(rig.state[0], begun), begun);
            assert_int_equal(rz_recover_next_begun(rig.state[0], begun + 1), RANKS);
            assert_int_equal(rz_recover_incarnation_of(rig.state[0], begun), 2);
        }
        rig_close(&rig);
    }
}

static void a_failure_in_the_barrier_means_another_epoch(void **state)
{
    (void)state;
    struct rig *rig = rig_running(3);
    all_hear_of(rig, 0, 1);
    rig_call(rig, 0, RZ_RECOVER_REACHED, 2, RZ_PHASE_ENTER, 0);
    rig_call(rig, 1, RZ_RECOVER_REACHED, 2, RZ_PHASE_ENTER, 0);
    rig_run(rig);
    /* Its next incarnation fails; daemon 2 has not reached, and learns of it first. */
    rig_call(rig, 2, RZ_RECOVER_FAILED, 0, 2, 0);
    rig_call(rig, 0, RZ_RECOVER_FAILED, 0, 2, 0);
    rig_call(rig, 1, RZ_RECOVER_FAILED, 0, 2, 0);
    rig_run(rig);
    assert_all(rig, 3, RZ_PHASE_ENTER);
    ALL(rig, d)
    assert_int_equal(rz_recover_incarnation_of(rig->state[d], 0), 3);
    rig_close(rig);
}

static void news_of_an_incarnation_to_come_is_kept(void **state)
{
    (void)state;
    struct rig *rig = rig_running(2);
    rig_call(rig, 0, RZ_RECOVER_FAILED, 0, 1, 0);
    rig_call(rig, 0, RZ_RECOVER_FAILED, 0, 2,
             0); /* contributed, and incarnation 2 not begun here */
    rig_call(rig, 1, RZ_RECOVER_FAILED, 0, 1, 0);
    rig_run(rig);
    rig_call(rig, 1, RZ_RECOVER_FAILED, 0, 2, 0);
    rig_run(rig);
    assert_all(rig, 3, RZ_PHASE_ENTER);
    ALL(rig, d)
    assert_int_equal(rz_recover_incarnation_of(rig->state[d], 0), 3);
    rig_close(rig);
}

static void without_reinit_the_failed_are_noted(void **state)
{
    (void)state;
    struct rig *rig = rig_open(3);
    all_reach(rig, 1, RZ_PHASE_ENTER);
    all_hear_of(rig, 5, 1);
    assert_all(rig, 1, RZ_PHASE_RUN);
    ALL(rig, d)
    {
        const struct rig_notice *failures = rig_next(rig, d, RZ_RECOVER_FAILURES);
        assert_non_null(failures);
        assert_int_equal(failures->n_items, 1);
        assert_int_equal(failures->items[0], rz_recover_pack_process(5, 1));
        assert_true(rz_recover_process_failed(rig->state[d], 5));
    }
    /* MPIX_Reinit is entered at last: what was only noted is repaired. */
    rig_call(rig, 0, RZ_RECOVER_REPAIRING, 0, 0, 0);
    rig_call(rig, 1, RZ_RECOVER_REACHED, 1, RZ_PHASE_RUN, 0);
    rig_call(rig, 2, RZ_RECOVER_REACHED, 1, RZ_PHASE_RUN, 0);
    rig_run(rig);
    assert_all(rig, 2, RZ_PHASE_ENTER);
    ALL(rig, d)
    {
        assert_true(rz_recover_repairing(rig->state[d]));
        assert_int_equal(rz_recover_incarnation_of(rig->state[d], 5), 2);
        assert_false(rz_recover_process_failed(rig->state[d], 5));
    }
    rig_close(rig);
}

/* Of three daemons one has processes on the way to MPIX_Reinit: they are not carried off. */
static void no_process_is_repaired_while_a_failure_is_on_the_way(void **state)
{
    (void)state;
    struct rig *rig = rig_open(3);
    all_reach(rig, 1, RZ_PHASE_ENTER);
    rig_call(rig, 0, RZ_RECOVER_REPAIRING, 0, 0, 0);
    rig_call(rig, 1, RZ_RECOVER_REPAIRING, 0, 0, 0);
    all_hear_of(rig, 5, 1);
    all_hear_of(rig, 3, 1);
    assert_all(rig, 1, RZ_PHASE_RUN);
    ALL(rig, d)
    {
        assert_int_equal(rig_count(rig, d, RZ_RECOVER_FAILURES), 2);
        assert_false(rz_recover_repairing(rig->state[d]));
        assert_true(rz_recover_process_failed(rig->state[d], 5));
    }
    rig_call(rig, 2, RZ_RECOVER_REPAIRING, 0, 0, 0);
    rig_run(rig);
    assert_all(rig, 2, RZ_PHASE_ENTER);
    ALL(rig, d)
    {
        assert_int_equal(rz_recover_incarnation_of(rig->state[d], 3), 2);
        assert_int_equal(rz_recover_incarnation_of(rig->state[d], 5), 2);
    }
    rig_close(rig);
}

static void after_left_failures_are_noted(void **state)
{
    (void)state;
    struct rig *rig = rig_running(3);
    all_reach(rig, 1, RZ_PHASE_RUN);
    all_hear_of(rig, 2, 1);
    rig_kill(rig, 2);
    ALL(rig, d)
    rig_tell(rig, d, 2, false);
    rig_run(rig);
    assert_all(rig, 1, RZ_PHASE_LEFT);
    ALL(rig, d)
    {
        assert_int_equal(rig_count(rig, d, RZ_RECOVER_FAILURES), 2);
        assert_int_equal(rig_count(rig, d, RZ_RECOVER_STOP), 0);
    }
    rig_close(rig);
}

static void the_generation_floor_holds_while_failures_are_undecided(void **state)
{
    (void)state;
    struct rig *rig = rig_running(2);
    rig_call(rig, 0, RZ_RECOVER_COMMITTED, 3, 1, 0);
    assert_int_equal(rz_recover_generation_floor(rig->state[0]), 3);
    rig_call(rig, 0, RZ_RECOVER_REACHED, 1, RZ_PHASE_RUN,
             0); /* a barrier may take long: it holds nothing */
    rig_call(rig, 0, RZ_RECOVER_COMMITTED, 4, 1, 0);
    assert_int_equal(rz_recover_generation_floor(rig->state[0]), 4);
    rig_call(rig, 1, RZ_RECOVER_FAILED, 0, 1, 0);
    rig_run(rig); /* daemon 0 had not known of it: the decision settles nothing, both contribute
                     again */
    assert_all(rig, 2, RZ_PHASE_ENTER);
    assert_int_equal(rig_next(rig, 0, RZ_RECOVER_EPOCH)->arg[1], 4);

    all_reach(rig, 2, RZ_PHASE_ENTER);
    rig_call(rig, 0, RZ_RECOVER_FAILED, 1, 1, 0);
    rig_call(rig, 0, RZ_RECOVER_COMMITTED, 5, 2, 0); /* after its contribution */
    assert_int_equal(rz_recover_generation_floor(rig->state[0]), 4);
    rig_call(rig, 1, RZ_RECOVER_FAILED, 1, 1, 0);
    rig_run(rig);
    assert_all(rig, 3, RZ_PHASE_ENTER);
    assert_int_equal(rz_recover_generation_floor(rig->state[0]), 4);
    rig_close(rig);
}

/* Cuts the group into the members below `first` and the others, each side silent for the other. */
static void cut(struct rig *rig, rz_id first)
{
    ALL(rig, a)
    ALL(rig, b)
    if ((a < first) != (b < first)) {
        rig->cut[a][b] = true;
    }
    ALL(rig, a)
    ALL(rig, b)
    if ((a < first) != (b < first)) {
        rig_tell(rig, a, b, false);
    }
    rig_run(rig);
}

static void of_two_sides_the_majority_goes_on(void **state)
{
    (void)state;
    for (rz_id first = 1; first < 5; first++) {
        struct rig *rig = rig_running(5);
        cut(rig, first);
        ALL(rig, d)
        {
            bool majority = d < first ? first > 2 : 5 - first > 2;
            const struct rig_notice *stop = rig_next(rig, d, RZ_RECOVER_STOP);
            assert_int_equal(!stop, majority);
            if (stop) {
                assert_int_equal(stop->arg[0], RZ_ERR_NO_QUORUM);
            }
            assert_int_equal(rz_recover_epoch(rig->state[d]), majority ? 2 : 1);
        }
        rig_close(rig);
    }
}

static void silent_failures_in_a_row_count_together_until_confirmed(void **state)
{
    (void)state;
    for (int confirmed = 0; confirmed < 2; confirmed++) {
        struct rig *rig = rig_running(5);
        rig_kill(rig, 0);
        ALL(rig, d)
        rig_tell(rig, d, 0, false);
        rig_run(rig);
        assert_all(rig, 2, RZ_PHASE_ENTER);
        if (confirmed) {
            all_reach(rig, 2, RZ_PHASE_ENTER); /* the survivors have agreed once more */
        }
        rig_kill(rig, 1);
        rig_kill(rig, 2);
        ALL(rig, d)
        {
            rig_tell(rig, d, 1, false);
            rig_tell(rig, d, 2, false);
        }
        rig_run(rig);
        /* Two of five are no majority. Two of four are a tie, which the lowest, failed, would
         * break.
         */
        ALL(rig, d)
        assert_true(rz_recover_stopped(rig->state[d]));
        rig_close(rig);

        rig = rig_running(6);
        rig_kill(rig, 5);
        ALL(rig, d)
        rig_tell(rig, d, 5, false);
        rig_run(rig);
        if (confirmed) {
            all_reach(rig, 2, RZ_PHASE_ENTER);
        }
        rig_kill(rig, 3);
        rig_kill(rig, 4);
        ALL(rig, d)
        {
            rig_tell(rig, d, 3, false);
            rig_tell(rig, d, 4, false);
        }
        rig_run(rig);
        /* Three of six, with the lowest; three of five. */
        ALL(rig, d)
        assert_false(rz_recover_stopped(rig->state[d]));
        rig_kill(rig, 2);
        ALL(rig, d)
        rig_tell(rig, d, 2, false);
        rig_run(rig);
        /* Two of six; two of five, for the three failures before were not confirmed yet. */
        ALL(rig, d)
        assert_true(rz_recover_stopped(rig->state[d]));
        rig_close(rig);
    }
}

static void proof_wins_over_silence(void **state)
{
    (void)state;
    struct rig *rig = rig_running(3);
    rig_kill(rig, 0);
    rig_kill(rig, 1);
    rig_tell(rig, 2, 0, false);
    rig_tell(
        rig, 2, 0,
        true); /* the evidence comes before the other failure is known, and with it the decision */
    rig_tell(rig, 2, 1, true);
    rig_run(rig);
    assert_all(rig, 2, RZ_PHASE_ENTER);
    rig_close(rig);
}

static void too_many_restarts_end_the_job(void **state)
{
    (void)state;
    struct rig rig;
    open_with(&rig, 2, (struct rz_recover_config){.tie_breaker = RZ_ID_NONE, .restarts_max = 2});
    ALL(&rig, d)
    rig_call(&rig, d, RZ_RECOVER_REPAIRING, 0, 0, 0);
    all_hear_of(&rig, 0, 1);
    all_hear_of(&rig, 0, 2);
    assert_all(&rig, 3, RZ_PHASE_ENTER);
    rig_call(&rig, 1, RZ_RECOVER_COMMITTED, 1, 3, 0); /* progress: the count restarts */
    all_hear_of(&rig, 0, 3);
    all_hear_of(&rig, 0, 4);
    assert_all(&rig, 5, RZ_PHASE_ENTER);
    all_hear_of(&rig, 0, 5);
    ALL(&rig, d)
    {
        const struct rig_notice *stop = rig_next(&rig, d, RZ_RECOVER_STOP);
        assert_non_null(stop);
        assert_int_equal(stop->arg[0], RZ_ERR_JOB_ENDED);
    }
    rig_close(&rig);
}

static void kill_daemon(struct rig *rig, rz_id failed)
{
    rig_kill(rig, failed);
    ALL(rig, d)
    rig_tell(rig, d, failed, true);
    rig_run(rig);
}

static void all_hear_of_damage(struct rig *rig, rz_id finder, uint32_t epoch)
{
    uint64_t item = rz_recover_pack_damage(finder, epoch);
    ALL(rig, d)
    rig_call_items(rig, d, RZ_RECOVER_DAMAGED, 0, 0, &item, 1);
    rig_run(rig);
}

static void commit_all(struct rig *rig, uint32_t epoch, uint64_t generation)
{
    ALL(rig, d)
    rig_call(rig, d, RZ_RECOVER_COMMITTED, generation, epoch, 0);
}

static void assert_epoch(struct rig *rig, uint32_t epoch, uint64_t generation, bool fell_back)
{
    assert_all(rig, epoch, RZ_PHASE_ENTER);
    ALL(rig, d)
    {
        const struct rig_notice *notice = rig_next(rig, d, RZ_RECOVER_EPOCH);
        assert_non_null(notice);
        assert_int_equal(notice->arg[0], epoch);
        assert_int_equal(notice->arg[1], generation);
        assert_int_equal(rz_recover_fell_back(rig->state[d]), fell_back);
    }
    rig->seen = rig->n_notices;
}

static void damage_leads_to_the_generation_before_and_no_further(void **state)
{
    (void)state;
    struct rig *rig = rig_running(3);
    commit_all(rig, 1, 5);
    all_hear_of(rig, 0, 1);
    assert_epoch(rig, 2, 5, false);
    all_hear_of_damage(rig, 1, 1); /* of an epoch that is over */
    all_hear_of_damage(rig, 1, 2);
    assert_epoch(rig, 3, 4, true);
    all_hear_of(rig, 3, 1); /* the damaged one stays given up */
    assert_epoch(rig, 4, 4, true);
    all_reach(rig, 4, RZ_PHASE_ENTER);
    assert_all(rig, 4, RZ_PHASE_RUN);
    all_hear_of_damage(rig, 2, 4); /* too late to count */
    assert_all(rig, 4, RZ_PHASE_RUN);
    commit_all(rig, 4, 5);
    all_hear_of(rig, 1, 1);
    assert_epoch(rig, 5, 5, false);
    all_hear_of_damage(rig, 0, 5);
    assert_epoch(rig, 6, 4, true);
    all_hear_of_damage(rig, 0, 6);
    ALL(rig, d)
    assert_int_equal(rig_next(rig, d, RZ_RECOVER_STOP)->arg[0], RZ_ERR_CHECKPOINT_LOST);
    rig_close(rig);
}

/* Nothing was committed since the barrier opened: the generation before is no more. */
static void there_is_no_generation_before_what_was_restored(void **state)
{
    (void)state;
    struct rig *rig = rig_running(3);
    commit_all(rig, 1, 5);
    all_hear_of(rig, 0, 1);
    all_reach(rig, 2, RZ_PHASE_ENTER);
    all_hear_of(rig, 0, 2);
    assert_all(rig, 3, RZ_PHASE_ENTER);
    all_hear_of_damage(rig, 2, 3);
    ALL(rig, d)
    assert_int_equal(rig_next(rig, d, RZ_RECOVER_STOP)->arg[0], RZ_ERR_CHECKPOINT_LOST);
    rig_close(rig);
}

static struct rig *rig_of_all_beginning(void)
{
    static struct rig rig;
    open_with(&rig, 3, (struct rz_recover_config){.tie_breaker = RZ_ID_NONE, .all_begin = true});
    ALL(&rig, d)
    rig_call(&rig, d, RZ_RECOVER_REPAIRING, 0, 0, 0);
    all_reach(&rig, 1, RZ_PHASE_ENTER);
    return &rig;
}

static void assert_from_start(struct rig *rig, bool from_start)
{
    ALL(rig, d)
    assert_int_equal(rz_recover_from_start(rig->state[d]), from_start);
}

/* The process that could not continue has failed, too: that does not hide why. */
static void damage_counts_beside_failed_processes(void **state)
{
    (void)state;
    struct rig *rig = rig_of_all_beginning();
    commit_all(rig, 1, 5);
    all_hear_of(rig, 0, 1);
    assert_epoch(rig, 2, 5, false);
    uint64_t item = rz_recover_pack_damage(1, 2);
    ALL(rig, d)
    {
        rig_call_items(rig, d, RZ_RECOVER_DAMAGED, 0, 0, &item, 1);
        rig_call(rig, d, RZ_RECOVER_FAILED, 0, 2, 0);
    }
    rig_run(rig);
    assert_epoch(rig, 3, 4, true);
    rig_close(rig);
}

/* Where all ranks are restarted they begin at the start of the program when the older generation
 * fails, too, or none exists. */
static void after_the_last_generation_all_begin_at_the_start(void **state)
{
    (void)state;
    struct rig *rig = rig_of_all_beginning();
    commit_all(rig, 1, 5);
    all_hear_of(rig, 0, 1);
    assert_epoch(rig, 2, 5, false);
    all_hear_of_damage(rig, 1, 2);
    assert_epoch(rig, 3, 4, true);
    assert_from_start(rig, false);
    all_hear_of_damage(rig, 1, 3);
    assert_epoch(rig, 4, 4, true);
    assert_from_start(rig, true);
    all_hear_of(rig, 3, 4); /* it stays so until they run */
    assert_epoch(rig, 5, 4, true);
    assert_from_start(rig, true);
    all_reach(rig, 5, RZ_PHASE_ENTER);
    assert_all(rig, 5, RZ_PHASE_RUN);
    assert_from_start(rig, false);
    commit_all(rig, 5, 5);
    all_hear_of(rig, 0, 5);
    all_reach(rig, 6, RZ_PHASE_ENTER);
    all_hear_of(rig, 0, 6);
    rig->seen = rig->n_notices;
    all_hear_of_damage(rig, 2, 7); /* nothing was committed since 5 was restored */
    assert_epoch(rig, 8, 5, false);
    assert_from_start(rig, true);
    rig_close(rig);
}

/* Only one knows the damage, and the daemon that found it fails: the next epoch will find it again,
 * or not. */
static void what_the_failed_have_found_does_not_count(void **state)
{
    (void)state;
    struct rig *rig = rig_running(3);
    commit_all(rig, 1, 5);
    all_hear_of(rig, 0, 1);
    assert_epoch(rig, 2, 5, false);
    uint64_t item = rz_recover_pack_damage(2, 2);
    rig_call_items(rig, 0, RZ_RECOVER_DAMAGED, 0, 0, &item, 1);
    kill_daemon(rig, 2);
    assert_epoch(rig, 3, 5, false);
    all_reach(rig, 3, RZ_PHASE_ENTER);
    assert_all(rig, 3, RZ_PHASE_RUN);
    rig_close(rig);
}

/* Three daemons of four slots, of which two fail; six ranks. */
static void without_slots_the_job_stops(void **state)
{
    (void)state;
    for (int limit = 0; limit < 2; limit++) {
        struct rig rig;
        open_with(&rig, 3,
                  (struct rz_recover_config){.tie_breaker = RZ_ID_NONE, .slots_limit = limit});
        ALL(&rig, d)
        rig_call(&rig, d, RZ_RECOVER_REPAIRING, 0, 0, 0);
        kill_daemon(&rig, 1);
        assert_all(&rig, 2, RZ_PHASE_ENTER);
        kill_daemon(&rig, 0);
        const struct rig_notice *stop = rig_next(&rig, 2, RZ_RECOVER_STOP);
        assert_int_equal(rz_recover_stopped(rig.state[2]), limit);
        assert_int_equal(stop != NULL, limit);
        if (limit) {
            assert_int_equal(stop->arg[0], RZ_ERR_NO_SLOTS);
            assert_int_equal(stop->arg[1], 4);
        } else {
            assert_all(&rig, 3, RZ_PHASE_ENTER);
        }
        rig_close(&rig);
    }
}

static void a_member_that_is_held_for_failed_stops(void **state)
{
    (void)state;
    struct rig *rig = rig_running(3);
    /* 0 and 1 hold 2 for failed; it learns so from their decision. */
    rig_tell(rig, 0, 2, false);
    rig_tell(rig, 1, 2, false);
    rig_run(rig);
    rig_call(rig, 2, RZ_RECOVER_FAILED, 0, 1, 0);
    assert_false(rz_recover_stopped(rig->state[0]));
    struct rz_message down = {
        .protocol = RZ_PROTOCOL_RECOVER, .type = 1, .view = 3, .from = 0, .origin = 0, .seq = 2};
    uint64_t items[] = {2, 0, 0, 1, 2, rz_recover_pack_daemon(2, false)};
    down.word[0] = 1;
    down.n_items = 6;
    rig->mail[rig->n_mail] = (struct rig_mail){.to = 2, .message = down};
    for (uint32_t i = 0; i < 6; i++) {
        rig->mail[rig->n_mail].items[i] = items[i];
    }
    rig->n_mail++;
    rig_run(rig);
    const struct rig_notice *stop = rig_next(rig, 2, RZ_RECOVER_STOP);
    assert_non_null(stop);
    assert_int_equal(stop->arg[0], RZ_ERR_FENCED);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_without_failures_enters_runs_and_leaves),
        cmocka_unit_test(a_failed_process_is_replaced_where_it_was),
        cmocka_unit_test(all_ranks_begin_anew_if_wanted),
        cmocka_unit_test(a_failed_daemons_ranks_move),
        cmocka_unit_test(an_epoch_names_the_processes_that_restart),
        cmocka_unit_test(a_failure_in_the_barrier_means_another_epoch),
        cmocka_unit_test(news_of_an_incarnation_to_come_is_kept),
        cmocka_unit_test(without_reinit_the_failed_are_noted),
        cmocka_unit_test(no_process_is_repaired_while_a_failure_is_on_the_way),
        cmocka_unit_test(after_left_failures_are_noted),
        cmocka_unit_test(the_generation_floor_holds_while_failures_are_undecided),
        cmocka_unit_test(of_two_sides_the_majority_goes_on),
        cmocka_unit_test(silent_failures_in_a_row_count_together_until_confirmed),
        cmocka_unit_test(proof_wins_over_silence),
        cmocka_unit_test(too_many_restarts_end_the_job),
        cmocka_unit_test(without_slots_the_job_stops),
        cmocka_unit_test(damage_leads_to_the_generation_before_and_no_further),
        cmocka_unit_test(there_is_no_generation_before_what_was_restored),
        cmocka_unit_test(damage_counts_beside_failed_processes),
        cmocka_unit_test(after_the_last_generation_all_begin_at_the_start),
        cmocka_unit_test(what_the_failed_have_found_does_not_count),
        cmocka_unit_test(a_member_that_is_held_for_failed_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
