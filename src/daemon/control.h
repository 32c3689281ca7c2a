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

#include "base/status.h"

struct rz_daemon;
struct rz_control;

/* Without a socket (the name is taken, no descriptors) the daemon works on; the status says why. */
rz_status_t rz_control_open(struct rz_control **control, struct rz_daemon *daemon);
void rz_control_close(struct rz_control *control); /* NULL: nothing */

/* The status document, freed by the caller; NULL: no memory. status_page.c */
char *rz_status_page(struct rz_daemon *daemon);

#endif
