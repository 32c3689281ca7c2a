/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doorbell of a process: how others wake it. Everything here is a single atomic word that many
 * may write; it never shares a page with data of one writer.
 *
 * Waker: publish the news, then rz_doorbell_ring. Sleeper: rz_doorbell_prepare, check everything
 * again, then rz_doorbell_sleep (or rz_doorbell_awake when there was news).
 */
#ifndef RZ_PORT_DOORBELL_H
#define RZ_PORT_DOORBELL_H

#include "base/status.h"

#include <rhizome/types.h>

#include <stdatomic.h>

enum rz_doorbell_mode { RZ_DOORBELL_AWAKE, RZ_DOORBELL_FUTEX, RZ_DOORBELL_POLL };

/* Bits that say where the news is; set by the waker before ringing, taken by the sleeper. */
enum { RZ_DOORBELL_LINK = 1, RZ_DOORBELL_BOARD = 2, RZ_DOORBELL_WORDS = 64 };

struct rz_doorbell {
    _Alignas(64) _Atomic uint32_t bell; /* grows with each ring of a sleeper; the futex word */
    _Atomic uint32_t mode;              /* enum rz_doorbell_mode */
    _Atomic uint32_t reasons;           /* RZ_DOORBELL_LINK | ... */
    _Atomic uint64_t rung_ns;           /* time of the last ring for a sleeper (rz_clock_now) */
    _Alignas(64) _Atomic uint64_t
        lanes[RZ_DOORBELL_WORDS]; /* which lanes of the inbox have news; lane l: bit l % 64 of
                                     word (l / 64) % RZ_DOORBELL_WORDS */
};

/*
 * Wakes the owner of bell if it sleeps; event_fd: its eventfd, non-blocking. Call after publishing.
 * Never blocks. The daemon sets the bits of `reasons` first.
 */
void rz_doorbell_ring(struct rz_doorbell *bell, int event_fd);

/* As ring, with news in `lane` of the owner's inbox: sets its bit first. */
void rz_doorbell_ring_lane(struct rz_doorbell *bell, uint32_t lane, int event_fd);

/* Announces sleep by futex or (poll) by poll(2) on the eventfd; returns the value to sleep on. */
uint32_t rz_doorbell_prepare(struct rz_doorbell *bell, enum rz_doorbell_mode mode);

/*
 * A hook for tests: each wake-up takes this number of microseconds longer (0 to 1,000,000), which
 * the woken process spends spinning: as on a machine with slow wake-ups. Read at the first sleep.
 */
#define RZ_DOORBELL_TEST_DELAY "RZ_TEST_WAKE_DELAY_US"

/* Sleeps until rung, at most timeout_ns. In poll mode also until one of fds is readable; drains
 * event_fd. Ends awake. Returns the nanoseconds from the ring to the end of the sleep: what the
 * wake-up took; 0: it was not rung while it slept. */
uint64_t rz_doorbell_sleep(struct rz_doorbell *bell, uint32_t value, int event_fd, const int *fds,
                           unsigned n_fds, uint64_t timeout_ns);

/* Cancels the announcement. */
void rz_doorbell_awake(struct rz_doorbell *bell);

#endif
