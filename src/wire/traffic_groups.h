/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TRAFFIC (launch_messages.h) counts what a process has sent to groups of ranks, so that its size
 * is bounded: consecutive ranks, a power of two of them, one each in jobs of up to 256 ranks. All
 * processes behind the ranks, which the program has spawned, are one more group, the last.
 *
 * `sent` has an entry for each group to which something was sent: its number (u32), messages (u64),
 * bytes (u64), little-endian.
 */
#ifndef RZ_WIRE_TRAFFIC_GROUPS_H
#define RZ_WIRE_TRAFFIC_GROUPS_H

#include <stdint.h>

#define RZ_TRAFFIC_GROUPS_MAX 256u /* of ranks; there is one more for spawned processes */
#define RZ_TRAFFIC_ENTRY_BYTES 20u

/* So many ranks are a group; the last group may have fewer. */
static inline uint32_t rz_traffic_group_ranks(uint32_t n_ranks)
{
    uint32_t ranks = 1;
    while ((n_ranks + ranks - 1) / ranks > RZ_TRAFFIC_GROUPS_MAX) {
        ranks *= 2;
    }
    return ranks;
}

/* The number of groups of ranks, which is also the number of the group of spawned processes. */
static inline uint32_t rz_traffic_groups(uint32_t n_ranks)
{
    uint32_t ranks = rz_traffic_group_ranks(n_ranks);
    return (n_ranks + ranks - 1) / ranks;
}

static inline uint32_t rz_traffic_group_of(uint32_t slot, uint32_t n_ranks)
{
    return slot < n_ranks ? slot / rz_traffic_group_ranks(n_ranks) : rz_traffic_groups(n_ranks);
}

#endif
