/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of faults to inject: what is understood, and what is refused with which reason. */
#include "launch/inject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static void test_what_is_understood(void **state)
{
    struct rz_fault fault;
    const char *why;
    (void)state;
    assert_true(rz_fault_parse("kill rank 3 at iteration 40", &fault, &why));
    assert_true(fault.deed == RZ_FAULT_KILL && !fault.node && fault.target == 3);
    assert_true(fault.when == RZ_FAULT_AT_ITERATION && fault.iteration == 40);
    assert_true(rz_fault_parse("  kill   node 2 at 900ms ", &fault, &why));
    assert_true(fault.node && fault.when == RZ_FAULT_AT_TIME && fault.at == 900 * RZ_MILLISECOND);
    assert_true(rz_fault_parse("stop node 1 at 2s for 500ms", &fault, &why));
    assert_true(fault.deed == RZ_FAULT_STOP && fault.duration == 500 * RZ_MILLISECOND);
    assert_true(rz_fault_parse("stop rank 0 at iteration 7 for 1s", &fault, &why));
    assert_true(rz_fault_parse("every 2s kill random node", &fault, &why));
    assert_true(fault.when == RZ_FAULT_EVERY && fault.random && fault.node &&
                fault.at == 2 * RZ_SECOND);
    assert_true(rz_fault_parse("every 100ms kill random rank", &fault, &why));
    assert_true(fault.random && !fault.node);
}

static void test_faults_of_the_network(void **state)
{
    struct rz_fault fault;
    const char *why;
    (void)state;
    assert_true(rz_fault_parse("cut node 2,3 at 500ms for 2s", &fault, &why));
    assert_true(fault.deed == RZ_FAULT_CUT && fault.n_nodes == 2 && fault.nodes[0] == 2 &&
                fault.nodes[1] == 3);
    assert_true(fault.duration == 2 * RZ_SECOND && fault.amount == 1);
    assert_true(rz_fault_parse("cut node 0 at iteration 10", &fault, &why));
    assert_true(fault.when == RZ_FAULT_AT_ITERATION && fault.duration == 0);
    assert_true(rz_fault_parse("delay node 1 30ms at 1s", &fault, &why));
    assert_true(fault.deed == RZ_FAULT_DELAY && fault.amount == 30 * RZ_MILLISECOND);
    assert_true(rz_fault_parse("lose 30% node 1,2,5 at 1s for 1s", &fault, &why));
    assert_true(fault.deed == RZ_FAULT_LOSE && fault.amount == 300 && fault.n_nodes == 3);
    assert_true(rz_fault_parse("heal at 4s", &fault, &why));
    assert_true(fault.deed == RZ_FAULT_HEAL && fault.at == 4 * RZ_SECOND);
}

static void test_what_is_refused_in_words(void **state)
{
    static const char *const bad[] = {"",
                                      "kill",
                                      "kill 3",
                                      "kill rank",
                                      "kill rank x at 2s",
                                      "kill rank 3",
                                      "kill rank 3 at",
                                      "kill rank 3 at 2",
                                      "kill rank 3 at iteration",
                                      "kill rank 3 at 2s for 1s",
                                      "kill rank 3 at 2s please",
                                      "stop rank 3 at 2s",
                                      "stop rank 3 at 2s for",
                                      "every 0s kill random rank",
                                      "every 2s kill rank 3",
                                      "every 2s kill random",
                                      "hang rank 3 at 2s",
                                      "cut 2 at 2s",
                                      "cut rank 2 at 2s",
                                      "cut node 2,x at 2s",
                                      "cut node 2,,3 at 2s",
                                      "cut node at 2s",
                                      "cut node 2 at 2s for 0s",
                                      "cut node 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15 at 2s",
                                      "delay node 2 at 2s",
                                      "delay node 2 0ms at 2s",
                                      "lose node 2 at 2s",
                                      "lose 130% node 2 at 2s",
                                      "lose 0% node 2 at 2s",
                                      "heal node 2 at 2s",
                                      "heal at 2s for 1s",
                                      "kill rank -1 at 2s",
                                      "kill rank 4294967295 at 2s",
                                      "kill kill kill kill kill kill kill kill kill kill kill",
                                      "kill rank 33333333333333333333333333333333333333 at 2s"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct rz_fault fault;
        const char *why = NULL;
        if (rz_fault_parse(bad[i], &fault, &why)) {
            fail_msg("'%s' was understood", bad[i]);
        }
        assert_non_null(why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_understood),
                                       cmocka_unit_test(test_faults_of_the_network),
                                       cmocka_unit_test(test_what_is_refused_in_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
