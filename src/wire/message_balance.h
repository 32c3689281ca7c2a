/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UNDER_WAY (launch_messages.h): messages between the asked ranks that were handed over and have
 * not arrived, as a sum over nodes. No node knows both ends of a pair, so each adds what its
 * processes have handed over and subtracts what has arrived at them; the sums over all nodes are
 * the messages under way to each slot and from each slot.
 *
 * `balance` has an entry for each slot with a part that is not 0: its number (u32), to it (u64),
 * from it (u64), both in two's complement, little-endian. Several UNDER_WAY may follow each other.
 */
#ifndef RZ_WIRE_MESSAGE_BALANCE_H
#define RZ_WIRE_MESSAGE_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RZ_BALANCE_ENTRY_BYTES 20u
#define RZ_BALANCE_ENTRIES_MAX 1024u /* of one message */

/* Whether the bits (DUMP_WAITING.ranks) name that slot. */
static inline bool rz_balance_asked(const uint8_t *bits, uint32_t bytes, uint32_t slot)
{
    return slot / 8 < bytes && (bits[slot / 8] >> slot % 8 & 1);
}

#endif
