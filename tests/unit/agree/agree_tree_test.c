/* SPDX-License-Identifier: BSD-3-Clause */
/* The trees of agreement: each is a tree, and its parents depend on the set of failed members
 * alone. */
#include "proto/agree/agree_check.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static uint32_t list_of(uint32_t bits, rz_id *ids)
{
    uint32_t n = 0;
    for (rz_id id = 0; bits >> id; id++) {
        if (bits >> id & 1) {
            ids[n++] = id;
        }
    }
    return n;
}

static void assert_tree(const struct rz_agree_tree_view *tree)
{
    char why[256] = "";
    struct rz_check_group group = {.why = why, .why_bytes = sizeof(why)};
    if (!rz_agree_check_tree(&group, tree)) {
        fail_msg("%u members, %u failed, %u left out: %s", tree->n_members, tree->n_failed,
                 tree->n_base, why);
    }
}

/* The trees that are put to the test: binary, and those by node with 1 to 4 members each. */
static struct rz_agree_tree_view tree_number(uint32_t i, uint32_t n)
{
    struct rz_agree_tree_view tree = {.n_members = n};
    if (i > 0) {
        tree.kind = i % 2 ? RZ_AGREE_BIN_STAR : RZ_AGREE_BIN_BIN;
        tree.per_node = (i + 1) / 2;
    }
    return tree;
}
#define TREES 9

/* All sets of failed and all parts of them that were agreed before, up to 9 members. */
static void every_tree_is_a_tree(void **state)
{
    (void)state;
    rz_id failed[16], base[16];
    for (uint32_t number = 0; number < TREES; number++) {
        for (uint32_t n = 1; n <= 9; n++) {
            for (uint32_t failed_bits = 0; failed_bits < (1u << n) - 1; failed_bits++) {
                for (uint32_t base_bits = failed_bits;; base_bits = (base_bits - 1) & failed_bits) {
                    struct rz_agree_tree_view tree = tree_number(number, n);
                    tree.base = base;
                    tree.failed = failed;
                    tree.n_failed = list_of(failed_bits, failed);
                    tree.n_base = list_of(base_bits, base);
                    assert_tree(&tree);
                    if (base_bits == 0) {
                        break;
                    }
                }
            }
        }
    }
}

/* Written down the long way: the tree over those not in base as a list of parents. */
static void parents_by_hand(const struct rz_agree_tree_view *tree, uint32_t base_bits, rz_id *above)
{
    uint32_t per_node = tree->per_node ? tree->per_node : 1;
    rz_id left[16], firsts[16], locals[16];
    uint32_t n_left = 0, n_firsts = 0, n_locals = 0;
    for (rz_id id = 0; id < tree->n_members; id++) {
        if (base_bits >> id & 1) {
            continue;
        }
        above[id] = n_left > 0 ? left[(n_left - 1) / 2] : RZ_ID_NONE;
        left[n_left++] = id;
        if (tree->kind == RZ_AGREE_BINARY) {
            continue;
        }
        if (n_firsts == 0 || firsts[n_firsts - 1] / per_node != id / per_node) {
            above[id] = n_firsts > 0 ? firsts[(n_firsts - 1) / 2] : RZ_ID_NONE;
            firsts[n_firsts++] = id;
            n_locals = 0;
        } else {
            above[id] = tree->kind == RZ_AGREE_BIN_STAR ? locals[0] : locals[(n_locals - 1) / 2];
        }
        locals[n_locals++] = id;
    }
}

/* One failure as the source repairs it: the children of x go to its parent; when it was the root,
 * the smallest of them becomes the root and takes its siblings. */
static void splice(rz_id *above, uint32_t n, uint32_t gone, rz_id x)
{
    rz_id replacement = above[x];
    for (rz_id id = 0; id < n && replacement == RZ_ID_NONE; id++) {
        if (id != x && !(gone >> id & 1) && above[id] == x) {
            replacement = id;
        }
    }
    bool was_root = above[x] == RZ_ID_NONE;
    for (rz_id id = 0; id < n; id++) {
        if (id != x && !(gone >> id & 1) && above[id] == x) {
            above[id] = id == replacement && was_root ? RZ_ID_NONE : replacement;
        }
    }
}

/* Every order in which the failed processes may be found, by the source's repair one after the
 * other: the parents are those of the set. */
static void assert_orders(struct rz_agree_tree_view *tree, const rz_id *above, uint32_t gone,
                          uint32_t base_bits, uint32_t left)
{
    if (left == 0) {
        for (rz_id id = 0; id < tree->n_members; id++) {
            if (!(gone >> id & 1)) {
                assert_int_equal(rz_agree_tree_parent(tree, id),
                                 above[id] == RZ_ID_NONE ? id : above[id]);
            }
        }
        return;
    }
    for (uint32_t i = 0; i < tree->n_failed; i++) {
        rz_id x = tree->failed[i], mended[16];
        if (gone >> x & 1) {
            continue;
        }
        for (rz_id id = 0; id < tree->n_members; id++) {
            mended[id] = above[id];
        }
        splice(mended, tree->n_members, gone, x);
        assert_orders(tree, mended, gone | 1u << x, base_bits, left - 1);
    }
}

