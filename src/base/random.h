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

/* A one-way mix of two words: seeds of separate streams, canonical hashes. */
uint64_t rz_mix(uint64_t a, uint64_t b);

#endif
