/* SPDX-License-Identifier: BSD-3-Clause */
/* Stories of spawns: replacements and cohorts. */
#include "base/status.h"
#include "recover_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FREE_SLOTS 4

/* A job in phase RUN that does not repair itself, with free slots behind its 2 * n ranks. */
static struct rig *spawns_rig(uint32_t n)
{
    static struct rig rig;
    open_with(&rig, n,
              (struct rz_recover_config){.tie_breaker = RZ_ID_NONE, .n_slots = 2 * n + FREE_SLOTS});
    all_reach(&rig, 1, RZ_PHASE_ENTER);
    assert_all(&rig, 1, RZ_PHASE_RUN);
    rig.seen = rig.n_notices;
    return &rig;
}

static void want(struct rig *rig, rz_id member, uint64_t item)
{
    rig_call_items(rig, member, RZ_RECOVER_WANT, 0, 0, &item, 1);
}

static void all_want(struct rig *rig, uint64_t item)
{
    ALL(rig, d)
    want(rig, d, item);
    rig_run(rig);
}

static void look_again(struct rig *rig)
{
    rig->seen = rig->n_notices;
}

/* All were notified of exactly these spawns and no other spawns since look_again. */
static void assert_spawns(struct rig *rig, uint32_t round, rz_status_t status, uint32_t n,
                          const uint64_t *items)
{
    ALL(rig, d)
    {
        const struct rig_notice *spawns = rig_next(rig, d, RZ_RECOVER_SPAWNS);
        assert_int_equal(rig_count(rig, d, RZ_RECOVER_SPAWNS), 1);
        assert_int_equal(spawns->arg[0], round);
        assert_int_equal(spawns->arg[1], status);
        assert_int_equal(spawns->n_items, n);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(spawns->items[i] == items[i]);
        }
        assert_int_equal(rz_recover_round(rig->state[d]), round);
    }
}

#define ASSERT_SPAWNS(rig, round, status, ...)                                                     \
    assert_spawns(rig, round, status, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),        \
                  (uint64_t[]){__VA_ARGS__})

static void assert_process(struct rig *rig, uint32_t slot, uint32_t incarnation, rz_id daemon)
{
    ALL(rig, d)
    {
        assert_int_equal(rz_recover_incarnation_of(rig->state[d], slot), incarnation);
        assert_int_equal(rz_recover_daemon_of(rig->state[d], slot), daemon);
    }
}

static void a_spawn_replaces_the_failed_where_it_was(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(3);
    all_hear_of(rig, 4, 1); /* daemon 2 carries none: the least */
    all_hear_of(rig, 5, 1);
    all_hear_of(rig, 3, 1);
    ALL(rig, d)
    {
        assert_true(rz_recover_process_failed(rig->state[d], 3));
        assert_int_equal(rz_recover_spawn(rig->state[d], 3, 2), RZ_SPAWN_OPEN);
    }
    look_again(rig);
    all_want(rig, rz_recover_pack_spawn(3, 2));
    ASSERT_SPAWNS(rig, 1, RZ_OK, rz_recover_pack_spawn(3, 2));
    assert_process(rig, 3, 2, 1);
    assert_all(rig, 1, RZ_PHASE_RUN);
    ALL(rig, d)
    {
        assert_int_equal(rig_count(rig, d, RZ_RECOVER_FAILURES), 0);
        assert_false(rz_recover_process_failed(rig->state[d], 3));
        assert_int_equal(rz_recover_spawn(rig->state[d], 3, 2), RZ_SPAWN_SPAWNED);
        assert_true(rz_recover_spawned_of(rig->state[d], 3) == 0);
    }
    /* Late news add nothing; the spawned process is replaced like any other. */
    look_again(rig);
    all_want(rig, rz_recover_pack_spawn(3, 2));
    ALL(rig, d)
    assert_int_equal(rig_count(rig, d, RZ_RECOVER_SPAWNS), 0);
    all_hear_of(rig, 3, 2);
    all_want(rig, rz_recover_pack_spawn(3, 3));
    ASSERT_SPAWNS(rig, 2, RZ_OK, rz_recover_pack_spawn(3, 3));
    rig_close(rig);
}

