/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts messages by their receivers, in memory that the daemon reads (link/waits.h), if
 * the job wants it (rzrun --report-html). Counted are the messages of rz_engine.counters.sends, and
 * the parts that collective operations exchange by cells. Restarted processes begin at 0.
 */
#ifndef RZ_MPI_COUNT_TRAFFIC_H
#define RZ_MPI_COUNT_TRAFFIC_H

#include "mpi/engine/engine.h"

/* The link is open, or another one is in its place. */
static inline void rz_traffic_settle(void)
{
    rz_engine.counts_traffic = rz_engine.info->waits && (rz_engine.board->flags & RZ_BOARD_TRAFFIC);
}

/* A message to that process, which may be this one. */
static inline void rz_traffic_count(uint32_t process, uint64_t bytes)
{
    if (__builtin_expect(rz_engine.counts_traffic, 0)) {
        const struct rz_link_info *info = rz_engine.info;
        struct rz_traffic *traffic = rz_waits_traffic(info->waits, info->n_slots);
        rz_traffic_add(&traffic[rz_process_slot(process)], bytes);
    }
}

#endif
