/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doorbell of a process, by which others wake it. It consists of single atomic words that many
 * may write; it never shares a page with data that has one writer.
 *
 * Waker: publish the news, then rz_doorbell_ring. Sleeper: rz_doorbell_prepare, check everything
 * again, then rz_doorbell_sleep (or rz_doorbell_awake if there was news).
 *
 * A waker needs a fence between its news and its look at the sleeper, which takes longer than all
 * else of a short message: it waits until another processor has given the line of the news away. An
 * owner that sleeps seldom spares its wakers that: before it sleeps it lets the kernel make the
 * fences of all of them (membarrier(2)).
 */
#ifndef RZ_PORT_DOORBELL_H
#define RZ_PORT_DOORBELL_H

#include "base/status.h"

#include <rhizome/types.h>

#include <stdatomic.h>
#include <stdbool.h>

enum rz_doorbell_mode { RZ_DOORBELL_AWAKE, RZ_DOORBELL_FUTEX, RZ_DOORBELL_POLL };

/* Bits that say where the news is: the waker sets them before it rings, the sleeper takes them. */
enum { RZ_DOORBELL_LINK = 1, RZ_DOORBELL_BOARD = 2, RZ_DOORBELL_WORDS = 64 };

struct rz_doorbell {
    _Alignas(64) _Atomic uint32_t bell; /* grows with each ring of a sleeper; the futex word */
    _Atomic uint32_t mode;              /* enum rz_doorbell_mode */
    _Atomic uint32_t reasons;           /* RZ_DOORBELL_LINK | ... */
    _Atomic uint32_t spares;            /* wakers that have joined need no fence */
    _Atomic uint64_t rung_ns;           /* time of the last ring for a sleeper (rz_clock_now) */
    _Alignas(64) _Atomic uint64_t
        lanes[RZ_DOORBELL_WORDS]; /* which lanes of the inbox have news; lane l: bit l % 64 of
                                     word (l / 64) % RZ_DOORBELL_WORDS */
};

/*
 * Wakes the owner of bell if it sleeps; event_fd: its eventfd, non-blocking. Call after publishing.
 * Never blocks; the owner may not be trusted. The daemon sets the bits of `reasons` first.
 */
void rz_doorbell_ring(struct rz_doorbell *bell, int event_fd);

/* Tells the kernel that this process rings without fences where an owner spares them. Without this
 * call, or where the kernel cannot do that (false), it makes them. Again after exec and in a
 * restored process. Before the process has several threads, if possible: Linux 5.4 to 5.11 without
 * a mend of 2021 leaves out the processor of the caller of one that has. */
bool rz_doorbell_join(void);

/* As rz_doorbell_ring, for a process that may have joined. */
void rz_doorbell_ring_near(struct rz_doorbell *bell, int event_fd);

/* Like rz_doorbell_ring_near, with news in `lane` of the owner's inbox: sets the lane's bit first,
 * if it is not set. A waker without a fence may find it set although the owner has just taken it,
 * and not yet seen the news: an owner that spares fences looks at such lanes again. */
void rz_doorbell_ring_lane(struct rz_doorbell *bell, uint32_t lane, int event_fd);

/* The owner sleeps seldom: wakers need no fences (if the kernel can make them); or often. At first
 * often. */
void rz_doorbell_spare(struct rz_doorbell *bell, bool seldom);

/* Announces sleep, by futex or by poll(2) on the eventfd. Returns the value to sleep on. */
uint32_t rz_doorbell_prepare(struct rz_doorbell *bell, enum rz_doorbell_mode mode);

/*
 * A hook for tests: each wake-up takes this number of microseconds longer (0 to 1,000,000), which
 * the woken process spends spinning, as on a machine with slow wake-ups. Read at the first sleep.
 */
#define RZ_DOORBELL_TEST_DELAY "RZ_TEST_WAKE_DELAY_US"

/* Sleeps until rung, at most timeout_ns; in poll mode also until one of fds is readable. Drains
 * event_fd, and announces that the process is awake. Returns the nanoseconds from the ring to the
 * end of the sleep, which is the duration of the wake-up; 0: it was not rung while it slept. */
uint64_t rz_doorbell_sleep(struct rz_doorbell *bell, uint32_t value, int event_fd, const int *fds,
                           unsigned n_fds, uint64_t timeout_ns);

/* Withdraws the announcement of rz_doorbell_prepare. */
void rz_doorbell_awake(struct rz_doorbell *bell);

#endif
