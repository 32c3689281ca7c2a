/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A permutation of 0..n-1 that is computed and not stored: a Feistel network over the least power
 * of two that holds n, applied until the result is below n. On average it is applied fewer than two
 * times.
 */
#include "proto/swim/swim.h"

#include "base/assert.h"
#include "base/random.h"

#define ROUNDS 12 /* fewer rounds are uneven if the halves have one bit or two */

/* Rounds alternate between the halves, of which one is a bit shorter where the number of bits is
 * odd; each round undoes itself. */
static uint32_t scramble(uint64_t key, uint32_t bits, uint32_t x)
{
    uint32_t low_bits = bits / 2, high_bits = bits - low_bits;
    uint32_t low = x & ((UINT32_C(1) << low_bits) - 1), high = x >> low_bits;
    for (uint32_t round = 0; round < ROUNDS; round += 2) {
        high ^= (uint32_t)rz_mix(key + round, low) & ((UINT32_C(1) << high_bits) - 1);
        low ^= (uint32_t)rz_mix(key + round + 1, high) & ((UINT32_C(1) << low_bits) - 1);
    }
    return high << low_bits | low;
}

uint32_t rz_swim_order(uint64_t key, uint32_t n, uint32_t i)
{
    rz_assert(i < n);
    uint32_t bits = 1;
    while (UINT64_C(1) << bits < n) {
        bits++;
    }
    do {
        i = scramble(key, bits, i);
    } while (i >= n);
    return i;
}
