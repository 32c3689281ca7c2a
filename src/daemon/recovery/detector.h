/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The detector of the job: who finds out that a daemon is silent. The heartbeat ring, or SWIM with
 * Lifeguard; both are the objects that the simulator runs, hosted by recovery as one core.
 *
 *   ring   hb_period between heartbeats, hb_timeout of silence until the verdict.
 *   flat   the ring among processes is not here (arbiter.h); that of the daemons beats ten times
 * more slowly beside it. swim   a probe each hb_timeout / 4, at least each hb_period; a suspect has
 * hb_timeout (times the decimal logarithm of the number of nodes, where that is more) to refute,
 * and up to six times as long where nobody else suspects it. Failure is final.
 */
#ifndef RZ_DAEMON_DETECTOR_H
#define RZ_DAEMON_DETECTOR_H

#include "daemon/state/core.h"
#include "daemon/state/job.h"

enum rz_detector_news {
    RZ_DETECTOR_NOTHING,
    RZ_DETECTOR_SILENT, /* *node is held for failed, without proof */
    RZ_DETECTOR_FENCED  /* the others hold this daemon for failed */
};

void rz_detector_open(struct rz_core *core, const struct rz_daemon_job *job, uint32_t view,
                      const struct rz_core_host *host, struct rz_core_notices *notices,
                      struct event_base *base);

/* Whether messages of this component are a detector's. */
bool rz_detector_is_protocol(uint32_t room);

/* Whether a detector's message goes as a datagram: what is repeated anyway, and small. */
bool rz_detector_by_datagram(const struct rz_message *message);

enum rz_detector_news rz_detector_read(const struct rz_core_notice *notice, rz_id *node);

/* The node whose heartbeats this one awaits; RZ_ID_NONE: nobody's, or those of all (SWIM). */
rz_id rz_detector_observed(const struct rz_core *core);

/* This daemon, or the observed one, was ready to run for so long and did not: it is waited for
 * longer, and the others shall know (ring; SWIM has a measure of its own, Lifeguard's). */
void rz_detector_late(struct rz_core *core, rz_time late);

/* The suspect with that number, from 0; RZ_ID_NONE: no more. The ring has none: what it finds is
 * looked into by the roll call. */
rz_id rz_detector_suspect(const struct rz_core *core, uint32_t number);

/* The suspect is known to be alive: its suspicion lasts for so long still, at least. */
void rz_detector_hold(struct rz_core *core, rz_id suspect, rz_time for_ns);

/* The job is over: the coming silence is no failure. */
void rz_detector_leave(struct rz_core *core);

#endif