static void a_spawn_implies_the_failure_before_it(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(3);
    all_want(rig, rz_recover_pack_spawn(2, 2));
    ASSERT_SPAWNS(rig, 1, RZ_OK, rz_recover_pack_spawn(2, 2));
    ALL(rig, d)
    {
        const struct rig_notice *failures = rig_next(rig, d, RZ_RECOVER_FAILURES);
        assert_non_null(failures);
        assert_true(failures < rig_next(rig, d, RZ_RECOVER_SPAWNS)); /* the host gets them first */
        assert_int_equal(failures->n_items, 1);
        assert_true(failures->items[0] == rz_recover_pack_process(2, 1));
    }
    rig_close(rig);
}

static void the_failed_of_a_failed_daemon_move(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(4);
    all_hear_of(rig, 7, 1); /* daemon 3 runs one live process, 0 and 2 two */
    look_again(rig);
    rig_kill(rig, 1);
    ALL(rig, d)
    {
        rig_tell(rig, d, 1, true);
        const uint64_t items[] = {rz_recover_pack_spawn(3, 2), rz_recover_pack_spawn(2, 2)};
        rig_call_items(rig, d, RZ_RECOVER_WANT, 0, 0, items, 2);
    }
    rig_run(rig);
    ASSERT_SPAWNS(rig, 1, RZ_OK, rz_recover_pack_spawn(2, 2), rz_recover_pack_spawn(3, 2));
    assert_process(rig, 2, 2, 3);
    assert_process(rig, 3, 2, 0);
    assert_process(rig, 7, 1, 3);
    rig_close(rig);
}

static void spawned_processes_count_in_the_barrier(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(3);
    /* 0 and 1 have contributed to the barrier before the spawn is known: it decides nothing. */
    rig_call(rig, 0, RZ_RECOVER_REACHED, 1, RZ_PHASE_RUN, 0);
    rig_call(rig, 1, RZ_RECOVER_REACHED, 1, RZ_PHASE_RUN, 0);
    rig_run(rig);
    want(rig, 2, rz_recover_pack_spawn(0, 2));
    rig_run(rig);
    ASSERT_SPAWNS(rig, 1, RZ_OK, rz_recover_pack_spawn(0, 2));
    assert_all(rig, 1, RZ_PHASE_RUN);
    /* What was counted before the spawn does not count, nor does what is said too late. */
    rig_call(rig, 2, RZ_RECOVER_REACHED, 1, RZ_PHASE_RUN, 1);
    rig_call(rig, 1, RZ_RECOVER_REACHED, 1, RZ_PHASE_RUN, 1);
    rig_call(rig, 0, RZ_RECOVER_REACHED, 1, RZ_PHASE_RUN, 0);
    rig_run(rig);
    assert_all(rig, 1, RZ_PHASE_RUN);
    rig_call(rig, 0, RZ_RECOVER_REACHED, 1, RZ_PHASE_RUN, 1);
    rig_run(rig);
    assert_all(rig, 1, RZ_PHASE_LEFT);
    rig_close(rig);
}

static void a_cohort_gets_the_free_slots_in_order(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(3);
    uint64_t first = rz_recover_pack_cohort(1, 1, 2), second = rz_recover_pack_cohort(0, 1, 3),
             third = rz_recover_pack_cohort(1, 2, 2);
    ALL(rig, d)
    {
        assert_int_equal(rz_recover_daemon_of(rig->state[d], 6), RZ_ID_NONE);
        assert_int_equal(rz_recover_incarnation_of(rig->state[d], 6), 0);
        assert_true(rz_recover_process_failed(rig->state[d], 6));
        assert_true(rz_recover_slot_free(rig->state[d], 6));
        assert_false(rz_recover_slot_free(rig->state[d], 5));
    }
    all_hear_of(rig, 5, 1); /* failed, but a rank's slot, and daemon 2 carries less */
    ALL(rig, d)
    assert_false(rz_recover_slot_free(rig->state[d], 5));
    look_again(rig);
    all_want(rig, first);
    ASSERT_SPAWNS(rig, 1, RZ_OK, first, rz_recover_pack_spawn(6, 1), rz_recover_pack_spawn(7, 1));
    assert_process(rig, 6, 1, 2);
    assert_process(rig, 7, 1, 0);
    /* Not enough free slots: none; those that exist are given to a request for fewer. */
    look_again(rig);
    ALL(rig, d)
    {
        want(rig, d, third);
        want(rig, d, second);
    }
    rig_run(rig);
    ALL(rig, d)
    {
        assert_int_equal(rz_recover_cohorts_decided(rig->state[d], 0), 1);
        assert_int_equal(rz_recover_cohorts_decided(rig->state[d], 1), 2);
        assert_true(rz_recover_spawned_of(rig->state[d], 6) == first);
        assert_true(rz_recover_spawned_of(rig->state[d], 8) == third);
        assert_false(rz_recover_slot_free(rig->state[d], 9));
        const struct rig_notice *refused = NULL;
        for (uint32_t i = rig->seen; i < rig->n_notices; i++) {
            for (uint32_t k = 0; k < rig->notice[i].n_items; k++) {
                if (rig->notice[i].member == d && rig->notice[i].items[k] == second) {
                    uint32_t slot, incarnation;
                    refused = &rig->notice[i];
                    assert_int_equal(refused->arg[1], RZ_OK);
                    assert_true(
                        k + 1 == refused->n_items ||
                        !rz_recover_unpack_spawn(refused->items[k + 1], &slot, &incarnation));
                }
            }
        }
        assert_non_null(refused);
    }
    rig_close(rig);
}

