/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads have new ids, and libc knows them: a lock that one of them holds must name its owner
 * by the new one. libc keeps no list of them, so they are looked for by what a held lock looks like
 * in glibc (pthread_mutex_t and pthread_rwlock_t; docs/decisions/0057-new-thread-ids.md). Part of
 * the restore program.
 */
#include "image/restore_program.h"

#include "image/raw_call.h"

#include <sys/mman.h>

#define USERS_MAX (1u << 20)
#define COUNT_MAX (1u << 24)

/* pthread_mutex_t, in words of 32 bits; what is behind these is 0 unless it is robust. */
enum {
    MUTEX_LOCK,
    MUTEX_COUNT,
    MUTEX_OWNER,
    MUTEX_USERS,
    MUTEX_KIND,
    MUTEX_SPINS,
    MUTEX_WORDS = 10
};
enum {
    KIND_TYPE = 3,
    KIND_RECURSIVE = 1,
    KIND_CHECKED = 2,
    KIND_ROBUST = 16,
    KIND_INHERITS = 32, /* PTHREAD_PRIO_INHERIT */
    KIND_PROTECTS = 64, /* PTHREAD_PRIO_PROTECT */
    KIND_ALL = 0x3ff,
};
#define LOCK_ID 0x3fffffffu      /* of KIND_ROBUST and KIND_INHERITS: the owner, with flags above */
#define LOCK_CEILING 0xfff80000u /* of KIND_PROTECTS */

/* pthread_rwlock_t */
enum { RW_READERS, RW_WRITERS, RW_PHASE, RW_FUTEX, RW_PAD, RW_OWNER = 6, RW_SHARED, RW_FLAGS = 12 };
enum { RW_WORDS = 14, RW_HELD = 3 };

/* The index of the thread that had this id; -1: none had. */
static int thread_of(int32_t id)
{
    const struct rz_image_tables *image = &RZ_AREA->image;
    for (uint32_t i = 0; i < image->head.n_threads; i++) {
        if (image->thread[i].tid == id) {
            return (int)i;
        }
    }
    return -1;
}

static bool all_zero(const uint32_t *word, int from, int to)
{
    uint32_t any = 0;
    for (int i = from; i < to; i++) {
        any |= word[i];
    }
    return any == 0;
}

static bool is_held_mutex(const uint32_t *m)
{
    uint32_t kind = m[MUTEX_KIND], type = kind & KIND_TYPE, id = m[MUTEX_OWNER];
    bool names = kind & (KIND_ROBUST | KIND_INHERITS), recursive = type == KIND_RECURSIVE;
    uint32_t held = kind & KIND_PROTECTS ? m[MUTEX_LOCK] & ~LOCK_CEILING : m[MUTEX_LOCK];
    return (kind & ~(uint32_t)KIND_ALL) == 0 && m[MUTEX_USERS] - 1 < USERS_MAX &&
           (recursive ? m[MUTEX_COUNT] - 1 < COUNT_MAX : m[MUTEX_COUNT] <= 1) &&
           (names ? (held & LOCK_ID) == id
                  : (recursive || type == KIND_CHECKED) && (held == 1 || held == 2)) &&
           (kind & KIND_ROBUST || all_zero(m, MUTEX_SPINS, MUTEX_WORDS));
}

static bool is_held_rwlock(const uint32_t *w)
{
    return (w[RW_READERS] & RW_HELD) == RW_HELD && w[RW_PHASE] <= 3 &&
           (w[RW_FUTEX] == 1 || w[RW_FUTEX] == 3) && all_zero(w, RW_PAD, RW_OWNER) &&
           w[RW_SHARED] <= 1 && all_zero(w, RW_SHARED + 1, RW_FLAGS) && w[RW_FLAGS] <= 3;
}

/* at: where the id of an owner may be, in writable memory from start to end. */
static void rename_at(uint32_t *at, uint64_t start, uint64_t end)
{
    int thread = thread_of((int32_t)*at);
    uint64_t mutex = (uintptr_t)(at - MUTEX_OWNER), rwlock = (uintptr_t)(at - RW_OWNER);
    if (thread < 0) {
        return;
    }
    uint32_t id = (uint32_t)RZ_AREA->new_tid[thread];
    if (mutex >= start && mutex + MUTEX_WORDS * 4 <= end && is_held_mutex((void *)mutex)) {
        uint32_t *m = (void *)mutex;
        if (m[MUTEX_KIND] & (KIND_ROBUST | KIND_INHERITS)) {
            m[MUTEX_LOCK] = (m[MUTEX_LOCK] & ~LOCK_ID) | id;
        }
        m[MUTEX_OWNER] = id;
    } else if (rwlock >= start && rwlock + RW_WORDS * 4 <= end && is_held_rwlock((void *)rwlock)) {
        *at = id;
    }
}

/* Of the region, the pages that were saved. */
static void look_through(const struct rz_image_region *r, uint64_t from, uint64_t to)
{
    const uint32_t low = (uint32_t)RZ_AREA->old_tid_low, span = RZ_AREA->old_tid_span;
    uint64_t at = from > r->start ? from : r->start, end = to < r->end ? to : r->end, stop;
    while (at < end && rz_image_next_included(&at, end, &stop)) {
        for (; at < stop; at += 8) {
            uint32_t *word = (void *)at; /* both locks are aligned to 8 bytes, and their owner */
            if (*word - low <= span) {
                rename_at(word, r->start, r->end);
            }
        }
    }
}

/* Where libc has the thread's own id, if it is libc's thread. */
static void tell_libc(void)
{
    const struct rz_image_tables *image = &RZ_AREA->image;
    for (uint32_t i = 0; i < image->head.n_threads; i++) {
        int32_t *at = (void *)image->thread[i].tid_at;
        if (at && *at == image->thread[i].tid) {
            *at = RZ_AREA->new_tid[i];
        }
    }
}

/* new_tid is known; no thread of the program runs. */
void rz_restore_owners(void)
{
    const struct rz_image_tables *image = &RZ_AREA->image;
    const int writable = PROT_READ | PROT_WRITE;
    int32_t low = image->thread[0].tid, high = low;
    bool same = true;
    for (uint32_t i = 0; i < image->head.n_threads; i++) {
        int32_t id = image->thread[i].tid;
        low = id < low ? id : low;
        high = id > high ? id : high;
        same = same && id == RZ_AREA->new_tid[i];
    }
    if (same) {
        return;
    }
    RZ_AREA->old_tid_low = low;
    RZ_AREA->old_tid_span = (uint32_t)(high - low);
    struct rz_image_cursor index = rz_image_cursor_of(RZ_POOL_INDEX);
    const struct rz_image_run *end = index.run + image->head.n_index;
    for (uint32_t i = 0; i < image->head.n_regions; i++) {
        const struct rz_image_region *r = &image->region[i];
        while (index.run < end &&
               (index.run->page + index.run->pages) * RZ_IMAGE_PAGE <= r->start) {
            index.run++;
        }
        for (const struct rz_image_run *run = index.run;
             run < end && run->page * RZ_IMAGE_PAGE < r->end; run++) {
            if (!r->shared && (r->protection & writable) == writable) {
                look_through(r, run->page * RZ_IMAGE_PAGE,
                             (run->page + run->pages) * RZ_IMAGE_PAGE);
            }
        }
    }
    tell_libc();
}
