/* SPDX-License-Identifier: BSD-3-Clause */
/* The generator splitmix64. */
#include "base/random.h"

#include "base/assert.h"

__extension__ typedef unsigned __int128 wide_t;

uint64_t rz_random_next(struct rz_random *random)
{
    random->state += UINT64_C(0x9E3779B97F4A7C15);
    return rz_random_finalise(random->state);
}

uint64_t rz_random_below(struct rz_random *random, uint64_t bound)
{
    rz_assert(bound > 0);
    return (uint64_t)(((wide_t)rz_random_next(random) * bound) >> 64);
}
