/* SPDX-License-Identifier: BSD-3-Clause */
/* A lock that names its owner by a former id is this thread's when it is used; nothing else is
 * changed. As after a restore: locks are taken, then given the id that the thread had "before". */
#include "port/lock_owners.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* No thread has it: above the largest id of Linux. */
#define FORMER 0x00700000u

static struct rz_lock_owners *owners;

static int restored_before(void **state)
{
    (void)state;
    owners->former[0] = (struct rz_former_id){(int32_t)FORMER, gettid()};
    owners->n_former = 1;
    atomic_store(&owners->restores, 1);
    return 0;
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

static void name_by(void *mutex, uint32_t id)
{
    uint32_t *word = mutex;
    if (word[RZ_MUTEX_KIND] & (RZ_KIND_ROBUST | RZ_KIND_INHERITS)) {
        word[RZ_MUTEX_LOCK] = (word[RZ_MUTEX_LOCK] & ~RZ_LOCK_ID) | id;
    }
    word[RZ_MUTEX_OWNER] = id;
}

static uint32_t owner_of(const void *mutex)
{
    return ((const uint32_t *)mutex)[RZ_MUTEX_OWNER];
}

static const struct {
    int type, protocol, robust;
} kinds[] = {
    {PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED},
    {PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED},
    {PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST},
    {PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED},
    {PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST},
    {PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED},
    {PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static void *try_it(void *mutex)
{
    struct timespec past = {0};
    int wrong = pthread_mutex_trylock(mutex) != EBUSY;
    wrong |= pthread_mutex_timedlock(mutex, &past) != ETIMEDOUT;
    wrong |= pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &past) != ETIMEDOUT;
    return wrong ? NULL : mutex;
}

static void in_another_thread(void *mutex)
{
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, try_it, mutex), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, mutex);
}

static void a_mutex_is_its_owners(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        bool again = kinds[i].type == PTHREAD_MUTEX_RECURSIVE;
        pthread_mutex_t mutex;
        make(&mutex, kinds[i].type, kinds[i].protocol, kinds[i].robust);
        for (int others_first = 0; others_first < 2; others_first++) {
            assert_int_equal(pthread_mutex_lock(&mutex), 0);
            name_by(&mutex, FORMER);
            if (others_first) {
                in_another_thread(&mutex);
            }
            if (again) {
                assert_int_equal(pthread_mutex_lock(&mutex) | pthread_mutex_trylock(&mutex), 0);
                assert_int_equal(pthread_mutex_unlock(&mutex) | pthread_mutex_unlock(&mutex), 0);
            } else if (kinds[i].type == PTHREAD_MUTEX_ERRORCHECK) {
                assert_int_equal(pthread_mutex_lock(&mutex), EDEADLK);
            }
            in_another_thread(&mutex);
            assert_int_equal(pthread_mutex_unlock(&mutex), 0);
            assert_int_equal(owner_of(&mutex), 0);
        }
        assert_int_equal(pthread_mutex_destroy(&mutex), 0);
    }
}

static void a_mutex_is_released_to_wait(void **state)
{
    const struct timespec past = {0};
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        pthread_mutex_t mutex;
        pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
        make(&mutex, kinds[i].type, kinds[i].protocol, kinds[i].robust);
        assert_int_equal(pthread_mutex_lock(&mutex), 0);
        name_by(&mutex, FORMER);
        assert_int_equal(pthread_cond_timedwait(&cond, &mutex, &past), ETIMEDOUT);
        name_by(&mutex, FORMER);
        assert_int_equal(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past), ETIMEDOUT);
        assert_int_equal(pthread_mutex_unlock(&mutex), 0);
    }
}

/* What a call keeps nothing of: the table is empty, whoever released the lock. */
static void nothing_is_kept_of_a_lock(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        pthread_mutex_t mutex;
        make(&mutex, kinds[i].type, kinds[i].protocol, kinds[i].robust);
        assert_int_equal(pthread_mutex_lock(&mutex), 0);
        for (int k = 0; k < RZ_LOCKS_TAKEN; k++) {
            assert_int_equal(atomic_load(&owners->taken[k]), 0);
        }
        pthread_mutex_unlock(&mutex);
    }
}

