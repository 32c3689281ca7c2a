/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket on which a daemon accepts requests of its own machine: a stream socket in the abstract
 * namespace, named after user, job and node. No file can be left behind; only the same user (or
 * root) is admitted.
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

/* Read what is there, and write what the peer takes, without waiting and without SIGPIPE. *n: the
 * number of bytes. RZ_IN_PROGRESS: nothing now. RZ_ERR_CLOSED: the peer has gone. */
rz_status_t rz_local_read(int fd, void *buffer, size_t max, size_t *n);
rz_status_t rz_local_write(int fd, const void *bytes, size_t max, size_t *n);

struct rz_local_name {
    uid_t uid;
    uint64_t job;
    uint32_t node;
};

/* The daemons that listen on this machine, in *names (freed by the caller), sorted by job, then
 * node; of `uid` only, or of all users when `all`. RZ_ERR_SYSTEM, RZ_ERR_NO_MEMORY. */
rz_status_t rz_local_list(uid_t uid, bool all, struct rz_local_name **names, size_t *n);

#endif
