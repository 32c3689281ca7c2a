/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The failure detector of the job, which finds silent daemons: the heartbeat ring, or SWIM with
 * Lifeguard. Both are the objects that the simulator runs; recovery hosts one of them as a core.
 *
 *   ring   A heartbeat each hb_period; a node silent for hb_timeout is reported.
 *   flat   The ring among processes is not part of this module (arbiter.h). The ring of the daemons
 *          runs beside it, ten times more slowly.
 *   swim   A probe each hb_timeout / 4, but at least each hb_period. A suspected node has
 * hb_timeout (times the decimal logarithm of the number of nodes, if that is more) for its
 * refutation, and up to six times as long if no other member suspects it. Failure is final.
 */
#ifndef RZ_DAEMON_DETECTOR_H
#define RZ_DAEMON_DETECTOR_H

#include "daemon/state/core.h"
#include "daemon/state/job.h"

enum rz_detector_news {
    RZ_DETECTOR_NOTHING,
    RZ_DETECTOR_SILENT, /* *node is considered failed, without proof */
    RZ_DETECTOR_FENCED  /* the other daemons consider this one failed */
};

void rz_detector_open(struct rz_core *core, const struct rz_daemon_job *job, uint32_t view,
                      const struct rz_core_host *host, struct rz_core_notices *notices,
                      struct event_base *base);

/* Whether messages of this component belong to a detector. */
bool rz_detector_is_protocol(uint32_t room);

/* Whether a detector's message is sent as a datagram: small messages that are repeated anyway. */
bool rz_detector_by_datagram(const struct rz_message *message);

enum rz_detector_news rz_detector_read(const struct rz_core_notice *notice, rz_id *node);

/* The node whose heartbeats this one awaits. RZ_ID_NONE: there is none, or each node is observed
 * (SWIM). */
rz_id rz_detector_observed(const struct rz_core *core);

/* This daemon, or the observed one, was ready to run for the time `late` without getting a
 * processor. The ring waits longer for the observed node and tells its observer; SWIM has its own
 * measure (Lifeguard). */
void rz_detector_late(struct rz_core *core, rz_time late);

/* The suspect with that number, from 0; RZ_ID_NONE: no more. The ring has none: what it finds is
 * looked into by the roll call. */
rz_id rz_detector_suspect(const struct rz_core *core, uint32_t number);

/* The suspect is known to be alive: its suspicion lasts for at least for_ns more. */
void rz_detector_hold(struct rz_core *core, rz_id suspect, rz_time for_ns);

/* The job is over: silence from now on is no failure. */
void rz_detector_leave(struct rz_core *core);

#endif
