/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes when the next message to a peer leaves, from cuts, delays and pseudo-random losses.
 */
#include "net/fault/net_fault.h"

#include "base/assert.h"
#include "base/random.h"

#include <stdlib.h>

struct way {
    bool cut;
    uint32_t loss; /* thousandths */
    rz_time delay;
    rz_time last; /* the time at which the latest message of the stream leaves */
};

struct rz_net_fault {
    uint32_t n_peers;
    struct rz_random random;
    struct way way[];
};

rz_status_t rz_net_fault_open(struct rz_net_fault **result, uint32_t n_peers, uint64_t seed)
{
    struct rz_net_fault *fault = calloc(1, sizeof(*fault) + n_peers * sizeof(fault->way[0]));
    if (!fault) {
        return RZ_ERR_NO_MEMORY;
    }
    fault->n_peers = n_peers;
    fault->random.state = seed;
    *result = fault;
    return RZ_OK;
}

void rz_net_fault_close(struct rz_net_fault *fault)
{
    free(fault);
}

static struct way *way_to(struct rz_net_fault *fault, uint32_t peer)
{
    rz_assert(peer < fault->n_peers);
    return &fault->way[peer];
}

void rz_net_fault_cut(struct rz_net_fault *fault, uint32_t peer, bool cut)
{
    way_to(fault, peer)->cut = cut;
}

void rz_net_fault_delay(struct rz_net_fault *fault, uint32_t peer, rz_time delay)
{
    way_to(fault, peer)->delay = delay;
}

void rz_net_fault_lose(struct rz_net_fault *fault, uint32_t peer, uint32_t thousandths)
{
    rz_assert(thousandths <= RZ_NET_FAULT_CERTAIN);
    way_to(fault, peer)->loss = thousandths;
}

void rz_net_fault_heal(struct rz_net_fault *fault)
{
    for (uint32_t peer = 0; peer < fault->n_peers; peer++) {
        struct way *way = &fault->way[peer];
        way->cut = false;
        way->delay = 0;
        way->loss = 0;
    }
}

bool rz_net_fault_is_cut(const struct rz_net_fault *fault, uint32_t peer)
{
    rz_assert(peer < fault->n_peers);
    return fault->way[peer].cut;
}

static bool loses(struct rz_net_fault *fault, const struct way *way)
{
    return way->loss > 0 && rz_random_below(&fault->random, RZ_NET_FAULT_CERTAIN) < way->loss;
}

rz_time rz_net_fault_datagram(struct rz_net_fault *fault, uint32_t peer, rz_time now)
{
    const struct way *way = way_to(fault, peer);
    return way->cut || loses(fault, way) ? RZ_TIME_NEVER : now + way->delay;
}

rz_time rz_net_fault_stream(struct rz_net_fault *fault, uint32_t peer, rz_time now)
{
    struct way *way = way_to(fault, peer);
    if (way->cut) {
        return RZ_TIME_NEVER;
    }
    rz_time at = now + way->delay;
    for (unsigned i = 0; i < RZ_NET_FAULT_REPEATS_MAX && loses(fault, way); i++) {
        at += RZ_NET_FAULT_REPEAT_NS;
    }
    way->last = at > way->last ? at : way->last;
    return way->last;
}
