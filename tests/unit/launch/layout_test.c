/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of a job: slots of nodes, spares, host files, racks, and cores. */
#include "launch/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static void assert_counts(const struct rz_launch_layout *layout, const uint32_t *expected)
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
    struct rz_launch_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(rz_layout_emulate(&layout, 4, &why));
    assert_int_equal(rz_layout_slots(&layout), 0);
    rz_layout_place(&layout, 10, RZ_PLACE_BY_SLOT);
    assert_counts(&layout, (const uint32_t[]){3, 3, 2, 2});
    rz_layout_clear(&layout);
}

static void test_slots_are_filled_in_order(void **state)
{
    struct rz_launch_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(rz_layout_add_hosts(&layout, "localhost:3,127.0.0.1,localhost:2", &why));
    assert_int_equal(rz_layout_slots(&layout), 6);
    rz_layout_place(&layout, 5, RZ_PLACE_BY_SLOT);
    assert_counts(&layout, (const uint32_t[]){3, 1, 1});
    rz_layout_clear(&layout);
}

static void test_oversubscribed_nodes_share_evenly(void **state)
{
    struct rz_launch_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(rz_layout_add_hosts(&layout, "localhost:1,localhost:1", &why));
    rz_layout_place(&layout, 7, RZ_PLACE_BY_SLOT);
    assert_counts(&layout, (const uint32_t[]){4, 3});
    rz_layout_clear(&layout);
}

static void test_spares_are_the_last_nodes(void **state)
{
    struct rz_launch_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(rz_layout_add_hosts(&layout, "localhost:2,localhost:2,localhost:3", &why));
    rz_layout_spare(&layout, 1);
    assert_int_equal(rz_layout_slots(&layout), 4);
    rz_layout_place(&layout, 4, RZ_PLACE_BY_SLOT);
    assert_counts(&layout, (const uint32_t[]){2, 2, 0});
    assert_int_equal(layout.slots[2], 3); /* what it can take when a rank must move */
    rz_layout_clear(&layout);
}

/* A file of lines, in memory that goes with the descriptor. */
static bool read_hosts(struct rz_launch_layout *layout, const char *text, const char **why)
{
    char path[64];
    int fd = memfd_create("hosts", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    bool good = rz_layout_add_hostfile(layout, path, why);
    close(fd);
    return good;
}

static void test_nodes_are_numbered_so_that_neighbours_share_no_rack(void **state)
{
    struct rz_launch_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(read_hosts(&layout,
                           "localhost rack=a slots=2\nlocalhost slots=2 rack=a\n"
                           "# the other rack\n\nlocalhost slots=1 rack=b # small\n"
                           "localhost rack=b\n",
                           &why));
    rz_layout_place(&layout, 6, RZ_PLACE_BY_SLOT);
    static const uint32_t placement[] = {0, 0, 2, 2, 1, 3}, slots[] = {2, 1, 2, 1};
    assert_memory_equal(layout.placement, placement, sizeof(placement));
    assert_memory_equal(layout.slots, slots, sizeof(slots));
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(layout.nodes[i].rack, i % 2 ? "b" : "a");
    }
    rz_layout_clear(&layout);
}

static void test_nodes_without_rack_keep_their_numbers(void **state)
{
    struct rz_launch_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(read_hosts(&layout, "localhost slots=2\nlocalhost\nlocalhost slots=3\n", &why));
    rz_layout_place(&layout, 6, RZ_PLACE_BY_SLOT);
    assert_counts(&layout, (const uint32_t[]){2, 1, 3});
    rz_layout_clear(&layout);
}

static void test_bad_lines_are_refused(void **state)
{
    static const char *const bad[] = {"localhost rack=",
                                      "localhost rack=123456789012345678901234567890ab",
                                      "localhost slot=2",
                                      "localhost slots=2 slots",
                                      "no/such/host",
                                      "localhost slots=2 rack=a more",
                                      "",
                                      "# none\n\n"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct rz_launch_layout layout = {0};
        const char *why = NULL;
        if (read_hosts(&layout, bad[i], &why)) {
            fail_msg("'%s' was taken for a host", bad[i]);
        }
        assert_non_null(why);
        rz_layout_clear(&layout);
    }
}

static void assert_host(const struct rz_launch_layout *layout, uint32_t node, const char *host,
                        uint32_t slots)
{
    assert_string_equal(layout->nodes[node].host, host);
    assert_int_equal(layout->nodes[node].place.slots, slots);
}

