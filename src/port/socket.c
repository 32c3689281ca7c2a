/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP and UDP sockets over IPv4 and IPv6: non-blocking operations, and errors as statuses. An
 * address decides of which family its socket is. */
#include "port/socket.h"

#include "port/descriptor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union socket_name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int socket_family(const struct rz_address *address)
{
    return rz_address_is_ipv4(address) ? AF_INET : AF_INET6;
}

/* Returns the length of the name. */
static socklen_t socket_name(const struct rz_address *address, union socket_name *name)
{
    if (rz_address_is_ipv4(address)) {
        name->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(address->port)};
        memcpy(&name->v4.sin_addr, address->ip + RZ_IPV4_AT, sizeof(name->v4.sin_addr));
        return sizeof(name->v4);
    }
    name->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(address->port)};
    memcpy(&name->v6.sin6_addr, address->ip, RZ_IP_BYTES);
    return sizeof(name->v6);
}

static struct rz_address socket_address(const union socket_name *name)
{
    struct rz_address address = {.ip = RZ_IPV4(0, 0, 0, 0)};
    if (name->any.sa_family == AF_INET6) { /* of an IPv4 peer it is the mapped one already */
        memcpy(address.ip, &name->v6.sin6_addr, RZ_IP_BYTES);
        address.port = ntohs(name->v6.sin6_port);
    } else {
        memcpy(address.ip + RZ_IPV4_AT, &name->v4.sin_addr, sizeof(name->v4.sin_addr));
        address.port = ntohs(name->v4.sin_port);
    }
    return address;
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

/* A socket of that type bound to *address, which then contains the port; a stream socket listens.
 * -1: errno says why. */
static int open_at(int type, struct rz_address *address)
{
    int fd = socket(socket_family(address), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1, off = 0;
    union socket_name name;
    if (fd < 0 && errno == EAFNOSUPPORT && rz_address_is_any(address)) { /* a kernel without IPv6 */
        *address = (struct rz_address){.ip = RZ_IPV4(0, 0, 0, 0), .port = address->port};
        fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    if (fd < 0) {
        return -1;
    }
    socklen_t bytes = socket_name(address, &name), room = sizeof(name);
    /* Two sockets may be bound to one port; one of them can listen. */
    bool stream = type == SOCK_STREAM;
    if ((stream && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) ||
        (rz_address_is_any(address) &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0) ||
        bind(fd, &name.any, bytes) != 0 || (stream && listen(fd, SOMAXCONN) != 0) ||
        getsockname(fd, &name.any, &room) != 0) {
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
        struct rz_address here = rz_address_at(address, (uint16_t)(first + (at + i) % n));
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

/* Within a machine no network has to be spared. What the system chose for networks may pace by
 * timers what is sent (BBR does), which takes up to two thirds of the bandwidth; the algorithm of
 * RFC 5681 does not, and each system has it. */
static void socket_no_pacing(int fd, const struct rz_address *peer)
{
    struct rz_address own;
    if (rz_address_is_loopback(peer) ||
        (rz_socket_own(fd, &own) == RZ_OK && rz_address_same_ip(&own, peer))) {
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
    }
}

static void socket_tune(int fd, const struct rz_address *peer)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    socket_no_pacing(fd, peer);
}

rz_status_t rz_socket_accept(int listening, int *fd, struct rz_address *from)
{
    union socket_name name;
    socklen_t bytes = sizeof(name);
    int accepted;
    do {
        accepted = accept4(listening, &name.any, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (accepted < 0) {
        return socket_status(errno);
    }
    const struct rz_address peer = socket_address(&name);
    socket_tune(accepted, &peer);
    if (from) {
        *from = peer;
    }
    *fd = accepted;
    return RZ_OK;
}

rz_status_t rz_socket_connect(const struct rz_address *to, int *fd)
{
    int connecting = socket(socket_family(to), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connecting < 0) {
        return RZ_ERR_SYSTEM;
    }
    union socket_name name;
    socklen_t bytes = socket_name(to, &name);
    rz_status_t status = RZ_OK;
    if (connect(connecting, &name.any, bytes) != 0) {
        status = errno == EINTR ? RZ_IN_PROGRESS : socket_status(errno);
    }
    if (status != RZ_OK && status != RZ_IN_PROGRESS) {
        close(connecting);
        return status;
    }
    socket_tune(connecting,
                to); /* nothing was sent yet, and the address of this end is known now */
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

rz_status_t rz_socket_reaches(const struct rz_address *own, int within_ms)
{
    struct rz_address at = rz_address_at(own, 0);
    int listening, ours = -1;
    rz_status_t status = rz_socket_listen(&at, &listening);
    if (status != RZ_OK) {
        return status;
    }
    status = rz_socket_connect(&at, &ours);
    if (status == RZ_OK || status == RZ_IN_PROGRESS) {
        status = rz_descriptor_await(&listening, 1, within_ms) ? RZ_OK : RZ_ERR_TIMEOUT;
    }
    int reason = errno;
    if (ours >= 0) {
        close(ours);
    }
    close(listening);
    errno = reason;
    return status;
}

rz_status_t rz_socket_own(int fd, struct rz_address *address)
{
    union socket_name name;
    socklen_t bytes = sizeof(name);
    if (getsockname(fd, &name.any, &bytes) != 0 ||
        (name.any.sa_family != AF_INET && name.any.sa_family != AF_INET6)) {
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
    int fd = socket(socket_family(to), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return RZ_ERR_SYSTEM;
    }
    const struct rz_address there = rz_address_at(to, 9);
    union socket_name name;
    socklen_t bytes = socket_name(&there, &name);
    rz_status_t status = RZ_ERR_SYSTEM;
    if (connect(fd, &name.any, bytes) == 0) { /* sends nothing */
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
    union socket_name name;
    socklen_t length = socket_name(to, &name);
    ssize_t sent;
    do {
        sent = sendto(fd, bytes, n, MSG_NOSIGNAL, &name.any, length);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? socket_status(errno) : RZ_OK;
}

rz_status_t rz_socket_receive_from(int fd, void *buffer, size_t max, size_t *n,
                                   struct rz_address *from)
{
    union socket_name name;
    socklen_t bytes = sizeof(name);
    ssize_t got;
    do {
        got = recvfrom(fd, buffer, max, MSG_TRUNC, &name.any, &bytes);
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
