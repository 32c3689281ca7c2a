/* SPDX-License-Identifier: BSD-3-Clause */
/* Wakes a process that sleeps on its doorbell, by futex or by an eventfd in poll, with the fences
 * that lose no wake-up. */
#include "port/doorbell.h"

#include "base/assert.h"
#include "port/clock.h"
#include "port/prompt.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DOORBELL_FDS_MAX = 31, DELAY_MAX_US = 1000000 };

/* This process has told the kernel that it needs its fences. */
static atomic_bool joined;

/* A full counter needs no more. Its owner may have made a write wait for room. */
static bool has_room(int event_fd)
{
    struct pollfd room = {.fd = event_fd, .events = POLLOUT};
    return poll(&room, 1, 0) == 1 && room.revents & POLLOUT;
}

static void ring_event_fd(int event_fd)
{
    uint64_t one = 1;
    ssize_t written = write(event_fd, &one, sizeof(one));
    (void)written; /* EAGAIN, EINTR: the counter is full, so the fd is readable anyway */
}

/*
 * Why no wake-up is lost: the waker publishes, fences, loads mode; the sleeper stores mode, fences,
 * checks for news. In every order one of the two sees the other's store. Where the sleeper lets the
 * kernel make the fence of each waker, that fence falls between two instructions of the waker, and
 * the same holds: it is before the load of mode, which then sees the store, or behind the news,
 * which the check then sees. A waker that sees AWAKE may continue at once: the sleeper's check
 * follows. If a waker fails before it has woken the sleeper, the daemon rings because of that
 * failure.
 */
static void doorbell_wake(struct rz_doorbell *bell, uint32_t mode, int event_fd, bool trusts)
{
    atomic_store_explicit(&bell->rung_ns, rz_clock_now(), memory_order_relaxed);
    atomic_fetch_add(&bell->bell, 1);
    if (mode == RZ_DOORBELL_FUTEX) {
        syscall(SYS_futex, &bell->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
    } else if (trusts) {
        ring_event_fd(event_fd);
    } else if (has_room(event_fd)) {
        rz_prompt_begin(); /* it may have been filled since */
        ring_event_fd(event_fd);
        rz_prompt_end();
    }
}

static inline void wake_sleeper(struct rz_doorbell *bell, int event_fd, bool trusts)
{
    uint32_t mode = atomic_load(&bell->mode);
    if (__builtin_expect(mode != RZ_DOORBELL_AWAKE, 0)) {
        doorbell_wake(bell, mode, event_fd, trusts);
    }
}

/* The waker's fence, unless it is the kernel's. */
static inline void fence_of_waker(const struct rz_doorbell *bell)
{
    atomic_signal_fence(memory_order_seq_cst); /* `spares` is looked at behind the news */
    if (atomic_load_explicit(&bell->spares, memory_order_relaxed) &&
        atomic_load_explicit(&joined, memory_order_relaxed)) {
        atomic_signal_fence(memory_order_seq_cst);
        return;
    }
    atomic_thread_fence(memory_order_seq_cst);
}

void rz_doorbell_ring(struct rz_doorbell *bell, int event_fd)
{
    atomic_thread_fence(memory_order_seq_cst);
    wake_sleeper(bell, event_fd, false);
}

void rz_doorbell_ring_near(struct rz_doorbell *bell, int event_fd)
{
    fence_of_waker(bell);
    wake_sleeper(bell, event_fd, true);
}

void rz_doorbell_ring_lane(struct rz_doorbell *bell, uint32_t lane, int event_fd)
{
    _Atomic uint64_t *word = &bell->lanes[lane / 64 % RZ_DOORBELL_WORDS];
    uint64_t bit = UINT64_C(1) << lane % 64;
    /* A bit that is still set need not be set again: the owner exchanges the word, then reads what
     * was published; without a fence, when it looks once more. */
    fence_of_waker(bell);
    if (!(atomic_load_explicit(word, memory_order_relaxed) & bit)) {
        atomic_fetch_or(word, bit);
    }
    wake_sleeper(bell, event_fd, true);
}

/* ---- Fences of all wakers ---- */

static bool membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool rz_doorbell_join(void)
{
    bool can = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
    atomic_store(&joined, can);
    return can;
}

void rz_doorbell_spare(struct rz_doorbell *bell, bool seldom)
{
    if ((atomic_load(&bell->spares) != 0) == seldom) {
        return;
    }
    if (!seldom) {
        atomic_store(&bell->spares, 0);
    }
    /* A try; or the fence of those that have seen it set. */
    bool did = membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    atomic_store(&bell->spares, seldom && did);
}

/* ---- Sleeping ---- */

uint32_t rz_doorbell_prepare(struct rz_doorbell *bell, enum rz_doorbell_mode mode)
{
    rz_assert(mode != RZ_DOORBELL_AWAKE);
    atomic_store(&bell->mode, mode);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&bell->spares, memory_order_relaxed) &&
        !membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED)) {
        atomic_store(&bell->spares, 0); /* the kernel had no memory, or forbids it now */
    }
    return atomic_load(&bell->bell);
}

