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
    unsigned prefix;           /* length of the network part, in bits of the address's family */
    bool loopback;
    bool local; /* a bridge of containers or virtual machines: other hosts have another one */
};

/* Lists the addresses of interfaces, at most max; returns their number. Link-local IPv6 addresses
 * are left out. */
unsigned rz_interfaces(struct rz_interface *interfaces, unsigned max);

/*
 * Whether an interface is what the user named: a name (eth0), a network (10.1.0.0/16, fd78::/64),
 * or an address. False also where the text is none of these.
 */
bool rz_interface_matches(const struct rz_interface *interface, const char *text);

/* The address of an interface that the user named so: of the family of `like`, if it has one and
 * like is not NULL, else the first. False: there is no such interface. */
bool rz_interface_find(const char *text, const struct rz_address *like, struct rz_address *address);

/* An address of the other family at the interface that has this one. False: there is none, or this
 * is no address of an interface, or one of the loopback. */
bool rz_interface_other_family(const struct rz_address *address, struct rz_address *other);

/* The addresses of a host name, in the order in which they should be tried (RFC 6724). */
enum { RZ_HOST_ADDRESSES_MAX = 16 };
struct rz_host_addresses {
    unsigned n; /* 0: the name is unknown, or was not looked up */
    struct rz_address all[RZ_HOST_ADDRESSES_MAX];
};

/* Looks up a host name by the system's resolver, which may ask the network. */
void rz_host_look_up(const char *host, struct rz_host_addresses *result);

/* Whether two names are equal, or one of them is the first part of the other, which has a domain.
 */
bool rz_host_same_name(const char *a, const char *b);

/* Whether a host name means this machine: its own name, `localhost`, or a name that resolves to one
 * of its addresses; where it does not resolve, its own name with or without a domain. found: the
 * addresses of a name that does not mean this machine. */
bool rz_host_is_here(const char *host, struct rz_host_addresses *found);

#endif
