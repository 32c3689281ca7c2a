/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP and UDP sockets over IPv4: address text, non-blocking operations, and errors as statuses. */
#include "port/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in socket_name(const struct rz_address *address)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(address->ip),
                                .sin_port = htons(address->port)};
}

static struct rz_address socket_address(const struct sockaddr_in *name)
{
    return (struct rz_address){.ip = ntohl(name->sin_addr.s_addr), .port = ntohs(name->sin_port)};
}

static rz_status_t socket_status(int error)
{
    switch (error) {
    case 0:
        return RZ_OK;
    case EAGAIN:
    case EINPROGRESS:
    case ENOBUFS:
        return RZ_IN_PROGRESS;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
        return RZ_ERR_CLOSED;
    case ETIMEDOUT:
        return RZ_ERR_TIMEOUT;
    default:
        return RZ_ERR_SYSTEM;
    }
}

rz_status_t rz_address_parse(const char *text, struct rz_address *address)
{
    unsigned a, b, c, d, port = 0;
    int end = 0;
    if (text[strspn(text, "0123456789.:")] != '\0') { /* sscanf accepts blanks and signs, too */
        return RZ_ERR_MALFORMED;
    }
    if (sscanf(text, "%3u.%3u.%3u.%3u%n", &a, &b, &c, &d, &end) != 4 || a > 255 || b > 255 ||
        c > 255 || d > 255) {
        return RZ_ERR_MALFORMED;
    }
    text += end;
    if (*text == ':') {
        if (sscanf(text, ":%5u%n", &port, &end) != 1 || port > 65535) {
            return RZ_ERR_MALFORMED;
        }
        text += end;
    }
    if (*text != '\0') {
        return RZ_ERR_MALFORMED;
    }
    *address = (struct rz_address){.ip = a << 24 | b << 16 | c << 8 | d, .port = (uint16_t)port};
    return RZ_OK;
}

const char *rz_address_ip_text(const struct rz_address *address, char text[RZ_ADDRESS_TEXT])
{
    snprintf(text, RZ_ADDRESS_TEXT, "%u.%u.%u.%u", address->ip >> 24, address->ip >> 16 & 255,
             address->ip >> 8 & 255, address->ip & 255);
    return text;
}

const char *rz_address_text(const struct rz_address *address, char text[RZ_ADDRESS_TEXT])
{
    size_t n = strlen(rz_address_ip_text(address, text));
    snprintf(text + n, RZ_ADDRESS_TEXT - n, ":%u", address->port);
    return text;
}

/* A socket of that type bound to *address, which then contains the port; a stream socket listens.
 * -1: errno says why. */
