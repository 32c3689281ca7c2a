/* SPDX-License-Identifier: BSD-3-Clause */
/* Each call looks first whether the lock names its owner by a former id, and afterwards whether the
 * thread was restored within it. No memory is changed that the program does not call a lock. */
#include "port/lock_owners.h"

#include "port/redirect.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static struct rz_lock_owners owners;

/* ---- Ids ---- */

/* The id of the thread that had this one; 0: none had, or a thread has it again. */
static uint32_t present_id(uint32_t id)
{
    uint32_t is = rz_former_id_now(&owners, id);
    return is != 0 && syscall(SYS_tgkill, getpid(), (int)id, 0) != 0 ? is : 0;
}

static bool names_owner(const uint32_t *mutex)
{
    uint32_t kind = mutex[RZ_MUTEX_KIND], type = kind & RZ_KIND_TYPE;
    return kind & (RZ_KIND_ROBUST | RZ_KIND_INHERITS) || type == RZ_KIND_RECURSIVE ||
           type == RZ_KIND_CHECKED;
}

/* In the lock word of a robust or inheriting mutex, which others may be changing. */
static void name_in_word(uint32_t *word, uint32_t was, uint32_t is)
{
    uint32_t lock = __atomic_load_n(word, __ATOMIC_RELAXED);
    while ((lock & RZ_LOCK_ID) == was &&
           !__atomic_compare_exchange_n(word, &lock, (lock & ~RZ_LOCK_ID) | is, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
}

static bool has_lock_word(const uint32_t *mutex)
{
    return mutex[RZ_MUTEX_KIND] & (RZ_KIND_ROBUST | RZ_KIND_INHERITS);
}

/* Before a call. The field is only its owner's to write; the word must be right for all. */
static void look_at_owner(uint32_t *mutex)
{
    uint32_t in_word = has_lock_word(mutex) ? mutex[RZ_MUTEX_LOCK] & RZ_LOCK_ID : 0;
    uint32_t field = mutex[RZ_MUTEX_OWNER], is = present_id(in_word);
    if (is != 0) {
        name_in_word(&mutex[RZ_MUTEX_LOCK], in_word, is);
    }
    is = present_id(field);
    if (is != 0 && is == (uint32_t)gettid()) {
        mutex[RZ_MUTEX_OWNER] = is;
    }
}

/* This thread holds the mutex, and was restored when it had already looked up its id to take it. */
static void name_again(uint32_t *mutex)
{
    uint32_t id = (uint32_t)gettid();
    if (has_lock_word(mutex)) {
        name_in_word(&mutex[RZ_MUTEX_LOCK], mutex[RZ_MUTEX_OWNER], id);
    }
    mutex[RZ_MUTEX_OWNER] = id;
}

/* ---- The calls ---- */

/* clang-format off */
enum {
    MUTEX_LOCK, MUTEX_TRYLOCK, MUTEX_TIMEDLOCK, MUTEX_CLOCKLOCK, MUTEX_UNLOCK,
    COND_WAIT, COND_TIMEDWAIT, COND_CLOCKWAIT,
    MTX_LOCK, MTX_TRYLOCK, MTX_TIMEDLOCK, MTX_UNLOCK, CND_WAIT, CND_TIMEDWAIT,
    RW_WRLOCK, RW_TRYWRLOCK, RW_TIMEDWRLOCK, RW_CLOCKWRLOCK, RW_UNLOCK,
    CALLS
};
/* clang-format on */
static struct rz_redirect calls[CALLS + 1];

/* What was meant, of the type of `like`, one of the functions below. */
#define WAS(call, like) ((__typeof__(&(like)))calls[call].was)

/* A call that takes a mutex. */
struct taking {
    uint32_t *mutex; /* NULL: it does not name its owner */
    uint32_t restores;
    _Atomic uintptr_t *entry; /* NULL: none */
};

static _Atomic uintptr_t *write_down(uintptr_t mutex)
{
    uint32_t first = (uint32_t)(mutex >> 3);
    for (uint32_t i = 0; i < RZ_LOCKS_TAKEN; i++) {
        _Atomic uintptr_t *entry = &owners.taken[(first + i) % RZ_LOCKS_TAKEN];
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(entry, &none, mutex)) {
            return entry;
        }
    }
    return NULL;
}

static struct taking takes(void *mutex)
{
    struct taking taking = {.mutex = mutex, .restores = atomic_load(&owners.restores)};
    if (!names_owner(mutex)) {
        return (struct taking){.mutex = NULL};
    }
    if (taking.mutex[RZ_MUTEX_KIND] & RZ_KIND_INHERITS) {
        taking.entry = write_down((uintptr_t)mutex);
    }
    if (taking.restores > 0) {
        look_at_owner(mutex);
    }
    return taking;
}

static bool restored_since(uint32_t restores)
{
    return restores != atomic_load(&owners.restores);
}

static int taken(struct taking taking, int result, bool holds)
{
    if (taking.entry) {
        atomic_store(taking.entry, 0);
    }
    if (taking.mutex && holds && restored_since(taking.restores)) {
        name_again(taking.mutex);
    }
    return result;
}

static int locked(struct taking taking, int result)
{
    return taken(taking, result, result == 0 || result == EOWNERDEAD);
}

static int mutex_lock(pthread_mutex_t *mutex)
{
    struct taking taking = takes(mutex);
    return locked(taking, WAS(MUTEX_LOCK, mutex_lock)(mutex));
}

static int mutex_trylock(pthread_mutex_t *mutex)
{
    struct taking taking = takes(mutex);
    return locked(taking, WAS(MUTEX_TRYLOCK, mutex_trylock)(mutex));
}

static int mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    struct taking taking = takes(mutex);
    return locked(taking, WAS(MUTEX_TIMEDLOCK, mutex_timedlock)(mutex, until));
}