static void all_of_a_cohort_are_spawned_or_none(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(3);
    all_want(rig, rz_recover_pack_cohort(0, 1, 5)); /* there are four slots behind the ranks */
    ALL(rig, d)
    {
        assert_int_equal(rz_recover_cohorts_decided(rig->state[d], 0), 1);
        for (uint32_t slot = 6; slot < 10; slot++) {
            assert_true(rz_recover_slot_free(rig->state[d], slot));
        }
    }
    all_want(rig, rz_recover_pack_cohort(0, 2, 4));
    ALL(rig, d)
    assert_false(rz_recover_slot_free(rig->state[d], 9));
    rig_close(rig);
}

static void kill_daemon(struct rig *rig, rz_id failed)
{
    rig_kill(rig, failed);
    ALL(rig, d)
    rig_tell(rig, d, failed, true);
    rig_run(rig);
}

/* Three daemons of four slots, two ranks on each; slots are limits. */
static void no_member_is_spawned_without_a_slot(void **state)
{
    (void)state;
    struct rig rig;
    open_with(&rig, 3,
              (struct rz_recover_config){
                  .tie_breaker = RZ_ID_NONE, .n_slots = 6 + FREE_SLOTS, .slots_limit = true});
    all_reach(&rig, 1, RZ_PHASE_ENTER);
    kill_daemon(&rig, 2);
    look_again(&rig);
    all_want(&rig, rz_recover_pack_cohort(0, 1, 3)); /* of the eight places one is left */
    all_want(&rig, rz_recover_pack_spawn(4, 2));
    look_again(&rig);
    all_want(&rig, rz_recover_pack_spawn(5, 2));
    ASSERT_SPAWNS(&rig, 2, RZ_OK, rz_recover_pack_refused(5, 2));
    ALL(&rig, d)
    {
        assert_int_equal(rz_recover_spawn(rig.state[d], 4, 2), RZ_SPAWN_SPAWNED);
        assert_int_equal(rz_recover_spawn(rig.state[d], 5, 2), RZ_SPAWN_REFUSED);
        assert_int_equal(rz_recover_incarnation_of(rig.state[d], 5), 1);
    }
    look_again(&rig);
    all_want(&rig, rz_recover_pack_cohort(1, 1, 1));
    ASSERT_SPAWNS(&rig, 2, RZ_OK, rz_recover_pack_cohort(1, 1, 1));
    /* A failed process frees a slot, which another one may take; then its own daemon is full. */
    all_hear_of(&rig, 0, 1);
    look_again(&rig);
    all_want(&rig, rz_recover_pack_cohort(1, 2, 1));
    ASSERT_SPAWNS(&rig, 3, RZ_OK, rz_recover_pack_cohort(1, 2, 1), rz_recover_pack_spawn(9, 1));
    assert_process(&rig, 9, 1, 0);
    all_hear_of(&rig, 3, 1); /* of daemon 1 */
    look_again(&rig);
    all_want(&rig, rz_recover_pack_spawn(0, 2));
    ASSERT_SPAWNS(&rig, 4, RZ_OK, rz_recover_pack_spawn(0, 2));
    assert_process(&rig, 0, 2, 1);
    rig_close(&rig);
}

