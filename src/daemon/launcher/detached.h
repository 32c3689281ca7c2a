/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of rzrun that the daemons of a detached job play themselves: output goes to a spool, and
 * each daemon hears from all others what rzrun would have heard (FACT), keeps the outcome and knows
 * by it when the job ends. Nobody leads: any daemon that lives can say how the job ended.
 *
 *   STARTING    rzrun is here still; its loss ends the job
 *   RUNNING     from DETACHED on
 *   ENDING      the outcome, --timeout or --end says so: all processes of all nodes end
 *   OVER        no process is left on any node that lives (each has said DONE): the result is fixed
 *               and stays here until somebody has fetched it, --linger long at most
 *
 * A node that must stop (cut off, declared failed) keeps its part of the output in the same way.
 */
#ifndef RZ_DAEMON_DETACHED_H
#define RZ_DAEMON_DETACHED_H

#include "daemon/launcher/launcher.h"
#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/child.h"

struct rz_detached;

struct rz_detached_config {
    struct rz_own_node *own; /* the tap of its report is set here */
    const struct rz_children *children;
    struct rz_launcher *launcher;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
    int lifeline_fd; /* keeper.h; -1 without a keeper */
    void *arg;
    /* The job shall end: all processes here, with this grace. */
    void (*end)(void *arg, uint32_t grace_ms);
    /* The job is over, and its result is known here: this daemon takes no part any more. */
    void (*over)(void *arg);
    /* For the user: who waits for whom. */
    void (*dump_waiting)(void *arg);
};

/* For a job with RZ_JOB_DETACHED, before its first process; other jobs have none: all functions
 * below are for such a job only. Obeys DETACH and LET_GO of rzrun, hears FACT of other daemons. */
rz_status_t rz_detached_open(struct rz_detached **detached,
                             const struct rz_detached_config *config);
void rz_detached_close(struct rz_detached *detached); /* NULL: nothing */

/* For people: whether the job is still at its start, runs, ends, or is over. */
const char *rz_detached_state(const struct rz_detached *detached);

/* The stream to rzrun has ended. True: as it should. False: rzrun ended before it had let go, so
 * that the job ends; the others are told. */
bool rz_detached_may_lose_rzrun(struct rz_detached *detached);

/* ---- what happens here ---- */

/* A process has begun its program. */
void rz_detached_executed(struct rz_detached *detached);

/* The daemon is told to end, now. */
void rz_detached_dismiss(struct rz_detached *detached);

/* No process is left here, or none that could be ended: whether the daemon stays for the result. */
bool rz_detached_stays(void *detached);

/* Subscriber of the membership. */
void rz_detached_node_failed(void *detached, rz_id node, bool proof, bool first);

/* With --no-ft: a connection with that daemon broke, which rzrun would have seen. */
void rz_detached_unwatched(struct rz_detached *detached, rz_id node);

/* ---- from rzrun --attach and --end (control.c) ---- */

/* Takes the connection fd over. Not NULL: why not, in words, and it stays the caller's. */
const char *rz_detached_attach(struct rz_detached *detached, int fd);

#endif
