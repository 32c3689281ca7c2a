#include "launch/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static void assert_counts(const struct rz_layout *layout, const uint32_t *expected)
{
    for (uint32_t node = 0; node < layout->n_nodes; node++) {
        uint32_t n = 0;
        for (uint32_t rank = 0; rank < layout->n_ranks; rank++) {
            n += layout->placement[rank] == node;
            assert_true(rank == 0 || layout->placement[rank] >= layout->placement[rank - 1]);
        }
        assert_int_equal(n, expected[node]);
    }
}

static void test_unbounded_nodes_share_evenly(void **state)
{
    struct rz_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(rz_layout_emulate(&layout, 4, &why));
    assert_int_equal(rz_layout_slots(&layout), 0);
    rz_layout_place(&layout, 10);
    assert_counts(&layout, (const uint32_t[]){3, 3, 2, 2});
    rz_layout_clear(&layout);
}

static void test_slots_are_filled_in_order(void **state)
{
    struct rz_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(rz_layout_add_hosts(&layout, "localhost:3,127.0.0.1,localhost:2", &why));
    assert_int_equal(rz_layout_slots(&layout), 6);
    rz_layout_place(&layout, 5);
    assert_counts(&layout, (const uint32_t[]){3, 1, 1});
    rz_layout_clear(&layout);
}

static void test_oversubscribed_nodes_share_evenly(void **state)
{
    struct rz_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(rz_layout_add_hosts(&layout, "localhost:1,localhost:1", &why));
    rz_layout_place(&layout, 7);
    assert_counts(&layout, (const uint32_t[]){4, 3});
    rz_layout_clear(&layout);
}

static void test_bad_hosts_are_refused(void **state)
{
    static const char *const bad[] = {
        "",           "localhost:",   "localhost:0",       "localhost:x",
        ",localhost", "no.such.host", "localhost:99999999"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rz_layout layout = {0};
        const char *why = NULL;
        if (rz_layout_add_hosts(&layout, bad[i], &why))
            fail_msg("'%s' was taken for a list of hosts", bad[i]);
        assert_non_null(why);
        rz_layout_clear(&layout);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unbounded_nodes_share_evenly),
                                       cmocka_unit_test(test_slots_are_filled_in_order),
                                       cmocka_unit_test(test_oversubscribed_nodes_share_evenly),
                                       cmocka_unit_test(test_bad_hosts_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
