/* SPDX-License-Identifier: BSD-3-Clause */
/* diagnose and paxos together, as a host joins them, in timing runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/paxos/paxos.h"
#include "study/study_diagnose_replay.h"
#include "study/study_diagnose_run.h"

#include <stdlib.h>

#define N 9

enum { DIAGNOSE, PAXOS };

static struct rz_dgrp_run *make(struct rz_dgrp_host *hosts, uint64_t intervals, uint64_t seed)
{
    struct rz_dgrp_setup setup = {
        .members = N,
        .intervals = intervals,
        .diagnose = {.interval = RZ_SECOND, .factor = RZ_DGRP_FACTOR_ADDED, .zeta = RZ_DGRP_ZETA},
        .network = {.latency = 100 * RZ_MICROSECOND, .jitter = 20 * RZ_MICROSECOND},
        .seed = seed,
        .hosts = hosts};
    return rz_dgrp_create(&setup);
}

static struct rz_dgrp_run *make_cube(struct rz_dgrp_host *hosts, uint64_t intervals, uint64_t seed)
{
    struct rz_dgrp_run *run = make(hosts, intervals, seed);
    run->setup.diagnose.assignment = RZ_DIAGNOSE_CUBE;
    return run;
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

/* One host with bursts: it is excluded, and each time comes back by a decision of the others, whose
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
        for (rz_id k = 0; k < N - 1; k++) {
            assert_int_equal(run->removed[k], 0);
        }
        uint64_t instances = run->decided_yes + run->decided_no;
        uint64_t phases = sent(run, PAXOS, RZ_PAXOS_PREPARE) + sent(run, PAXOS, RZ_PAXOS_PROMISE) +
                          sent(run, PAXOS, RZ_PAXOS_ACCEPT) + sent(run, PAXOS, RZ_PAXOS_ACCEPTED);
        assert_int_equal(phases, instances * 4 * (N - 2)); /* N-1 members: all but the loaded one */
        assert_true(sent(run, PAXOS, RZ_PAXOS_TOLD) >= instances * (N - 2));
        rz_dgrp_destroy(run);
    }
}

static void kill_two(struct rz_dgrp_run *run)
{
    const rz_id victims[] = {0, 4};
    for (uint32_t i = 0; i < 2; i++) {
        rz_dgrp_kill(run, victims[i], 60 * RZ_SECOND + 500 * RZ_MILLISECOND);
    }
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
    for (rz_id k = 0; k < N; k++) {
        assert_int_equal(rz_dgrp_is_in(run, run->interval, k), k != 0 && k != 4);
    }
    rz_dgrp_destroy(run);
}

/* For any assignment of tests. */
static void the_failed_are_out_everywhere(void **state)
{
    (void)state;
    struct rz_dgrp_host hosts[N];
    rz_dgrp_hosts_even(hosts, N, 0);
    kill_two(make(hosts, 150, 3));
    kill_two(make_cube(hosts, 150, 3));
}

static void a_quiet_cube_costs_two_messages_per_cluster(void **state)
{
    (void)state;
    struct rz_dgrp_host hosts[N];
    uint64_t all = (1u << N) - 1, each = 0;
    rz_dgrp_hosts_even(hosts, N, 0);
    for (rz_id k = 0; k < N; k++) {
        for (uint32_t s = 1; s <= rz_diagnose_dimensions(N); s++) {
            each += 2 * (rz_diagnose_partner(&all, N, k, s) != RZ_ID_NONE);
        }
    }
    struct rz_dgrp_run *run = make_cube(hosts, 40, 1);
    rz_dgrp_go(run);
    assert_int_equal(sent(run, DIAGNOSE, UINT32_MAX), 40 * each);
    rz_dgrp_destroy(run);
}

/* A member that answers most members in time for twice zeta intervals is readmitted: at zeta the
 * first requests it, and if it is refused, because the others have counted less, the next one
 * does. */
static void a_member_that_answers_in_time_comes_back(void **state)
{
    (void)state;
    struct rz_dgrp_host hosts[N];
    rz_dgrp_hosts_even(hosts, N, 400);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct rz_dgrp_run *run = seed % 2 ? make(hosts, 1000, seed) : make_cube(hosts, 1000, seed);
        run->setup.storms = 100;
        run->setup.diagnose.health_max = seed % 3 == 0 ? 3 : 0;
        rz_dgrp_go(run);
        assert_true(run->decided_yes > 20);
        assert_in_range(rz_dgrp_kept_out_longest(run), 1, 2 * RZ_DGRP_ZETA - 1);
        assert_int_equal(run->views_apart, 0);
        rz_dgrp_destroy(run);
    }
}

