/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes of a job that are on other hosts. Their daemons are started by agents in a tree
 * (remote/agent.h) and then connect to rzrun, both sides proving that they belong to the job. The
 * part of the tree below a host that does not answer is started again without that host.
 */
#ifndef RZ_LAUNCH_HOSTS_H
#define RZ_LAUNCH_HOSTS_H

#include "launch/node.h"
#include "launch/rzrun_options.h"

struct rz_hosts;

struct rz_hosts_config {
    const struct rz_rzrun_options *options;
    struct event_base *base;
    uint64_t job;
    const uint8_t *key; /* of the job, 32 bytes; stays valid */
    const char *daemon; /* path of rzd here, and on the other hosts unless options name another */
    struct rz_node *nodes; /* [layout.n_nodes]; callbacks are set */
    void *arg;
    /* The start has failed: a sentence that names hosts and causes. The callee ends the job, with
     * rz_hosts_ending. */
    void (*failed)(void *arg, const char *why);
};

/* Starts all nodes whose layout entry is remote. RZ_ERR_SYSTEM: *why. */
rz_status_t rz_hosts_open(struct rz_hosts **hosts, const struct rz_hosts_config *config,
                          const char **why);

/* A sentence about the hosts that have not answered yet; "": all have. Static text. */
const char *rz_hosts_missing(const struct rz_hosts *hosts);

/* Whether the host of this node has not answered. */
bool rz_hosts_lacks(const struct rz_hosts *hosts, uint32_t node);

/* Accepts no more daemons: the job ends. */
void rz_hosts_ending(struct rz_hosts *hosts);

/* Waits for the agents, shortly for those of hosts that have failed; those of a detached job are
 * ended, which its daemons survive. NULL: nothing. */
void rz_hosts_close(struct rz_hosts *hosts, bool detached);

#endif
