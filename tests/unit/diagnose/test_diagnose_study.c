/* diagnose and paxos together, as a host joins them, in timing runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/paxos/paxos.h"
#include "study/study_diagnose_run.h"

#define N 9

enum { DIAGNOSE, PAXOS };

static struct rz_dgrp_run *make(struct rz_dgrp_host *hosts, uint64_t intervals, uint64_t seed)
{
    struct rz_dgrp_setup setup = {
        .members = N,
        .intervals = intervals,
        .diagnose = {.interval = RZ_SECOND, .factor = RZ_DGRP_FACTOR_ADDED},
        .network = {.latency = 100 * RZ_MICROSECOND, .jitter = 20 * RZ_MICROSECOND},
        .seed = seed,
        .hosts = hosts};
    return rz_dgrp_create(&setup);
}

static uint64_t sent(const struct rz_dgrp_run *run, uint32_t part, uint32_t type)
{
    return rz_timing_count(run->timing, part, type).messages;
}

static void a_quiet_group_costs_two_messages_per_pair_and_interval(void **state)
{
    (void)state;
    struct rz_dgrp_host hosts[N];
    rz_dgrp_hosts_even(hosts, N, 0);
    struct rz_dgrp_run *run = make(hosts, 40, 1);
    rz_dgrp_go(run);
    assert_int_equal(sent(run, DIAGNOSE, UINT32_MAX), 40 * 2 * N * (N - 1));
    assert_int_equal(sent(run, PAXOS, UINT32_MAX), 0);
    rz_dgrp_destroy(run);
}

/* One host with bursts: it is put out, and each time comes back by a decision of the others, whose
 * two phases cost four messages per further member, and the news one more. */
static void a_loaded_host_leaves_and_comes_back(void **state)
{
    (void)state;
    struct rz_dgrp_host hosts[N];
    rz_dgrp_hosts_even(hosts, N, 0);
    hosts[N - 1].bursts = 300;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct rz_dgrp_run *run = make(hosts, 1000, seed);
        rz_dgrp_go(run);
        assert_true(run->removed[N - 1] > 2);
        assert_in_range(run->rejoined[N - 1], run->removed[N - 1] - 1, run->removed[N - 1]);
        assert_int_equal(run->decided_yes, run->rejoined[N - 1]);
        for (rz_id k = 0; k < N - 1; k++)
            assert_int_equal(run->removed[k], 0);
        uint64_t instances = run->decided_yes + run->decided_no;
        uint64_t phases = sent(run, PAXOS, RZ_PAXOS_PREPARE) + sent(run, PAXOS, RZ_PAXOS_PROMISE) +
                          sent(run, PAXOS, RZ_PAXOS_ACCEPT) + sent(run, PAXOS, RZ_PAXOS_ACCEPTED);
        assert_int_equal(phases, instances * 4 * (N - 2)); /* N-1 members: all but the loaded one */
        assert_true(sent(run, PAXOS, RZ_PAXOS_TOLD) >= instances * (N - 2));
        rz_dgrp_destroy(run);
    }
}

static void the_dead_are_out_everywhere(void **state)
{
    (void)state;
    struct rz_dgrp_host hosts[N];
    rz_dgrp_hosts_even(hosts, N, 0);
    struct rz_dgrp_run *run = make(hosts, 150, 3);
    const rz_id victims[] = {0, 4};
    for (uint32_t i = 0; i < 2; i++)
        rz_dgrp_kill(run, victims[i], 60 * RZ_SECOND + 500 * RZ_MILLISECOND);
    rz_dgrp_go(run);
    for (uint32_t i = 0; i < 2; i++) {
        rz_id k = victims[i];
        assert_int_equal(run->out_at[k], N - 2);
        assert_true(run->out_first[k] >= run->killed_at[k]);
        assert_true(run->out_last[k] - run->killed_at[k] < 3 * RZ_SECOND);
        assert_int_equal(run->rejoined[k], 0);
    }
    assert_int_equal(run->false_removals, 0);
    assert_int_equal(run->group_size[run->interval], N - 2);
    rz_dgrp_destroy(run);
}

/* rz_dgrp_go asserts at every change that an even counter was decided (S6-3). */
static void lost_messages_put_out_and_nobody_comes_back_undecided(void **state)
{
    (void)state;
    struct rz_dgrp_host hosts[N];
    rz_dgrp_hosts_even(hosts, N, 100);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct rz_dgrp_run *run = make(hosts, 300, seed);
        run->setup.network.loss = seed % 2 == 0 ? 0.002 : 0.02;
        run->setup.network.duplication = 0.05;
        rz_dgrp_kill(run, 0, 200 * RZ_SECOND);
        rz_dgrp_go(run);
        assert_true(run->false_removals > 0 && run->decided_yes > 0);
        for (rz_id id = 1; id < N; id++) {
            const struct rz_diagnose *member = rz_timing_state(run->timing, id, DIAGNOSE);
            assert_false(rz_diagnose_has(member, id) && rz_diagnose_has(member, 0));
        }
        rz_dgrp_destroy(run);
    }
}

static void the_same_seed_gives_the_same_run(void **state)
{
    (void)state;
    struct rz_dgrp_host hosts[N];
    rz_dgrp_hosts_even(hosts, N, 500);
    struct rz_dgrp_run *one = make(hosts, 500, 7), *other = make(hosts, 500, 7);
    rz_dgrp_go(one);
    rz_dgrp_go(other);
    assert_memory_equal(one->group_size, other->group_size, 501 * sizeof *one->group_size);
    assert_memory_equal(one->removed, other->removed, N * sizeof *one->removed);
    assert_int_equal(sent(one, PAXOS, UINT32_MAX), sent(other, PAXOS, UINT32_MAX));
    rz_dgrp_destroy(one);
    rz_dgrp_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_group_costs_two_messages_per_pair_and_interval),
        cmocka_unit_test(a_loaded_host_leaves_and_comes_back),
        cmocka_unit_test(the_dead_are_out_everywhere),
        cmocka_unit_test(lost_messages_put_out_and_nobody_comes_back_undecided),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
