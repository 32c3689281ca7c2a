/* SPDX-License-Identifier: BSD-3-Clause */
/* The failing members: as many as requested, sorted, each once, of the requested kind, by the
 * seed. */
#include "study/study.h"

#include "timing/timing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct rz_study_options with(uint64_t members, uint32_t kill, enum rz_study_victims victims)
{
    struct rz_study_options options;
    rz_study_defaults(&options);
    options.members = members;
    options.kill = kill;
    options.victims = victims;
    options.per_node = 8;
    return options;
}

static void check_sorted(const rz_id *victims, uint32_t n, uint64_t members)
{
    for (uint32_t i = 0; i < n; i++) {
        assert_true(victims[i] < members);
        assert_true(i == 0 || victims[i - 1] < victims[i]);
    }
}

static void test_every_kind(void **state)
{
    static rz_id victims[100];
    (void)state;
    for (uint64_t members = 2; members <= 60; members++) {
        for (uint32_t kill = 0; kill <= members; kill++) {
            for (int kind = RZ_STUDY_VICTIMS_RANDOM; kind <= RZ_STUDY_VICTIMS_RACK; kind++) {
                struct rz_study_options options = with(members, kill, (enum rz_study_victims)kind);
                memset(victims, 0xff, sizeof(victims));
                rz_study_draw_victims(&options, members * 100 + kill, victims);
                check_sorted(victims, kill, members);
                assert_int_equal(victims[kill], RZ_ID_NONE);
                bool row = kind == RZ_STUDY_VICTIMS_CONTIGUOUS || kind == RZ_STUDY_VICTIMS_FIRST;
                if (row && kill > 0) {
                    assert_int_equal(victims[kill - 1] - victims[0], kill - 1);
                }
                if (kind == RZ_STUDY_VICTIMS_FIRST && kill > 0) {
                    assert_int_equal(victims[0], 0);
                }
            }
        }
    }
}

/* Whole nodes fail, none but perhaps the last one in part. */
static void test_racks(void **state)
{
    rz_id victims[24];
    struct rz_study_options options = with(800, 24, RZ_STUDY_VICTIMS_RACK);
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        rz_study_draw_victims(&options, seed, victims);
        for (uint32_t i = 0; i < 24; i++) {
            assert_int_equal(victims[i] % 8, i % 8);
            assert_int_equal(victims[i] / 8, victims[i - i % 8] / 8);
        }
    }
}

/* Every member fails about as often; the same seed draws the same, another one others. */
static void test_evenly(void **state)
{
    enum { MEMBERS = 20, TRIALS = 20000, KILL = 3 };
    uint32_t failed[MEMBERS] = {0}, other[KILL], differ = 0;
    rz_id victims[KILL];
    struct rz_study_options options = with(MEMBERS, KILL, RZ_STUDY_VICTIMS_RANDOM);
    (void)state;
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        rz_study_draw_victims(&options, seed, victims);
        rz_study_draw_victims(&options, seed, other);
        assert_memory_equal(victims, other, sizeof(other));
        for (uint32_t i = 0; i < KILL; i++) {
            failed[victims[i]]++;
        }
        rz_study_draw_victims(&options, seed + 1, other);
        differ += memcmp(victims, other, sizeof(other)) != 0;
    }
    for (uint32_t i = 0; i < MEMBERS; i++) { /* 3000 expected, deviation 50 */
        assert_in_range(failed[i], 2750, 3250);
    }
    assert_true(differ > TRIALS * 99 / 100);
}

static void test_network(void **state)
{
    struct rz_study_options options = with(16, 1, RZ_STUDY_VICTIMS_RANDOM);
    (void)state;
    options.latency = 7;
    options.send_overhead = 3;
    options.loss = 0.25;
    struct rz_timing_network network = rz_study_network(&options);
    assert_int_equal(network.latency, 7);
    assert_int_equal(network.send_overhead_local, 3);
    assert_int_equal(network.per_node, 8);
    assert_true(network.loss == 0.25);
}

/* The lists hold together: names are found, and none is there twice. */
static void test_list(void **state)
{
    const struct rz_study *study;
    (void)state;
    for (size_t i = 0; (study = rz_study_at(i)); i++) {
        assert_ptr_equal(rz_study_find(study->name), study);
        assert_non_null(study->run);
        assert_in_range(strlen(study->summary), 1, 80); /* it fits a line of the help */
        assert_in_range(study->members_default, 2, study->members_max);
    }
    assert_null(rz_study_find("no such study"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind), cmocka_unit_test(test_racks),
        cmocka_unit_test(test_evenly),     cmocka_unit_test(test_network),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
