/* SPDX-License-Identifier: BSD-3-Clause */
/* Each call writes the address of the lock down before it takes it, and strikes it out after it has
 * released it (docs/decisions/0065-locks-by-address.md). */
#include "port/held_locks.h"

#include "port/redirect.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static struct rz_held_locks locks;

/* ---- The addresses ---- */

static _Atomic uintptr_t *entry_of(uintptr_t lock, uint32_t step)
{
    uint32_t first = (uint32_t)((lock >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    return &locks.held[(first + step) % RZ_HELD_LOCKS];
}

static bool replace(uintptr_t lock, uintptr_t old, uintptr_t new)
{
    for (uint32_t i = 0; i < RZ_HELD_LOCKS; i++) {
        uintptr_t is = old;
        if (atomic_compare_exchange_strong(entry_of(lock, i), &is, new)) {
            return true;
        }
    }
    return false;
}

static void write_down(uintptr_t lock)
{
    if (!replace(lock, 0, lock)) {
        atomic_fetch_add(&locks.left_out, 1);
    }
}

static void strike_out(uintptr_t lock)
{
    int32_t left_out = atomic_load(&locks.left_out);
    if (!replace(lock, lock, 0)) {
        while (left_out > 0 &&
               !atomic_compare_exchange_weak(&locks.left_out, &left_out, left_out - 1)) {
        }
    }
}

/* ---- The calls ---- */

/* clang-format off */
enum {
    MUTEX_LOCK, MUTEX_TRYLOCK, MUTEX_TIMEDLOCK, MUTEX_CLOCKLOCK, MUTEX_UNLOCK, MUTEX_DESTROY,
    COND_WAIT, COND_TIMEDWAIT, COND_CLOCKWAIT,
    MTX_LOCK, MTX_TRYLOCK, MTX_TIMEDLOCK, CND_WAIT, CND_TIMEDWAIT,
    RW_WRLOCK, RW_TRYWRLOCK, RW_TIMEDWRLOCK, RW_CLOCKWRLOCK, RW_UNLOCK, RW_DESTROY,
    MTX_UNLOCK, MTX_DESTROY, CALLS
};
/* clang-format on */
static struct rz_redirect calls[CALLS + 1];

/* What was meant, of the type of `like`, one of the functions below. */
#define WAS(call, like) ((__typeof__(&(like)))calls[call].was)

static bool is_named(const pthread_mutex_t *mutex)
{
    const uint32_t *word = (const uint32_t *)mutex;
    uint32_t kind = word[RZ_MUTEX_KIND];
    return kind & (RZ_KIND_ROBUST | RZ_KIND_INHERITS) ||
           (kind & RZ_KIND_TYPE) == RZ_KIND_RECURSIVE || (kind & RZ_KIND_TYPE) == RZ_KIND_CHECKED;
}

static bool is_held_once(const pthread_mutex_t *mutex)
{
    return ((const uint32_t *)mutex)[RZ_MUTEX_COUNT] <= 1;
}

/* A call that takes a lock. */
struct taking {
    bool named;
    uint32_t restores; /* before it */
};

static struct taking takes(const pthread_mutex_t *mutex)
{
    struct taking taking = {is_named(mutex), atomic_load(&locks.restores)};
    if (taking.named) {
        write_down((uintptr_t)mutex);
    }
    return taking;
}

/* This thread holds it. It was restored within the call, so libc may have named it by the id that
 * it had before. */
static void name_again(pthread_mutex_t *mutex)
{
    uint32_t *word = (uint32_t *)mutex, id = (uint32_t)gettid(), old = word[RZ_MUTEX_OWNER];
    uint32_t lock = __atomic_load_n(&word[RZ_MUTEX_LOCK], __ATOMIC_RELAXED);
    while (word[RZ_MUTEX_KIND] & (RZ_KIND_ROBUST | RZ_KIND_INHERITS) &&
           (lock & RZ_LOCK_ID) == old &&
           !__atomic_compare_exchange_n(&word[RZ_MUTEX_LOCK], &lock, (lock & ~RZ_LOCK_ID) | id,
                                        false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    word[RZ_MUTEX_OWNER] = id;
}

/* EOWNERDEAD: it is taken, and written down already, by the thread that held it when it ended. */
static int taken(pthread_mutex_t *mutex, struct taking taking, int result)
{
    bool held = result == 0 || result == EOWNERDEAD;
    if (taking.named && held && taking.restores != atomic_load(&locks.restores)) {
        name_again(mutex);
    }
    if (taking.named && (result != 0 || !is_held_once(mutex))) {
        strike_out((uintptr_t)mutex);
    }
    return result;
}

static int mutex_lock(pthread_mutex_t *mutex)
{
    struct taking taking = takes(mutex);
    return taken(mutex, taking, WAS(MUTEX_LOCK, mutex_lock)(mutex));
}

static int mutex_trylock(pthread_mutex_t *mutex)
{
    struct taking taking = takes(mutex);
    return taken(mutex, taking, WAS(MUTEX_TRYLOCK, mutex_trylock)(mutex));
}

static int mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    struct taking taking = takes(mutex);
    return taken(mutex, taking, WAS(MUTEX_TIMEDLOCK, mutex_timedlock)(mutex, until));
}

static int mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
    struct taking taking = takes(mutex);
    return taken(mutex, taking, WAS(MUTEX_CLOCKLOCK, mutex_clocklock)(mutex, clock, until));
}

/* Of a thread that was restored within the call libc has perhaps compared the id that it had. */
static int mutex_unlock(pthread_mutex_t *mutex)
{
    bool last = is_named(mutex) && is_held_once(mutex);
    uint32_t restores = atomic_load(&locks.restores);
    int result = WAS(MUTEX_UNLOCK, mutex_unlock)(mutex);
    if (result == EPERM && restores != atomic_load(&locks.restores)) {
        result = WAS(MUTEX_UNLOCK, mutex_unlock)(mutex);
    }
    if (last && result == 0) {
        strike_out((uintptr_t)mutex);
    }
    return result;
}

static int mutex_destroy(pthread_mutex_t *mutex)
{
    bool named = is_named(mutex);
    int result = WAS(MUTEX_DESTROY, mutex_destroy)(mutex);
    if (named && result == 0) {
        strike_out((uintptr_t)mutex);
    }
    return result;
}

/* ---- Waiting for a condition, which takes the mutex again ---- */

/* What holds the mutex again stays written down meanwhile. */
static int waited(pthread_mutex_t *mutex, uint32_t restores, int result)
{
    if (restores != atomic_load(&locks.restores) && result != EINVAL && result != EPERM &&
        is_named(mutex)) {
        name_again(mutex);
    }
    return result;
}

static int cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    uint32_t restores = atomic_load(&locks.restores);
    return waited(mutex, restores, WAS(COND_WAIT, cond_wait)(cond, mutex));
}

static int cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                          const struct timespec *until)
{
    uint32_t restores = atomic_load(&locks.restores);
    return waited(mutex, restores, WAS(COND_TIMEDWAIT, cond_timedwait)(cond, mutex, until));
}

