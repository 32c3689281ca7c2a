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
    for (rz_id id = 0; bits >> id; id++)
        if (bits >> id & 1)
            ids[n++] = id;
    return n;
}

static void assert_tree(const struct rz_agree_tree_view *tree)
{
    char why[256] = "";
    struct rz_check_group group = {.why = why, .why_bytes = sizeof why};
    if (!rz_agree_check_tree(&group, tree))
        fail_msg("%u members, %u dead, %u left out: %s", tree->n_members, tree->n_dead,
                 tree->n_base, why);
}

/* All sets of dead and all parts of them that were agreed before, up to 9 members. */
static void every_tree_is_a_tree(void **state)
{
    (void)state;
    rz_id dead[16], base[16];
    for (uint32_t n = 1; n <= 9; n++) {
        for (uint32_t dead_bits = 0; dead_bits < (1u << n) - 1; dead_bits++) {
            for (uint32_t base_bits = dead_bits;; base_bits = (base_bits - 1) & dead_bits) {
                struct rz_agree_tree_view tree = {.n_members = n, .base = base, .dead = dead};
                tree.n_dead = list_of(dead_bits, dead);
                tree.n_base = list_of(base_bits, base);
                assert_tree(&tree);
                if (base_bits == 0)
                    break;
            }
        }
    }
}

/* ALGORITHMS 3.5: x hangs below its nearest living ancestor of the unbroken tree, else below the
 * smallest living. */
static void parent_is_the_nearest_living_ancestor(void **state)
{
    (void)state;
    rz_id dead[16];
    for (uint32_t n = 1; n <= 12; n++) {
        for (uint32_t bits = 0; bits < (1u << n) - 1; bits++) {
            struct rz_agree_tree_view tree = {
                .n_members = n, .dead = dead, .n_dead = list_of(bits, dead)};
            rz_id smallest = 0;
            while (bits >> smallest & 1)
                smallest++;
            for (rz_id id = 0; id < n; id++) {
                rz_id expected = smallest;
                for (rz_id above = id; above > 0;) {
                    above = (above - 1) / 2;
                    if (!(bits >> above & 1)) {
                        expected = above;
                        break;
                    }
                }
                assert_int_equal(rz_agree_tree_parent(&tree, id), expected);
            }
        }
    }
}

/* A million members and a hundred dead: nothing is as long as the membership. */
static void large_trees_cost_deaths_only(void **state)
{
    (void)state;
    enum { MEMBERS = 1 << 20, DEAD = 100 };
    struct rz_random random = {42};
    rz_id dead[DEAD];
    for (uint32_t i = 0; i < DEAD; i++)
        dead[i] = i * (MEMBERS / DEAD) / (i % 3 == 0 ? 64 : 1);
    for (uint32_t i = 1; i < DEAD; i++)
        for (uint32_t j = i; j > 0 && dead[j - 1] > dead[j]; j--) {
            rz_id swap = dead[j];
            dead[j] = dead[j - 1];
            dead[j - 1] = swap;
        }
    struct rz_agree_tree_view tree = {
        .n_members = MEMBERS, .base = dead, .n_base = DEAD / 2, .dead = dead};
    tree.n_dead = DEAD;
    for (uint32_t i = 0; i < 1000; i++) {
        rz_id id = (rz_id)rz_random_below(&random, MEMBERS);
        if (rz_agree_ids_contain(dead, DEAD, id))
            continue;
        rz_id parent = rz_agree_tree_parent(&tree, id);
        struct rz_agree_walk walk = {.member = parent};
        uint32_t times = 0, children = 0;
        for (rz_id child; (child = rz_agree_tree_next_child(&tree, &walk)) != RZ_ID_NONE;
             children++)
            times += child == id;
        assert_int_equal(times, parent != id);
        assert_true(children <= 2 * (DEAD + 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tree_is_a_tree),
        cmocka_unit_test(parent_is_the_nearest_living_ancestor),
        cmocka_unit_test(large_trees_cost_deaths_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