static void a_cohort_behind_a_gap_waits(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(3);
    uint64_t first = rz_recover_pack_cohort(2, 1, 1), second = rz_recover_pack_cohort(2, 2, 2);
    all_want(rig, second);
    ALL(rig, d)
    assert_int_equal(rig_count(rig, d, RZ_RECOVER_SPAWNS), 0);
    all_want(rig, first);
    ALL(rig, d)
    {
        assert_int_equal(rz_recover_cohorts_decided(rig->state[d], 2), 2);
        assert_true(rz_recover_spawned_of(rig->state[d], 6) == first);
        assert_true(rz_recover_spawned_of(rig->state[d], 7) == second);
        assert_true(rz_recover_spawned_of(rig->state[d], 8) == second);
    }
    rig_close(rig);
}

/* Else each cohort of a long job would stay at daemons that learn of it late. */
static void late_news_of_a_decided_cohort_leave_nothing_behind(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(3);
    uint64_t cohort = rz_recover_pack_cohort(2, 1, 1);
    all_want(rig, cohort);
    uint64_t before = rz_recover_hash(rig->state[0]);
    want(rig, 0, cohort);
    rig_run(rig);
    assert_true(rz_recover_hash(rig->state[0]) == before);
    rig_close(rig);
}

static void the_cohorts_of_a_failed_daemon_are_dropped(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(3);
    want(rig, 0, rz_recover_pack_cohort(2, 2, 1)); /* no live daemon knows the first one */
    rig_kill(rig, 2);
    want(rig, 1, rz_recover_pack_cohort(2, 2, 1));
    ALL(rig, d)
    rig_tell(rig, d, 2, true);
    rig_run(rig);
    all_want(rig, rz_recover_pack_cohort(2, 1, 1)); /* late news */
    ALL(rig, d)
    {
        assert_int_equal(rig_count(rig, d, RZ_RECOVER_FAILURES), 1);
        assert_int_equal(rig_count(rig, d, RZ_RECOVER_SPAWNS), 0);
    }
    all_reach(rig, 1, RZ_PHASE_RUN); /* nothing holds the barrier back */
    assert_all(rig, 1, RZ_PHASE_LEFT);
    rig_close(rig);
}

/* Members that have not heard of a spawn, and wait in the barrier, do not spin until they do. */
static void a_spawn_that_one_knows_of_is_decided(void **state)
{
    (void)state;
    for (int by_cohort = 0; by_cohort < 2; by_cohort++) {
        struct rig *rig = spawns_rig(3);
        uint64_t wanted = by_cohort ? rz_recover_pack_cohort(1, 1, 1) : rz_recover_pack_spawn(1, 2);
        all_hear_of(rig, 1, 1);
        look_again(rig);
        rig_call(rig, 0, RZ_RECOVER_REACHED, 1, RZ_PHASE_RUN, 0);
        rig_call(rig, 2, RZ_RECOVER_REACHED, 1, RZ_PHASE_RUN, 0);
        want(rig, 1, wanted);
        rig_run(rig);
        if (by_cohort) {
            ASSERT_SPAWNS(rig, 1, RZ_OK, wanted, rz_recover_pack_spawn(6, 1));
        } else {
            ASSERT_SPAWNS(rig, 1, RZ_OK, wanted);
        }
        look_again(rig);
        want(rig, 0, wanted);
        want(rig, 2, wanted);
        rig_run(rig);
        assert_int_equal(rig_count(rig, 0, RZ_RECOVER_SPAWNS), 0);
        all_reach(rig, 1, RZ_PHASE_RUN);
        assert_all(rig, 1, RZ_PHASE_LEFT);
        rig_close(rig);
    }
}

static void slots_never_used_come_first_then_the_longest_free(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(2);
    all_want(rig, rz_recover_pack_cohort(0, 1, 3)); /* slots 4, 5, 6 */
    all_hear_of(rig, 6, 1);
    all_hear_of(rig, 4, 1);
    look_again(rig);
    uint64_t cohort = rz_recover_pack_cohort(1, 1, 3);
    all_want(rig, cohort);
    ASSERT_SPAWNS(rig, 2, RZ_OK, cohort, rz_recover_pack_spawn(7, 1), rz_recover_pack_spawn(6, 2),
                  rz_recover_pack_spawn(4, 2));
    rig_close(rig);
}

