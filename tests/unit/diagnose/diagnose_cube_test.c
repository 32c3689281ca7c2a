/* SPDX-License-Identifier: BSD-3-Clause */
/* Clusters, partners and owners: the table of the source, its examples, and the laws behind them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/diagnose/diagnose.h"

static void clusters_are_those_of_table_2(void **state)
{
    (void)state;
    static const rz_id table[3][8][4] = {
        {{1}, {0}, {3}, {2}, {5}, {4}, {7}, {6}},
        {{2, 3}, {3, 2}, {0, 1}, {1, 0}, {6, 7}, {7, 6}, {4, 5}, {5, 4}},
        {{4, 5, 6, 7},
         {5, 4, 7, 6},
         {6, 7, 4, 5},
         {7, 6, 5, 4},
         {0, 1, 2, 3},
         {1, 0, 3, 2},
         {2, 3, 0, 1},
         {3, 2, 1, 0}},
    };
    for (uint32_t s = 1; s <= 3; s++) {
        for (rz_id i = 0; i < 8; i++) {
            rz_id cluster[4];
            uint32_t size = rz_diagnose_cluster(i, s, cluster);
            assert_int_equal(size, 1u << (s - 1));
            for (uint32_t j = 0; j < size; j++) {
                assert_int_equal(cluster[j], table[s - 1][i][j]);
            }
        }
    }
}

/* c(i,s) = i XOR 2^(s-1), then c of that for 1 .. s-1. */
static uint32_t by_definition(rz_id i, uint32_t s, rz_id *cluster)
{
    uint32_t n = 0;
    rz_id first = i ^ (1u << (s - 1));
    cluster[n++] = first;
    for (uint32_t r = 1; r < s; r++) {
        n += by_definition(first, r, cluster + n);
    }
    return n;
}

static void clusters_are_as_defined(void **state)
{
    (void)state;
    for (uint32_t s = 1; s <= 7; s++) {
        for (rz_id i = 0; i < 128; i++) {
            rz_id one[128], other[128];
            uint32_t n = rz_diagnose_cluster(i, s, one);
            assert_int_equal(n, by_definition(i, s, other));
            for (uint32_t j = 0; j < n; j++) {
                assert_int_equal(one[j], other[j]);
            }
        }
    }
}

static void examples_of_the_source(void **state)
{
    (void)state;
    uint64_t view = 0xFF & ~(1u << 4);
    assert_int_equal(rz_diagnose_owner(&view, 8, 4), 5);
    view &= ~(1u << 5);
    assert_int_equal(rz_diagnose_owner(&view, 8, 4), 6);
    view = 0xFF & ~(1u << 2);
    assert_int_equal(rz_diagnose_owner(&view, 8, 2), 3);
    assert_int_equal(rz_diagnose_partner(&view, 8, 3, 3), 7);
    view = 0x0F;
    assert_int_equal(rz_diagnose_partner(&view, 8, 0, 3), RZ_ID_NONE);
    view = 0x2F;
    assert_int_equal(rz_diagnose_partner(&view, 8, 0, 3), 5);
}

/* S6-5, and algorithm 3's partner is the owner of the virtual partner wherever there is one. */
static void one_owner_in_every_view(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 11; n++) {
        for (uint64_t view = 0; view < UINT64_C(1) << n; view++) {
            for (rz_id v = 0; v < 1u << rz_diagnose_dimensions(n); v++) {
                rz_id owner = rz_diagnose_owner(&view, n, v);
                if (view == 0) {
                    assert_int_equal(owner, RZ_ID_NONE);
                    continue;
                }
                assert_true(owner < n && view >> owner & 1);
                if (v < n && view >> v & 1) {
                    assert_int_equal(owner, v);
                }
                for (uint32_t s = 1; s <= rz_diagnose_dimensions(n); s++) {
                    rz_id partner = rz_diagnose_partner(&view, n, v, s);
                    rz_id other = rz_diagnose_owner(&view, n, v ^ (1u << (s - 1)));
                    if (partner != RZ_ID_NONE) {
                        assert_int_equal(partner, other);
                    } else if (owner == v) {
                        assert_int_equal(other, v); /* the exchange is local */
                    }
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_are_those_of_table_2),
        cmocka_unit_test(clusters_are_as_defined),
        cmocka_unit_test(examples_of_the_source),
        cmocka_unit_test(one_owner_in_every_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
