/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many messages a process has sent to each slot, and their bytes: beside its wait objects
 * (waits.h), and only if the board says RZ_BOARD_TRAFFIC. The process writes, the daemon reads,
 * also when the process has failed; neither waits for the other.
 */
#ifndef RZ_LINK_TRAFFIC_COUNTS_H
#define RZ_LINK_TRAFFIC_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

struct rz_traffic {
    _Atomic uint64_t messages, bytes;
};

/* Process: one more message was sent. One writer at a time. */
static inline void rz_traffic_add(struct rz_traffic *traffic, uint64_t bytes)
{
    uint64_t messages = atomic_load_explicit(&traffic->messages, memory_order_relaxed);
    uint64_t sum = atomic_load_explicit(&traffic->bytes, memory_order_relaxed);
    atomic_store_explicit(&traffic->messages, messages + 1, memory_order_relaxed);
    atomic_store_explicit(&traffic->bytes, sum + bytes, memory_order_relaxed);
}

#endif