static void whose_slot_was_given_away_is_told_so(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(2);
    uint64_t first = rz_recover_pack_cohort(0, 1, 4), second = rz_recover_pack_cohort(1, 1, 1);
    all_want(rig, first);
    all_hear_of(rig, 5, 1);
    all_hear_of(rig, 6, 1);
    look_again(rig);
    all_want(rig, second); /* slot 5 */
    look_again(rig);
    ALL(rig, d)
    {
        want(rig, d,
             rz_recover_pack_spawn(5, 2)); /* its first process is requested back, too late */
        want(rig, d, rz_recover_pack_spawn(6, 2));
    }
    rig_run(rig);
    ASSERT_SPAWNS(rig, 3, RZ_OK, rz_recover_pack_spawn(6, 2));
    ALL(rig, d)
    {
        assert_int_equal(rz_recover_spawn(rig->state[d], 5, 2), RZ_SPAWN_TAKEN);
        assert_true(rz_recover_spawned_of(rig->state[d], 5) == second);
        assert_int_equal(rz_recover_spawn(rig->state[d], 6, 2), RZ_SPAWN_SPAWNED);
        assert_true(rz_recover_spawned_of(rig->state[d], 6) == 0);
        assert_true(rz_recover_cohort_of(rig->state[d], 6) == first);
    }
    rig_close(rig);
}

static void outside_of_phase_run_spawns_are_refused(void **state)
{
    uint64_t spawn = rz_recover_pack_spawn(1, 2), cohort = rz_recover_pack_cohort(0, 1, 1);
    (void)state;
    static const struct {
        enum rz_recover_phase phase;
        bool repairing;
        rz_status_t why;
    } cases[] = {{RZ_PHASE_ENTER, false, RZ_ERR_INVALID},
                 {RZ_PHASE_LEFT, false, RZ_ERR_JOB_ENDED},
                 {RZ_PHASE_LEFT, true, RZ_ERR_ROLLBACK}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rig rig;
        open_with(&rig, 2, (struct rz_recover_config){.tie_breaker = RZ_ID_NONE, .n_slots = 8});
        for (int phase = RZ_PHASE_ENTER; phase < (int)cases[i].phase; phase++) {
            all_reach(&rig, 1, (enum rz_recover_phase)phase);
        }
        ALL(&rig, d)
        if (cases[i].repairing) {
            rig_call(&rig, d, RZ_RECOVER_REPAIRING, 0, 0, 0);
        }
        look_again(&rig);
        const uint64_t items[] = {cohort, spawn};
        ALL(&rig, d)
        rig_call_items(&rig, d, RZ_RECOVER_WANT, 0, 0, items, 2);
        rig_run(&rig);
        ASSERT_SPAWNS(&rig, 0, cases[i].why, spawn, cohort);
        assert_process(&rig, 1, 1, 0);
        assert_all(&rig, 1, cases[i].phase);
        ALL(&rig, d)
        {
            assert_int_equal(rz_recover_spawn(rig.state[d], 1, 2), RZ_SPAWN_REFUSED);
            assert_int_equal(rz_recover_cohorts_decided(rig.state[d], 0), 1);
            assert_true(rz_recover_process_failed(rig.state[d], 1)); /* all the same */
        }
        look_again(&rig);
        want(&rig, 0, spawn); /* late news: no daemon begins anything */
        rig_run(&rig);
        assert_int_equal(rig_count(&rig, 1, RZ_RECOVER_REQUESTED), 0);
        rig_close(&rig);
    }
}

static void a_member_that_repairs_itself_gets_an_epoch_and_no_spawn(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(2);
    ALL(rig, d)
    {
        rig_call(rig, d, RZ_RECOVER_REPAIRING, 0, 0, 0);
        want(rig, d, rz_recover_pack_spawn(1, 2));
    }
    rig_run(rig);
    assert_all(rig, 2, RZ_PHASE_ENTER);
    ASSERT_SPAWNS(rig, 0, RZ_ERR_ROLLBACK, rz_recover_pack_spawn(1, 2));
    assert_process(rig, 1, 2, 0); /* by the epoch, as any other */
    ALL(rig, d)
    {
        assert_true(rig_next(rig, d, RZ_RECOVER_EPOCH) < rig_next(rig, d, RZ_RECOVER_SPAWNS));
        assert_int_equal(rz_recover_spawn(rig->state[d], 1, 2), RZ_SPAWN_REFUSED);
    }
    rig_close(rig);
}

