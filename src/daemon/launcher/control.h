/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control socket of a daemon, on which the user's other commands (rzps, rztop) ask it, on the
 * same machine (port/local_socket.h). A question is one line, the answer one JSON document; then
 * the connection ends. Few connections are open at a time, each for a short time, so that no client
 * can block the daemon.
 *
 *   "status"   what this daemon knows of its job; docs/status.md explains each field
 *   "attach"   from then on the connection is a stream as between rzrun and its daemons
 *              (wire/launch_messages.h): LISTENING, then the past and the further output of a
 *              detached job, at last RESULT; or one REFUSED
 */
#ifndef RZ_DAEMON_CONTROL_H
#define RZ_DAEMON_CONTROL_H

#include "daemon/state/own_node.h"

struct rz_control;

struct rz_control_config {
    const struct rz_own_node *own;
    void *arg;
    /* Returns the status document, which the caller frees; NULL: no memory. */
    char *(*status)(void *arg);
    /* Takes over the connection fd and returns NULL, or returns why it is refused (then fd stays
     * the caller's). */
    const char *(*attach)(void *arg, int fd);
};

/* If the socket cannot be opened (the name is taken, no descriptors), the daemon works without it;
 * the status says why. */
rz_status_t rz_control_open(struct rz_control **control, const struct rz_control_config *config);
void rz_control_close(struct rz_control *control); /* NULL: nothing */

#endif
