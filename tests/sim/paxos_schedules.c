/* SPDX-License-Identifier: BSD-3-Clause */
/* Consensus under schedules: small worlds whole, larger ones at random with loss, duplication,
 * partitions and pauses; mutants. */
#include "schedules.h"

#include "proto/paxos/paxos.h"

static void explore(const char *name, uint32_t members, uint32_t crashes)
{
    struct rz_sim_options options = schedules_of("paxos", name, members, crashes);
    schedules_explore(&options);
}

static struct rz_sim_result run(const char *name, uint32_t members, uint32_t crashes,
                                uint64_t seeds)
{
    return schedules_run("paxos", name, members, crashes, seeds);
}

static void two_ballots_never_decide_two_values(void **state)
{
    (void)state;
    explore("tiny", 2, 1);
    explore("tiny", 3, 0);
    explore("tiny", 3, 1);
    explore("tiny-votes", 3, 0);
    explore("tiny-votes", 3, 1);
}

static void one_value_whatever_the_network_does(void **state)
{
    (void)state;
    struct rz_sim_result result = run("value", 5, 2, 500);
    assert_true(result.lost > 0 && result.doubled > 0 && result.waited > 0);
    run("value", 3, 1, 300);
    run("value", 8, 3, 300);
    run("hasty", 3, 1, 300);
    run("hasty", 4, 1, 200);
    run("value", 2, 0, 100);
    run("value", 1, 0, 20);
    run("heard", 5, 2, 300);
}

static void votes_of_a_majority_decide(void **state)
{
    (void)state;
    run("votes", 5, 2, 500);
    run("votes", 4, 1, 300);
    run("votes", 18, 8, 100);
    run("calm", 7, 3, 300);
    run("votes", 1, 0, 20);
}

static void a_new_view_begins_anew(void **state)
{
    (void)state;
    run("views", 5, 1, 400);
    run("views", 3, 0, 200);
}

static void bugs_are_caught(void **state)
{
    (void)state;
    explore("mutant-promise", 3, 0);
    explore("mutant-accepted", 3, 0);
    explore("mutant-tiny-quorum", 3, 0);
    run("mutant-sets", 5, 0, 5000);
    run("mutant-quorum", 5, 0, 5000);
    run("mutant-half", 4, 0, 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ballots_never_decide_two_values),
        cmocka_unit_test(one_value_whatever_the_network_does),
        cmocka_unit_test(votes_of_a_majority_decide),
        cmocka_unit_test(a_new_view_begins_anew),
        cmocka_unit_test(bugs_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
