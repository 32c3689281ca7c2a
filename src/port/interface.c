/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces from getifaddrs, names from getaddrinfo. */
#include "port/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INTERFACES_MAX = 256 };

/* How bridges of container engines and hypervisors are named. */
static bool is_local(const char *name)
{
    static const char *const beginnings[] = {"docker", "br-",     "virbr",   "veth",
                                             "lxcbr",  "lxdbr",   "podman",  "cni",
                                             "cali",   "flannel", "vboxnet", "vmnet"};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* False: neither of IPv4 nor of IPv6. */
static bool take_name(const struct sockaddr *name, struct rz_address *address)
{
    *address = (struct rz_address){.ip = RZ_IPV4(0, 0, 0, 0)};
    if (!name || (name->sa_family != AF_INET && name->sa_family != AF_INET6)) {
        return false;
    }
    if (name->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)name;
        memcpy(address->ip + RZ_IPV4_AT, &v4->sin_addr, sizeof(v4->sin_addr));
    } else {
        const struct sockaddr_in6 *v6 = (const void *)name;
        memcpy(address->ip, &v6->sin6_addr, sizeof(v6->sin6_addr));
    }
    return true;
}

static unsigned count_bits(const struct rz_address *mask, unsigned last_bytes)
{
    unsigned n = 0;
    for (unsigned i = RZ_IP_BYTES - last_bytes; i < RZ_IP_BYTES; i++) {
        n += (unsigned)__builtin_popcount(mask->ip[i]);
    }
    return n;
}

unsigned rz_interfaces(struct rz_interface *interfaces, unsigned max)
{
    struct ifaddrs *all;
    unsigned n = 0;
    if (getifaddrs(&all) != 0) {
        return 0;
    }
    for (const struct ifaddrs *one = all; one && n < max; one = one->ifa_next) {
        struct rz_address address, mask;
        if (!(one->ifa_flags & IFF_UP) || !take_name(one->ifa_addr, &address) ||
            rz_address_is_link_local(&address)) {
            continue;
        }
        struct rz_interface *interface = &interfaces[n++];
        unsigned bits = rz_address_bits(&address);
        *interface = (struct rz_interface){.address = address,
                                           .prefix = bits,
                                           .loopback = one->ifa_flags & IFF_LOOPBACK,
                                           .local = is_local(one->ifa_name)};
        snprintf(interface->name, sizeof(interface->name), "%s", one->ifa_name);
        if (take_name(one->ifa_netmask, &mask)) {
            interface->prefix = count_bits(&mask, bits / 8);
        }
    }
    freeifaddrs(all);
    return n;
}

bool rz_interface_matches(const struct rz_interface *interface, const char *text)
{
    char address[RZ_ADDRESS_TEXT];
    struct rz_address network;
    size_t n = strcspn(text, "/");
    if (strcmp(text, interface->name) == 0) {
        return true;
    }
    if (n >= sizeof(address)) {
        return false;
    }
    memcpy(address, text, n);
    address[n] = '\0';
    if (rz_address_parse(address, &network) != RZ_OK || network.port != 0) {
        return false;
    }
    unsigned long prefix = rz_address_bits(&network);
    if (text[n] == '/') {
        char *end;
        prefix = strtoul(text + n + 1, &end, 10);
        if (text[n + 1] < '0' || text[n + 1] > '9' || *end != '\0' ||
            prefix > rz_address_bits(&network)) {
            return false;
        }
    }
    return rz_address_same_network(&interface->address, &network, (unsigned)prefix);
}

bool rz_interface_find(const char *text, const struct rz_address *like, struct rz_address *address)
{
    struct rz_interface interfaces[INTERFACES_MAX];
    unsigned n = rz_interfaces(interfaces, INTERFACES_MAX);
    const struct rz_interface *found = NULL;
    for (unsigned i = 0; i < n; i++) {
        bool better = !found || (like && !rz_address_same_family(&found->address, like) &&
                                 rz_address_same_family(&interfaces[i].address, like));
        if (better && rz_interface_matches(&interfaces[i], text)) {
            found = &interfaces[i];
        }
    }
    if (found) {
        *address = found->address;
    }
    return found != NULL;
}

bool rz_interface_other_family(const struct rz_address *address, struct rz_address *other)
{
    struct rz_interface interfaces[INTERFACES_MAX];
    unsigned n = rz_interfaces(interfaces, INTERFACES_MAX), own = 0;
    while (own < n && !rz_address_same_ip(&interfaces[own].address, address)) {
        own++;
    }
    for (unsigned i = 0; own < n && !interfaces[own].loopback && i < n; i++) {
        if (strcmp(interfaces[i].name, interfaces[own].name) == 0 &&
            !rz_address_same_family(&interfaces[i].address, address)) {
            *other = interfaces[i].address;
            return true;
        }
    }
    return false;
}

void rz_host_look_up(const char *host, struct rz_host_addresses *result)
{
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    result->n = 0;
    if (getaddrinfo(host, NULL, &wanted, &found) != 0) {
        return;
    }
    for (const struct addrinfo *one = found; one && result->n < RZ_HOST_ADDRESSES_MAX;
         one = one->ai_next) {
        struct rz_address address;
        if (take_name(one->ai_addr, &address) && !rz_address_is_link_local(&address)) {
            result->all[result->n++] = address;
        }
    }
    freeaddrinfo(found);
}

bool rz_host_same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "."), m = strcspn(b, ".");
    return strcasecmp(a, b) == 0 ||
           (n == m && strncasecmp(a, b, n) == 0 && (a[n] == '\0' || b[n] == '\0'));
}

bool rz_host_is_here(const char *host, struct rz_host_addresses *found)
{
    char own[256] = "";
    struct rz_interface interfaces[INTERFACES_MAX];
    gethostname(own, sizeof(own) - 1);
    found->n = 0;
    if (strcasecmp(host, "localhost") == 0 || strcasecmp(host, own) == 0) {
        return true;
    }
    rz_host_look_up(host, found);
    unsigned m = rz_interfaces(interfaces, INTERFACES_MAX);
    for (unsigned i = 0; i < found->n; i++) {
        if (rz_address_is_loopback(&found->all[i])) {
            return true;
        }
        for (unsigned j = 0; j < m; j++) {
            if (rz_address_same_ip(&found->all[i], &interfaces[j].address)) {
                return true;
            }
        }
    }
    return found->n == 0 && rz_host_same_name(host, own);
}
