/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of rzrun's work that the daemons of a detached job do themselves. Output goes to a
 * spool. Each daemon receives from all others the facts that rzrun would have received (FACT); from
 * them it computes the outcome and knows when the job is over. There is no leader: any live daemon
 * can tell how the job ended.
 *
 *   STARTING    rzrun is still connected; its loss ends the job
 *   RUNNING     from DETACHED on
 *   ENDING      the outcome, --timeout or --end requires it: all processes of all nodes end
 *   OVER        no process is left on any live node (each has said DONE): the result is fixed and
 * is kept until it was fetched, for --linger at most
 *
 * A node that must stop (cut off, or declared failed) keeps its part of the output in the same way.
 */
#ifndef RZ_DAEMON_DETACHED_H
#define RZ_DAEMON_DETACHED_H

#include "daemon/launcher/launcher.h"
#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/child.h"

struct rz_detached;

struct rz_detached_config {
    struct rz_own_node *own; /* detached sets the tap of its report */
    const struct rz_children *children;
    struct rz_launcher *launcher;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
    int lifeline_fd; /* keeper.h; -1 without a keeper */
    void *arg;
    /* The job must end: all processes here end with this grace period. complete: all ranks have
     * ended by themselves. */
    void (*end)(void *arg, uint32_t grace_ms, bool complete);
    /* The job is over, and its result is known here: this daemon no longer takes part in it. */
    void (*over)(void *arg);
    /* Reports to the user which processes wait for which. */
    void (*dump_waiting)(void *arg);
};

/* Opens the module for a job with RZ_JOB_DETACHED, before its first process; the functions below
 * are for such jobs only. It handles DETACH and LET_GO of rzrun and FACT of other daemons. */
rz_status_t rz_detached_open(struct rz_detached **detached,
                             const struct rz_detached_config *config);
void rz_detached_close(struct rz_detached *detached); /* NULL: nothing */

/* The state of the job as text: starting, running, ending or over. */
const char *rz_detached_state(const struct rz_detached *detached);

/* How the job ended. */
struct rz_detached_result {
    rz_time at;
    int code;          /* the exit status that --attach returns */
    const char *cause; /* NULL: none; the module's */
};

/* False: it is not over. */
bool rz_detached_result(const struct rz_detached *detached, struct rz_detached_result *result);

/* The stream to rzrun has ended. True: as agreed. False: rzrun ended before it let the job go, so
 * the job ends; the other daemons are told. */
bool rz_detached_may_lose_rzrun(struct rz_detached *detached);

/* ---- events of this node ---- */

/* A process has begun its program. */
void rz_detached_executed(struct rz_detached *detached);

/* The daemon is ordered to end now. */
void rz_detached_dismiss(struct rz_detached *detached);

/* No process is left here, or none that could be ended. Returns whether the daemon stays for the
 * result. */
bool rz_detached_stays(void *detached);

/* Subscriber of the membership. */
void rz_detached_node_failed(void *detached, rz_id node, bool proof, bool first);

/* With --no-ft: a connection with the daemon of node broke; rzrun would have noticed it. */
void rz_detached_unwatched(struct rz_detached *detached, rz_id node);

/* ---- from rzrun --attach and --end (control.c) ---- */

/* Takes over the connection fd and returns NULL, or returns why it is refused (then fd stays the
 * caller's). */
const char *rz_detached_attach(struct rz_detached *detached, int fd);

#endif