static struct timespec doorbell_timespec(uint64_t timeout_ns)
{
    return (struct timespec){.tv_sec = (time_t)(timeout_ns / RZ_SECOND),
                             .tv_nsec = (long)(timeout_ns % RZ_SECOND)};
}

/* Returns true if something ended the sleep. */
static bool doorbell_poll(struct rz_doorbell *bell, uint32_t value, int event_fd, const int *fds,
                          unsigned n_fds, uint64_t timeout_ns)
{
    rz_assert(n_fds <= DOORBELL_FDS_MAX);
    struct pollfd polled[DOORBELL_FDS_MAX + 1];
    polled[0] = (struct pollfd){.fd = event_fd, .events = POLLIN};
    for (unsigned i = 0; i < n_fds; i++) {
        polled[i + 1] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    bool woken = false;
    if (atomic_load(&bell->bell) == value) {
        struct timespec timeout = doorbell_timespec(timeout_ns);
        woken = ppoll(polled, n_fds + 1, timeout_ns == RZ_TIME_NEVER ? NULL : &timeout, NULL) > 0;
    }
    uint64_t rings;
    ssize_t got = read(event_fd, &rings, sizeof(rings));
    (void)got; /* EAGAIN: not rung */
    return woken;
}

static bool doorbell_futex(struct rz_doorbell *bell, uint32_t value, uint64_t timeout_ns)
{
    struct timespec timeout = doorbell_timespec(timeout_ns);
    return syscall(SYS_futex, &bell->bell, FUTEX_WAIT, value,
                   timeout_ns == RZ_TIME_NEVER ? NULL : &timeout, NULL, 0) == 0;
}

/* RZ_DOORBELL_TEST_DELAY, in nanoseconds. */
static uint64_t test_delay_ns(void)
{
    static _Atomic uint64_t delay_ns = UINT64_MAX; /* not read yet */
    uint64_t delay = atomic_load_explicit(&delay_ns, memory_order_relaxed);
    if (delay == UINT64_MAX) {
        const char *text = getenv(RZ_DOORBELL_TEST_DELAY);
        unsigned long us = text ? strtoul(text, NULL, 10) : 0;
        delay = (us < DELAY_MAX_US ? us : DELAY_MAX_US) * RZ_MICROSECOND;
        atomic_store_explicit(&delay_ns, delay, memory_order_relaxed);
    }
    return delay;
}

static void test_delay(void)
{
    uint64_t delay = test_delay_ns();
    for (rz_time until = delay > 0 ? rz_clock_now() + delay : 0; delay > 0;) {
        if (rz_clock_now() >= until) {
            return;
        }
    }
}

uint64_t rz_doorbell_sleep(struct rz_doorbell *bell, uint32_t value, int event_fd, const int *fds,
                           unsigned n_fds, uint64_t timeout_ns)
{
    rz_time begun = rz_clock_now();
    bool woken = atomic_load_explicit(&bell->mode, memory_order_relaxed) == RZ_DOORBELL_POLL
                     ? doorbell_poll(bell, value, event_fd, fds, n_fds, timeout_ns)
                     : doorbell_futex(bell, value, timeout_ns);
    if (woken) {
        test_delay();
    }
    rz_doorbell_awake(bell);
    rz_time rung = atomic_load_explicit(&bell->rung_ns, memory_order_relaxed);
    rz_time now = rz_clock_now();
    return woken && rung > begun && rung < now ? now - rung : 0;
}

void rz_doorbell_awake(struct rz_doorbell *bell)
{
    atomic_store_explicit(&bell->mode, RZ_DOORBELL_AWAKE, memory_order_relaxed);
}
