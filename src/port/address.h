/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of IPv4 and IPv6 in one type. An IPv4 address is the IPv6 address that is mapped to it
 * (RFC 4291, section 2.5.5.2: ::ffff:10.1.0.1). Link-local IPv6 addresses mean something else on
 * each host; this type has no room for their zone, and no other host is told of one.
 */
#ifndef RZ_PORT_ADDRESS_H
#define RZ_PORT_ADDRESS_H

#include "base/status.h"

#include <rhizome/types.h>

#define RZ_IP_BYTES 16u
#define RZ_IPV4_AT 12u /* where the bytes of an IPv4 address begin in it */

struct rz_address {
    uint8_t ip[RZ_IP_BYTES]; /* in network byte order; all 0: each address of this machine */
    uint16_t port;           /* in host byte order */
};

/* Initialize the field ip. */
#define RZ_IPV4(a, b, c, d)                                                                        \
    {                                                                                              \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d                                       \
    }
#define RZ_ADDRESS_LOOPBACK RZ_IPV4(127, 0, 0, 1)

/* Parses a.b.c.d and a.b.c.d:port, or, of IPv6, an address, [address] and [address]:port (RFC 3986,
 * section 3.2.2). Without a port it is 0. RZ_ERR_MALFORMED: the text is none of these. */
rz_status_t rz_address_parse(const char *text, struct rz_address *address);

/* Room for any address as text. */
enum { RZ_ADDRESS_TEXT = 56 };
/* 10.1.0.1:5000 or [fd78::1]:5000 (RFC 5952, sections 4 and 6). */
const char *rz_address_text(const struct rz_address *address, char text[RZ_ADDRESS_TEXT]);
/* The same without the port: 10.1.0.1 or fd78::1. */
const char *rz_address_ip_text(const struct rz_address *address, char text[RZ_ADDRESS_TEXT]);

/* From the form in messages. False: it is no address. */
bool rz_address_take(struct rz_address *address, const uint8_t *ip, uint32_t length, uint32_t port);

/* The same address at another port. */
struct rz_address rz_address_at(const struct rz_address *address, uint16_t port);

bool rz_address_is_ipv4(const struct rz_address *address);
bool rz_address_same_family(const struct rz_address *a, const struct rz_address *b);
bool rz_address_same_ip(const struct rz_address *a, const struct rz_address *b);
bool rz_address_is_any(const struct rz_address *address);        /* its ip is all 0 */
bool rz_address_is_loopback(const struct rz_address *address);   /* 127.0.0.0/8, ::1 */
bool rz_address_is_link_local(const struct rz_address *address); /* fe80::/10 */

/* Whether the first bits of both are equal; bits are those of their family, which must be the same,
 * up to 32 or 128. */
bool rz_address_same_network(const struct rz_address *a, const struct rz_address *b, unsigned bits);

/* The bits of an address of its family: 32 or 128. */
unsigned rz_address_bits(const struct rz_address *address);

#endif
