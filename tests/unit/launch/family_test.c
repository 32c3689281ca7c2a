/* SPDX-License-Identifier: BSD-3-Clause */
/* The family of addresses in which hosts reach each other. */
#include "launch/family.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 3 };

/* Of each host 4 (IPv4), 6 (IPv6), or, with both, the one by which it is reached and a '+'. */
static void make(struct rz_family_host hosts[HOSTS], const char *const has[HOSTS])
{
    static const char *const names[HOSTS] = {"a", "b", "c"};
    for (unsigned i = 0; i < HOSTS; i++) {
        struct rz_address ipv4, ipv6;
        char text[RZ_ADDRESS_TEXT];
        snprintf(text, sizeof(text), "10.1.0.%u", i + 1);
        assert_int_equal(rz_address_parse(text, &ipv4), RZ_OK);
        snprintf(text, sizeof(text), "fd78::%u", i + 1);
        assert_int_equal(rz_address_parse(text, &ipv6), RZ_OK);
        hosts[i] = (struct rz_family_host){.name = names[i],
                                           .address = *has[i] == '4' ? ipv4 : ipv6,
                                           .other = *has[i] == '4' ? ipv6 : ipv4,
                                           .both = has[i][1] == '+'};
    }
}

static void assert_family(const char *a, const char *b, const char *c, bool ipv4)
{
    struct rz_family_host hosts[HOSTS];
    const char *why;
    char text[RZ_ADDRESS_TEXT], expected[RZ_ADDRESS_TEXT];
    make(hosts, (const char *const[]){a, b, c});
    assert_true(rz_family_settle(hosts, HOSTS, &why));
    for (unsigned i = 0; i < HOSTS; i++) {
        snprintf(expected, sizeof(expected), ipv4 ? "10.1.0.%u" : "fd78::%u", i + 1);
        assert_string_equal(rz_address_ip_text(&hosts[i].address, text), expected);
    }
}

static void hosts_of_one_family_keep_their_addresses(void **state)
{
    (void)state;
    assert_family("4", "4", "4", true);
    assert_family("6", "6", "6", false);
    assert_family("4+", "4+", "4", true);
    assert_family("6", "6+", "6+", false);
}

static void a_family_that_all_have_is_chosen(void **state)
{
    (void)state;
    assert_family("6+", "4", "6+", true);
    assert_family("4+", "4+", "6", false);
    assert_family("4", "6+", "4", true);
    assert_family("4+", "6+", "4+", true); /* the first one's, if both are possible */
    assert_family("6+", "4+", "4+", false);
}

static void hosts_without_a_common_family_are_named(void **state)
{
    struct rz_family_host hosts[HOSTS];
    const char *why = NULL;
    (void)state;
    make(hosts, (const char *const[]){"6+", "4", "6"});
    assert_false(rz_family_settle(hosts, HOSTS, &why));
    assert_string_equal(why,
                        "b (10.1.0.2) has no IPv6 address, and c (fd78::3) no IPv4 address, so "
                        "they do not reach each other; all hosts need addresses of one family");
    assert_true(rz_family_settle(hosts, 0, &why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_of_one_family_keep_their_addresses),
        cmocka_unit_test(a_family_that_all_have_is_chosen),
        cmocka_unit_test(hosts_without_a_common_family_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
