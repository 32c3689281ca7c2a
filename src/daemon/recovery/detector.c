/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the job's detector as a protocol core, ring or SWIM, and translates the notices of either
 * into one set of news. */
#include "daemon/recovery/detector.h"

#include "base/lateness.h"
#include "port/clock.h"
#include "port/processor.h"
#include "proto/ring/ring.h"
#include "proto/swim/swim.h"

/* Additional timeout at the start: the daemons learn of the job one after another, and it is not
 * known yet how late they run while all processes start. */
#define START_SLACK (10 * RZ_SECOND)

/* The delay before SWIM's first probe. */
#define SWIM_SLACK (2 * RZ_SECOND)

/* Both last longer by this factor where processes wait long for a processor: rzrun and the daemons
 * that it tells last do, too. It matters only until the first heartbeat, or probe. */
#define BUSY_FACTOR 8

/* The number of probe intervals a suspected member has for its refutation (as in memberlist). */
#define SWIM_SUSPICION_MULT 4

/* With --detector flat the processes observe one another. The daemons' ring then uses longer times
 * by this factor; it remains for nodes without processes. */
#define FLAT_SLOWER 10

RZ_PROTOCOL(ring, RZ_PROTOCOL_RING);
RZ_PROTOCOL(swim, RZ_PROTOCOL_SWIM);

static rz_time slack(rz_time usual)
{
    return rz_processors_busy() ? BUSY_FACTOR * usual : usual;
}

static void ring_open(struct rz_core *core, const struct rz_daemon_job *job, uint32_t view,
                      const struct rz_core_host *host, struct rz_core_notices *notices,
                      struct event_base *base)
{
    uint32_t slower = job->detector == RZ_DETECTOR_FLAT ? FLAT_SLOWER : 1;
    const struct rz_ring_config config = {.n_members = job->n_nodes,
                                          .view = view,
                                          .hb_period = slower * job->hb_period_ns,
                                          .hb_timeout = slower * job->hb_timeout_ns,
                                          .start_slack = slack(START_SLACK),
                                          .lateness_max = RZ_LATENESS_MAX,
                                          .held = true};
    rz_core_open(core, &(struct rz_core_setup){.protocol = &rz_protocol_ring,
                                               .config = &config,
                                               .self = job->node,
                                               .now = rz_clock_now(),
                                               .seed = job->id,
                                               .host = host,
                                               .notices = notices,
                                               .base = base});
    core->oversleeps = config.hb_timeout; /* a shorter oversleep counts as lateness */
}

static void swim_open(struct rz_core *core, const struct rz_daemon_job *job, uint32_t view,
                      const struct rz_core_host *host, struct rz_core_notices *notices,
                      struct event_base *base)
{
    rz_time interval = job->hb_timeout_ns / SWIM_SUSPICION_MULT;
    interval = interval > job->hb_period_ns ? interval : job->hb_period_ns;
    struct rz_swim_config config = rz_swim_config_scaled(interval, job->n_nodes);
    config.view = view;
    config.final = true;
    config.suspicion_mult = SWIM_SUSPICION_MULT;
    uint64_t seed = job->id + job->node; /* each member has its own random order */
    rz_core_open(core, &(struct rz_core_setup){.protocol = &rz_protocol_swim,
                                               .config = &config,
                                               .self = job->node,
                                               .now = rz_clock_now() + slack(SWIM_SLACK),
                                               .seed = seed,
                                               .host = host,
                                               .notices = notices,
                                               .base = base});
    core->oversleeps = interval;
}

void rz_detector_open(struct rz_core *core, const struct rz_daemon_job *job, uint32_t view,
                      const struct rz_core_host *host, struct rz_core_notices *notices,
                      struct event_base *base)
{
    if (job->detector == RZ_DETECTOR_SWIM) {
        swim_open(core, job, view, host, notices, base);
    } else {
        ring_open(core, job, view, host, notices, base);
    }
    if (!(job->flags & RZ_JOB_NO_FT)) {
        /* With --no-ft no failures are looked for: the core never starts. */
        rz_core_started(core);
    }
}

bool rz_detector_is_protocol(uint32_t protocol)
{
    return protocol == RZ_PROTOCOL_RING || protocol == RZ_PROTOCOL_SWIM;
}

bool rz_detector_by_datagram(const struct rz_message *message)
{
    if (message->protocol == RZ_PROTOCOL_RING) {
        return message->type == RZ_RING_HEARTBEAT;
    }
    return message->protocol == RZ_PROTOCOL_SWIM && message->type != RZ_SWIM_PULL &&
           message->type != RZ_SWIM_PUSH;
}

static enum rz_detector_news read_ring(const struct rz_core_notice *notice)
{
    switch ((enum rz_ring_notice)notice->what) {
    case RZ_RING_SUSPECT:
        return RZ_DETECTOR_SILENT;
    case RZ_RING_LEFT: /* the observed node ends in order, and this one will when rzrun says so */
        return RZ_DETECTOR_NOTHING;
    case RZ_RING_FENCED:
        return RZ_DETECTOR_FENCED;
    }
    return RZ_DETECTOR_NOTHING;
}

static enum rz_detector_news read_swim(const struct rz_core_notice *notice)
{
    switch ((enum rz_swim_notice)notice->what) {
    case RZ_SWIM_TOLD_FAILED:
        return RZ_DETECTOR_SILENT;
    case RZ_SWIM_FENCED:
        return RZ_DETECTOR_FENCED;
    case RZ_SWIM_TOLD_ALIVE:
    case RZ_SWIM_TOLD_SUSPECT: /* no decision yet, or a suspicion that was withdrawn */
    case RZ_SWIM_TOLD_LEFT:
        break;
    }
    return RZ_DETECTOR_NOTHING;
}

enum rz_detector_news rz_detector_read(const struct rz_core_notice *notice, rz_id *node)
{
    *node = (rz_id)notice->arg[0];
    return notice->protocol == RZ_PROTOCOL_RING ? read_ring(notice) : read_swim(notice);
}

rz_id rz_detector_observed(const struct rz_core *core)
{
    bool ring = core->embedded.protocol->number == RZ_PROTOCOL_RING;
    return ring ? rz_ring_observing(core->embedded.state) : RZ_ID_NONE;
}

void rz_detector_late(struct rz_core *core, rz_time late)
{
    if (core->embedded.protocol->number == RZ_PROTOCOL_RING && late > 0) {
        rz_core_call(core, RZ_RING_LATENESS, late, 0, 0);
    }
}

rz_id rz_detector_suspect(const struct rz_core *core, uint32_t number)
{
    bool swim = core->embedded.protocol->number == RZ_PROTOCOL_SWIM;
    return swim ? rz_swim_suspect(core->embedded.state, number) : RZ_ID_NONE;
}

void rz_detector_hold(struct rz_core *core, rz_id suspect, rz_time for_ns)
{
    rz_core_call(core, RZ_SWIM_HOLD, suspect, for_ns, 0);
}

void rz_detector_leave(struct rz_core *core)
{
    bool ring = core->embedded.protocol->number == RZ_PROTOCOL_RING;
    rz_core_call(core, ring ? (uint32_t)RZ_RING_LEAVE : (uint32_t)RZ_SWIM_LEAVE, 0, 0, 0);
}
