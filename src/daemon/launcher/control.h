/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control socket of a daemon: where the user's other commands (rzps, rztop) ask it, on its own
 * machine (port/local_socket.h). A question is one line, the answer one JSON document, then the
 * connection ends. Few connections at a time, each for a short time, so that nobody can hold the
 * daemon up.
 *
 *   "status"   what this daemon knows of its job; docs/status.md says what each field means
 *   "attach"   from then on the connection is a stream as between rzrun and its daemons
 *              (wire/launch_messages.h): LISTENING, then what a detached job wrote and writes, at
 *              last RESULT; or one REFUSED
 */
#ifndef RZ_DAEMON_CONTROL_H
#define RZ_DAEMON_CONTROL_H

#include "daemon/state/own_node.h"

struct rz_control;

struct rz_control_config {
    const struct rz_own_node *own;
    void *arg;
    /* The status document, freed by the caller; NULL: no memory. */
    char *(*status)(void *arg);
    /* Takes the connection fd over. Not NULL: why not, in words, and it stays the caller's. */
    const char *(*attach)(void *arg, int fd);
};

/* Without a socket (the name is taken, no descriptors) the daemon works on; the status says why. */
rz_status_t rz_control_open(struct rz_control **control, const struct rz_control_config *config);
void rz_control_close(struct rz_control *control); /* NULL: nothing */

#endif
