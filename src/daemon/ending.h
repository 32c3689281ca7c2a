/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a daemon: processes first, in order where there is time, then the loop. */
#ifndef RZ_DAEMON_ENDING_H
#define RZ_DAEMON_ENDING_H

#include "daemon/process/child_life.h"
#include "daemon/recovery/recovery.h"
#include "daemon/state/board_writer.h"

struct rz_ending;

/* What is ended, as far as it is open. */
struct rz_ending_parts {
    struct rz_children *children;
    struct rz_board_writer *board;
    struct rz_recovery *recovery;
    void *arg;
    /* No process is left here: whether the daemon stays nevertheless; NULL: it does not. */
    bool (*stays)(void *arg);
};

rz_status_t rz_ending_open(struct rz_ending **ending, struct rz_own_node *own);
void rz_ending_close(struct rz_ending *ending); /* NULL: nothing */

/* To be filled in as the parts are opened. */
struct rz_ending_parts *rz_ending_parts(struct rz_ending *ending);

/*
 * Begins the end: the board says stop (why), processes get SIGTERM and grace_ms to end by
 * themselves, then SIGKILL. exit_status is the daemon's own. EXIT_SUCCESS: the job is over, and the
 * other daemons end, too; when the last process is reaped rzrun is told DONE, and the loop is left
 * when it answers. Else this daemon ends alone, as soon as the last is reaped. The first call
 * counts; a later one may shorten the grace, and say that rzrun's answer is not waited for.
 */
void rz_ending_begin(struct rz_ending *ending, int exit_status, rz_status_t why, uint32_t grace_ms);

/* All daemons know that the job is over, or nobody is there any more who could say so. */
void rz_ending_release(struct rz_ending *ending);

/* A process was reaped: was it the last? */
void rz_ending_look(struct rz_ending *ending);

int rz_ending_status(const struct rz_ending *ending);

/* After the loop: kills and reaps whatever is still below this process; bounded. */
void rz_ending_clear(void);

#endif