/* More than are kept to begin with, and more than one decision settles. */
static void many_cohorts_are_decided_in_order(void **state)
{
    enum { MANY = 70 };
    uint64_t items[MANY];
    (void)state;
    struct rig *rig = spawns_rig(2);
    for (uint32_t i = 0; i < MANY; i++) {
        items[i] = rz_recover_pack_cohort(1, MANY - i, 1);
    }
    ALL(rig, d)
    rig_call_items(rig, d, RZ_RECOVER_WANT, 0, 0, items, MANY);
    rig_run(rig);
    ALL(rig, d)
    {
        assert_int_equal(rz_recover_cohorts_decided(rig->state[d], 1), MANY);
        assert_int_equal(rig_count(rig, d, RZ_RECOVER_SPAWNS), 2);
        for (uint32_t i = 0; i < FREE_SLOTS; i++) {
            assert_true(rz_recover_spawned_of(rig->state[d], 4 + i) ==
                        rz_recover_pack_cohort(1, i + 1, 1));
        }
    }
    rig_close(rig);
}

/* The daemon that started process 0.2 and saw it fail has failed, and its decision with it. The
 * number of that process is not given again; a request for 0.2 finds that it has been used, a
 * request for 0.3 gets it. */
static void what_a_lost_decision_bore_has_been(void **state)
{
    (void)state;
    for (int successor_wanted = 0; successor_wanted < 2; successor_wanted++) {
        struct rig *rig = spawns_rig(3);
        if (successor_wanted) {
            want(rig, 0, rz_recover_pack_spawn(0, 3));
        } else {
            rig_call(rig, 0, RZ_RECOVER_FAILED, 0, 2, 0);
        }
        rig_call(rig, 0, RZ_RECOVER_FAILED, 7, 1, 0); /* of a cohort */
        all_want(rig, rz_recover_pack_spawn(0, 2));
        all_hear_of(rig, 7, 1);
        assert_process(rig, 0, successor_wanted ? 3 : 2, 0);
        ALL(rig, d)
        {
            assert_int_equal(rig_count(rig, d, RZ_RECOVER_SPAWNS), successor_wanted);
            assert_int_equal(rz_recover_process_failed(rig->state[d], 0), !successor_wanted);
            assert_int_equal(rz_recover_spawn(rig->state[d], 0, 2), RZ_SPAWN_SPAWNED);
        }
        uint64_t cohort = rz_recover_pack_cohort(0, 1, 4);
        ALL(rig, d)
        {
            assert_int_equal(rz_recover_incarnation_of(rig->state[d], 7), 1);
            assert_int_not_equal(rz_recover_daemon_of(rig->state[d], 7), RZ_ID_NONE);
        }
        all_want(rig, cohort);
        all_hear_of(rig, 7, 1); /* late news: of the lost one */
        ALL(rig, d)
        {
            assert_int_equal(rz_recover_incarnation_of(rig->state[d], 6), 1);
            assert_int_equal(rz_recover_incarnation_of(rig->state[d], 7), 2);
            assert_true(rz_recover_spawned_of(rig->state[d], 7) == cohort);
        }
        look_again(rig);
        all_reach(rig, 1, RZ_PHASE_RUN); /* nothing more is requested */
        assert_all(rig, 1, RZ_PHASE_LEFT);
        rig_close(rig);
    }
}

/* A request or a failure far ahead of the present incarnation: no host makes it, and no daemon
 * spins over it. */
static void what_cannot_be_is_bounded(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(2);
    want(rig, 0, rz_recover_pack_spawn(0, 9));
    rig_call(rig, 1, RZ_RECOVER_FAILED, 2, 9, 0);
    rig_run(rig);
    ALL(rig, d)
    {
        assert_true(rz_recover_incarnation_of(rig->state[d], 0) <= 3);
        assert_true(rz_recover_incarnation_of(rig->state[d], 2) <= 2);
    }
    all_reach(rig, 1, RZ_PHASE_RUN);
    assert_all(rig, 1, RZ_PHASE_LEFT);
    rig_close(rig);
}

