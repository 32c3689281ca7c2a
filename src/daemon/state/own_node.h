/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every module of a daemon may know of its own node: the loop, the job, the state of nodes and
 * processes, the report, and the traces. No file of this folder depends on a module above it.
 */
#ifndef RZ_DAEMON_OWN_NODE_H
#define RZ_DAEMON_OWN_NODE_H

#include "daemon/state/job.h"
#include "daemon/state/membership.h"
#include "daemon/state/node_trace.h"
#include "daemon/state/report.h"

#include <event2/event.h>

struct rz_own_node {
    struct event_base *base;
    struct rz_daemon_job job; /* before JOB only the node's number is set */
    struct rz_membership membership;
    struct rz_report report;
    struct rz_node_trace *trace; /* NULL: processes get no rings */
};

#endif
