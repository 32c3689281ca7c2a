/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rzrun --attach that look at a detached job: each reads the spool at its own pace, from the
 * oldest frame that is kept; at the end of the job it gets the result behind the last output. One
 * that does not read holds nobody up, it misses what is dropped meanwhile.
 */
#ifndef RZ_DAEMON_ATTACHED_H
#define RZ_DAEMON_ATTACHED_H

#include "daemon/launcher/spool.h"
#include "daemon/state/own_node.h"

struct rz_attached;

#define RZ_ATTACHED_MAX 8 /* at a time */

struct rz_attached_host {
    void *arg;
    const struct rz_own_node *own;
    const struct rz_spool *spool;
    /* One of them wants the job to be ended. */
    void (*finish)(void *arg, const struct rz_launch_message *message);
    /* The last of those that had the result has gone: nobody else needs to stay for it. */
    void (*collected)(void *arg);
};

rz_status_t rz_attached_open(struct rz_attached **attached, const struct rz_attached_host *host);
void rz_attached_close(struct rz_attached *attached); /* NULL: nothing */

/* Takes the connection fd (non-blocking) over; false where there are too many already: it stays the
 * caller's. */
bool rz_attached_add(struct rz_attached *attached, int fd);

/* The spool has grown. */
void rz_attached_look(struct rz_attached *attached);

/* Nothing follows in the spool: RESULT (copied) comes behind it, also to those who attach later. */
void rz_attached_conclude(struct rz_attached *attached, const struct rz_launch_message *result);

#endif
