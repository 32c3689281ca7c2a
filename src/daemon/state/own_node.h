/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every module of a daemon may know of its own node: the loop, the job, which nodes and
 * processes are there, and where to report. Nothing here knows a module above.
 */
#ifndef RZ_DAEMON_OWN_NODE_H
#define RZ_DAEMON_OWN_NODE_H

#include "daemon/state/job.h"
#include "daemon/state/membership.h"
#include "daemon/state/report.h"

#include <event2/event.h>

struct rz_own_node {
    struct event_base *base;
    struct rz_daemon_job job; /* all zero but for its number of the node until JOB has come */
    struct rz_membership membership;
    struct rz_report report;
};

#endif