/* A tester of the least rank, whose report has precedence, stops during its tests: it finds all
 * others late. */
static uint32_t least_group_with(uint32_t health_max, rz_time pause)
{
    struct rz_dgrp_host hosts[N];
    uint32_t least = N;
    rz_dgrp_hosts_even(hosts, N, 0);
    struct rz_dgrp_run *run = make(hosts, 120, 1);
    run->setup.diagnose.health_max = health_max;
    rz_dgrp_pause(run, 0, 60, 10 * RZ_MILLISECOND, pause);
    rz_dgrp_go(run);
    for (uint64_t i = 1; i <= run->interval; i++) {
        least = run->group_size[i] < least ? run->group_size[i] : least;
    }
    assert_int_equal(run->group_size[run->interval], N);
    for (rz_id k = 1; k < N && health_max > 0; k++) {
        assert_int_equal(run->removed[k], 0);
    }
    rz_dgrp_destroy(run);
    return least;
}

static void a_tester_that_stops_for_a_while_excludes_no_other(void **state)
{
    (void)state;
    for (uint32_t tenths = 1; tenths <= 25; tenths += 4) {
        rz_time pause = tenths * (RZ_SECOND / 10);
        assert_true(least_group_with(3, pause) >= N - 1);
        if (tenths < 9) {
            assert_int_equal(least_group_with(0, pause), 1);
        }
    }
}

static void what_loss_has_done_heals(void **state)
{
    (void)state;
    struct rz_dgrp_host hosts[N];
    rz_dgrp_hosts_even(hosts, N, 0);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct rz_dgrp_run *run = seed % 2 ? make(hosts, 400, seed) : make_cube(hosts, 400, seed);
        run->setup.lossy = 200;
        run->setup.lost_ppm = seed % 3 == 0 ? 1000 : 50000;
        rz_dgrp_go(run);
        assert_true(run->apart_groups.intervals > 0 && run->false_removals > 0);
        assert_true(run->apart_counters.last < run->interval);
        assert_int_equal(run->group_size[run->interval], N);
        assert_int_equal(run->views_apart, 0);
        rz_dgrp_destroy(run);
    }
}

/* Figure 11, for any noise: see study_diagnose_replay.h for what is fitted. */
static void the_published_peaks_are_the_detections(void **state)
{
    (void)state;
    struct rz_dgrp_replay *replay = malloc(sizeof(*replay));
    for (uint64_t seed = 1; seed <= 10; seed++) {
        rz_dgrp_replay(seed, replay);
        for (uint32_t peak = 0; peak < RZ_DGRP_REPLAY_PEAKS; peak++) {
            const struct rz_dgrp_peak *stated = &rz_dgrp_replay_peaks[peak];
            assert_in_range(replay->threshold[stated->interval], stated->threshold - RZ_MILLISECOND,
                            stated->threshold + RZ_MILLISECOND);
        }
        for (uint64_t i = RZ_DGRP_REPLAY_FROM; i <= RZ_DGRP_REPLAY_INTERVALS; i++) {
            assert_int_equal(replay->detected[i], i == 13226 || i == 13641);
        }
    }
    free(replay);
}

/* rz_dgrp_go asserts at every change that an even counter was decided (S6-3). */
static void lost_messages_exclude_and_none_comes_back_undecided(void **state)
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
    assert_memory_equal(one->group_size, other->group_size, 501 * sizeof(*one->group_size));
    assert_memory_equal(one->removed, other->removed, N * sizeof(*one->removed));
    assert_int_equal(sent(one, PAXOS, UINT32_MAX), sent(other, PAXOS, UINT32_MAX));
    rz_dgrp_destroy(one);
    rz_dgrp_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_group_costs_two_messages_per_pair_and_interval),
        cmocka_unit_test(a_loaded_host_leaves_and_comes_back),
        cmocka_unit_test(the_failed_are_out_everywhere),
        cmocka_unit_test(a_quiet_cube_costs_two_messages_per_cluster),
        cmocka_unit_test(a_member_that_answers_in_time_comes_back),
        cmocka_unit_test(a_tester_that_stops_for_a_while_excludes_no_other),
        cmocka_unit_test(what_loss_has_done_heals),
        cmocka_unit_test(the_published_peaks_are_the_detections),
        cmocka_unit_test(lost_messages_exclude_and_none_comes_back_undecided),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
