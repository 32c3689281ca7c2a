/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads have new ids, and libc knows them. A lock that one of them holds names its owner by
 * the old one, until it is used (port/lock_owners.h): that is told which ids are which. Those of
 * libc itself are looked for in its own memory, by what a held lock looks like in glibc
 * (docs/decisions/0065-owners-of-locks.md). Part of the restore program.
 */
#include "image/restore_program.h"

#include "image/raw_call.h"

#include <sys/mman.h>

#define USERS_MAX (1u << 20)
#define COUNT_MAX (1u << 24)

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

/* libc's own are recursive ones. */
static bool is_held_mutex(const uint32_t *m)
{
    return m[RZ_MUTEX_KIND] == RZ_KIND_RECURSIVE && m[RZ_MUTEX_USERS] - 1 < USERS_MAX &&
           m[RZ_MUTEX_COUNT] - 1 < COUNT_MAX && (m[RZ_MUTEX_LOCK] == 1 || m[RZ_MUTEX_LOCK] == 2) &&
           all_zero(m, RZ_MUTEX_SPINS, RZ_MUTEX_WORDS);
}

static bool is_held_rwlock(const uint32_t *w)
{
    return (w[RZ_RW_READERS] & RZ_RW_HELD) == RZ_RW_HELD && w[RZ_RW_PHASE] <= 3 &&
           (w[RZ_RW_FUTEX] == 1 || w[RZ_RW_FUTEX] == 3) && all_zero(w, RZ_RW_PAD, RZ_RW_OWNER) &&
           w[RZ_RW_SHARED] <= 1 && all_zero(w, RZ_RW_SHARED + 1, RZ_RW_FLAGS) &&
           w[RZ_RW_FLAGS] <= 3;
}

/* What is at this word may be the owner of a lock of libc's. */
static void rename_at(uint32_t *at, uint64_t start, uint64_t end)
{
    int thread = thread_of((int32_t)*at);
    uint64_t mutex = (uintptr_t)(at - RZ_MUTEX_OWNER), rwlock = (uintptr_t)(at - RZ_RW_OWNER);
    if (thread >= 0 &&
        ((mutex >= start && mutex + RZ_MUTEX_WORDS * 4 <= end && is_held_mutex((void *)mutex)) ||
         (rwlock >= start && rwlock + RZ_RW_WORDS * 4 <= end && is_held_rwlock((void *)rwlock)))) {
        *at = (uint32_t)RZ_AREA->new_tid[thread];
    }
}

/* Whether the program may write there: a part of libc is read-only once it is loaded. */
static bool is_writable(uint64_t start, uint64_t end)
{
    const struct rz_image_tables *image = &RZ_AREA->image;
    const int writable = PROT_READ | PROT_WRITE;
    for (uint32_t i = 0; i < image->head.n_regions && start < end; i++) {
        const struct rz_image_region *r = &image->region[i];
        if (r->start <= start && start < r->end && (r->protection & writable) == writable) {
            start = r->end; /* they ascend */
        }
    }
    return start >= end;
}

static void look_through(uint64_t start, uint64_t end)
{
    for (uint64_t at = start, page = 0; at + 4 <= end; at += 8) {
        if (at >= page) {
            page = (at & ~(uint64_t)(RZ_IMAGE_PAGE - 1)) + RZ_IMAGE_PAGE;
            if (!is_writable(at, at + 1)) {
                at = page - 8;
                continue;
            }
        }
        rename_at((void *)at, start, end);
    }
}

/* ---- The program's locks: port/lock_owners.h ---- */

static void add_former(struct rz_lock_owners *owners, int32_t was, int32_t is)
{
    /* The oldest are of locks that nobody holds any more. */
    if (owners->n_former == RZ_FORMER_IDS) {
        for (uint32_t i = 1; i < RZ_FORMER_IDS; i++) {
            owners->former[i - 1] = owners->former[i];
        }
        owners->n_former--;
    }
    owners->former[owners->n_former++] = (struct rz_former_id){was, is};
}

static void note_former_ids(struct rz_lock_owners *owners)
{
    const struct rz_image_tables *image = &RZ_AREA->image;
    for (uint32_t i = 0; i < owners->n_former; i++) {
        int thread = thread_of(owners->former[i].is);
        if (thread >= 0) {
            owners->former[i].is = RZ_AREA->new_tid[thread];
        }
    }
    for (uint32_t i = 0; i < image->head.n_threads; i++) {
        if (image->thread[i].tid != RZ_AREA->new_tid[i]) {
            add_former(owners, image->thread[i].tid, RZ_AREA->new_tid[i]);
        }
    }
}

/* The new id of one thread may be the old one of another, so each word is renamed once, whoever has
 * its address. False: it has been looked at, or is no memory of the program's. */
