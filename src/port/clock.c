/* SPDX-License-Identifier: BSD-3-Clause */
/* The monotonic clock. */
#include "port/clock.h"

#include "base/assert.h"

#include <time.h>

rz_time rz_clock_now(void)
{
    struct timespec now;
    int error = clock_gettime(CLOCK_MONOTONIC, &now);
    rz_assert(error == 0);
    return (rz_time)now.tv_sec * RZ_SECOND + (rz_time)now.tv_nsec;
}
