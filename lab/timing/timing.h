/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timing runs: up to 2^20 members, each with a state block of one or more protocol components, on a
 * LogGP-style network in virtual time. The members are the shipped objects. Nothing is verified
 * here (sim does that): a run measures the dates of events, and the number of messages and bytes.
 *
 * A run is a pure function of its setup. Separate random streams serve members, network and faults,
 * so that another plan of faults does not change the delays. Events of the same date are served in
 * the order in which they were queued; at the start, ticks and calls are queued by member.
 *
 * Costs: memory grows with members and with messages in flight, never with members squared; the
 * cost of an event does not depend on the number of members (but for the caches).
 */
#ifndef RZ_TIMING_TIMING_H
#define RZ_TIMING_TIMING_H

#include "proto/protocol.h"

#include <stdio.h>

struct rz_timing; /* a timing run */

#define RZ_TIMING_PARTS_MAX 4

/*
 * Transfer of one message from a to b: a is busy for send_overhead (its sends, including those of
 * one multicast, leave one after the other, so that their order matters) and for bytes /
 * bytes_per_second; then latency (+ 0..jitter, uniform); then b is busy for receive_overhead before
 * its step. A busy member serves pending events in order of arrival: messages, ticks, calls.
 * Members on one node (id / per_node) use the local parameters between them, without jitter,
 * bandwidth limit, loss and duplication. Overheads of 0 cost no events.
 *
 * Jitter, loss and duplication of a message depend on the seed, its sender and the number of the
 * send there: the actions of other members do not change them.
 */
struct rz_timing_network {
    rz_time latency, latency_local;
    rz_time jitter; /* > 0: messages overtake each other */
    rz_time send_overhead, send_overhead_local;
    rz_time receive_overhead, receive_overhead_local;
    uint64_t bytes_per_second; /* between nodes; 0: without limit */
    uint32_t per_node;         /* 0: 1 */
    double loss, duplication;  /* probability per message between nodes */
};

/* Part p of every member is a state block of component parts[p]; messages are assigned to parts by
 * message.component, so components must differ. The callbacks are called in the middle of a run and
 * may use all functions below. */
struct rz_timing_setup {
    uint32_t members;
    uint32_t n_parts;
    const struct rz_protocol *parts[RZ_TIMING_PARTS_MAX];
    struct rz_timing_network network;
    uint64_t seed;
    rz_time until; /* upper bound of the run's virtual time; 0: until no event is left */
    void *study;   /* for the callbacks: rz_timing_study() */

    /* Configuration of a part; valid until the next call of config. */
    const void *(*config)(struct rz_timing *timing, rz_id member, uint32_t part);
    /* The date at which a member starts: its parts are initialized with it. No event may reach it
     * before. Optional: 0. */
    rz_time (*starts)(struct rz_timing *timing, rz_id member);
    /* A notice to the host of a member. */
    void (*notified)(struct rz_timing *timing, rz_id member, uint32_t part,
                     const struct rz_action *notice);
    void (*failed)(struct rz_timing *timing, rz_id member); /* optional */
    /* A message has arrived at a member, which is about to process it. Optional. */
    void (*received)(struct rz_timing *timing, rz_id member, rz_id from);
    void (*alarm)(struct rz_timing *timing, uint64_t what); /* of rz_timing_alarm */
    /* Further delay of a transfer (a slow link, a loaded host); RZ_TIME_NEVER: it is lost.
     * Optional.
     */
    rz_time (*delay)(struct rz_timing *timing, rz_id from, rz_id to);
    /* Bytes on the wire. Optional: 48 + 8 * n_items, the frame of wire/protocol_encoding.h. */
    uint32_t (*bytes)(const struct rz_message *message);
    const char *(*message_name)(uint32_t part, uint8_t type); /* optional, for traces and counts */
    const char *(*notice_name)(uint32_t part, uint32_t what); /* optional, for traces */
    FILE *trace; /* optional: JSON as Perfetto and chrome://tracing open it */
    uint64_t
        trace_events_max; /* 0: a million; what comes later is left out, and the file says so */
};

struct rz_timing *rz_timing_create(const struct rz_timing_setup *setup);
void rz_timing_destroy(struct rz_timing *timing);

