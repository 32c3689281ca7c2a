/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets by which processes of one machine find each other: in the abstract namespace, so that no
 * file can be left behind; only the same user (or root) is admitted.
 *
 * A daemon accepts requests on a stream socket that is named after user, job and node. A meeting
 * point is a datagram socket (port/channel.h) that is named after a random token: a process that
 * knows the token finds it. The link socket of a daemon is one, too, which a process of another
 * user may know (as root, under sudo).
 */
#ifndef RZ_PORT_LOCAL_SOCKET_H
#define RZ_PORT_LOCAL_SOCKET_H

#include "base/status.h"

#include <rhizome/types.h>

#include <stdbool.h>
#include <sys/types.h>

/* Opens a non-blocking listener. RZ_ERR_EXISTS: there is one already; RZ_ERR_SYSTEM. */
rz_status_t rz_local_listen(uint64_t job, uint32_t node, int *fd);

/* Accepts the next connection of an admitted peer, non-blocking; connections of others are closed.
 * RZ_IN_PROGRESS: none waits. */
rz_status_t rz_local_accept(int listener, int *fd);

/* A blocking connection to a daemon of user `uid` whose reads and writes end after timeout_ms.
 * RZ_ERR_CLOSED: no process listens, or one of another user under that name. */
rz_status_t rz_local_connect(uid_t uid, uint64_t job, uint32_t node, unsigned timeout_ms, int *fd);

/* The meeting point `number` of a token, as rz_local_listen and rz_local_connect; connections carry
 * datagrams. */
rz_status_t rz_meeting_listen(uint64_t token, uint32_t number, int *fd);
rz_status_t rz_meeting_connect(uint64_t token, uint32_t number, unsigned timeout_ms, int *fd);

/* The link socket of the daemon of `node`, run by user `uid`; as the meeting point. */
rz_status_t rz_link_socket_listen(uint64_t token, uint32_t node, int *fd);
rz_status_t rz_link_socket_connect(uid_t uid, uint64_t token, uint32_t node, unsigned timeout_ms,
                                   int *fd);

/* Read what is there, and write what the peer takes, without waiting and without SIGPIPE. *n: the
 * number of bytes. RZ_IN_PROGRESS: nothing now. RZ_ERR_CLOSED: the peer has gone. */
rz_status_t rz_local_read(int fd, void *buffer, size_t max, size_t *n);
rz_status_t rz_local_write(int fd, const void *bytes, size_t max, size_t *n);

struct rz_local_name {
    uid_t uid;
    uint64_t job;
    uint32_t node;
};

/* Whether the number of its job, as sixteen hexadecimal digits, begins with prefix. */
bool rz_local_begins(const struct rz_local_name *name, const char *prefix);

/* The daemons that listen on this machine, in *names (freed by the caller), sorted by job, then
 * node; of `uid` only, or of all users when `all`. RZ_ERR_SYSTEM, RZ_ERR_NO_MEMORY. */
rz_status_t rz_local_list(uid_t uid, bool all, struct rz_local_name **names, size_t *n);

#endif
