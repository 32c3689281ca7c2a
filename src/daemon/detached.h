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

#include "daemon/daemon.h"

struct rz_detached;

/* For a job with RZ_JOB_DETACHED, before its first process; other jobs have none: all functions
 * below are for such a job only. */
rz_status_t rz_detached_open(struct rz_detached **detached, struct rz_daemon *daemon);
void rz_detached_close(struct rz_detached *detached); /* NULL: nothing */

/* For people: whether the job is still at its start, runs, ends, or is over. */
const char *rz_detached_state(const struct rz_detached *detached);

/* ---- the stream to the rzrun that started the job (launcher.c) */

/* This daemon tells rzrun something. True: rzrun, where it is here still, is told as well. */
bool rz_detached_told(struct rz_detached *detached, const struct rz_launch_message *message);

/* rzrun wants to go: it is told CAN_DETACH once all processes here run their program. */
void rz_detached_wanted(struct rz_detached *detached);

/* It goes: the user knows the job's number. It is told DETACHED. */
void rz_detached_let_go(struct rz_detached *detached);

/* The stream has ended. True: as it should. False: rzrun failed before it had let go, so that the
 * job ends; the others are told. */
bool rz_detached_may_lose_rzrun(struct rz_detached *detached);

/* ---- what happens here */

/* A process has begun its program. */
void rz_detached_executed(struct rz_detached *detached);

/* A line for the user that would have gone to standard error. False: it still can. */
bool rz_detached_log(struct rz_detached *detached, const char *line);

/* The daemon is told to end, now. */
void rz_detached_dismiss(struct rz_detached *detached);

/* No process is left here, or none that could be ended: whether the daemon stays for the result. */
bool rz_detached_stays(struct rz_detached *detached);

/* ---- from the other daemons */

void rz_detached_fact(struct rz_detached *detached, uint32_t from, const void *bytes, size_t n);
void rz_detached_node_failed(struct rz_detached *detached, uint32_t node);

/* ---- from rzrun --attach and --end (control.c) */

/* Takes the connection fd over. Not NULL: why not, in words, and it stays the caller's. */
const char *rz_detached_attach(struct rz_detached *detached, int fd);

#endif
