/* SPDX-License-Identifier: BSD-3-Clause */
/* Injected network faults: a queue of messages that are held until their time or until a cut is
 * healed. Streams keep their order; datagrams may be lost. */
#include "daemon/overlay/overlay_faults.h"

#include "base/no_memory.h"
#include "base/random.h"
#include "daemon/state/loop.h"
#include "net/fault/net_fault.h"
#include "port/clock.h"

#include <stdlib.h>
#include <string.h>

/* The seed, with which the node's number is mixed: each run of a scenario has the same faults. */
#define SEED 1

struct held_packet {
    struct held_packet *next;
    rz_time at; /* RZ_TIME_NEVER: until a cut is healed */
    rz_id to;
    bool datagram;
    size_t bytes;
    uint8_t data[];
};

struct rz_overlay_faults {
    struct rz_overlay_faults_host host;
    uint32_t n_nodes;
    rz_id self;
    struct rz_net_fault *network;
    struct event *timer;
    struct held_packet *first, **last; /* in the order of sending */
    size_t *held_bytes;                /* [n_nodes]: bytes of streams */
    bool *waits;                       /* [n_nodes]: used by release */
};

static void arm_release(struct rz_overlay_faults *faults)
{
    rz_time next = RZ_TIME_NEVER, now = rz_clock_now();
    for (const struct held_packet *held = faults->first; held; held = held->next) {
        next = held->at < next ? held->at : next;
    }
    event_del(faults->timer);
    if (next != RZ_TIME_NEVER) {
        rz_loop_arm_every(faults->timer, next > now ? next - now : 0);
    }
}

static void unlink_held(struct rz_overlay_faults *faults, struct held_packet **link)
{
    struct held_packet *held = *link;
    *link = held->next;
    if (faults->last == &held->next) {
        faults->last = link;
    }
}

/* Sends what is due. A stream keeps its order: nothing passes a message that still waits. */
static void release(evutil_socket_t fd, short what, void *arg)
{
    struct rz_overlay_faults *faults = arg;
    rz_time now = rz_clock_now();
    (void)fd, (void)what;
    memset(faults->waits, 0, faults->n_nodes * sizeof(*faults->waits));
    for (struct held_packet **link = &faults->first; *link;) {
        struct held_packet *held = *link;
        if (held->at > now || (!held->datagram && faults->waits[held->to])) {
            faults->waits[held->to] |= !held->datagram;
            link = &held->next;
            continue;
        }
        unlink_held(faults, link);
        if (!held->datagram) {
            faults->held_bytes[held->to] -= held->bytes;
        }
        faults->host.send(faults->host.arg, held->to, held->datagram, held->data, held->bytes);
        free(held);
    }
    arm_release(faults);
}

bool rz_overlay_faults_hold(struct rz_overlay_faults *faults, rz_id to, bool datagram,
                            const void *bytes, size_t n)
{
    rz_time now = rz_clock_now();
    rz_time at = datagram ? rz_net_fault_datagram(faults->network, to, now)
                          : rz_net_fault_stream(faults->network, to, now);
    if (datagram && at == RZ_TIME_NEVER) {
        return true; /* lost */
    }
    if (at <= now && (datagram || faults->held_bytes[to] == 0)) {
        return false;
    }
    struct held_packet *held = malloc(sizeof(*held) + n);
    rz_need_memory(held, "for a delayed message");
    *held = (struct held_packet){.at = at, .to = to, .datagram = datagram, .bytes = n};
    memcpy(held->data, bytes, n);
    *faults->last = held;
    faults->last = &held->next;
    if (!datagram) {
        faults->held_bytes[to] += n;
    }
    arm_release(faults);
    return true;
}

size_t rz_overlay_faults_held(const struct rz_overlay_faults *faults, rz_id to)
{
    return faults->held_bytes[to];
}

bool rz_overlay_faults_cut(const struct rz_overlay_faults *faults, rz_id peer)
{
    return rz_net_fault_is_cut(faults->network, peer);
}