static bool is_first(uint64_t word)
{
    uint64_t *looked_at = RZ_AREA->words + 1, *n = RZ_AREA->words;
    for (uint64_t i = 0; i < *n; i++) {
        if (looked_at[i] == word) {
            return false;
        }
    }
    looked_at[(*n)++] = word;
    return word % 4 == 0 && is_writable(word, word + 4);
}

static void rename_word(uint64_t at, uint32_t is)
{
    uint32_t *word = (uint32_t *)at;
    *word = is != 0 ? (*word & ~RZ_LOCK_ID) | is : *word;
}

static void rename_taken(const struct rz_lock_owners *owners)
{
    for (uint32_t i = 0; i < RZ_LOCKS_TAKEN; i++) {
        uintptr_t lock = atomic_load(&owners->taken[i]);
        if (lock && is_first(lock + RZ_MUTEX_LOCK * 4)) {
            rename_word(lock, rz_former_id_now(owners, *(uint32_t *)lock & RZ_LOCK_ID));
        }
    }
}

/* ---- Robust locks, of which the kernel has each thread's list ---- */

struct robust_locks {
    uint64_t first; /* the next one; here, and in each of them */
    int64_t to_word;
    uint64_t pending; /* is being taken or released, and not in the list */
};

/* The kernel's own bound. */
#define ROBUST_MAX 2048
#define ROBUST_INHERITS UINT64_C(1) /* in an address */

static const struct robust_locks *list_of(const struct rz_image_thread *thread)
{
    uint64_t at = thread->robust;
    return thread->robust_bytes == sizeof(struct robust_locks) && at % 8 == 0 &&
                   is_writable(at, at + sizeof(struct robust_locks))
               ? (const void *)at
               : NULL;
}

/* The word of a lock, which it names by one of the thread's ids: by the one it was saved with, or
 * by a former one, if the thread was restored within the call that took it. */
static void rename_robust(const struct rz_lock_owners *owners, uint32_t thread, uint64_t word)
{
    uint32_t id = *(uint32_t *)word & RZ_LOCK_ID, is = (uint32_t)RZ_AREA->new_tid[thread];
    bool its = id == (uint32_t)RZ_AREA->image.thread[thread].tid ||
               (owners && rz_former_id_now(owners, id) == is);
    rename_word(word, its ? is : 0);
}

/* If its thread ends, the kernel looks whether the word names it before it tells another one. What
 * is pending comes first: another thread may have it in its list. */
static void rename_pending(const struct rz_lock_owners *owners)
{
    const struct rz_image_tables *image = &RZ_AREA->image;
    for (uint32_t i = 0; i < image->head.n_threads; i++) {
        const struct robust_locks *list = list_of(&image->thread[i]);
        uint64_t lock = list ? list->pending & ~ROBUST_INHERITS : 0;
        uint64_t word = list ? lock + (uint64_t)list->to_word : 0;
        if (lock && is_writable(word, word + 4) &&
            (*(uint32_t *)word & RZ_LOCK_ID) == (uint32_t)image->thread[i].tid && is_first(word)) {
            rename_robust(owners, i, word);
        }
    }
}

static void rename_listed(const struct rz_lock_owners *owners)
{
    const struct rz_image_tables *image = &RZ_AREA->image;
    for (uint32_t i = 0; i < image->head.n_threads; i++) {
        const struct robust_locks *list = list_of(&image->thread[i]);
        uint64_t lock = list ? list->first & ~ROBUST_INHERITS : 0;
        for (int n = 0; lock && lock != (uintptr_t)list && n < ROBUST_MAX; n++) {
            uint64_t word = lock + (uint64_t)list->to_word;
            if (lock % 8 != 0 || !is_writable(lock, lock + 8) || word % 4 != 0 ||
                !is_writable(word, word + 4)) {
                break;
            }
            rename_robust(owners, i, word);
            lock = *(uint64_t *)lock & ~ROBUST_INHERITS;
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
    bool same = true;
    for (uint32_t i = 0; i < image->head.n_threads; i++) {
        same = same && image->thread[i].tid == RZ_AREA->new_tid[i];
    }
    if (same) {
        return;
    }
    struct rz_lock_owners *owners = (void *)image->head.owners;
    RZ_AREA->words[0] = 0;
    if (owners) {
        atomic_fetch_add(&owners->restores, 1);
        note_former_ids(owners);
        rename_taken(owners);
    }
    rename_pending(owners);
    rename_listed(owners);
    if (owners) {
        for (uint32_t i = 0; i < owners->n_system; i++) {
            look_through(owners->system[i].start, owners->system[i].end);
        }
    }
    tell_libc();
}
