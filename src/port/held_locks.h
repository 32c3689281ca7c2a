/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which locks of libc are held that name their owner: the recursive, error-checking, robust and
 * priority-inheriting ones, and read-write locks that are written. libc has no list of them. Calls
 * that take and release locks are led here (port/redirect.h), and the addresses written down in
 * memory of this process; and what these locks look like in glibc.
 */
#ifndef RZ_PORT_HELD_LOCKS_H
#define RZ_PORT_HELD_LOCKS_H

#include <stdatomic.h>
#include <stdint.h>

#define RZ_HELD_LOCKS 1024
#define RZ_HELD_SYSTEM 4
#define RZ_LOCK_IS_RW 1u /* added to the address of a read-write lock */

struct rz_held_range {
    uint64_t start, end;
};

struct rz_held_locks {
    _Atomic uintptr_t held[RZ_HELD_LOCKS]; /* 0: none; the same one several times: waited for */
    _Atomic int32_t left_out;              /* for which there was no room */
    _Atomic uint32_t restores;             /* of this process and those that it was before */
    /* Writable memory of libc and the loader, whose own locks are not written down. */
    uint32_t n_system;
    struct rz_held_range system[RZ_HELD_SYSTEM];
};

/* pthread_mutex_t, in words of 32 bits; what is behind these is 0 unless it is robust. */
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
    RZ_KIND_ALL = 0x3ff,
};
#define RZ_LOCK_ID                                                                                 \
    0x3fffffffu /* of RZ_KIND_ROBUST and RZ_KIND_INHERITS: the owner, with flags above */

/* pthread_rwlock_t */
enum { RZ_RW_READERS, RZ_RW_WRITERS, RZ_RW_PHASE, RZ_RW_FUTEX, RZ_RW_PAD };
enum { RZ_RW_OWNER = 6, RZ_RW_SHARED, RZ_RW_FLAGS = 12, RZ_RW_WORDS = 14, RZ_RW_HELD = 3 };

/* Follows the calls from now on, and those of objects that were loaded since. A lock that was taken
 * before is not known. By one thread at a time. Always the same address. */
struct rz_held_locks *rz_held_locks_follow(void);

#endif