/* Messages held by a cut that was healed are sent. */
static void look_at_cuts(struct rz_overlay_faults *faults, const bool *was_cut)
{
    rz_time now = rz_clock_now();
    for (struct held_packet *held = faults->first; held; held = held->next) {
        if (held->at == RZ_TIME_NEVER) {
            held->at = rz_net_fault_stream(faults->network, held->to, now);
        }
    }
    arm_release(faults);
    for (rz_id peer = 0; peer < faults->n_nodes; peer++) {
        if (was_cut[peer] && !rz_overlay_faults_cut(faults, peer)) {
            faults->host.healed(faults->host.arg, peer);
        }
    }
}

static bool named(const uint32_t *nodes, uint32_t n, rz_id node)
{
    for (uint32_t i = 0; i < n; i++) {
        if (nodes[i] == node) {
            return true;
        }
    }
    return false;
}

static void change(struct rz_overlay_faults *faults, enum rz_inject what, rz_id peer,
                   uint64_t amount)
{
    if (what == RZ_INJECT_CUT) {
        rz_net_fault_cut(faults->network, peer, amount > 0);
    } else if (what == RZ_INJECT_DELAY) {
        rz_net_fault_delay(faults->network, peer, amount);
    } else {
        rz_net_fault_lose(faults->network, peer,
                          amount < RZ_NET_FAULT_CERTAIN ? (uint32_t)amount : RZ_NET_FAULT_CERTAIN);
    }
}

void rz_overlay_faults_inject(struct rz_overlay_faults *faults, enum rz_inject what,
                              const uint32_t *nodes, uint32_t n, uint64_t amount)
{
    bool *was_cut = calloc(faults->n_nodes, sizeof(*was_cut));
    rz_need_memory(was_cut, "to inject a fault");
    bool here = named(nodes, n, faults->self);
    for (rz_id peer = 0; peer < faults->n_nodes; peer++) {
        was_cut[peer] = rz_overlay_faults_cut(faults, peer);
        if (what != RZ_INJECT_HEAL && peer != faults->self && named(nodes, n, peer) != here) {
            change(faults, what, peer, amount);
        }
    }
    if (what == RZ_INJECT_HEAL) {
        rz_net_fault_heal(faults->network);
    }
    look_at_cuts(faults, was_cut);
    free(was_cut);
}

rz_status_t rz_overlay_faults_open(struct rz_overlay_faults **result, struct event_base *base,
                                   uint32_t n_nodes, rz_id self,
                                   const struct rz_overlay_faults_host *host)
{
    struct rz_overlay_faults *faults = calloc(1, sizeof(*faults));
    if (!faults) {
        return RZ_ERR_NO_MEMORY;
    }
    *faults = (struct rz_overlay_faults){
        .host = *host, .n_nodes = n_nodes, .self = self, .last = &faults->first};
    faults->held_bytes = calloc(n_nodes, sizeof(*faults->held_bytes));
    faults->waits = calloc(n_nodes, sizeof(*faults->waits));
    rz_status_t status = faults->held_bytes && faults->waits ? RZ_OK : RZ_ERR_NO_MEMORY;
    if (status == RZ_OK) {
        status = rz_net_fault_open(&faults->network, n_nodes, rz_mix(SEED, self));
    }
    if (status == RZ_OK) {
        status = rz_loop_timer(base, &faults->timer, release, faults);
    }
    if (status != RZ_OK) {
        rz_overlay_faults_close(faults);
        return status;
    }
    *result = faults;
    return RZ_OK;
}

void rz_overlay_faults_close(struct rz_overlay_faults *faults)
{
    if (!faults) {
        return;
    }
    while (faults->first) {
        struct held_packet *held = faults->first;
        faults->first = held->next;
        free(held);
    }
    rz_loop_free(faults->timer);
    rz_net_fault_close(faults->network);
    free(faults->held_bytes);
    free(faults->waits);
    free(faults);
}
