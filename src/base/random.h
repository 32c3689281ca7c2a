/* SPDX-License-Identifier: BSD-3-Clause */
/* Pseudo-random numbers that are the same on every machine: splitmix64 (Steele, Lea, Flood 2014).
 */
#ifndef RZ_BASE_RANDOM_H
#define RZ_BASE_RANDOM_H

#include <stdint.h>

struct rz_random {
    uint64_t state;
};

/* The next 64 bits. */
uint64_t rz_random_next(struct rz_random *random);

/* A number in [0, bound), bound > 0; the bias of 2^-64 * bound is accepted. */
uint64_t rz_random_below(struct rz_random *random, uint64_t bound);

/* The last step of splitmix64: a bijection in which every input bit affects every output bit. */
static inline uint64_t rz_random_finalise(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* A one-way mix of two words: seeds of separate streams, canonical hashes. Inline, so that a loop
 * with a constant b mixes it once. */
static inline uint64_t rz_mix(uint64_t a, uint64_t b)
{
    return rz_random_finalise(a + rz_random_finalise(b + UINT64_C(0x9E3779B97F4A7C15)));
}

/* The same with a text behind it: FNV-1a. */
static inline uint64_t rz_mix_text(uint64_t hash, const char *text)
{
    for (const char *c = text; *c; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* word / 2^64 * bound, rounded down: in [0, bound). */
static inline uint64_t rz_random_scale(uint64_t word, uint32_t bound)
{
    return ((word >> 32) * bound + (((word & UINT32_MAX) * bound) >> 32)) >> 32;
}

#endif
