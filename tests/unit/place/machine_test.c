/* SPDX-License-Identifier: BSD-3-Clause */
/* What hwloc says of this machine agrees with what the kernel lets this process use. */
#include "place/machine.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static void assert_covers(const cpu_set_t *mask)
{
    struct rz_machine machine;
    cpu_set_t seen;
    CPU_ZERO(&seen);
    assert_int_equal(rz_machine_look(&machine), RZ_OK);
    for (uint32_t i = 0; i < machine.n_cores; i++) {
        const struct rz_machine_core *core = &machine.cores[i];
        assert_true(core->count > 0 && core->first + core->count <= machine.n_processors);
        for (uint32_t k = 0; k < core->count; k++) {
            uint32_t processor = machine.processors[core->first + k];
            assert_true(CPU_ISSET(processor, mask));
            assert_false(CPU_ISSET(processor, &seen));
            CPU_SET(processor, &seen);
        }
    }
    assert_true(CPU_EQUAL(&seen, mask));
    assert_int_equal(machine.n_processors, CPU_COUNT(mask));
    rz_machine_clear(&machine);
}

static void test_all_that_is_ours(void **state)
{
    cpu_set_t mask;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
    assert_covers(&mask);
}

static void test_no_more_than_the_mask(void **state)
{
    cpu_set_t all, one;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    for (int processor = 0; processor < CPU_SETSIZE; processor++) {
        if (!CPU_ISSET(processor, &all)) {
            continue;
        }
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
        assert_covers(&one);
    }
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_that_is_ours),
                                       cmocka_unit_test(test_no_more_than_the_mask)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
