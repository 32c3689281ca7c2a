/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of another host beside this one's. Monotonic clocks count from the boot of their host,
 * and drift apart by some 10 us in a second.
 *
 * rzrun asks a daemon for its time. The answer was made at some moment between the question and its
 * receipt: half of the round trip is the error at most. The exchange with the shortest round trip
 * counts, for a minute (Cristian, Probabilistic clock synchronization, 1989).
 */
#ifndef RZ_LAUNCH_CLOCK_OFFSET_H
#define RZ_LAUNCH_CLOCK_OFFSET_H

#include <rhizome/types.h>

#include <stdint.h>

/* All zero: no exchange yet, times are taken as they are. */
struct rz_clock_offset {
    int64_t ahead;      /* the other clock, in ns; from */
    rz_time round_trip; /* an exchange that took so long, */
    rz_time at;         /* and ended at that time; 0: none has */
};

/* The question left at `asked` and its answer came at `now`, by this clock; it says `answered`, by
 * the other one. */
void rz_clock_offset_take(struct rz_clock_offset *offset, rz_time asked, rz_time answered,
                          rz_time now);

/* A time of the other clock, by this one. 0 stays 0: no time. */
rz_time rz_clock_offset_here(const struct rz_clock_offset *offset, rz_time there);

#endif
