/* The end of a daemon: processes first, in order where there is time, then the loop. */
#ifndef RZ_DAEMON_ENDING_H
#define RZ_DAEMON_ENDING_H

#include "daemon/daemon.h"

struct rz_ending;

rz_status_t rz_ending_open(struct rz_ending **ending, struct rz_daemon *daemon);
void rz_ending_close(struct rz_ending *ending);

/*
 * Begins the end: the board says stop (why), processes get SIGTERM and grace_ms to end by
 * themselves, then SIGKILL. exit_status is the daemon's own. EXIT_SUCCESS: the job is over, and the
 * other daemons end, too; when the last process is reaped rzrun is told DONE, and the loop is left
 * when it answers. Else this daemon ends alone, as soon as the last is reaped. The first call
 * counts; a later one may shorten the grace, and say that rzrun's answer is not waited for.
 */
void rz_ending_begin(struct rz_daemon *daemon, int exit_status, rz_status_t why, uint32_t grace_ms);

/* All daemons know that the job is over, or nobody is there any more who could say so. */
void rz_ending_release(struct rz_daemon *daemon);

/* A process was reaped: was it the last? */
void rz_ending_look(struct rz_daemon *daemon);

int rz_ending_status(const struct rz_ending *ending);

/* After the loop: kills and reaps whatever is still below this process; bounded. */
void rz_ending_clear(void);

#endif
