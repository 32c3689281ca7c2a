/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints through recoveries under schedules: small worlds whole, larger ones at random, and
 * mutants that must be caught. */
#include "schedules.h"

static void explore(const char *name)
{
    struct rz_sim_options options = schedules_of("commit", name, 0, UINT32_MAX);
    assert_true(schedules_explore(&options).states > 100);
}

static void run(const char *name, uint32_t members, uint32_t crashes, uint64_t seeds)
{
    schedules_run("commit", name, members, crashes, seeds);
}

static const struct {
    uint32_t members, crashes;
} worlds[] = {{4, 2}, {5, 4}, {7, 3}, {8, 4}, {12, 4}};

static void run_worlds(const char *name, uint64_t seeds)
{
    for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
        run(name, worlds[i].members, worlds[i].crashes, seeds);
    }
}

static void a_failure_holds_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny");
}

static void generations_are_whole_at_random(void **state)
{
    (void)state;
    run_worlds("job", 800);
}

static void generations_are_whole_with_spare_daemons(void **state)
{
    (void)state;
    run("spares", 5, 4, 1500);
    run("spares", 9, 4, 1500);
}

static void silent_failures_stop_all_or_none(void **state)
{
    (void)state;
    run_worlds("silent", 800);
}

static void what_no_member_or_files_keep_is_whole(void **state)
{
    (void)state;
    run_worlds("memory", 100);
    run_worlds("files", 100);
}

static void groups_give_back_what_they_promise(void **state)
{
    (void)state;
    run("xor", 4, 2, 300);
    run("xor", 6, 3, 200);
    run("xor", 9, 4, 50);
    run("rs", 5, 3, 300);
    run("rs", 7, 4, 100);
    run("rs", 11, 4, 20);
    run("rs-silent", 5, 3, 100);
    run("rs-silent", 7, 4, 100);
}

static void a_group_holds_in_every_schedule(void **state)
{
    (void)state;
    explore("tiny-xor");
}

static void damage_leads_all_back_further_or_stops_all(void **state)
{
    (void)state;
    explore("tiny-damage");
    run_worlds("damage", 200);
    run_worlds("damage-memory", 100);
    run("damage-rs", 6, 2, 300);
    run("damage-rs", 9, 4, 50);
    run_worlds("damage-silent", 100);
}

static void where_all_begin_anew_damage_stops_none(void **state)
{
    (void)state;
    explore("tiny-damage-rewind");
    run_worlds("damage-rewind", 200);
}

static void each_mutant_is_caught(void **state)
{
    static const char *const mutants[] = {
        "mutant-uncopied",       "mutant-despite-failure",  "mutant-early-home",
        "mutant-one-view",       "mutant-no-floor",         "mutant-drop-old",
        "mutant-no-protect",     "mutant-group-uncopied",   "mutant-group-one-short",
        "mutant-group-generous", "mutant-group-old-parity", "mutant-group-early-home",
        "mutant-group-drop-old", "mutant-any-damage"};
    (void)state;
    for (size_t i = 0; i < sizeof(mutants) / sizeof(*mutants); i++) {
        run(mutants[i], 0, UINT32_MAX, 20000);
    }
    explore("mutant-unaware");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_holds_in_every_schedule),
        cmocka_unit_test(generations_are_whole_at_random),
        cmocka_unit_test(generations_are_whole_with_spare_daemons),
        cmocka_unit_test(silent_failures_stop_all_or_none),
        cmocka_unit_test(what_no_member_or_files_keep_is_whole),
        cmocka_unit_test(groups_give_back_what_they_promise),
        cmocka_unit_test(a_group_holds_in_every_schedule),
        cmocka_unit_test(damage_leads_all_back_further_or_stops_all),
        cmocka_unit_test(where_all_begin_anew_damage_stops_none),
        cmocka_unit_test(each_mutant_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