static int open_at(int type, struct rz_address *address)
{
    int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in name = socket_name(address);
    socklen_t bytes = sizeof(name);
    if (fd < 0) {
        return -1;
    }
    /* Two sockets may be bound to one port; one of them can listen. */
    bool stream = type == SOCK_STREAM;
    if ((stream && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) ||
        bind(fd, (struct sockaddr *)&name, bytes) != 0 || (stream && listen(fd, SOMAXCONN) != 0) ||
        getsockname(fd, (struct sockaddr *)&name, &bytes) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    *address = socket_address(&name);
    return fd;
}

/* The same at a free port of RZ_PORT_RANGE, if any port may be chosen. Processes begin at different
 * places. */
static int open_in_range(int type, struct rz_address *address)
{
    unsigned first, last;
    const char *range = address->port == 0 ? getenv(RZ_PORT_RANGE) : NULL;
    if (!range || sscanf(range, "%5u-%5u", &first, &last) != 2 || first == 0 || last < first ||
        last > UINT16_MAX) {
        return open_at(type, address);
    }
    unsigned n = last - first + 1, at = (unsigned)getpid() % n;
    int fd = -1;
    for (unsigned i = 0; i < n && fd < 0; i++) {
        struct rz_address here = {.ip = address->ip, .port = (uint16_t)(first + (at + i) % n)};
        fd = open_at(type, &here);
        if (fd >= 0) {
            *address = here;
        }
    }
    return fd;
}

rz_status_t rz_socket_listen(struct rz_address *address, int *fd)
{
    struct rz_address at = *address;
    int listening = open_in_range(SOCK_STREAM, &at);
    if (listening < 0) {
        return RZ_ERR_SYSTEM;
    }
    *address = at;
    *fd = listening;
    return RZ_OK;
}

static void socket_no_delay(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

rz_status_t rz_socket_accept(int listening, int *fd, struct rz_address *from)
{
    struct sockaddr_in name;
    socklen_t bytes = sizeof(name);
    int accepted;
    do {
        accepted =
            accept4(listening, (struct sockaddr *)&name, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (accepted < 0) {
        return socket_status(errno);
    }
    socket_no_delay(accepted);
    if (from) {
        *from = socket_address(&name);
    }
    *fd = accepted;
    return RZ_OK;
}

rz_status_t rz_socket_connect(const struct rz_address *to, int *fd)
{
    int connecting = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connecting < 0) {
        return RZ_ERR_SYSTEM;
    }
    socket_no_delay(connecting);
    struct sockaddr_in name = socket_name(to);
    rz_status_t status = RZ_OK;
    if (connect(connecting, (struct sockaddr *)&name, sizeof(name)) != 0) {
        status = errno == EINTR ? RZ_IN_PROGRESS : socket_status(errno);
    }
    if (status != RZ_OK && status != RZ_IN_PROGRESS) {
        close(connecting);
        return status;
    }
    *fd = connecting;
    return status;
}

rz_status_t rz_socket_connected(int fd)
{
    int error = 0;
    socklen_t bytes = sizeof(error);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) {
        return RZ_ERR_SYSTEM;
    }
    return socket_status(error);
}

rz_status_t rz_socket_own(int fd, struct rz_address *address)
{
    struct sockaddr_in name;
    socklen_t bytes = sizeof(name);
    if (getsockname(fd, (struct sockaddr *)&name, &bytes) != 0 || name.sin_family != AF_INET) {
        return RZ_ERR_SYSTEM;
    }
    *address = socket_address(&name);
    return RZ_OK;
}

void rz_socket_expect_life(int fd)
{
    const int on = 1, idle_s = 15, every_s = 5, times = 6;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

rz_status_t rz_socket_route(const struct rz_address *to, struct rz_address *from)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return RZ_ERR_SYSTEM;
    }
    struct rz_address there = {.ip = to->ip, .port = 9};
    struct sockaddr_in name = socket_name(&there);
    rz_status_t status = RZ_ERR_SYSTEM;
    if (connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0) { /* sends nothing */
        status = rz_socket_own(fd, from);
        from->port = 0;
    }
    close(fd);
    return status;
}

rz_status_t rz_socket_datagram(struct rz_address *address, int *fd)
{
    struct rz_address at = *address;
    int bound = open_in_range(SOCK_DGRAM, &at);
    if (bound < 0) {
        return RZ_ERR_SYSTEM;
    }
    *address = at;
    *fd = bound;
    return RZ_OK;
}

rz_status_t rz_socket_send_to(int fd, const void *bytes, size_t n, const struct rz_address *to)
{
    struct sockaddr_in name = socket_name(to);
    ssize_t sent;
    do {
        sent = sendto(fd, bytes, n, MSG_NOSIGNAL, (struct sockaddr *)&name, sizeof(name));
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? socket_status(errno) : RZ_OK;
}

rz_status_t rz_socket_receive_from(int fd, void *buffer, size_t max, size_t *n,
                                   struct rz_address *from)
{
    struct sockaddr_in name;
    socklen_t bytes = sizeof(name);
    ssize_t got;
    do {
        got = recvfrom(fd, buffer, max, MSG_TRUNC, (struct sockaddr *)&name, &bytes);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return socket_status(errno);
    }
    if ((size_t)got > max) {
        return RZ_ERR_TRUNCATE;
    }
    *n = (size_t)got;
    if (from) {
        *from = socket_address(&name);
    }
    return RZ_OK;
}
