/* SPDX-License-Identifier: BSD-3-Clause */
/* A lock, and waiting inside it until another thread has changed something. */
#ifndef RZ_PORT_LOCK_H
#define RZ_PORT_LOCK_H

#include <pthread.h>

struct rz_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

void rz_lock_open(struct rz_lock *lock);
void rz_lock_close(struct rz_lock *lock);
void rz_lock_enter(struct rz_lock *lock);
void rz_lock_leave(struct rz_lock *lock);

/* To be called inside the lock: leaves it until another thread calls rz_lock_tell. May also return
 * without that. */
void rz_lock_wait(struct rz_lock *lock);
void rz_lock_tell(struct rz_lock *lock);

#endif
