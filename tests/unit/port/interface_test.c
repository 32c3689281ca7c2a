/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces, the names of this machine, and ports of a range. */
#include "port/interface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void the_loopback_is_listed(void **state)
{
    const struct rz_address here = {.ip = RZ_ADDRESS_LOOPBACK};
    struct rz_interface all[256];
    unsigned n = rz_interfaces(all, 256), found = 0;
    (void)state;
    for (unsigned i = 0; i < n; i++) {
        found +=
            all[i].loopback && rz_address_same_ip(&all[i].address, &here) && all[i].prefix == 8;
        assert_false(rz_address_is_link_local(&all[i].address));
        assert_true(all[i].prefix <= rz_address_bits(&all[i].address));
    }
    assert_int_equal(found, 1);
    assert_int_equal(rz_interfaces(all, 0), 0);
}

static void an_interface_is_named_in_three_ways(void **state)
{
    const struct rz_interface eth = {.name = "eth1", .address = {.ip = RZ_IPV4(10, 1, 0, 5)}};
    static const char *const its[] = {"eth1",       "10.1.0.5",    "10.1.0.0/16",
                                      "10.0.0.0/8", "10.1.0.5/32", "0.0.0.0/0"};
    static const char *const others[] = {
        "eth",        "eth11", "10.1.0.6",    "10.2.0.0/16", "10.1.0.0/33",        "10.1.0.0/",
        "10.1.0.0/x", "",      "10.1.0.5:80", "::/0",        "::ffff:10.1.0.0/112"};
    (void)state;
    for (size_t i = 0; i < sizeof(its) / sizeof(*its); i++) {
        assert_true(rz_interface_matches(&eth, its[i]));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        assert_false(rz_interface_matches(&eth, others[i]));
    }
}

static void an_interface_has_a_network_of_ipv6(void **state)
{
    struct rz_interface eth = {.name = "eth1"};
    static const char *const its[] = {"eth1",      "fd78::5",     "FD78:0::5",
                                      "fd78::/64", "fd78::5/128", "::/0"};
    static const char *const others[] = {"fd78::6",      "fd79::/64", "fd78::/129",  "fd78::/",
                                         "[fd78::5]:80", "0.0.0.0/0", "fd78::5%eth1"};
    (void)state;
    assert_int_equal(rz_address_parse("fd78::5", &eth.address), RZ_OK);
    for (size_t i = 0; i < sizeof(its) / sizeof(*its); i++) {
        assert_true(rz_interface_matches(&eth, its[i]));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        assert_false(rz_interface_matches(&eth, others[i]));
    }
}

/* The name of the loopback, whatever it is, names both its addresses. */
static void an_interface_is_found_in_the_family_that_is_preferred(void **state)
{
    const struct rz_address here = {.ip = RZ_ADDRESS_LOOPBACK};
    struct rz_interface all[256];
    struct rz_address found, other;
    unsigned n = rz_interfaces(all, 256);
    (void)state;
    for (unsigned i = 0; i < n; i++) {
        assert_true(rz_interface_find(all[i].name, &all[i].address, &found));
        assert_true(rz_address_same_family(&found, &all[i].address));
        if (!all[i].loopback && rz_interface_other_family(&all[i].address, &other)) {
            assert_false(rz_address_same_family(&other, &all[i].address));
        }
    }
    assert_true(rz_interface_find("127.0.0.0/8", NULL, &found));
    assert_true(rz_address_same_ip(&found, &here));
    assert_false(rz_interface_find("198.51.100.0/24", &here, &found)); /* for documentation */
    assert_false(rz_interface_other_family(&here, &other));
}

static void names_of_this_machine_are_known(void **state)
{
    struct rz_host_addresses found;
    char own[256] = "", upper[300];
    (void)state;
    gethostname(own, sizeof(own) - 1);
    assert_true(rz_host_is_here("localhost", &found));
    assert_true(rz_host_is_here("127.0.0.1", &found));
    assert_true(rz_host_is_here("127.1.2.3", &found));
    assert_true(rz_host_is_here(own, &found));
    snprintf(upper, sizeof(upper), "%.*s.domain.test", (int)strcspn(own, "."), own);
    assert_true(rz_host_is_here(upper, &found));
    assert_false(rz_host_is_here("192.0.2.1", &found)); /* for documentation: RFC 5737 */
    assert_int_equal(found.n, 1);
    assert_true(rz_host_is_here("::1", &found));
    assert_false(rz_host_is_here("2001:db8::1", &found)); /* RFC 3849 */
    assert_int_equal(found.n, 1);
}

static void a_route_has_an_own_address(void **state)
{
    const struct rz_address here = {.ip = RZ_ADDRESS_LOOPBACK};
    struct rz_address from = {.port = 1};
    (void)state;
    assert_int_equal(rz_socket_route(&here, &from), RZ_OK);
    assert_true(rz_address_same_ip(&from, &here));
    assert_int_equal(from.port, 0);
}

static void ports_of_a_range_are_used_one_after_the_other(void **state)
{
    struct rz_address first = {.ip = RZ_ADDRESS_LOOPBACK}, again, fixed;
    int fd, other, more;
    char range[32];
    (void)state;
    assert_int_equal(rz_socket_listen(&first, &fd), RZ_OK); /* a free one, and its neighbour */
    close(fd);
    snprintf(range, sizeof(range), "%u-%u", first.port, first.port);
    setenv(RZ_PORT_RANGE, range, 1);
    again = (struct rz_address){.ip = RZ_ADDRESS_LOOPBACK};
    assert_int_equal(rz_socket_listen(&again, &other), RZ_OK);
    assert_int_equal(again.port, first.port);
    again.port = 0;
    assert_int_equal(rz_socket_listen(&again, &more), RZ_ERR_SYSTEM); /* there is no other */
    again = (struct rz_address){.ip = RZ_ADDRESS_LOOPBACK};
    assert_int_equal(rz_socket_datagram(&again, &more), RZ_OK); /* UDP has ports of its own */
    assert_int_equal(again.port, first.port);
    close(more);
    close(other);
    setenv(RZ_PORT_RANGE, "no range", 1);
    fixed = (struct rz_address){.ip = RZ_ADDRESS_LOOPBACK};
    assert_int_equal(rz_socket_listen(&fixed, &fd), RZ_OK);
    close(fd);
    unsetenv(RZ_PORT_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loopback_is_listed),
        cmocka_unit_test(an_interface_is_named_in_three_ways),
        cmocka_unit_test(an_interface_has_a_network_of_ipv6),
        cmocka_unit_test(an_interface_is_found_in_the_family_that_is_preferred),
        cmocka_unit_test(names_of_this_machine_are_known),
        cmocka_unit_test(a_route_has_an_own_address),
        cmocka_unit_test(ports_of_a_range_are_used_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
