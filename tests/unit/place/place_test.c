/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks on nodes, cores among takers, and numbers as people write them. */
#include "place/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define NODES 4u

#define N(slots_)                                                                                  \
    {                                                                                              \
        .slots = slots_                                                                            \
    }
#define CORES(slots_, cores_)                                                                      \
    {                                                                                              \
        .slots = slots_, .cores = cores_                                                           \
    }
#define SPARE(slots_)                                                                              \
    {                                                                                              \
        .slots = slots_, .spare = true                                                             \
    }

static void place(enum rz_place_by by, const struct rz_place_node *nodes, uint32_t n_ranks,
                  const uint32_t *expected)
{
    uint32_t placement[32];
    rz_place_ranks(by, nodes, NODES, n_ranks, placement);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        if (placement[rank] != expected[rank]) {
            fail_msg("rule %d: rank %u is on node %u, not %u", by, rank, placement[rank],
                     expected[rank]);
        }
    }
}
#define PLACE(by, nodes, ...)                                                                      \
    place(by, nodes, sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__})

static void test_by_slot(void **state)
{
    static const struct rz_place_node bounded[NODES] = {N(3), N(1), N(2), N(2)},
                                      any[NODES] = {N(0), N(0), N(0), N(0)};
    (void)state;
    PLACE(RZ_PLACE_BY_SLOT, bounded, 0, 0, 0, 1, 2, 2, 3);
    PLACE(RZ_PLACE_BY_SLOT, any, 0, 0, 1, 1, 2, 3);
    PLACE(RZ_PLACE_BY_SLOT, bounded, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3); /* 11 on 8: evenly */
    PLACE(RZ_PLACE_BY_SLOT, any, 0);
}

static void test_by_node(void **state)
{
    static const struct rz_place_node bounded[NODES] = {N(3), N(1), N(2), N(2)},
                                      any[NODES] = {N(0), N(0), N(0), N(0)};
    (void)state;
    PLACE(RZ_PLACE_BY_NODE, bounded, 0, 1, 2, 3, 0, 2, 3, 0);
    PLACE(RZ_PLACE_BY_NODE, any, 0, 1, 2, 3, 0, 1);
    PLACE(RZ_PLACE_BY_NODE, bounded, 0, 1, 2, 3, 0, 1, 2, 3, 0); /* 9 on 8 */
}

static void test_by_core(void **state)
{
    static const struct rz_place_node any[NODES] = {CORES(0, 2), CORES(0, 1), CORES(0, 3),
                                                    CORES(0, 0)};
    static const struct rz_place_node bounded[NODES] = {CORES(1, 2), CORES(4, 2), CORES(1, 2),
                                                        CORES(1, 2)};
    (void)state;
    PLACE(RZ_PLACE_BY_CORE, any, 0, 0, 1, 2);
    PLACE(RZ_PLACE_BY_CORE, any, 0, 0, 1, 2, 2, 2, 3, 0, 0, 1);
    PLACE(RZ_PLACE_BY_CORE, bounded, 0, 1, 1, 2, 3, 1, 1); /* slots hold, more cores or not */
}

static void test_spares_stay_empty(void **state)
{
    static const struct rz_place_node nodes[NODES] = {N(0), N(0), SPARE(0), SPARE(0)};
    static const struct rz_place_node bounded[NODES] = {SPARE(2), CORES(2, 8), SPARE(2),
                                                        CORES(2, 8)};
    (void)state;
    PLACE(RZ_PLACE_BY_SLOT, nodes, 0, 0, 0, 1, 1);
    PLACE(RZ_PLACE_BY_NODE, nodes, 0, 1, 0, 1, 0);
    PLACE(RZ_PLACE_BY_CORE, bounded, 1, 1, 3, 3);
    assert_int_equal(rz_place_slots(bounded, NODES), 4);
    PLACE(RZ_PLACE_BY_SLOT, bounded, 1, 1, 1, 3, 3); /* 5 on 4: the spares are kept all the same */
}

