/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Injected faults of a network: what happens to the next message to a peer. A wrapper in the
 * production build asks this module before it sends (the overlay of the daemons; a transport of
 * net.h can ask in the same way). Nothing here knows sockets, messages or clocks: the caller passes
 * the time and carries the decision out.
 *
 * Datagrams are lost; messages of a stream are not, since a real stream repeats what is lost: they
 * arrive later, and never before an earlier one. Across a cut nothing arrives and no connection
 * breaks, as with a pulled cable: datagrams are lost, messages of a stream wait until it is healed.
 */
#ifndef RZ_NET_FAULT_NET_FAULT_H
#define RZ_NET_FAULT_NET_FAULT_H

#include "base/status.h"

#include <rhizome/types.h>

/* A lost segment of a stream is repeated after this time (Linux: TCP_RTO_MIN), repeatedly, up to
 * this number of times. */
#define RZ_NET_FAULT_REPEAT_NS (200 * RZ_MILLISECOND)
#define RZ_NET_FAULT_REPEATS_MAX 8
#define RZ_NET_FAULT_CERTAIN 1000 /* of a loss: thousandths */

struct rz_net_fault;

/* Towards n_peers, numbered from 0; initially without faults. */
rz_status_t rz_net_fault_open(struct rz_net_fault **fault, uint32_t n_peers, uint64_t seed);
void rz_net_fault_close(struct rz_net_fault *fault); /* NULL: nothing */

/* From now on, towards this peer; each setting stays until it is set again. */
void rz_net_fault_cut(struct rz_net_fault *fault, uint32_t peer, bool cut);
void rz_net_fault_delay(struct rz_net_fault *fault, uint32_t peer, rz_time delay);
void rz_net_fault_lose(struct rz_net_fault *fault, uint32_t peer, uint32_t thousandths);
void rz_net_fault_heal(struct rz_net_fault *fault); /* everything, towards all */

bool rz_net_fault_is_cut(const struct rz_net_fault *fault, uint32_t peer);

/* When a datagram sent now leaves: now, later, or RZ_TIME_NEVER: it is lost. */
rz_time rz_net_fault_datagram(struct rz_net_fault *fault, uint32_t peer, rz_time now);

/* When a message of a stream sent now leaves: never before one asked about earlier; RZ_TIME_NEVER:
 * it waits until the cut is healed, and is asked about again then. */
rz_time rz_net_fault_stream(struct rz_net_fault *fault, uint32_t peer, rz_time now);

#endif
