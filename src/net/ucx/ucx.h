/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport between nodes: UCP active messages behind the table of net/net.h. UCX is loaded
 * with the first rz_ucx_open (it costs a helper thread, some file descriptors and about 10 ms), so
 * a job on one node never loads it. A process that has opened it must not fork without exec.
 *
 * Beyond net.h:
 *   - connect only records the endpoint address; the first message to a peer makes the endpoint.
 *     broken is called for peers to which messages were sent.
 *   - An endpoint address is connected once. Two processes that part while both are alive (a
 *     roll-back) and are to be connected again both close, open again and exchange the new endpoint
 *     addresses: UCX 1.13 loses messages between workers that have parted before.
 *   - Connect a peer before you fetch from it or drop: the answer to a sender that was never
 *     connected waits for connect or close.
 *   - The payload of a token of a disconnected peer is always gone. Its operations end inside
 *     disconnect or, where that is called from a callback, with the progress that runs it.
 *   - disconnect does not fence: messages that the peer sent before, and those that a live process
 *     sends after it was declared failed, may still reach host->arrived. They are dropped by epoch
 *     and incarnation in the user's header.
 *   - RZ_OK of a send means that the payload has left the user's memory, not that it was received.
 *   - close sends, for a bounded time, what send has accepted; other processes should have got it
 *     before: use a barrier first. Operations still pending end with RZ_ERR_CANCELLED.
 */
#ifndef RZ_NET_UCX_UCX_H
#define RZ_NET_UCX_UCX_H

#include "net/net.h"

struct rz_ucx_config {
    /* The job is part of the endpoint address; endpoint addresses of other jobs are refused with
     * RZ_ERR_AUTHENTICATION. */
    uint64_t job;
    /* Copied. */
    struct rz_net_host host;
    /* Number of processes on other nodes; a hint. */
    unsigned peers_estimated;
    /* Receives the reason when open returned an error (arg: of host); may be NULL. */
    void (*complain)(void *arg, const char *text);
};

/*
 * Loads the module and opens one transport. At most one call at a time; call it as late as the
 * first need of it. RZ_ERR_UNSUPPORTED: no module or not of this build. RZ_ERR_INVALID: an
 * environment in which a failure of a peer would end this process. RZ_ERR_SYSTEM, RZ_ERR_NO_MEMORY:
 * as UCX reports. The reason is passed to config->complain.
 */
rz_status_t rz_ucx_open(const struct rz_ucx_config *config, struct rz_net **net,
                        const struct rz_net_ops **ops);

/* A variable that UCX reads from the environment of a process at its start; a value that the user
 * has set stays. */
struct rz_ucx_variable {
    const char *name;
    const char *value;
    /* Set only where all nodes of the job are on one machine. */
    bool single_host;
    /* If no other value is allowed: a sentence that says so, and why; otherwise NULL. */
    const char *problem;
};

/* Ends with a NULL name. Daemons put it into the environment of each process that they start. */
extern const struct rz_ucx_variable rz_ucx_environment[];

/* NULL if this process's environment is fit for rz_ucx_open, otherwise a sentence that says what is
 * wrong. */
const char *rz_ucx_environment_problem(void);

/* What the module exports under the name rz_net_ucx_entry; its user is rz_ucx_open. */
#define RZ_NET_UCX_VERSION 2
struct rz_net_ucx_entry {
    uint32_t version;
    const struct rz_net_ops *ops;
    rz_status_t (*open)(const struct rz_ucx_config *config, struct rz_net **net);
};

#endif
