/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots: places for processes of a job. Slots 0..n_ranks-1 are the ranks that the job was started
 * with; the slots behind them are for processes that the program spawns. A process is (slot,
 * incarnation).
 */
#ifndef RZ_WIRE_SLOTS_H
#define RZ_WIRE_SLOTS_H

#include <rhizome/types.h>

#define RZ_SLOTS_SPARE_MIN 64u

static inline uint32_t rz_slots_of(uint32_t n_ranks)
{
    return n_ranks + (n_ranks > RZ_SLOTS_SPARE_MIN ? n_ranks : RZ_SLOTS_SPARE_MIN);
}

#endif
