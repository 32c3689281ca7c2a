/* SPDX-License-Identifier: BSD-3-Clause */
/* Each lock that names its owner is written down as long as it is held, once, and no other one. */
#include "port/held_locks.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>

#include <cmocka.h>

static struct rz_held_locks *locks;

static int times_written(const void *lock, uintptr_t kind)
{
    int times = 0;
    for (int i = 0; i < RZ_HELD_LOCKS; i++) {
        times += atomic_load(&locks->held[i]) == ((uintptr_t)lock | kind);
    }
    return times;
}

static int all_written(void)
{
    int all = 0;
    for (int i = 0; i < RZ_HELD_LOCKS; i++) {
        all += atomic_load(&locks->held[i]) != 0;
    }
    return all;
}

static void make(pthread_mutex_t *mutex, int type, int protocol, int robust)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setrobust(&attributes, robust);
    assert_int_equal(pthread_mutex_init(mutex, &attributes), 0);
}

static void *try_it(void *mutex)
{
    struct timespec past = {0};
    int wrong = pthread_mutex_trylock(mutex) != EBUSY;
    wrong |= pthread_mutex_timedlock(mutex, &past) != ETIMEDOUT;
    wrong |= pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &past) != ETIMEDOUT;
    return wrong ? NULL : mutex;
}

static void held_locks_are_written_down(void **state)
{
    static const struct {
        int type, protocol, robust, times;
    } kinds[] = {
        {PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0},
        {PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, 1},
        {PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, 1},
        {PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 1},
        {PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 1},
        {PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        pthread_mutex_t mutex;
        pthread_t thread;
        void *result;
        make(&mutex, kinds[i].type, kinds[i].protocol, kinds[i].robust);
        for (int round = 0; round < 3; round++) {
            bool again = kinds[i].type == PTHREAD_MUTEX_RECURSIVE;
            assert_int_equal(pthread_mutex_lock(&mutex), 0);
            assert_int_equal(times_written(&mutex, 0), kinds[i].times);
            if (again) {
                assert_int_equal(pthread_mutex_trylock(&mutex) | pthread_mutex_lock(&mutex), 0);
            } else if (kinds[i].type == PTHREAD_MUTEX_ERRORCHECK) {
                assert_int_equal(pthread_mutex_lock(&mutex), EDEADLK);
            }
            assert_int_equal(times_written(&mutex, 0), kinds[i].times);
            assert_int_equal(pthread_create(&thread, NULL, try_it, &mutex), 0);
            assert_int_equal(pthread_join(thread, &result), 0);
            assert_ptr_equal(result, &mutex);
            for (int more = 0; more < (again ? 2 : 0); more++) {
                assert_int_equal(pthread_mutex_unlock(&mutex), 0);
                assert_int_equal(times_written(&mutex, 0), kinds[i].times);
            }
            assert_int_equal(pthread_mutex_unlock(&mutex), 0);
            assert_int_equal(all_written(), 0);
        }
        pthread_mutex_destroy(&mutex);
    }
}

static void *end_with(void *mutex)
{
    pthread_mutex_lock(mutex);
    return NULL;
}

static void a_lock_of_a_thread_that_has_ended_goes_to_the_next(void **state)
{
    pthread_mutex_t mutex;
    pthread_t thread;
    (void)state;
    make(&mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
    assert_int_equal(pthread_create(&thread, NULL, end_with, &mutex), 0);
    pthread_join(thread, NULL);
    assert_int_equal(pthread_mutex_lock(&mutex), EOWNERDEAD);
    assert_int_equal(times_written(&mutex, 0), 1);
    assert_int_equal(pthread_mutex_consistent(&mutex) | pthread_mutex_unlock(&mutex), 0);
    assert_int_equal(all_written(), 0);
    pthread_mutex_destroy(&mutex);
}

static void waiting_for_a_condition_keeps_the_mutex_written_down(void **state)
{
    pthread_mutex_t mutex;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    const struct timespec past = {0};
    (void)state;
    make(&mutex, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    pthread_mutex_lock(&mutex);
    assert_int_equal(pthread_cond_timedwait(&cond, &mutex, &past), ETIMEDOUT);
    assert_int_equal(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past), ETIMEDOUT);
    assert_int_equal(times_written(&mutex, 0), 1);
    pthread_mutex_unlock(&mutex);
    assert_int_equal(all_written(), 0);
    pthread_mutex_destroy(&mutex);
}

static void locks_of_c11(void **state)
{
    mtx_t mutex, plain;
    (void)state;
    assert_int_equal(mtx_init(&mutex, mtx_recursive | mtx_timed), thrd_success);
    assert_int_equal(mtx_init(&plain, mtx_plain), thrd_success);
    assert_int_equal(mtx_lock(&plain), thrd_success);
    assert_int_equal(mtx_lock(&mutex), thrd_success);
    assert_int_equal(mtx_trylock(&mutex), thrd_success);
    assert_int_equal(times_written(&mutex, 0), 1);
    assert_int_equal(all_written(), 1);
    assert_int_equal(mtx_unlock(&mutex) | mtx_unlock(&mutex) | mtx_unlock(&plain), thrd_success);
    assert_int_equal(all_written(), 0);
    mtx_destroy(&mutex);
    mtx_destroy(&plain);
}

static void only_writers_are_named(void **state)
{
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    const struct timespec past = {0};
    (void)state;
    assert_int_equal(pthread_rwlock_rdlock(&lock), 0);
    assert_int_equal(pthread_rwlock_trywrlock(&lock), EBUSY);
    assert_int_equal(pthread_rwlock_timedwrlock(&lock, &past), ETIMEDOUT);
    assert_int_equal(all_written(), 0);
    assert_int_equal(pthread_rwlock_unlock(&lock), 0);
    assert_int_equal(pthread_rwlock_wrlock(&lock), 0);
    assert_int_equal(times_written(&lock, RZ_LOCK_IS_RW), 1);
    assert_int_equal(pthread_rwlock_unlock(&lock), 0);
    assert_int_equal(all_written(), 0);
}

static void what_has_no_room_is_counted(void **state)
{
    enum { MORE = 5 };
    static pthread_mutex_t mutex[RZ_HELD_LOCKS + MORE];
    (void)state;
    for (int i = 0; i < RZ_HELD_LOCKS + MORE; i++) {
        make(&mutex[i], PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
        pthread_mutex_lock(&mutex[i]);
    }
    assert_int_equal(all_written(), RZ_HELD_LOCKS);
    assert_int_equal(atomic_load(&locks->left_out), MORE);
    for (int i = RZ_HELD_LOCKS + MORE; i-- > 0;) {
        pthread_mutex_unlock(&mutex[i]);
    }
    assert_int_equal(all_written(), 0);
    assert_int_equal(atomic_load(&locks->left_out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_locks_are_written_down),
        cmocka_unit_test(a_lock_of_a_thread_that_has_ended_goes_to_the_next),
        cmocka_unit_test(waiting_for_a_condition_keeps_the_mutex_written_down),
        cmocka_unit_test(locks_of_c11),
        cmocka_unit_test(only_writers_are_named),
        cmocka_unit_test(what_has_no_room_is_counted),
    };
    locks = rz_held_locks_follow();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
