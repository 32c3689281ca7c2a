/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of another host's clock by this one's. */
#include "launch/clock_offset.h"

#define VALID_FOR (60 * RZ_SECOND) /* then drift outweighs a short round trip */

void rz_clock_offset_take(struct rz_clock_offset *offset, rz_time asked, rz_time answered,
                          rz_time now)
{
    rz_time round_trip = now - asked;
    if (now < asked ||
        (offset->at > 0 && round_trip > offset->round_trip && now - offset->at < VALID_FOR)) {
        return;
    }
    offset->ahead = (int64_t)(answered - (asked + round_trip / 2));
    offset->round_trip = round_trip;
    offset->at = now;
}

rz_time rz_clock_offset_here(const struct rz_clock_offset *offset, rz_time there)
{
    return there > 0 ? there - (rz_time)offset->ahead : 0;
}
