/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second way for a process to its daemon: a local socket, for a program whose inherited link was
 * closed before it started (sudo and Python's subprocess close all descriptors above 2). The
 * connection becomes the link of the process, in place of the inherited one.
 *
 * Only the daemon's user and root are heard. The first message must be a HELLO with the key of a
 * process that was started here and has not joined (rz_link_hello_problem): so one process per
 * incarnation takes this way, once, and gains nothing that the inherited link would not give it.
 * Connections without HELLO are few and end soon.
 */
#ifndef RZ_DAEMON_LINK_SOCKET_H
#define RZ_DAEMON_LINK_SOCKET_H

#include "daemon/process/link_router.h"

struct rz_link_socket;

struct rz_link_socket_config {
    struct rz_own_node *own;
    struct rz_children *children;
};

/* Listens, and writes the token by which processes find the socket into the job. */
rz_status_t rz_link_socket_open(struct rz_link_socket **socket,
                                const struct rz_link_socket_config *config);
void rz_link_socket_close(struct rz_link_socket *socket); /* NULL: nothing */

#endif
