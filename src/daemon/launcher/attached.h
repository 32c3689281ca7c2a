/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connections of rzrun --attach to a detached job. Each reads the spool at its own pace, from
 * the oldest frame that is kept. At the end of the job it gets the result after the last output. A
 * connection that does not read delays no other: it misses what is dropped from the spool
 * meanwhile.
 */
#ifndef RZ_DAEMON_ATTACHED_H
#define RZ_DAEMON_ATTACHED_H

#include "daemon/launcher/spool.h"
#include "daemon/state/own_node.h"

struct rz_attached;

#define RZ_ATTACHED_MAX 8 /* at the same time */

struct rz_attached_host {
    void *arg;
    const struct rz_own_node *own;
    const struct rz_spool *spool;
    /* An attached rzrun orders the end of the job. */
    void (*finish)(void *arg, const struct rz_launch_message *message);
    /* The last connection that fetched the result has ended: the daemon need not stay for another
     * one. */
    void (*collected)(void *arg);
};

rz_status_t rz_attached_open(struct rz_attached **attached, const struct rz_attached_host *host);
void rz_attached_close(struct rz_attached *attached); /* NULL: nothing */

/* Takes over the connection fd (non-blocking). False: there are too many connections already, and
 * fd stays the caller's. */
bool rz_attached_add(struct rz_attached *attached, int fd);

/* To be called when the spool has grown. */
void rz_attached_look(struct rz_attached *attached);

/* The spool is complete: RESULT (copied) is sent after it, also to connections made later. */
void rz_attached_conclude(struct rz_attached *attached, const struct rz_launch_message *result);

#endif
