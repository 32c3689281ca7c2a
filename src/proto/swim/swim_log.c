/* SPDX-License-Identifier: BSD-3-Clause */
/* Logarithms without a mathematics library: the same on every machine. */
#include "proto/swim/swim.h"

#include "base/assert.h"

__extension__ typedef unsigned __int128 wide_t;

#define FRACTION_BITS 32

/* log10(2) in units of 2^-64, rounded down. */
#define LOG10_OF_2 UINT64_C(0x4D104D427DE7FBCC)

/* Digit by digit: the square of a mantissa in [1, 2) reaches 2 where the next binary digit of the
 * logarithm is 1. */
uint64_t rz_swim_log2(uint64_t x)
{
    rz_assert(x > 0);
    uint32_t whole = 63;
    while (!(x >> whole)) {
        whole--;
    }
    uint64_t mantissa = x << (63 - whole), result = whole;
    for (uint32_t i = 0; i < FRACTION_BITS; i++) {
        wide_t square = ((wide_t)mantissa * mantissa) >> 63;
        uint64_t digit = (uint64_t)(square >> 64);
        mantissa = (uint64_t)(square >> digit);
        result = result << 1 | digit;
    }
    return result;
}

uint64_t rz_swim_log10(uint64_t x)
{
    return (uint64_t)(((wide_t)rz_swim_log2(x) * LOG10_OF_2) >> 64);
}

uint32_t rz_swim_ceil_log10(uint64_t x)
{
    uint32_t digits = 0;
    for (wide_t power = 1; power < x; power *= 10) {
        digits++;
    }
    return digits;
}