static int cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                          const struct timespec *until)
{
    uint32_t restores = atomic_load(&locks.restores);
    return waited(mutex, restores, WAS(COND_CLOCKWAIT, cond_clockwait)(cond, mutex, clock, until));
}

/* ---- The same of C11: mtx_t is such a mutex in glibc, and only success is 0 ---- */

static pthread_mutex_t *same(mtx_t *mutex)
{
    return (void *)mutex;
}

static int c11_lock(mtx_t *mutex)
{
    struct taking taking = takes(same(mutex));
    return taken(same(mutex), taking, WAS(MTX_LOCK, c11_lock)(mutex));
}

static int c11_trylock(mtx_t *mutex)
{
    struct taking taking = takes(same(mutex));
    return taken(same(mutex), taking, WAS(MTX_TRYLOCK, c11_trylock)(mutex));
}

static int c11_timedlock(mtx_t *mutex, const struct timespec *until)
{
    struct taking taking = takes(same(mutex));
    return taken(same(mutex), taking, WAS(MTX_TIMEDLOCK, c11_timedlock)(mutex, until));
}

static int c11_unlock(mtx_t *mutex)
{
    return mutex_unlock(same(mutex)) == 0 ? thrd_success : thrd_error;
}

static void c11_destroy(mtx_t *mutex)
{
    mutex_destroy(same(mutex));
}

static int c11_wait(cnd_t *cond, mtx_t *mutex)
{
    uint32_t restores = atomic_load(&locks.restores);
    return waited(same(mutex), restores, WAS(CND_WAIT, c11_wait)(cond, mutex));
}

static int c11_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *until)
{
    uint32_t restores = atomic_load(&locks.restores);
    return waited(same(mutex), restores, WAS(CND_TIMEDWAIT, c11_timedwait)(cond, mutex, until));
}

/* ---- Read-write locks, of which the writer is named ---- */

static uintptr_t writers_entry(const pthread_rwlock_t *lock)
{
    return (uintptr_t)lock | RZ_LOCK_IS_RW;
}

static uint32_t writes(const pthread_rwlock_t *lock)
{
    write_down(writers_entry(lock));
    return atomic_load(&locks.restores);
}

static int written(pthread_rwlock_t *lock, uint32_t restores, int result)
{
    if (result != 0) {
        strike_out(writers_entry(lock));
    } else if (restores != atomic_load(&locks.restores)) {
        ((uint32_t *)lock)[RZ_RW_OWNER] = (uint32_t)gettid();
    }
    return result;
}

