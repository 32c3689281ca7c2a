/* SPDX-License-Identifier: BSD-3-Clause */
/* The doorbell: a sleeper is woken, the time of the wake-up is measured, and the hook for tests
 * delays it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/clock.h"
#include "port/doorbell.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { DELAY_US = 3000 };

static struct rz_doorbell bell;
static int event_fd;

/* Rings after a process has announced sleep and had a moment to fall asleep. */
static void *ringer(void *arg)
{
    (void)arg;
    while (atomic_load(&bell.mode) == RZ_DOORBELL_AWAKE) {
        sched_yield();
    }
    for (rz_time until = rz_clock_now() + 20 * RZ_MILLISECOND; rz_clock_now() < until;) {
        sched_yield();
    }
    rz_doorbell_ring(&bell, event_fd);
    return NULL;
}

/* The return value of a sleep that is rung for; the machine may delay the sleeper so long that the
 * ring precedes its sleep (0): then it is repeated. */
static uint64_t woken_after(enum rz_doorbell_mode mode)
{
    uint64_t took = 0;
    for (int i = 0; i < 100 && took == 0; i++) {
        pthread_t thread;
        uint32_t value = rz_doorbell_prepare(&bell, mode);
        assert_int_equal(pthread_create(&thread, NULL, ringer, NULL), 0);
        took = rz_doorbell_sleep(&bell, value, event_fd, NULL, 0, 60 * RZ_SECOND);
        assert_int_equal(atomic_load(&bell.mode), RZ_DOORBELL_AWAKE);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    return took;
}

static void wake_ups_are_measured_and_delayed(void **state)
{
    (void)state;
    assert_true(woken_after(RZ_DOORBELL_FUTEX) >= DELAY_US * RZ_MICROSECOND);
    assert_true(woken_after(RZ_DOORBELL_POLL) >= DELAY_US * RZ_MICROSECOND);
}

static void without_a_ring_nothing_was_measured(void **state)
{
    (void)state;
    uint32_t value = rz_doorbell_prepare(&bell, RZ_DOORBELL_FUTEX);
    assert_int_equal(rz_doorbell_sleep(&bell, value, event_fd, NULL, 0, RZ_MILLISECOND), 0);
    value = rz_doorbell_prepare(&bell, RZ_DOORBELL_POLL);
    assert_int_equal(rz_doorbell_sleep(&bell, value, event_fd, NULL, 0, RZ_MILLISECOND), 0);
    value = rz_doorbell_prepare(&bell, RZ_DOORBELL_FUTEX);
    rz_doorbell_ring(&bell, event_fd); /* before it sleeps: that is no wake-up */
    assert_int_equal(rz_doorbell_sleep(&bell, value, event_fd, NULL, 0, 60 * RZ_SECOND), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wake_ups_are_measured_and_delayed),
        cmocka_unit_test(without_a_ring_nothing_was_measured),
    };
    setenv(RZ_DOORBELL_TEST_DELAY, "3000", 1); /* DELAY_US */
    event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int failed = event_fd < 0 || cmocka_run_group_tests(tests, NULL, NULL);
    close(event_fd);
    return failed;
}
