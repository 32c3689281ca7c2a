/* SPDX-License-Identifier: BSD-3-Clause */
/* The hosts of an attempt without those that do not answer. */
#include "launch/attempts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct rz_rzrun_options job_on(const char *hosts, uint32_t n_ranks)
{
    struct rz_rzrun_options job = {.n_ranks = n_ranks, .slots_limit = true};
    const char *why;
    assert_true(rz_layout_add_hosts(&job.layout, hosts, &why));
    for (uint32_t i = 0; i < job.layout.n_nodes; i++) {
        job.layout.nodes[i].remote = true;
    }
    return job;
}

static void spares_take_the_place_of_a_host(void **state)
{
    struct rz_rzrun_options job = job_on("a:2,b:2,c:2", 4), attempt;
    struct rz_left_out left_out = {0};
    (void)state;
    rz_layout_spare(&job.layout, 1);
    rz_layout_place(&job.layout, 4, RZ_PLACE_BY_SLOT);
    rz_left_out_add(&left_out, "a");
    rz_left_out_add(&left_out, "a");
    assert_int_equal(left_out.hosts.n, 1);
    assert_true(rz_left_out_settle(&left_out, &job, &attempt));
    assert_int_equal(attempt.layout.n_nodes, 2);
    assert_int_equal(attempt.n_remote, 2);
    assert_string_equal(attempt.layout.nodes[attempt.layout.placement[0]].host, "b");
    assert_string_equal(attempt.layout.nodes[attempt.layout.placement[3]].host, "c");
    rz_layout_clear(&attempt.layout);
    rz_layout_clear(&job.layout);
    rz_left_out_clear(&left_out);
}

static void too_few_hosts_are_refused(void **state)
{
    struct rz_rzrun_options job = job_on("a:2,b:2", 3), attempt;
    struct rz_left_out left_out = {0};
    (void)state;
    rz_layout_place(&job.layout, 3, RZ_PLACE_BY_SLOT);
    rz_left_out_add(&left_out, "b");
    assert_false(rz_left_out_settle(&left_out, &job, &attempt));
    job.slots_limit = false;
    assert_true(rz_left_out_settle(&left_out, &job, &attempt));
    rz_layout_clear(&attempt.layout);
    rz_left_out_add(&left_out, "a");
    assert_false(rz_left_out_settle(&left_out, &job, &attempt));
    rz_layout_clear(&job.layout);
    rz_left_out_clear(&left_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spares_take_the_place_of_a_host),
        cmocka_unit_test(too_few_hosts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
