/* SPDX-License-Identifier: BSD-3-Clause */
/* The traces of processes and daemons in case files: lists of events, bounded, in the order of
 * their times. docs/cases.md. */
#ifndef RZ_LAUNCH_CASES_TRACE_H
#define RZ_LAUNCH_CASES_TRACE_H

#include "launch/traces.h"

#include <jansson.h>

/* When a failure is noticed: the last events of the failed process (of a failed node: rank
 * RZ_ID_NONE, of all its processes), of its daemon and of the daemon that has noticed it. */
json_t *rz_cases_trace_before(const struct rz_traces *traces, uint32_t rank, uint32_t incarnation,
                              uint32_t node, uint32_t by);

/* The first events of all from that time on. */
json_t *rz_cases_trace_after(const struct rz_traces *traces, uint64_t since_ns);

/* The last events of all. */
json_t *rz_cases_trace_all(const struct rz_traces *traces);

#endif