static int mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
    struct taking taking = takes(mutex);
    return locked(taking, WAS(MUTEX_CLOCKLOCK, mutex_clocklock)(mutex, clock, until));
}

/* Of a thread that was restored within the call libc has perhaps compared the id that it had. */
static int mutex_unlock(pthread_mutex_t *mutex)
{
    uint32_t restores = atomic_load(&owners.restores);
    if (restores > 0 && names_owner((uint32_t *)mutex)) {
        look_at_owner((uint32_t *)mutex);
    }
    int result = WAS(MUTEX_UNLOCK, mutex_unlock)(mutex);
    return result == EPERM && restored_since(restores) ? mutex_unlock(mutex) : result;
}

/* ---- Waiting for a condition, which releases the mutex and takes it again ---- */

static int waited(struct taking taking, int result)
{
    return taken(taking, result, result != EINVAL && result != EPERM);
}

static int cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    struct taking taking = takes(mutex);
    return waited(taking, WAS(COND_WAIT, cond_wait)(cond, mutex));
}

static int cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                          const struct timespec *until)
{
    struct taking taking = takes(mutex);
    return waited(taking, WAS(COND_TIMEDWAIT, cond_timedwait)(cond, mutex, until));
}

static int cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                          const struct timespec *until)
{
    struct taking taking = takes(mutex);
    return waited(taking, WAS(COND_CLOCKWAIT, cond_clockwait)(cond, mutex, clock, until));
}

/* ---- The same of C11: mtx_t is such a mutex in glibc, and only success is 0 ---- */

static int c11_lock(mtx_t *mutex)
{
    struct taking taking = takes(mutex);
    return locked(taking, WAS(MTX_LOCK, c11_lock)(mutex));
}

static int c11_trylock(mtx_t *mutex)
{
    struct taking taking = takes(mutex);
    return locked(taking, WAS(MTX_TRYLOCK, c11_trylock)(mutex));
}

static int c11_timedlock(mtx_t *mutex, const struct timespec *until)
{
    struct taking taking = takes(mutex);
    return locked(taking, WAS(MTX_TIMEDLOCK, c11_timedlock)(mutex, until));
}

static int c11_unlock(mtx_t *mutex)
{
    uint32_t restores = atomic_load(&owners.restores);
    if (restores > 0 && names_owner((uint32_t *)mutex)) {
        look_at_owner((uint32_t *)mutex);
    }
    int result = WAS(MTX_UNLOCK, c11_unlock)(mutex);
    return result != thrd_success && restored_since(restores) ? c11_unlock(mutex) : result;
}

static int c11_wait(cnd_t *cond, mtx_t *mutex)
{
    struct taking taking = takes(mutex);
    return taken(taking, WAS(CND_WAIT, c11_wait)(cond, mutex), true);
}

static int c11_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *until)
{
    struct taking taking = takes(mutex);
    return taken(taking, WAS(CND_TIMEDWAIT, c11_timedwait)(cond, mutex, until), true);
}

/* ---- Read-write locks, of which the writer is named ---- */

