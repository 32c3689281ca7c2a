/* SPDX-License-Identifier: BSD-3-Clause */
/* The doorbell: no wake-up is lost, whether wakers make fences or the sleeper spares them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "port/clock.h"
#include "port/doorbell.h"

#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int event_fd;

enum { ROUNDS = 40000, SPINS_MAX = 600, LOST_S = 20 };

/* Each round the ringer publishes a number when the sleeper has seen the one before, at a time at
 * which the sleeper is just about to sleep, or is not. */
static _Alignas(64) _Atomic uint32_t news;
static _Alignas(64) _Atomic uint32_t seen;

static void spin(struct rz_random *random)
{
    for (uint64_t n = rz_random_below(random, SPINS_MAX); n > 0; n--) {
        atomic_signal_fence(memory_order_seq_cst);
    }
}

static void *ring_each_round(void *arg)
{
    struct rz_random random = {.state = 1};
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        while (atomic_load_explicit(&seen, memory_order_acquire) != round - 1) {
            sched_yield();
        }
        spin(&random);
        atomic_store_explicit(&news, round, memory_order_release);
        if (round % 2) {
            rz_doorbell_ring_lane(arg, 7, event_fd);
        } else {
            rz_doorbell_ring_near(arg, event_fd);
        }
    }
    return NULL;
}

static bool has_come(uint32_t round)
{
    return atomic_load_explicit(&news, memory_order_acquire) == round;
}

/* Sleeps until the number is there; returns whether it slept. */
static bool await_news(struct rz_doorbell *own, uint32_t round)
{
    bool slept = false;
    while (!has_come(round)) {
        uint32_t value = rz_doorbell_prepare(own, round % 3 ? RZ_DOORBELL_FUTEX : RZ_DOORBELL_POLL);
        if (has_come(round)) {
            rz_doorbell_awake(own);
            return slept;
        }
        rz_time begun = rz_clock_now();
        rz_doorbell_sleep(own, value, event_fd, NULL, 0, LOST_S * RZ_SECOND);
        slept = true;
        if (rz_clock_now() - begun >= LOST_S * RZ_SECOND && has_come(round)) {
            fail_msg("round %u: the wake-up was lost", round);
        }
    }
    return slept;
}

static void no_wake_up_is_lost(bool seldom)
{
    static struct rz_doorbell own;
    struct rz_random random = {.state = 2};
    pthread_t thread;
    uint32_t slept = 0;
    atomic_store(&news, 0);
    atomic_store(&seen, 0);
    rz_doorbell_join();
    rz_doorbell_spare(&own, seldom);
    assert_int_equal(pthread_create(&thread, NULL, ring_each_round, &own), 0);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        spin(&random);
        slept += await_news(&own, round);
        atomic_store_explicit(&seen, round, memory_order_release);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(slept > 0);
    assert_true(atomic_load(&own.lanes[0]) == UINT64_C(1) << 7);
}

static void no_wake_up_is_lost_with_fences(void **state)
{
    (void)state;
    no_wake_up_is_lost(false);
}

static void no_wake_up_is_lost_without_fences(void **state)
{
    (void)state;
    no_wake_up_is_lost(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wake_up_is_lost_with_fences),
        cmocka_unit_test(no_wake_up_is_lost_without_fences),
    };
    event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int failed = event_fd < 0 || cmocka_run_group_tests(tests, NULL, NULL);
    close(event_fd);
    return failed;
}
