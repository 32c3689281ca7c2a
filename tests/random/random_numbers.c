/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers at random: the same ones everywhere for the same seed. */
#include "random.h"

uint64_t roll(struct dice *dice)
{
    uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t mix(uint64_t a, uint64_t b)
{
    struct dice dice = {a * UINT64_C(0xd1342543de82ef95) ^ b};
    return roll(&dice);
}

uint32_t below(struct dice *dice, uint32_t n)
{
    return (uint32_t)(roll(dice) % n);
}

uint32_t between(struct dice *dice, uint32_t low, uint32_t high)
{
    return low + below(dice, high - low + 1);
}

bool chance(struct dice *dice, uint32_t percent)
{
    return below(dice, 100) < percent;
}

/* Most are small, and the bounds of transports lie between. */
uint32_t size_at_random(struct dice *dice)
{
    static const uint32_t most[] = {0, 1, 8, 64, 500, 2500, 9000, 20000, 200000};
    uint32_t kind = below(dice, 40);
    uint32_t step = kind < 30 ? kind % 5 : kind < 36 ? 5 : kind < 38 ? 6 : kind < 39 ? 7 : 8;
    return below(dice, most[step] + 1);
}
