/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many messages a process has handed to its transports for each slot, and how many of that slot
 * have arrived, payload and all: beside its wait objects (waits.h), for hang reports. A message
 * that its sender has handed over and its receiver has not got is under way, and the program can do
 * nothing for it.
 *
 * The process writes before it sleeps, at most once in RZ_WAIT_SHOWN_EVERY; the daemon reads.
 * Neither waits for the other: a reader that sees a new count sees the time of the change, too.
 */
#ifndef RZ_LINK_PAIR_COUNTS_H
#define RZ_LINK_PAIR_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rhizome/types.h>

struct rz_pair_counts {
    _Atomic uint64_t handed, arrived;
};

/* Process: the counts of one slot. changed: when any count was last seen to have changed; set to
 * now if this one has. */
static inline void rz_pair_counts_set(struct rz_pair_counts *counts, uint64_t handed,
                                      uint64_t arrived, _Atomic uint64_t *changed, rz_time now)
{
    if (atomic_load_explicit(&counts->handed, memory_order_relaxed) == handed &&
        atomic_load_explicit(&counts->arrived, memory_order_relaxed) == arrived) {
        return;
    }
    atomic_store_explicit(changed, now, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&counts->handed, handed, memory_order_relaxed);
    atomic_store_explicit(&counts->arrived, arrived, memory_order_relaxed);
}

#endif
