/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Erasure codes over checkpoint pieces. A stripe has `data` blocks and `parity` blocks; any `data`
 * of them give back the others. Column c < data is a data block, column data + q is parity q:
 *
 *   parity q = sum over c of rz_erasure_factor(data, parity, q, c) * block c     (in GF(2^8))
 *
 * With one parity all factors are 1 (XOR). Everything is a sum of products, so that each block can
 * be added when it arrives, in any order, a part at a time, each exactly once; missing or shorter
 * blocks count as zeros. Pure functions on memory of the caller; may be called from any thread.
 */
#ifndef RZ_CKPT_ERASURE_H
#define RZ_CKPT_ERASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RZ_ERASURE_BLOCKS_MAX 128u /* data + parity */

/* Of block column in parity q; never 0. */
uint8_t rz_erasure_factor(uint32_t data, uint32_t parity, uint32_t q, uint32_t column);

/*
 * The factors that compute the block of column `wanted` from the `data` blocks of the columns in
 * have[] (distinct, `wanted` not among them): wanted = sum of factors[i] * block have[i]. False:
 * these columns cannot (not possible for distinct valid ones).
 */
bool rz_erasure_recipe(uint32_t data, uint32_t parity, uint32_t wanted, const uint32_t *have,
                       uint8_t *factors);

/* to += factor * from, n bytes. */
void rz_erasure_fold(uint8_t factor, void *to, const void *from, size_t n);

/* All parities of a stripe at once: blocks[data] of n bytes each, into parities[parity], which are
 * overwritten. */
void rz_erasure_encode(uint32_t data, uint32_t parity, const void *const *blocks,
                       void *const *parities, size_t n);

#endif
