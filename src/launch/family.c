/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds a family of addresses that all hosts have. */
#include "launch/family.h"

#include <stdio.h>

/* A host that has no address of that family; n: all have one. */
static uint32_t one_without(const struct rz_family_host *hosts, uint32_t n, bool ipv4)
{
    uint32_t i = 0;
    while (i < n && (hosts[i].both || rz_address_is_ipv4(&hosts[i].address) == ipv4)) {
        i++;
    }
    return i;
}

static void choose_family(struct rz_family_host *host, bool ipv4)
{
    const struct rz_address address = host->address;
    if (rz_address_is_ipv4(&address) != ipv4) {
        host->address = host->other;
        host->other = address;
    }
}

static const char *refusal(const struct rz_family_host *ipv4, const struct rz_family_host *ipv6)
{
    static char text[400];
    char address4[RZ_ADDRESS_TEXT], address6[RZ_ADDRESS_TEXT];
    snprintf(text, sizeof(text),
             "%s (%s) has no IPv6 address, and %s (%s) no IPv4 address, so they do not reach each "
             "other; all hosts need addresses of one family",
             ipv4->name, rz_address_ip_text(&ipv4->address, address4), ipv6->name,
             rz_address_ip_text(&ipv6->address, address6));
    return text;
}

bool rz_family_settle(struct rz_family_host *hosts, uint32_t n, const char **why)
{
    bool mixed = false, first = n > 0 && rz_address_is_ipv4(&hosts[0].address);
    for (uint32_t i = 0; i < n; i++) {
        mixed |= rz_address_is_ipv4(&hosts[i].address) != first;
    }
    const uint32_t no_ipv6 = one_without(hosts, n, false), no_ipv4 = one_without(hosts, n, true);
    if (mixed && no_ipv6 < n && no_ipv4 < n) {
        *why = refusal(&hosts[no_ipv6], &hosts[no_ipv4]);
        return false;
    }
    bool chosen = (first ? no_ipv4 : no_ipv6) == n ? first : !first;
    for (uint32_t i = 0; mixed && i < n; i++) {
        choose_family(&hosts[i], chosen);
    }
    return true;
}
