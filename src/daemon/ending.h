/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a daemon: it ends its processes, in order if there is time, and then leaves the
 * loop. */
#ifndef RZ_DAEMON_ENDING_H
#define RZ_DAEMON_ENDING_H

#include "daemon/process/child_life.h"
#include "daemon/process/output.h"
#include "daemon/recovery/recovery.h"
#include "daemon/state/board_writer.h"

struct rz_ending;

/* What is ended; a part that is not open is NULL. */
struct rz_ending_parts {
    struct rz_children *children;
    struct rz_board_writer *board;
    struct rz_recovery *recovery;
    struct rz_outputs *outputs;
    void *arg;
    /* Asked when no process is left here: returns whether the daemon stays nevertheless. NULL: it
     * does not stay. */
    bool (*stays)(void *arg);
};

rz_status_t rz_ending_open(struct rz_ending **ending, struct rz_own_node *own);
void rz_ending_close(struct rz_ending *ending); /* NULL: nothing */

/* The caller fills in the parts as they are opened. */
struct rz_ending_parts *rz_ending_parts(struct rz_ending *ending);

/*
 * Begins the end. The board shows stop with the status why; processes get SIGTERM and have grace_ms
 * to end, then they get SIGKILL. exit_status is the daemon's own.
 *
 * EXIT_SUCCESS means that the job is over and the other daemons end, too: when the last process is
 * reaped, rzrun is told DONE, and the loop is left when rzrun answers. With another status this
 * daemon ends alone, as soon as the last process is reaped.
 *
 * complete: all ranks have ended by themselves. What they have left, and still may write, is
 * awaited before (rz_outputs_await).
 *
 * The first call decides. A later call may shorten the grace period, ends the wait for output
 * unless it is complete, too, and may say that the daemon need not wait for rzrun's answer.
 */
void rz_ending_begin(struct rz_ending *ending, int exit_status, rz_status_t why, uint32_t grace_ms,
                     bool complete);

/* All daemons know that the job is over, or rzrun has gone and cannot tell any more: the daemon
 * need not wait. */
void rz_ending_release(struct rz_ending *ending);

/* To be called when a process was reaped: it may have been the last. */
void rz_ending_look(struct rz_ending *ending);

int rz_ending_status(const struct rz_ending *ending);

/* After the loop: kills and reaps all processes that are left below this one, in bounded time. */
void rz_ending_clear(void);

#endif
