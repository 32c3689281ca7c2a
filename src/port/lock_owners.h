/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks of libc that name their owner by its thread id, in a process whose threads get other ids
 * when it is restored: the recursive, error-checking, robust and priority-inheriting ones, and
 * read-write locks that are written. Calls that take and release locks are led here
 * (port/redirect.h); when a lock is used that names its owner by a former id, it is given the
 * present one (docs/decisions/0065-owners-of-locks.md). The restore program reads and writes this
 * memory, which is in the image.
 */
#ifndef RZ_PORT_LOCK_OWNERS_H
#define RZ_PORT_LOCK_OWNERS_H

#include <stdatomic.h>
#include <stdint.h>

#define RZ_FORMER_IDS 4096
#define RZ_LOCKS_TAKEN 1024 /* as many as an image has threads */
#define RZ_SYSTEM_RANGES 4

struct rz_former_id {
    int32_t was, is;
};

struct rz_lock_owners {
    _Atomic uint32_t restores; /* of this process and those that it was before */
    /* The ids that threads had; of equal ones the last counts. Changed while no thread runs. */
    struct rz_former_id former[RZ_FORMER_IDS];
    uint32_t n_former;
    /* Locks with priority inheritance that threads are taking now: the kernel looks for their
     * owner. 0: none. */
    _Atomic uintptr_t taken[RZ_LOCKS_TAKEN];
    /* Writable memory of libc and the loader, whose own calls are not led. */
    uint32_t n_system;
    struct {
        uint64_t start, end;
    } system[RZ_SYSTEM_RANGES];
};

/* The id that the thread has now that had this one; 0: none had. */
static inline uint32_t rz_former_id_now(const struct rz_lock_owners *owners, uint32_t id)
{
    for (uint32_t i = owners->n_former; id != 0 && i-- > 0;) {
        if (owners->former[i].was == (int32_t)id) {
            return (uint32_t)owners->former[i].is;
        }
    }
    return 0;
}

/* What they look like in glibc: pthread_mutex_t in words of 32 bits; what is behind these is 0
 * unless it is robust. */
enum {
    RZ_MUTEX_LOCK,
    RZ_MUTEX_COUNT,
    RZ_MUTEX_OWNER,
    RZ_MUTEX_USERS,
    RZ_MUTEX_KIND,
    RZ_MUTEX_SPINS,
    RZ_MUTEX_WORDS = 10
};
enum {
    RZ_KIND_TYPE = 3,
    RZ_KIND_RECURSIVE = 1,
    RZ_KIND_CHECKED = 2,
    RZ_KIND_ROBUST = 16,
    RZ_KIND_INHERITS = 32, /* PTHREAD_PRIO_INHERIT */
};
#define RZ_LOCK_ID 0x3fffffffu /* of the last two the word LOCK: the owner, with flags above */

/* pthread_rwlock_t */
enum { RZ_RW_READERS, RZ_RW_WRITERS, RZ_RW_PHASE, RZ_RW_FUTEX, RZ_RW_PAD };
enum { RZ_RW_OWNER = 6, RZ_RW_SHARED, RZ_RW_FLAGS = 12, RZ_RW_WORDS = 14, RZ_RW_HELD = 3 };

/* Leads the calls from now on, and those of objects that were loaded since. By one thread at a
 * time. Always the same address. */
struct rz_lock_owners *rz_lock_owners_follow(void);

#endif