static uint32_t count_of(uint32_t bits)
{
    uint32_t n = 0;
    for (; bits; bits &= bits - 1) {
        n++;
    }
    return n;
}

/* S3-7 (docs/protocols/agree.md): up to 9 members, up to 4 failed, any one of them agreed before.
 */
static void the_parent_depends_on_the_set_of_the_failed_alone(void **state)
{
    (void)state;
    rz_id failed[16], base[16], above[16];
    for (uint32_t number = 0; number < TREES; number++) {
        for (uint32_t n = 2; n <= 9; n++) {
            for (uint32_t bits = 0; bits < (1u << n) - 1; bits++) {
                if (count_of(bits) > 4) {
                    continue;
                }
                struct rz_agree_tree_view tree = tree_number(number, n);
                tree.base = base;
                tree.failed = failed;
                tree.n_failed = list_of(bits, failed);
                for (uint32_t i = 0; i <= tree.n_failed; i++) {
                    uint32_t base_bits = i == 0 ? 0 : 1u << failed[i - 1];
                    tree.n_base = list_of(base_bits, base);
                    parents_by_hand(&tree, base_bits, above);
                    assert_orders(&tree, above, base_bits, base_bits, tree.n_failed - tree.n_base);
                }
            }
        }
    }
}

/* With 16 members per node (15 + 2) / 8 children per member that has any, the
 * branching degree that the source quotes for ERA. */
static void bin_bin_with_16_per_node_branches_by_2_125(void **state)
{
    (void)state;
    struct rz_agree_tree_view tree = {
        .n_members = 16 * 1023, .kind = RZ_AGREE_BIN_BIN, .per_node = 16};
    for (uint32_t node = 0; node < 511; node++) {
        uint32_t children = 0, parents = 0;
        for (rz_id id = 16 * node; id < 16 * node + 16; id++) {
            uint32_t degree = rz_agree_shape_degree(&tree, id);
            children += degree;
            parents += degree > 0;
        }
        assert_int_equal(1000 * children / parents, 2125);
    }
}

/* The first member of a node has all of its node below it in the star; no other member has any. */
static void bin_star_has_a_node_below_its_first(void **state)
{
    (void)state;
    struct rz_agree_tree_view tree = {
        .n_members = 16 * 7, .kind = RZ_AGREE_BIN_STAR, .per_node = 16};
    for (rz_id id = 0; id < tree.n_members; id++) {
        assert_int_equal(rz_agree_shape_degree(&tree, id), id % 16 ? 0 : id / 16 < 3 ? 17 : 15);
    }
    assert_int_equal(rz_agree_shape_degree_max(tree.kind, tree.per_node), 17);
}

/* A million members and a hundred failed: nothing is as long as the membership. */
static void large_trees_cost_failures_only(void **state)
{
    (void)state;
    enum { MEMBERS = 1 << 20, FAILED = 100 };
    struct rz_random random = {42};
    rz_id failed[FAILED];
    for (uint32_t i = 0; i < FAILED; i++) {
        failed[i] = i * (MEMBERS / FAILED) / (i % 3 == 0 ? 64 : 1);
    }
    for (uint32_t i = 1; i < FAILED; i++) {
        for (uint32_t j = i; j > 0 && failed[j - 1] > failed[j]; j--) {
            rz_id swap = failed[j];
            failed[j] = failed[j - 1];
            failed[j - 1] = swap;
        }
    }
    struct rz_agree_tree_view tree = {
        .n_members = MEMBERS, .base = failed, .n_base = FAILED / 2, .failed = failed};
    tree.n_failed = FAILED;
    for (uint32_t i = 0; i < 3000; i++) {
        tree.kind = (enum rz_agree_tree)(i % RZ_AGREE_TREE_COUNT);
        tree.per_node = 16;
        rz_id id = (rz_id)rz_random_below(&random, MEMBERS);
        if (rz_agree_ids_contain(failed, FAILED, id)) {
            continue;
        }
        rz_id parent = rz_agree_tree_parent(&tree, id);
        struct rz_agree_walk walk = {.member = parent};
        uint32_t times = 0, children = 0;
        for (rz_id child; (child = rz_agree_tree_next_child(&tree, &walk)) != RZ_ID_NONE;
             children++) {
            times += child == id;
        }
        assert_int_equal(times, parent != id);
        assert_true(children <= rz_agree_shape_degree_max(tree.kind, 16) * (FAILED + 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tree_is_a_tree),
        cmocka_unit_test(the_parent_depends_on_the_set_of_the_failed_alone),
        cmocka_unit_test(bin_bin_with_16_per_node_branches_by_2_125),
        cmocka_unit_test(bin_star_has_a_node_below_its_first),
        cmocka_unit_test(large_trees_cost_failures_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
