/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The holder of each block of a stripe, in a group of n daemons with `parity` parities (RAID 5
 * generalized to several losses). Each piece is cut into data = n - parity chunks; chunk c of the
 * daemon at place p belongs to stripe (p - parity - c) mod n, in which every daemon of the group
 * has one column: places s, s+1, ... of stripe s hold its parities, the others one chunk each.
 * Columns below `data` are chunks and their own numbers, column data + q is parity q.
 *
 * Pure arithmetic; all numbers below n.
 */
#ifndef RZ_PROTO_STRIPES_H
#define RZ_PROTO_STRIPES_H

#include "base/assert.h"

#include <stdint.h>

static inline uint32_t rz_stripe_of(uint32_t n, uint32_t parity, uint32_t place, uint32_t chunk)
{
    rz_assert(n > 0 && parity < n && place < n && chunk < n - parity);
    return (place + 2 * n - parity - chunk) % n;
}

/* The column of the daemon at place in this stripe. */
static inline uint32_t rz_stripe_column(uint32_t n, uint32_t parity, uint32_t stripe,
                                        uint32_t place)
{
    rz_assert(n > 0 && parity < n && place < n && stripe < n);
    uint32_t behind = (place + n - stripe) % n;
    return behind < parity ? n - parity + behind : behind - parity;
}

#endif
