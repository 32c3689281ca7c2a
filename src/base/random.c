#include "base/random.h"

#include "base/assert.h"

__extension__ typedef unsigned __int128 wide_t;

static uint64_t finalise(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t rz_random_next(struct rz_random *random)
{
    random->state += UINT64_C(0x9E3779B97F4A7C15);
    return finalise(random->state);
}

uint64_t rz_random_below(struct rz_random *random, uint64_t bound)
{
    rz_assert(bound > 0);
    return (uint64_t)(((wide_t)rz_random_next(random) * bound) >> 64);
}

uint64_t rz_mix(uint64_t a, uint64_t b)
{
    return finalise(a + finalise(b + UINT64_C(0x9E3779B97F4A7C15)));
}
