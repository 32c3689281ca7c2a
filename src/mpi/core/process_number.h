/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The number of a process in the universe: its slot in the job's table, and its incarnation. The
 * ranks that rzrun starts have slots 0, 1, ..., so rank r of the job is in slot r; the slots behind
 * are for processes that the program spawns. A slot has at most one process that is alive. Earlier
 * incarnations have failed for good, so nothing is kept of them: a number that is not the current
 * one of its slot is that of a failed process.
 *
 * Groups hold these numbers, which are equal at all processes. A number contains only the low bits
 * of the incarnation; message headers carry all bits.
 */
#ifndef RZ_MPI_PROCESS_NUMBER_H
#define RZ_MPI_PROCESS_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#define RZ_SLOT_BITS 20
#define RZ_SLOT_MASK ((UINT32_C(1) << RZ_SLOT_BITS) - 1)

static inline uint32_t rz_process(uint32_t slot, uint32_t incarnation)
{
    return incarnation << RZ_SLOT_BITS | slot;
}

static inline uint32_t rz_process_slot(uint32_t process)
{
    return process & RZ_SLOT_MASK;
}

#define RZ_INCARNATION_BITS (32 - RZ_SLOT_BITS)

/* Whether a is a later process of its slot than b, which has the same slot. Correct as long as
 * fewer than 2^11 were there in between. */
static inline bool rz_process_newer(uint32_t a, uint32_t b)
{
    uint32_t ahead = (a - b) >> RZ_SLOT_BITS;
    return ahead != 0 && ahead < UINT32_C(1) << (RZ_INCARNATION_BITS - 1);
}

#endif