/* No daemon makes such a contribution; whatever comes in a decision, nothing goes out of turn. */
static void a_decision_of_spawns_out_of_order_spawns_no_process(void **state)
{
    (void)state;
    struct rig *rig = spawns_rig(2);
    rig_call(rig, 1, RZ_RECOVER_FAILED, 0, 1, 0);
    struct rz_message down = {
        .protocol = RZ_PROTOCOL_RECOVER, .type = 1, .view = 3, .from = 0, .seq = 2};
    const uint64_t items[] = {2,
                              1,
                              0,
                              1,
                              rz_recover_pack_process(0, 1),
                              rz_recover_pack_spawn(0, 3),
                              rz_recover_pack_spawn(1, 2), /* not failed */
                              rz_recover_pack_spawn(4, 1), /* of a cohort */
                              rz_recover_pack_cohort(0, 2, 1)};
    down.n_items = sizeof(items) / sizeof(*items);
    rig->n_mail = 0;
    struct rig_mail *mail = &rig->mail[rig->n_mail++];
    *mail = (struct rig_mail){.to = 1, .message = down};
    memcpy(mail->items, items, sizeof(items));
    rig_run(rig);
    assert_non_null(rig_next(rig, 1, RZ_RECOVER_FAILURES));
    assert_int_equal(rig_count(rig, 1, RZ_RECOVER_SPAWNS), 0);
    assert_int_equal(rz_recover_incarnation_of(rig->state[1], 0), 1);
    assert_int_equal(rz_recover_incarnation_of(rig->state[1], 1), 1);
    assert_int_equal(rz_recover_incarnation_of(rig->state[1], 4), 0);
    assert_int_equal(rz_recover_cohorts_decided(rig->state[1], 0), 0);
    rig_close(rig);
}

/* Each knows of some; of what is more than one decision settles the rest waits. */
static void a_decision_settles_only_so_many_cohorts(void **state)
{
    enum { EACH = 40, SETTLED = 64 };
    uint64_t items[2][EACH];
    (void)state;
    struct rig *rig = spawns_rig(2);
    for (uint32_t i = 0; i < EACH; i++) {
        for (rz_id d = 0; d < 2; d++) {
            items[d][i] = rz_recover_pack_cohort(d, i + 1, 1);
        }
    }
    for (rz_id d = 0; d < 2; d++) {
        rig_call_items(rig, d, RZ_RECOVER_WANT, 0, 0, items[d], EACH);
    }
    rig_run(rig);
    ALL(rig, d)
    {
        assert_int_equal(rz_recover_cohorts_decided(rig->state[d], 0), EACH);
        assert_int_equal(rz_recover_cohorts_decided(rig->state[d], 1), SETTLED - EACH);
    }
    for (rz_id d = 0; d < 2; d++) {
        rig_call_items(rig, d, RZ_RECOVER_WANT, 0, 0, items[1 - d], EACH);
    }
    rig_run(rig);
    ALL(rig, d)
    assert_int_equal(rz_recover_cohorts_decided(rig->state[d], 1), EACH);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spawn_replaces_the_failed_where_it_was),
        cmocka_unit_test(a_spawn_implies_the_failure_before_it),
        cmocka_unit_test(the_failed_of_a_failed_daemon_move),
        cmocka_unit_test(spawned_processes_count_in_the_barrier),
        cmocka_unit_test(a_cohort_gets_the_free_slots_in_order),
        cmocka_unit_test(all_of_a_cohort_are_spawned_or_none),
        cmocka_unit_test(no_member_is_spawned_without_a_slot),
        cmocka_unit_test(a_cohort_behind_a_gap_waits),
        cmocka_unit_test(late_news_of_a_decided_cohort_leave_nothing_behind),
        cmocka_unit_test(the_cohorts_of_a_failed_daemon_are_dropped),
        cmocka_unit_test(a_spawn_that_one_knows_of_is_decided),
        cmocka_unit_test(slots_never_used_come_first_then_the_longest_free),
        cmocka_unit_test(whose_slot_was_given_away_is_told_so),
        cmocka_unit_test(outside_of_phase_run_spawns_are_refused),
        cmocka_unit_test(a_member_that_repairs_itself_gets_an_epoch_and_no_spawn),
        cmocka_unit_test(many_cohorts_are_decided_in_order),
        cmocka_unit_test(a_decision_settles_only_so_many_cohorts),
        cmocka_unit_test(what_a_lost_decision_bore_has_been),
        cmocka_unit_test(what_cannot_be_is_bounded),
        cmocka_unit_test(a_decision_of_spawns_out_of_order_spawns_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
