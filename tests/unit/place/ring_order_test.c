/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes in the ring of heartbeats: every way of dealing up to seven nodes to racks, and large
 * rings. */
#include "base/random.h"
#include "place/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SMALL_MAX 7u
#define LARGE 997u

/* The least number of neighbours of one rack that any ring can have. */
static uint32_t least_clashes(const uint32_t *rack, uint32_t n)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t size = 0;
        for (uint32_t j = 0; j < n; j++) {
            size += rack[j] == rack[i];
        }
        largest = size > largest ? size : largest;
    }
    return n > 1 && 2 * largest > n ? 2 * largest - n : 0;
}

static bool is_identity(const uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (order[i] != i) {
            return false;
        }
    }
    return true;
}

static void assert_good_ring(const uint32_t *rack, uint32_t n)
{
    uint32_t order[LARGE], again[LARGE], own[LARGE];
    bool seen[LARGE] = {false};
    rz_place_ring(rack, n, order);
    rz_place_ring(rack, n, again);
    assert_memory_equal(order, again, n * sizeof(*order));
    assert_int_equal(order[0], 0);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(order[i] < n && !seen[order[i]]);
        seen[order[i]] = true;
        own[i] = i;
    }
    uint32_t least = least_clashes(rack, n);
    assert_int_equal(rz_place_ring_clashes(rack, order, n), least);
    if (rz_place_ring_clashes(rack, own, n) == least) {
        assert_true(is_identity(order, n));
    }
}

static void test_every_small_ring(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= SMALL_MAX; n++) {
        uint64_t ways = 1;
        for (uint32_t i = 0; i < n; i++) {
            ways *= n;
        }
        for (uint64_t way = 0; way < ways; way++) {
            uint32_t rack[SMALL_MAX];
            uint64_t left = way;
            for (uint32_t i = 0; i < n; i++, left /= n) {
                rack[i] = (uint32_t)(left % n);
            }
            assert_good_ring(rack, n);
        }
    }
}

/* No ring of up to six is better than what least_clashes says: tried by hand, all orders. */
static uint32_t best_of_all_orders(const uint32_t *rack, uint32_t *order, uint32_t n, uint32_t at)
{
    if (at == n) {
        return rz_place_ring_clashes(rack, order, n);
    }
    uint32_t best = n;
    for (uint32_t i = at; i < n; i++) {
        uint32_t kept = order[at];
        order[at] = order[i];
        order[i] = kept;
        uint32_t clashes = best_of_all_orders(rack, order, n, at + 1);
        best = clashes < best ? clashes : best;
        order[i] = order[at];
        order[at] = kept;
    }
    return best;
}

static void test_the_bound_is_the_best_there_is(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 6; n++) {
        for (uint32_t first = 1; first <= n; first++) {
            for (uint32_t second = 0; first + second <= n; second++) {
                uint32_t rack[6], order[6];
                for (uint32_t i = 0; i < n; i++) {
                    rack[i] = i < first ? 0 : i < first + second ? 1 : i;
                    order[i] = i;
                }
                assert_int_equal(best_of_all_orders(rack, order, n, 1), least_clashes(rack, n));
            }
        }
    }
}

static void test_large_rings(void **state)
{
    struct rz_random random = {.state = 7};
    (void)state;
    for (uint32_t n_racks = 1; n_racks <= 64; n_racks *= 2) {
        uint32_t rack[LARGE];
        for (uint32_t i = 0; i < LARGE; i++) {
            rack[i] = (uint32_t)rz_random_below(&random, n_racks);
        }
        assert_good_ring(rack, LARGE);
    }
}

static void test_two_halves_alternate(void **state)
{
    static const uint32_t rack[] = {5, 5, 5, 9, 9, 9};
    static const uint32_t expected[] = {0, 3, 1, 4, 2, 5};
    uint32_t order[6];
    (void)state;
    rz_place_ring(rack, 6, order);
    assert_memory_equal(order, expected, sizeof(order));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_small_ring),
                                       cmocka_unit_test(test_the_bound_is_the_best_there_is),
                                       cmocka_unit_test(test_large_rings),
                                       cmocka_unit_test(test_two_halves_alternate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
