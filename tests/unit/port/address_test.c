/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of both families: their text, and comparisons. */
#include "port/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct rz_address address(const char *text)
{
    struct rz_address read;
    assert_int_equal(rz_address_parse(text, &read), RZ_OK);
    return read;
}

static void text_is_read_and_written(void **state)
{
    static const struct {
        const char *text, *written, *ip;
    } good[] = {
        {"127.0.0.3:65535", "127.0.0.3:65535", "127.0.0.3"},
        {"255.255.255.255", "255.255.255.255:0", "255.255.255.255"},
        {"10.1.0.1:00080", "10.1.0.1:80", "10.1.0.1"},
        {"fd78::1", "[fd78::1]:0", "fd78::1"},
        {"[fd78::1]", "[fd78::1]:0", "fd78::1"},
        {"[FD78:0:0::1]:5000", "[fd78::1]:5000", "fd78::1"},
        {"2001:db8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]:0", "2001:db8::1:0:0:1"},
        {"::", "[::]:0", "::"},
        {"::1", "[::1]:0", "::1"},
        {"::ffff:10.1.0.1", "10.1.0.1:0", "10.1.0.1"}, /* the mapped form is the IPv4 address */
        {"[1111:2222:3333:4444:5555:6666:7777:8888]:65535",
         "[1111:2222:3333:4444:5555:6666:7777:8888]:65535",
         "1111:2222:3333:4444:5555:6666:7777:8888"},
    };
    char text[RZ_ADDRESS_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        const struct rz_address read = address(good[i].text);
        assert_string_equal(rz_address_text(&read, text), good[i].written);
        const struct rz_address again = address(text);
        assert_true(rz_address_same_ip(&read, &again) && read.port == again.port);
        assert_string_equal(rz_address_ip_text(&read, text), good[i].ip);
    }
}

static void other_text_is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        "1.2.3",
                                        "256.1.1.1",
                                        "1.2.3.4:",
                                        "1.2.3.4x",
                                        "1.2.3.4:x",
                                        "1.2.3.4:65536",
                                        "1.2.3.4:1 ",
                                        "1.2.3.4:+1",
                                        " 1.2.3.4",
                                        "1.2.3.4]",
                                        "[1.2.3.4]:5",
                                        "[]",
                                        "[",
                                        "[fd78::1",
                                        "fd78::1]",
                                        "[fd78::1]5",
                                        "[fd78::1]:",
                                        "[fd78::1]:65536",
                                        "[fd78::1]:-1",
                                        "[[fd78::1]]",
                                        "fd78::1::2",
                                        "fd78::1/64",
                                        "fe80::1%eth0",
                                        "1:2:3:4:5:6:7",
                                        "1:2:3:4:5:6:7:8:9",
                                        "12345::1",
                                        "host",
                                        "host:80",
                                        "fd78::1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa"};
    struct rz_address read;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        if (rz_address_parse(wrong[i], &read) != RZ_ERR_MALFORMED) {
            fail_msg("'%s' was taken for an address", wrong[i]);
        }
    }
}

static void families_and_kinds_are_known(void **state)
{
    const struct rz_address ipv4 = address("10.1.0.1:80"), ipv6 = address("[fd78::1]:80");
    const struct rz_address loopback = {.ip = RZ_ADDRESS_LOOPBACK}, last = address("127.255.0.1"),
                            loopback6 = address("::1"), any = {.port = 0};
    const struct rz_address local = address("fe80::1"), last_local = address("febf::1");
    (void)state;
    assert_true(rz_address_is_ipv4(&ipv4) && !rz_address_is_ipv4(&ipv6));
    assert_int_equal(rz_address_bits(&ipv4), 32);
    assert_int_equal(rz_address_bits(&ipv6), 128);
    assert_true(rz_address_same_family(&ipv4, &loopback));
    assert_false(rz_address_same_family(&ipv4, &ipv6));
    assert_true(rz_address_is_loopback(&loopback) && rz_address_is_loopback(&last) &&
                rz_address_is_loopback(&loopback6));
    assert_false(rz_address_is_loopback(&ipv4) || rz_address_is_loopback(&ipv6) ||
                 rz_address_is_loopback(&any));
    assert_true(rz_address_is_link_local(&local) && rz_address_is_link_local(&last_local));
    assert_false(rz_address_is_link_local(&ipv6) || rz_address_is_link_local(&ipv4));
    assert_true(rz_address_is_any(&any) && !rz_address_is_any(&loopback6));
}

static void networks_are_compared_bit_by_bit(void **state)
{
    const struct rz_address a = address("10.1.0.1"), b = address("10.1.255.2"),
                            c = address("fd78::ff00"), d = address("fd78::ffff");
    (void)state;
    assert_true(rz_address_same_network(&a, &b, 16));
    assert_false(rz_address_same_network(&a, &b, 17));
    assert_true(rz_address_same_network(&a, &a, 32));
    assert_true(rz_address_same_network(&c, &d, 120));
    assert_false(rz_address_same_network(&c, &d, 121));
    assert_true(rz_address_same_network(&d, &d, 128));
    assert_false(rz_address_same_network(&a, &c, 0)); /* of two families */
}

static void an_address_in_a_message_has_16_bytes(void **state)
{
    const struct rz_address given = address("fd78::1");
    struct rz_address taken;
    (void)state;
    assert_true(rz_address_take(&taken, given.ip, RZ_IP_BYTES, 65535));
    assert_true(rz_address_same_ip(&taken, &given));
    assert_int_equal(taken.port, 65535);
    assert_int_equal(rz_address_at(&taken, 7).port, 7);
    assert_false(rz_address_take(&taken, given.ip, RZ_IP_BYTES - 1, 1));
    assert_false(rz_address_take(&taken, given.ip, RZ_IP_BYTES, 65536));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_read_and_written),
        cmocka_unit_test(other_text_is_refused),
        cmocka_unit_test(families_and_kinds_are_known),
        cmocka_unit_test(networks_are_compared_bit_by_bit),
        cmocka_unit_test(an_address_in_a_message_has_16_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
