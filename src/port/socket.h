/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP and UDP over IPv4 and IPv6, non-blocking and close-on-exec throughout. */
#ifndef RZ_PORT_SOCKET_H
#define RZ_PORT_SOCKET_H

#include "base/status.h"
#include "port/address.h"

#include <rhizome/types.h>

/* The environment variable FIRST-LAST: where any port may be chosen, it is one of these. */
#define RZ_PORT_RANGE "RZ_PORT_RANGE"

/* Listens on address; port 0: any free one, returned in address. An address of zeros is each one of
 * this machine, of both families. RZ_ERR_SYSTEM: the address is in use, or is not of this
 * machine. */
rz_status_t rz_socket_listen(struct rz_address *address, int *fd);

/* Accepts the next connection, with TCP_NODELAY, and without pacing within this machine.
 * RZ_IN_PROGRESS: there is none. from may be NULL. */
rz_status_t rz_socket_accept(int listening, int *fd, struct rz_address *from);

/*
 * Begins to connect, with TCP_NODELAY, and without pacing within this machine. RZ_IN_PROGRESS: *fd
 * is valid; once it is writable rz_socket_connected returns the result. RZ_ERR_CLOSED: refused,
 * which proves that the host is up and no process listens.
 */
rz_status_t rz_socket_connect(const struct rz_address *to, int *fd);
rz_status_t rz_socket_connected(int fd);

/* The address of this end. */
rz_status_t rz_socket_own(int fd, struct rz_address *address);

/* An idle connection ends, with RZ_ERR_TIMEOUT, within a minute if the other end's host does not
 * answer any more. */
void rz_socket_expect_life(int fd);

/* The address of this machine from which `to` is reached. RZ_ERR_SYSTEM: there is no route. */
rz_status_t rz_socket_route(const struct rz_address *to, struct rz_address *from);

/* Connects to a socket of this process at that address of this machine. RZ_ERR_TIMEOUT: there is no
 * answer within within_ms; else errno says why there is no connection: a loopback device that is
 * down has addresses that a socket can listen at. */
rz_status_t rz_socket_reaches(const struct rz_address *own, int within_ms);

/* Opens a bound UDP socket; the address is as for rz_socket_listen. */
rz_status_t rz_socket_datagram(struct rz_address *address, int *fd);

/* Sends one datagram. RZ_IN_PROGRESS: the socket is full (the datagram is dropped). RZ_ERR_CLOSED:
 * an earlier one was refused. */
rz_status_t rz_socket_send_to(int fd, const void *bytes, size_t n, const struct rz_address *to);

/* Receives one datagram. RZ_IN_PROGRESS: there is none. RZ_ERR_TRUNCATE: it was longer than max and
 * is dropped. RZ_ERR_CLOSED: a datagram sent earlier was refused. */
rz_status_t rz_socket_receive_from(int fd, void *buffer, size_t max, size_t *n,
                                   struct rz_address *from);

#endif
