/* The end of a daemon: processes first, in order where there is time, then the loop. */
#ifndef RZ_DAEMON_ENDING_H
#define RZ_DAEMON_ENDING_H

#include "daemon/daemon.h"

struct rz_ending;

rz_status_t rz_ending_open(struct rz_ending **ending, struct rz_daemon *daemon);
void rz_ending_close(struct rz_ending *ending);

/*
 * Begins the end: the board says stop (why), processes get SIGTERM and grace_ms to end by
 * themselves, then SIGKILL; when the last is reaped the loop is left. exit_status is the daemon's
 * own. The first call counts; a later one may only shorten the grace.
 */
void rz_ending_begin(struct rz_daemon *daemon, int exit_status, rz_status_t why, uint32_t grace_ms);

/* A process was reaped: was it the last? */
void rz_ending_look(struct rz_daemon *daemon);

int rz_ending_status(const struct rz_ending *ending);

/* After the loop: kills and reaps whatever is still below this process; bounded. */
void rz_ending_clear(void);

#endif
