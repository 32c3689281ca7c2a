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

enum { INTERFACES_MAX = 64, ADDRESSES_MAX = 16 };

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

unsigned rz_interfaces(struct rz_interface *interfaces, unsigned max)
{
    struct ifaddrs *all;
    unsigned n = 0;
    if (getifaddrs(&all) != 0) {
        return 0;
    }
    for (const struct ifaddrs *one = all; one && n < max; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || !(one->ifa_flags & IFF_UP)) {
            continue;
        }
        struct rz_interface *interface = &interfaces[n++];
        const struct sockaddr_in *address = (const void *)one->ifa_addr,
                                 *mask = (const void *)one->ifa_netmask;
        *interface = (struct rz_interface){.address.ip = ntohl(address->sin_addr.s_addr),
                                           .loopback = one->ifa_flags & IFF_LOOPBACK,
                                           .local = is_local(one->ifa_name)};
        snprintf(interface->name, sizeof(interface->name), "%s", one->ifa_name);
        interface->prefix = mask ? (unsigned)__builtin_popcount(mask->sin_addr.s_addr) : 32;
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
    unsigned long prefix = 32;
    if (text[n] == '/') {
        char *end;
        prefix = strtoul(text + n + 1, &end, 10);
        if (text[n + 1] < '0' || text[n + 1] > '9' || *end != '\0' || prefix > 32) {
            return false;
        }
    }
    uint32_t mask = prefix == 0 ? 0 : UINT32_MAX << (32 - prefix);
    return (interface->address.ip & mask) == (network.ip & mask);
}

unsigned rz_host_addresses(const char *host, struct rz_address *addresses, unsigned max)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    unsigned n = 0;
    if (getaddrinfo(host, NULL, &wanted, &found) != 0) {
        return 0;
    }
    for (const struct addrinfo *one = found; one && n < max; one = one->ai_next) {
        const struct sockaddr_in *address = (const void *)one->ai_addr;
        addresses[n++] = (struct rz_address){.ip = ntohl(address->sin_addr.s_addr)};
    }
    freeaddrinfo(found);
    return n;
}

bool rz_host_same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "."), m = strcspn(b, ".");
    return strcasecmp(a, b) == 0 ||
           (n == m && strncasecmp(a, b, n) == 0 && (a[n] == '\0' || b[n] == '\0'));
}

bool rz_host_is_here(const char *host)
{
    char own[256] = "";
    struct rz_address addresses[ADDRESSES_MAX];
    struct rz_interface interfaces[INTERFACES_MAX];
    gethostname(own, sizeof(own) - 1);
    if (strcasecmp(host, "localhost") == 0 || strcasecmp(host, own) == 0) {
        return true;
    }
    unsigned n = rz_host_addresses(host, addresses, ADDRESSES_MAX),
             m = rz_interfaces(interfaces, INTERFACES_MAX);
    for (unsigned i = 0; i < n; i++) {
        if (addresses[i].ip >> 24 == 127) {
            return true;
        }
        for (unsigned j = 0; j < m; j++) {
            if (addresses[i].ip == interfaces[j].address.ip) {
                return true;
            }
        }
    }
    return n == 0 && rz_host_same_name(host, own);
}
