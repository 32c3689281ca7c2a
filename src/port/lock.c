/* SPDX-License-Identifier: BSD-3-Clause */
/* A mutex and a condition variable. */
#include "port/lock.h"

#include "base/assert.h"

void rz_lock_open(struct rz_lock *lock)
{
    rz_assert(pthread_mutex_init(&lock->mutex, NULL) == 0 &&
              pthread_cond_init(&lock->changed, NULL) == 0);
}

void rz_lock_close(struct rz_lock *lock)
{
    pthread_cond_destroy(&lock->changed);
    pthread_mutex_destroy(&lock->mutex);
}

void rz_lock_enter(struct rz_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

void rz_lock_leave(struct rz_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

void rz_lock_wait(struct rz_lock *lock)
{
    pthread_cond_wait(&lock->changed, &lock->mutex);
}

void rz_lock_tell(struct rz_lock *lock)
{
    pthread_cond_signal(&lock->changed);
}
