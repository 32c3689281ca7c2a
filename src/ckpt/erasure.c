/* SPDX-License-Identifier: BSD-3-Clause */
/* Erasure codes by ISA-L: Cauchy matrices, and all ones where there is one parity. */
#include "ckpt/erasure.h"

#include "base/assert.h"
#include "base/no_memory.h"

#include <isa-l/erasure_code.h>
#include <isa-l/gf_vect_mul.h>
#include <stdlib.h>
#include <string.h>

/* ISA-L takes lengths as ints. */
#define PART_BYTES ((size_t)1 << 30)
#define TABLE_BYTES 32u /* per factor, as ISA-L has it */

uint8_t rz_erasure_factor(uint32_t data, uint32_t parity, uint32_t q, uint32_t column)
{
    rz_assert(data > 0 && q < parity && column < data && data + parity <= RZ_ERASURE_BLOCKS_MAX);
    return parity == 1 ? 1 : gf_inv((unsigned char)((data + q) ^ column));
}

/* The row of a column in the generator matrix [data + parity][data]. */
static void generator_row(uint32_t data, uint32_t parity, uint32_t column, uint8_t *row)
{
    for (uint32_t c = 0; c < data; c++) {
        row[c] = column >= data ? rz_erasure_factor(data, parity, column - data, c)
                                : (uint8_t)(c == column);
    }
}

bool rz_erasure_recipe(uint32_t data, uint32_t parity, uint32_t wanted, const uint32_t *have,
                       uint8_t *factors)
{
    uint8_t row[RZ_ERASURE_BLOCKS_MAX];
    rz_assert(data > 0 && data + parity <= RZ_ERASURE_BLOCKS_MAX && wanted < data + parity);
    uint8_t *left = malloc(2 * (size_t)data * data), *inverse = left + (size_t)data * data;
    rz_need_memory(left, "to rebuild a checkpoint piece");
    for (uint32_t i = 0; i < data; i++) {
        rz_assert(have[i] < data + parity);
        generator_row(data, parity, have[i], left + (size_t)i * data);
    }
    bool found = gf_invert_matrix(left, inverse, (int)data) == 0;
    generator_row(data, parity, wanted, row);
    for (uint32_t i = 0; found && i < data; i++) {
        factors[i] = 0;
        for (uint32_t c = 0; c < data; c++) {
            factors[i] ^= gf_mul(row[c], inverse[(size_t)c * data + i]);
        }
    }
    free(left);
    return found;
}

static void fold_part(uint8_t factor, uint8_t *to, const uint8_t *from, size_t n)
{
    unsigned char table[32], *target = to;
    ec_init_tables(1, 1, &factor, table);
    /* ISA-L only reads from; its prototype says otherwise. */
    ec_encode_data_update((int)n, 1, 1, 0, table, (unsigned char *)(uintptr_t)from, &target);
}

void rz_erasure_fold(uint8_t factor, void *to, const void *from, size_t n)
{
    for (size_t at = 0; at < n && factor != 0; at += PART_BYTES) {
        fold_part(factor, (uint8_t *)to + at, (const uint8_t *)from + at,
                  n - at < PART_BYTES ? n - at : PART_BYTES);
    }
}

struct encoding {
    uint32_t data, parity;
    unsigned char *tables;
    const void *const *blocks;
    void *const *parities;
};

static void encode_part(const struct encoding *code, size_t at, size_t n)
{
    unsigned char *from[RZ_ERASURE_BLOCKS_MAX], *to[RZ_ERASURE_BLOCKS_MAX];
    for (uint32_t c = 0; c < code->data; c++) {
        from[c] = (unsigned char *)(uintptr_t)code->blocks[c] + at;
    }
    for (uint32_t q = 0; q < code->parity; q++) {
        to[q] = (unsigned char *)code->parities[q] + at;
    }
    ec_encode_data((int)n, (int)code->data, (int)code->parity, code->tables, from, to);
}

void rz_erasure_encode(uint32_t data, uint32_t parity, const void *const *blocks,
                       void *const *parities, size_t n)
{
    rz_assert(data > 0 && parity > 0 && data + parity <= RZ_ERASURE_BLOCKS_MAX);
    size_t n_factors = (size_t)parity * data;
    uint8_t *factors = malloc(n_factors);
    unsigned char *tables = malloc(TABLE_BYTES * n_factors); /* too large for a small stack */
    rz_need_memory(factors && tables, "for the parity of checkpoint pieces");
    for (uint32_t q = 0; q < parity; q++) {
        generator_row(data, parity, data + q, factors + (size_t)q * data);
    }
    ec_init_tables((int)data, (int)parity, factors, tables);
    const struct encoding code = {data, parity, tables, blocks, parities};
    for (size_t at = 0; at < n; at += PART_BYTES) {
        encode_part(&code, at, n - at < PART_BYTES ? n - at : PART_BYTES);
    }
    free(tables);
    free(factors);
}
