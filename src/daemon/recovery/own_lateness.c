/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the kernel's count of this daemon's waiting time and keeps the lateness derived from it. */
#include "daemon/recovery/own_lateness.h"

#include "port/clock.h"
#include "port/run_delay.h"

#include <unistd.h>

void rz_own_lateness_open(struct rz_own_lateness *own)
{
    *own = (struct rz_own_lateness){.fd = rz_run_delay_open()};
    own->waited = rz_run_delay(own->fd);
}

void rz_own_lateness_close(struct rz_own_lateness *own)
{
    if (own->fd >= 0) {
        close(own->fd);
    }
    own->fd = -1;
}

rz_time rz_own_lateness_look(struct rz_own_lateness *own, rz_time late)
{
    rz_time waited = rz_run_delay(own->fd);
    if (waited > 0) { /* 0: the kernel does not count it */
        late = waited - own->waited;
        own->waited = waited;
    }
    late = late < RZ_LATENESS_MAX ? late : RZ_LATENESS_MAX;
    rz_lateness_raise(&own->lateness, rz_clock_now(), late);
    return late;
}

rz_time rz_own_lateness_patience(const struct rz_own_lateness *own)
{
    return RZ_LATENESS_FACTOR * rz_lateness_at(&own->lateness, rz_clock_now());
}