static void *holds(void *mutex)
{
    pthread_mutex_lock(mutex);
    return (void *)(uintptr_t)gettid();
}

/* A thread that has the id again is the owner. */
static void an_id_that_is_in_use_again(void **state)
{
    pthread_mutex_t mutex;
    (void)state;
    make(&mutex, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    assert_int_equal(pthread_mutex_lock(&mutex), 0);
    owners->former[0] = (struct rz_former_id){gettid(), 4711};
    assert_int_equal(pthread_mutex_lock(&mutex), 0);
    assert_int_equal(owner_of(&mutex), gettid());
    assert_int_equal(pthread_mutex_unlock(&mutex) | pthread_mutex_unlock(&mutex), 0);
}

/* Not this thread's, although the id is a former one. */
static void a_lock_of_another_thread(void **state)
{
    pthread_mutex_t mutex;
    pthread_t thread;
    void *id;
    (void)state;
    make(&mutex, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    assert_int_equal(pthread_create(&thread, NULL, holds, &mutex), 0);
    pthread_join(thread, &id);
    owners->former[0] = (struct rz_former_id){(int32_t)(uintptr_t)id, 0x00600000};
    assert_int_equal(pthread_mutex_trylock(&mutex), EBUSY);
    assert_int_equal(owner_of(&mutex), (uintptr_t)id);
}

static void locks_of_c11(void **state)
{
    mtx_t mutex;
    cnd_t cond;
    const struct timespec past = {0};
    (void)state;
    assert_int_equal(cnd_init(&cond), thrd_success);
    assert_int_equal(mtx_init(&mutex, mtx_recursive | mtx_timed), thrd_success);
    assert_int_equal(mtx_lock(&mutex), thrd_success);
    name_by(&mutex, FORMER);
    assert_int_equal(mtx_trylock(&mutex) | mtx_unlock(&mutex), thrd_success);
    name_by(&mutex, FORMER);
    assert_int_equal(mtx_timedlock(&mutex, &past) | mtx_unlock(&mutex), thrd_success);
    name_by(&mutex, FORMER);
    assert_int_equal(cnd_timedwait(&cond, &mutex, &past), thrd_timedout);
    name_by(&mutex, FORMER);
    assert_int_equal(mtx_unlock(&mutex), thrd_success);
    assert_int_equal(owner_of(&mutex), 0);
}

static void a_writer_is_known(void **state)
{
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    const struct timespec past = {0};
    uint32_t *word = (uint32_t *)&lock;
    (void)state;
    assert_int_equal(pthread_rwlock_wrlock(&lock), 0);
    word[RZ_RW_OWNER] = FORMER;
    assert_int_equal(pthread_rwlock_wrlock(&lock), EDEADLK);
    word[RZ_RW_OWNER] = FORMER;
    assert_int_equal(pthread_rwlock_timedwrlock(&lock, &past), EDEADLK);
    word[RZ_RW_OWNER] = FORMER;
    assert_int_equal(pthread_rwlock_unlock(&lock), 0);
    assert_int_equal(pthread_rwlock_tryrdlock(&lock), 0); /* it was released as a writer's */
    assert_int_equal(pthread_rwlock_unlock(&lock), 0);
    assert_int_equal(pthread_rwlock_trywrlock(&lock), 0);
    assert_int_equal(pthread_rwlock_unlock(&lock), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_mutex_is_its_owners, restored_before),
        cmocka_unit_test_setup(a_mutex_is_released_to_wait, restored_before),
        cmocka_unit_test_setup(nothing_is_kept_of_a_lock, restored_before),
        cmocka_unit_test_setup(an_id_that_is_in_use_again, restored_before),
        cmocka_unit_test_setup(a_lock_of_another_thread, restored_before),
        cmocka_unit_test_setup(locks_of_c11, restored_before),
        cmocka_unit_test_setup(a_writer_is_known, restored_before),
    };
    owners = rz_lock_owners_follow();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