/* Serves events until none is left, `until` is reached, or rz_timing_stop; may be called again
 * after new calls. */
void rz_timing_run(struct rz_timing *timing);
void rz_timing_stop(struct rz_timing *timing);
/* Another end for the next rz_timing_run; 0: until no event is left. */
void rz_timing_until(struct rz_timing *timing, rz_time until);

/* ---- events; dates in the past mean now ---- */

/* A call of a host to a part of its member. */
struct rz_timing_request {
    uint32_t call;
    const uint64_t *arg; /* 4 of them; NULL: zeros */
    const uint64_t *items;
    uint32_t n_items;
};
/* A call of member's host to a part; everything is copied. Calls and tells for now that a member's
 * own `notified` makes for that member are processed directly after its step, in their order, as in
 * a host. */
void rz_timing_call(struct rz_timing *timing, rz_id member, uint32_t part, rz_time at,
                    const struct rz_timing_request *request);
/* RZ_EVENT_FAILURE(failed) for a part of member; ids are copied. */
void rz_timing_tell(struct rz_timing *timing, rz_id member, uint32_t part, rz_time at,
                    const rz_id *failed, uint32_t n_failed);
/* The same with arg[0] of the event. */
struct rz_timing_news {
    const rz_id *failed;
    uint32_t n_failed;
    uint64_t arg;
};
void rz_timing_tell_news(struct rz_timing *timing, rz_id member, uint32_t part, rz_time at,
                         const struct rz_timing_news *news);
/* The member fails: no step from then on; messages that it has sent are delivered (sends for which
 * it is still busy are lost). For now: at once; if its step is in progress, the rest of its actions
 * is void. */
void rz_timing_kill(struct rz_timing *timing, rz_id member, rz_time at);
/* The member does nothing from..to (SIGSTOP, a loaded host); arriving events wait, and are served
 * before late ticks. Sends that have begun continue. */
void rz_timing_pause(struct rz_timing *timing, rz_id member, rz_time from, rz_time to);
/* Messages between members of different sides that leave in [from, to) are lost; side[member] is
 * copied. */
void rz_timing_partition(struct rz_timing *timing, const uint8_t *side, rz_time from, rz_time to);
/* The member is busy for this much longer: work that no message of the run represents. Returns the
 * end date. */
rz_time rz_timing_work(struct rz_timing *timing, rz_id member, rz_time lasts);
/* The study's alarm(what) at this date. */
void rz_timing_alarm(struct rz_timing *timing, rz_time at, uint64_t what);

/* ---- accessors ---- */

void *rz_timing_study(struct rz_timing *timing);
rz_time rz_timing_now(const struct rz_timing *timing);
bool rz_timing_alive(const struct rz_timing *timing, rz_id member);
/* Also of failed members, as of their failure. */
const void *rz_timing_state(const struct rz_timing *timing, rz_id member, uint32_t part);
uint64_t rz_timing_random(struct rz_timing *timing, uint64_t bound); /* of the stream of faults */

struct rz_timing_counts {
    uint64_t messages, bytes; /* sent; each counts once, even if it is lost or duplicated */
    uint64_t lost,
        duplicated; /* copies; lost: including those that a failed sender did not send completely */
};
/* Of one type of message of a part; type UINT32_MAX: all. */
struct rz_timing_counts rz_timing_count(const struct rz_timing *timing, uint32_t part,
                                        uint32_t type);
/* The most that one member sent and received (perhaps two different members): hot spots. Received
 * counts messages that arrived while the member was alive. */
struct rz_timing_hot {
    uint64_t sent, received, bytes_sent, bytes_received;
};
struct rz_timing_hot rz_timing_hottest(const struct rz_timing *timing);
/* Of one member. */
struct rz_timing_hot rz_timing_member_traffic(const struct rz_timing *timing, rz_id member);

/* The cost of the run on this machine. */
struct rz_timing_cost {
    uint64_t events, steps;
    double seconds; /* of processor time inside rz_timing_run */
    /* Of memory in use for members: states, queues, messages. Excluding memory that is reserved,
     * and the fixed part of a run: with few members that would be most of it. */
    uint64_t bytes_peak;
};
struct rz_timing_cost rz_timing_cost(const struct rz_timing *timing);

#endif
