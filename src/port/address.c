/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of addresses, and comparisons. */
#include "port/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* What is before the bytes of an IPv4 address. */
static const uint8_t mapped[RZ_IPV4_AT] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

/* ---- text ---- */

/* Reads what begins with the ':' before a port; "": port 0. */
static bool parse_port(const char *text, uint16_t *port)
{
    unsigned number = 0;
    int end = 0;
    if (*text == '\0') {
        *port = 0;
        return true;
    }
    /* sscanf accepts blanks and signs, too */
    if (*text != ':' || text[1] < '0' || text[1] > '9' ||
        sscanf(text, ":%5u%n", &number, &end) != 1 || text[end] != '\0' || number > UINT16_MAX) {
        return false;
    }
    *port = (uint16_t)number;
    return true;
}

/* Reads the first n characters. */
static bool parse_ip(const char *text, size_t n, int family, void *ip)
{
    char copy[INET6_ADDRSTRLEN];
    if (n >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text, n);
    copy[n] = '\0';
    return inet_pton(family, copy, ip) == 1;
}

rz_status_t rz_address_parse(const char *text, struct rz_address *address)
{
    struct rz_address read = {.port = 0};
    bool good;
    if (*text == '[') {
        size_t n = strcspn(text + 1, "]");
        good = text[1 + n] == ']' && parse_ip(text + 1, n, AF_INET6, read.ip) &&
               parse_port(text + n + 2, &read.port);
    } else if (strchr(text, ':') != strrchr(text, ':')) {
        good = parse_ip(text, strlen(text), AF_INET6, read.ip);
    } else {
        size_t n = strcspn(text, ":");
        memcpy(read.ip, mapped, sizeof(mapped));
        good = parse_ip(text, n, AF_INET, read.ip + RZ_IPV4_AT) && parse_port(text + n, &read.port);
    }
    if (!good) {
        return RZ_ERR_MALFORMED;
    }
    *address = read;
    return RZ_OK;
}

const char *rz_address_ip_text(const struct rz_address *address, char text[RZ_ADDRESS_TEXT])
{
    bool ipv4 = rz_address_is_ipv4(address);
    const void *ip = address->ip + (ipv4 ? RZ_IPV4_AT : 0);
    return inet_ntop(ipv4 ? AF_INET : AF_INET6, ip, text, RZ_ADDRESS_TEXT);
}

const char *rz_address_text(const struct rz_address *address, char text[RZ_ADDRESS_TEXT])
{
    char ip[RZ_ADDRESS_TEXT];
    bool ipv4 = rz_address_is_ipv4(address);
    snprintf(text, RZ_ADDRESS_TEXT, ipv4 ? "%.46s:%u" : "[%.46s]:%u",
             rz_address_ip_text(address, ip), address->port);
    return text;
}

/* ---- comparisons ---- */

bool rz_address_take(struct rz_address *address, const uint8_t *ip, uint32_t length, uint32_t port)
{
    if (length != RZ_IP_BYTES || port > UINT16_MAX) {
        return false;
    }
    memcpy(address->ip, ip, RZ_IP_BYTES);
    address->port = (uint16_t)port;
    return true;
}

struct rz_address rz_address_at(const struct rz_address *address, uint16_t port)
{
    struct rz_address at = *address;
    at.port = port;
    return at;
}

bool rz_address_is_ipv4(const struct rz_address *address)
{
    return memcmp(address->ip, mapped, sizeof(mapped)) == 0;
}

bool rz_address_same_family(const struct rz_address *a, const struct rz_address *b)
{
    return rz_address_is_ipv4(a) == rz_address_is_ipv4(b);
}

bool rz_address_same_ip(const struct rz_address *a, const struct rz_address *b)
{
    return memcmp(a->ip, b->ip, RZ_IP_BYTES) == 0;
}

bool rz_address_is_any(const struct rz_address *address)
{
    static const uint8_t any[RZ_IP_BYTES];
    return memcmp(address->ip, any, RZ_IP_BYTES) == 0;
}

bool rz_address_is_loopback(const struct rz_address *address)
{
    static const uint8_t loopback[RZ_IP_BYTES] = {[RZ_IP_BYTES - 1] = 1};
    return rz_address_is_ipv4(address) ? address->ip[RZ_IPV4_AT] == 127
                                       : memcmp(address->ip, loopback, RZ_IP_BYTES) == 0;
}

bool rz_address_is_link_local(const struct rz_address *address)
{
    return address->ip[0] == 0xFE && (address->ip[1] & 0xC0) == 0x80;
}

unsigned rz_address_bits(const struct rz_address *address)
{
    return rz_address_is_ipv4(address) ? 8 * (RZ_IP_BYTES - RZ_IPV4_AT) : 8 * RZ_IP_BYTES;
}

bool rz_address_same_network(const struct rz_address *a, const struct rz_address *b, unsigned bits)
{
    bits += 8 * RZ_IP_BYTES - rz_address_bits(a);
    unsigned whole = bits / 8, rest = bits % 8;
    return rz_address_same_family(a, b) && memcmp(a->ip, b->ip, whole) == 0 &&
           (rest == 0 || (a->ip[whole] ^ b->ip[whole]) >> (8 - rest) == 0);
}