/* Whatever the rule: all ranks are placed, slots hold while they suffice, spares are empty. */
static void test_every_rule_keeps_the_slots(void **state)
{
    (void)state;
    for (uint32_t shape = 0; shape < 4 * 4 * 4 * 8; shape++) {
        struct rz_place_node nodes[NODES] = {{0}};
        uint32_t all = 0;
        for (uint32_t i = 0, left = shape / 8; i < NODES; i++, left /= 4) {
            nodes[i] =
                (struct rz_place_node){1 + left % 4, left % 3, i > 0 && shape >> (i - 1) & 1};
            all += nodes[i].spare ? 0 : nodes[i].slots;
        }
        for (uint32_t n = 1; n <= all + 3; n++) {
            for (int by = RZ_PLACE_BY_SLOT; by <= RZ_PLACE_BY_CORE; by++) {
                uint32_t placement[32], load[NODES] = {0}, slots[NODES];
                rz_place_ranks((enum rz_place_by)by, nodes, NODES, n, placement);
                for (uint32_t rank = 0; rank < n; rank++) {
                    load[placement[rank]]++;
                }
                rz_place_capacities(nodes, NODES, placement, n, slots);
                for (uint32_t i = 0; i < NODES; i++) {
                    assert_true(!nodes[i].spare || load[i] == 0);
                    assert_true(n > all || load[i] <= nodes[i].slots);
                    assert_int_equal(slots[i], nodes[i].slots);
                }
            }
        }
    }
}

static void test_capacity_of_nodes_without_bound(void **state)
{
    static const struct rz_place_node nodes[NODES] = {N(0), N(0), SPARE(0), N(5)};
    static const uint32_t placement[] = {0, 0, 0, 1, 3};
    static const uint32_t expected[] = {3, 3, 3, 5};
    uint32_t slots[NODES];
    (void)state;
    rz_place_capacities(nodes, NODES, placement, 5, slots);
    assert_memory_equal(slots, expected, sizeof(slots));
}

static void test_shares_cover_all_cores_once(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 20; n++) {
        for (uint32_t k = 1; k < 9; k++) {
            uint32_t next = 0;
            for (uint32_t i = 0; i < k; i++) {
                uint32_t first, count;
                rz_place_share(n, k, i, &first, &count);
                assert_int_equal(first, next);
                assert_true(count == n / k || count == (n + k - 1) / k);
                next += count;
            }
            assert_int_equal(next, n);
        }
    }
}

static void test_free_core(void **state)
{
    static const bool taken[] = {true, true, false, true, false};
    (void)state;
    assert_int_equal(rz_place_free_core(taken, 5), 2);
    assert_int_equal(rz_place_free_core(taken, 2), RZ_ID_NONE);
    assert_int_equal(rz_place_free_core(taken, 0), RZ_ID_NONE);
}

static void test_lists(void **state)
{
    static const uint32_t numbers[] = {0, 1, 2, 3, 8, 10, 11, 4000000000};
    char text[64], small[12];
    (void)state;
    rz_place_list(numbers, 8, text, sizeof(text));
    assert_string_equal(text, "0-3,8,10-11,4000000000");
    rz_place_list(numbers, 1, text, sizeof(text));
    assert_string_equal(text, "0");
    rz_place_list(numbers, 0, text, sizeof(text));
    assert_string_equal(text, "none");
    rz_place_list(numbers, 8, small, sizeof(small));
    assert_string_equal(small, "0-3,8...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_slot),
        cmocka_unit_test(test_by_node),
        cmocka_unit_test(test_by_core),
        cmocka_unit_test(test_spares_stay_empty),
        cmocka_unit_test(test_every_rule_keeps_the_slots),
        cmocka_unit_test(test_capacity_of_nodes_without_bound),
        cmocka_unit_test(test_shares_cover_all_cores_once),
        cmocka_unit_test(test_free_core),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