static void test_an_ipv6_address_is_a_host(void **state)
{
    struct rz_launch_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(rz_layout_add_hosts(
        &layout, "[fd78::1]:4,fd78::2,[fd78::3],me@[FD78:0::4]:2,me@fd78::5,h6:6", &why));
    assert_true(read_hosts(&layout, "fd78::7 slots=7\n[fd78::8]\n", &why));
    assert_int_equal(layout.n_nodes, 8);
    assert_host(&layout, 0, "fd78::1", 4);
    assert_host(&layout, 1, "fd78::2", 1);
    assert_host(&layout, 2, "fd78::3", 1);
    assert_host(&layout, 3, "me@fd78::4", 2);
    assert_host(&layout, 4, "me@fd78::5", 1);
    assert_host(&layout, 5, "h6", 6);
    assert_host(&layout, 6, "fd78::7", 7);
    assert_host(&layout, 7, "fd78::8", 1);
    rz_layout_clear(&layout);
    static const char *const bad[] = {"[fd78::1]:", "[fd78::1]4",   "[fd78::1",    "fd78::1]",
                                      "[h1]:4",     "[10.1.0.1]:4", "h1:4:5",      "fe80::1%0",
                                      "a:b::x",     "[]:4",         "[fd78::1]:0", "-me@fd78::1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (rz_layout_add_hosts(&layout, bad[i], &why)) {
            fail_msg("'%s' was taken for a host", bad[i]);
        }
    }
    rz_layout_clear(&layout);
}

/* As hostfiles of MPICH and Open MPI have it. */
static void test_hostfiles_of_others(void **state)
{
    struct rz_launch_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(
        read_hosts(&layout, "h1:2\n[fd78::1]:4\nh2 slots=2 max_slots=4\nh3 max-slots=1\n", &why));
    assert_host(&layout, 0, "h1", 2);
    assert_host(&layout, 1, "fd78::1", 4);
    assert_host(&layout, 2, "h2", 2);
    assert_int_equal(layout.nodes[2].slots_max, 4);
    assert_int_equal(layout.nodes[3].slots_max, 1);
    rz_layout_clear(&layout);
    assert_true(read_hosts(&layout, "h1 max_slots=3\n", &why));
    assert_host(&layout, 0, "h1", 3); /* as many as may be */
    rz_layout_clear(&layout);
    assert_false(read_hosts(&layout, "h1 slots=4 max_slots=2\n", &why));
    assert_non_null(strstr(why, "fewer than slots"));
    rz_layout_clear(&layout);
}

static void test_ranges_of_hosts(void **state)
{
    struct rz_launch_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(rz_layout_add_hosts(&layout, "me@n[1-2,07]x:3,a,r[8-9]", &why));
    assert_true(read_hosts(&layout, "node[01-02] slots=2\n", &why));
    assert_int_equal(layout.n_nodes, 8);
    assert_host(&layout, 0, "me@n1x", 3);
    assert_host(&layout, 1, "me@n2x", 3);
    assert_host(&layout, 2, "me@n07x", 3);
    assert_host(&layout, 3, "a", 1);
    assert_host(&layout, 5, "r9", 1);
    assert_host(&layout, 7, "node02", 2);
    rz_layout_clear(&layout);
    static const char *const bad[] = {"n[",        "n[1",  "n[]",     "n[2-1]",
                                      "n[1-9999]", "n[a]", "n[1-2]:x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (rz_layout_add_hosts(&layout, bad[i], &why)) {
            fail_msg("'%s' was taken for a host", bad[i]);
        }
        rz_layout_clear(&layout);
    }
}

static void test_cores_are_divided_and_overfull_nodes_found(void **state)
{
    struct rz_launch_layout layout = {0};
    const char *why;
    uint32_t n_ranks;
    (void)state;
    assert_true(rz_layout_emulate(&layout, 3, &why));
    rz_layout_divide_cores(&layout, 7);
    rz_layout_place(&layout, 7, RZ_PLACE_BY_CORE);
    assert_counts(&layout, (const uint32_t[]){2, 2, 3});
    assert_int_equal(rz_layout_overfull_node(&layout, &n_ranks), RZ_ID_NONE);
    layout.placement[6] = 1;
    assert_int_equal(rz_layout_overfull_node(&layout, &n_ranks), 1);
    assert_int_equal(n_ranks, 3);
    rz_layout_clear(&layout);
}

static void test_bad_hosts_are_refused(void **state)
{
    static const char *const bad[] = {
        "",           "localhost:",   "localhost:0",       "localhost:x",
        ",localhost", "no/such/host", "localhost:99999999"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct rz_launch_layout layout = {0};
        const char *why = NULL;
        if (rz_layout_add_hosts(&layout, bad[i], &why)) {
            fail_msg("'%s' was taken for a list of hosts", bad[i]);
        }
        assert_non_null(why);
        rz_layout_clear(&layout);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unbounded_nodes_share_evenly),
        cmocka_unit_test(test_slots_are_filled_in_order),
        cmocka_unit_test(test_oversubscribed_nodes_share_evenly),
        cmocka_unit_test(test_spares_are_the_last_nodes),
        cmocka_unit_test(test_nodes_are_numbered_so_that_neighbours_share_no_rack),
        cmocka_unit_test(test_nodes_without_rack_keep_their_numbers),
        cmocka_unit_test(test_bad_lines_are_refused),
        cmocka_unit_test(test_an_ipv6_address_is_a_host),
        cmocka_unit_test(test_hostfiles_of_others),
        cmocka_unit_test(test_ranges_of_hosts),
        cmocka_unit_test(test_cores_are_divided_and_overfull_nodes_found),
        cmocka_unit_test(test_bad_hosts_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
