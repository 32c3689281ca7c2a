/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Injected faults of a network: what happens to the next message to a peer. A wrapper in the
 * production build asks this module before it sends (the overlay of the daemons; a transport of
 * net.h can ask in the same way). The module knows no sockets, messages or clocks: the caller
 * passes the time and carries the decision out.
 *
 * Datagrams are lost; messages of a stream are not, since a real stream repeats what is lost: they
 * arrive later, and never before an earlier one. Across a cut nothing arrives and no connection
 * breaks, as with a pulled cable: datagrams are lost, messages of a stream wait until it is healed.
 */
#ifndef RZ_NET_FAULT_NET_FAULT_H
#define RZ_NET_FAULT_NET_FAULT_H

#include "base/status.h"

#include <rhizome/types.h>

/* A lost segment of a stream is repeated after this time (Linux: TCP_RTO_MIN), and up to so many
 * times. */
#define RZ_NET_FAULT_REPEAT_NS (200 * RZ_MILLISECOND)
#define RZ_NET_FAULT_REPEATS_MAX 8
#define RZ_NET_FAULT_CERTAIN 1000 /* a loss that is certain, in thousandths */

struct rz_net_fault;

/* Faults for n_peers, numbered from 0; none at first. */
rz_status_t rz_net_fault_open(struct rz_net_fault **fault, uint32_t n_peers, uint64_t seed);
void rz_net_fault_close(struct rz_net_fault *fault); /* NULL: does nothing */

/* From now on, towards this peer; each setting stays until it is set again. */
void rz_net_fault_cut(struct rz_net_fault *fault, uint32_t peer, bool cut);
void rz_net_fault_delay(struct rz_net_fault *fault, uint32_t peer, rz_time delay);
void rz_net_fault_lose(struct rz_net_fault *fault, uint32_t peer, uint32_t thousandths);
void rz_net_fault_heal(struct rz_net_fault *fault); /* ends all faults for all peers */

bool rz_net_fault_is_cut(const struct rz_net_fault *fault, uint32_t peer);

/* When a datagram sent now leaves: now or later; RZ_TIME_NEVER: it is lost. */
rz_time rz_net_fault_datagram(struct rz_net_fault *fault, uint32_t peer, rz_time now);

/* When a message of a stream sent now leaves: never before an earlier one. RZ_TIME_NEVER: it waits
 * until the cut is healed, and is asked about again then. */
rz_time rz_net_fault_stream(struct rz_net_fault *fault, uint32_t peer, rz_time now);

#endif
