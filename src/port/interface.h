/* SPDX-License-Identifier: BSD-3-Clause */
/* The network interfaces of this machine, and the addresses of host names. */
#ifndef RZ_PORT_INTERFACE_H
#define RZ_PORT_INTERFACE_H

#include "base/status.h"
#include "port/socket.h"

/* One address of an interface that is up. */
struct rz_interface {
    char name[16];
    struct rz_address address; /* port 0 */
    unsigned prefix;           /* length of the network part, in bits */
    bool loopback;
    bool local; /* a bridge of containers or virtual machines: other hosts have another one */
};

/* Lists the interfaces with IPv4 addresses, at most max; returns their number. */
unsigned rz_interfaces(struct rz_interface *interfaces, unsigned max);

/*
 * Whether an interface is what the user named: a name (eth0), a network (10.1.0.0/16), or an
 * address. False also where the text is none of these.
 */
bool rz_interface_matches(const struct rz_interface *interface, const char *text);

/* The addresses of a host name, at most max, by the system's resolver, which may ask the network;
 * 0: the name is unknown. */
unsigned rz_host_addresses(const char *host, struct rz_address *addresses, unsigned max);

/* Whether two names are equal, or one of them is the first part of the other, which has a domain.
 */
bool rz_host_same_name(const char *a, const char *b);

/* Whether a host name means this machine: its own name, `localhost`, or a name that resolves to one
 * of its addresses; where it does not resolve, its own name with or without a domain. */
bool rz_host_is_here(const char *host);

#endif
