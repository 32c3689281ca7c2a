/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree in which hosts are started: each host has one parent, and the depth is logarithmic. */
#include "remote/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void groups_cover_the_list(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 300; n++) {
        for (uint32_t fan_out = 1; fan_out < 20; fan_out++) {
            uint32_t next = 0, first, count, least = n, most = 0;
            for (uint32_t i = 0; i < rz_tree_groups(n, fan_out); i++) {
                rz_tree_group(n, fan_out, i, &first, &count);
                assert_int_equal(first, next);
                next = first + count;
                least = count < least ? count : least;
                most = count > most ? count : most;
            }
            assert_int_equal(next, n);
            assert_in_range(most - least, 0, 1);
            assert_true(least >= 1);
        }
    }
}

static void parents_come_before_their_children(void **state)
{
    static uint32_t parent[5000], depth[5000], n_children[5000];
    static const struct {
        uint32_t n, fan_out, depth;
    } cases[] = {{1, 16, 1},   {16, 16, 1},   {17, 16, 2},   {256, 16, 2}, {272, 16, 2},
                 {273, 16, 3}, {4096, 16, 3}, {5000, 16, 4}, {7, 2, 3},    {5, 1, 5}};
    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
        uint32_t deepest = 0, roots = 0;
        rz_tree_parents(cases[k].n, cases[k].fan_out, parent);
        for (uint32_t i = 0; i < cases[k].n; i++) {
            n_children[i] = 0;
            bool root = parent[i] == RZ_ID_NONE;
            assert_true(root || parent[i] < i);
            depth[i] = root ? 1 : depth[parent[i]] + 1;
            deepest = depth[i] > deepest ? depth[i] : deepest;
            if (root) {
                assert_true(++roots <= cases[k].fan_out);
            } else {
                assert_true(++n_children[parent[i]] <= cases[k].fan_out);
            }
        }
        assert_true(deepest <= cases[k].depth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_cover_the_list),
        cmocka_unit_test(parents_come_before_their_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
