/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watch page as daemon and children share it. Each slot is a robust mutex, whose lock word the
 * kernel marks at its owner's failure, and a word that the owner sets once it holds the lock.
 */
#ifndef RZ_PORT_WATCH_PAGE_H
#define RZ_PORT_WATCH_PAGE_H

#include "port/kernel.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* futex_waitv takes 128 words; one is the group's control word. */
enum { RZ_WATCH_GROUP_SLOTS = FUTEX_WAITV_MAX - 1 };

struct rz_watch_slot {
    _Alignas(64) pthread_mutex_t mutex;
    _Atomic uint32_t
        held; /* set by the child once it owns the mutex; distinguishes a clean end from a free
                 slot. A waiter of this slot alone waits on it until then. */
};

/* What one waiter thread watches. */
struct rz_watch_group {
    _Alignas(64) _Atomic uint32_t
        control; /* grows at each change that the waiter must see; a futex word */
    struct rz_watch_slot slot[RZ_WATCH_GROUP_SLOTS];
};
static_assert(sizeof(struct rz_watch_group) == 8192, "a group fills whole pages");

/* The lock word: glibc keeps it first. 0: free; else the owner's thread id and FUTEX_WAITERS,
 * FUTEX_OWNER_DIED. */
static_assert(offsetof(pthread_mutex_t, __data.__lock) == 0, "the lock word comes first");
static inline _Atomic uint32_t *rz_watch_word(struct rz_watch_slot *slot)
{
    return (_Atomic uint32_t *)(void *)&slot->mutex;
}

static inline void rz_watch_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Makes the group's waiter check all words again. */
static inline void rz_watch_kick(struct rz_watch_group *group)
{
    atomic_fetch_add(&group->control, 1);
    rz_watch_wake(&group->control);
}

#endif