static uint32_t look_at_writer(pthread_rwlock_t *lock)
{
    uint32_t restores = atomic_load(&owners.restores), *word = (uint32_t *)lock;
    uint32_t is = restores > 0 ? present_id(word[RZ_RW_OWNER]) : 0;
    if (is != 0 && is == (uint32_t)gettid()) {
        word[RZ_RW_OWNER] = is;
    }
    return restores;
}

static int written(pthread_rwlock_t *lock, uint32_t restores, int result)
{
    if (result == 0 && restored_since(restores)) {
        ((uint32_t *)lock)[RZ_RW_OWNER] = (uint32_t)gettid();
    }
    return result;
}

static int rw_wrlock(pthread_rwlock_t *lock)
{
    uint32_t restores = look_at_writer(lock);
    return written(lock, restores, WAS(RW_WRLOCK, rw_wrlock)(lock));
}

static int rw_trywrlock(pthread_rwlock_t *lock)
{
    uint32_t restores = look_at_writer(lock);
    return written(lock, restores, WAS(RW_TRYWRLOCK, rw_trywrlock)(lock));
}

static int rw_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
    uint32_t restores = look_at_writer(lock);
    return written(lock, restores, WAS(RW_TIMEDWRLOCK, rw_timedwrlock)(lock, until));
}

static int rw_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
    uint32_t restores = look_at_writer(lock);
    return written(lock, restores, WAS(RW_CLOCKWRLOCK, rw_clockwrlock)(lock, clock, until));
}

static int rw_unlock(pthread_rwlock_t *lock)
{
    look_at_writer(lock);
    return WAS(RW_UNLOCK, rw_unlock)(lock);
}

#define LED(call, word, function) [call] = {.name = (word), .to = (void (*)(void))(function)}
/* libc has an older one, too, for conditions of another size. */
#define LED_NEW(call, word, function)                                                              \
    [call] = {.name = (word), .to = (void (*)(void))(function), .version = "GLIBC_2.3.2"}
static struct rz_redirect calls[CALLS + 1] = {
    LED(MUTEX_LOCK, "pthread_mutex_lock", mutex_lock),
    LED(MUTEX_TRYLOCK, "pthread_mutex_trylock", mutex_trylock),
    LED(MUTEX_TIMEDLOCK, "pthread_mutex_timedlock", mutex_timedlock),
    LED(MUTEX_CLOCKLOCK, "pthread_mutex_clocklock", mutex_clocklock),
    LED(MUTEX_UNLOCK, "pthread_mutex_unlock", mutex_unlock),
    LED_NEW(COND_WAIT, "pthread_cond_wait", cond_wait),
    LED_NEW(COND_TIMEDWAIT, "pthread_cond_timedwait", cond_timedwait),
    LED(COND_CLOCKWAIT, "pthread_cond_clockwait", cond_clockwait),
    LED(MTX_LOCK, "mtx_lock", c11_lock),
    LED(MTX_TRYLOCK, "mtx_trylock", c11_trylock),
    LED(MTX_TIMEDLOCK, "mtx_timedlock", c11_timedlock),
    LED(MTX_UNLOCK, "mtx_unlock", c11_unlock),
    LED(CND_WAIT, "cnd_wait", c11_wait),
    LED(CND_TIMEDWAIT, "cnd_timedwait", c11_timedwait),
    LED(RW_WRLOCK, "pthread_rwlock_wrlock", rw_wrlock),
    LED(RW_TRYWRLOCK, "pthread_rwlock_trywrlock", rw_trywrlock),
    LED(RW_TIMEDWRLOCK, "pthread_rwlock_timedwrlock", rw_timedwrlock),
    LED(RW_CLOCKWRLOCK, "pthread_rwlock_clockwrlock", rw_clockwrlock),
    LED(RW_UNLOCK, "pthread_rwlock_unlock", rw_unlock),
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
    for (unsigned i = 0; i < object->dlpi_phnum && owners.n_system < RZ_SYSTEM_RANGES; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_W) {
            uint64_t start = object->dlpi_addr + part->p_vaddr;
            owners.system[owners.n_system].start = (start + 7) & ~UINT64_C(7);
            owners.system[owners.n_system++].end = start + part->p_memsz;
        }
    }
    return 0;
}

struct rz_lock_owners *rz_lock_owners_follow(void)
{
    rz_redirect_lead(&redirects);
    if (owners.n_system == 0) {
        dl_iterate_phdr(note_system, NULL);
    }
    return &owners;
}
