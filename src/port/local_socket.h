/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets by which processes of one machine find each other: in the abstract namespace, so that no
 * file can be left behind; only the same user (or root) is admitted.
 *
 * A daemon accepts requests on a stream socket that is named after user, job and node. Any user may
 * bind such a name, so a name proves nothing: the kernel says which user listens. A daemon whose
 * name is taken listens under one with a random part. A meeting point is a datagram socket
 * (port/channel.h) that is named after a random token: a process that knows the token finds it. The
 * link socket of a daemon is one, too, which a process of another user may know (as root, under
 * sudo).
 */
#ifndef RZ_PORT_LOCAL_SOCKET_H
#define RZ_PORT_LOCAL_SOCKET_H

#include "base/status.h"

#include <rhizome/types.h>

#include <stdbool.h>
#include <sys/types.h>

struct rz_local_name {
    uid_t uid;
    uint64_t job;
    uint32_t node;
    uint64_t other; /* the random part; 0: none */
};

/* Opens a non-blocking listener. RZ_ERR_EXISTS: this user has one already; RZ_ERR_SYSTEM. */
rz_status_t rz_local_listen(uint64_t job, uint32_t node, int *fd);

/* Accepts the next connection of an admitted peer, non-blocking; connections of others are closed.
 * RZ_IN_PROGRESS: none waits. */
rz_status_t rz_local_accept(int listener, int *fd);

/* A non-blocking connection to a daemon of user name->uid, without waiting. RZ_IN_PROGRESS: too
 * many others wait for it. RZ_ERR_CLOSED: no process listens. RZ_ERR_AUTHENTICATION: user *peer
 * does. */
rz_status_t rz_local_connect(const struct rz_local_name *name, int *fd, uid_t *peer);

/* The meeting point `number` of a token, as rz_local_listen and rz_local_connect; connections carry
 * datagrams. */
rz_status_t rz_meeting_listen(uint64_t token, uint32_t number, int *fd);
rz_status_t rz_meeting_connect(uint64_t token, uint32_t number, unsigned timeout_ms, int *fd);

/* The link socket of the daemon of `node`, run by user `uid`; as the meeting point. */
rz_status_t rz_link_socket_listen(uint64_t token, uint32_t node, int *fd);
rz_status_t rz_link_socket_connect(uid_t uid, uint64_t token, uint32_t node, unsigned timeout_ms,
                                   int *fd);

/* From now on read and write of the connection wait. */
void rz_local_let_wait(int fd);

/* Read what is there, and write what the peer takes, without waiting and without SIGPIPE. *n: the
 * number of bytes. RZ_IN_PROGRESS: nothing now. RZ_ERR_CLOSED: the peer has gone. */
rz_status_t rz_local_read(int fd, void *buffer, size_t max, size_t *n);
rz_status_t rz_local_write(int fd, const void *bytes, size_t max, size_t *n);

/* Whether the number of its job, as sixteen hexadecimal digits, begins with prefix. */
bool rz_local_begins(const struct rz_local_name *name, const char *prefix);

/* What the names of this machine say, in *names (freed by the caller): those of this user first,
 * then sorted by user, job, node; of `uid` only, or of all users when `all`. RZ_ERR_SYSTEM,
 * RZ_ERR_NO_MEMORY. */
rz_status_t rz_local_list(uid_t uid, bool all, struct rz_local_name **names, size_t *n);

/* The daemons of one job that were found, and connections to them, which the kernel says are of the
 * user of their names. */
struct rz_local_found {
    struct rz_local_name *names;
    int *fds;
    size_t n;
    unsigned jobs;              /* how many jobs there are; the daemons are of the only one */
    struct rz_local_name other; /* jobs > 1: a daemon of the second one */
    /* No job: a name is of another user, who listens there; or it is that of this user, and another
     * user (`taker`) listens there. */
    bool foreign, taken;
    struct rz_local_name foreign_name, taken_name;
    uid_t taker;
};

/* Connects to the daemons of the job whose number begins with prefix: of this user's jobs, and if
 * there is none and this user is root, of those of all users. What does not answer within
 * timeout_ms counts as not there. The caller closes the connections and frees names and fds. */
rz_status_t rz_local_find(const char *prefix, unsigned timeout_ms, struct rz_local_found *found);

#endif