static int rw_wrlock(pthread_rwlock_t *lock)
{
    uint32_t restores = writes(lock);
    return written(lock, restores, WAS(RW_WRLOCK, rw_wrlock)(lock));
}

static int rw_trywrlock(pthread_rwlock_t *lock)
{
    uint32_t restores = writes(lock);
    return written(lock, restores, WAS(RW_TRYWRLOCK, rw_trywrlock)(lock));
}

static int rw_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
    uint32_t restores = writes(lock);
    return written(lock, restores, WAS(RW_TIMEDWRLOCK, rw_timedwrlock)(lock, until));
}

static int rw_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
    uint32_t restores = writes(lock);
    return written(lock, restores, WAS(RW_CLOCKWRLOCK, rw_clockwrlock)(lock, clock, until));
}

static bool is_written(const pthread_rwlock_t *lock)
{
    return ((const uint32_t *)lock)[RZ_RW_OWNER] != 0;
}

static int rw_unlock(pthread_rwlock_t *lock)
{
    bool written = is_written(lock);
    int result = WAS(RW_UNLOCK, rw_unlock)(lock);
    if (written && result == 0) {
        strike_out(writers_entry(lock));
    }
    return result;
}

static int rw_destroy(pthread_rwlock_t *lock)
{
    bool written = is_written(lock);
    int result = WAS(RW_DESTROY, rw_destroy)(lock);
    if (written && result == 0) {
        strike_out(writers_entry(lock));
    }
    return result;
}

#define LED(call, name, to) [call] = {name, (void (*)(void))(to), NULL}
static struct rz_redirect calls[CALLS + 1] = {
    LED(MUTEX_LOCK, "pthread_mutex_lock", mutex_lock),
    LED(MUTEX_TRYLOCK, "pthread_mutex_trylock", mutex_trylock),
    LED(MUTEX_TIMEDLOCK, "pthread_mutex_timedlock", mutex_timedlock),
    LED(MUTEX_CLOCKLOCK, "pthread_mutex_clocklock", mutex_clocklock),
    LED(MUTEX_UNLOCK, "pthread_mutex_unlock", mutex_unlock),
    LED(MUTEX_DESTROY, "pthread_mutex_destroy", mutex_destroy),
    LED(COND_WAIT, "pthread_cond_wait", cond_wait),
    LED(COND_TIMEDWAIT, "pthread_cond_timedwait", cond_timedwait),
    LED(COND_CLOCKWAIT, "pthread_cond_clockwait", cond_clockwait),
    LED(MTX_LOCK, "mtx_lock", c11_lock),
    LED(MTX_TRYLOCK, "mtx_trylock", c11_trylock),
    LED(MTX_TIMEDLOCK, "mtx_timedlock", c11_timedlock),
    LED(MTX_UNLOCK, "mtx_unlock", c11_unlock),
    LED(MTX_DESTROY, "mtx_destroy", c11_destroy),
    LED(CND_WAIT, "cnd_wait", c11_wait),
    LED(CND_TIMEDWAIT, "cnd_timedwait", c11_timedwait),
    LED(RW_WRLOCK, "pthread_rwlock_wrlock", rw_wrlock),
    LED(RW_TRYWRLOCK, "pthread_rwlock_trywrlock", rw_trywrlock),
    LED(RW_TIMEDWRLOCK, "pthread_rwlock_timedwrlock", rw_timedwrlock),
    LED(RW_CLOCKWRLOCK, "pthread_rwlock_clockwrlock", rw_clockwrlock),
    LED(RW_UNLOCK, "pthread_rwlock_unlock", rw_unlock),
    LED(RW_DESTROY, "pthread_rwlock_destroy", rw_destroy),
};
static struct rz_redirects redirects = {.calls = calls};

/* ---- libc's own memory ---- */

static int note_system(struct dl_phdr_info *object, size_t bytes, void *arg)
{
    const char *slash = strrchr(object->dlpi_name, '/'), *name = slash ? slash + 1 : "";
    (void)bytes, (void)arg;
    if (strncmp(name, "libc.so", 7) != 0 && strncmp(name, "ld-linux", 8) != 0) {
        return 0;
    }
    for (unsigned i = 0; i < object->dlpi_phnum && locks.n_system < RZ_HELD_SYSTEM; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_W) {
            uint64_t start = object->dlpi_addr + part->p_vaddr;
            locks.system[locks.n_system++] =
                (struct rz_held_range){(start + 7) & ~UINT64_C(7), start + part->p_memsz};
        }
    }
    return 0;
}

struct rz_held_locks *rz_held_locks_follow(void)
{
    rz_redirect_lead(&redirects);
    if (locks.n_system == 0) {
        dl_iterate_phdr(note_system, NULL);
    }
    return &locks;
}
