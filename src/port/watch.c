/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's side of the watch: slots, waiter threads, and the failures and clean ends that they
 * noticed. */
#include "port/watch.h"

#include "base/assert.h"
#include "port/clock.h"
#include "port/memory.h"
#include "port/thread.h"
#include "port/watch_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

/* The stack of a thread that waits for one slot; the time between two checks of whether such a
 * thread has ended. */
#define SLOT_STACK_BYTES (64 * 1024)
#define WATCH_END_LOOK_NS (long)(RZ_MILLISECOND / 10)

enum watch_state {
    WATCH_FREE,  /* not in use; its words mean nothing */
    WATCH_OPEN,  /* prepared for a child or held by it */
    WATCH_ENDED, /* an end was noticed and not yet taken */
    WATCH_TAKEN  /* the end was taken; waits for slot_close */
};

/* The daemon's state of a slot. Guarded by lock: no late event can be attributed to the next
 * child. */
struct watch_entry {
    enum watch_state state;
    enum rz_watch_end end;
    rz_time at;
};

/* Waits for a group; if the kernel lacks futex_waitv, for one slot as long as it is in use. */
struct watch_waiter {
    struct rz_watch *watch;
    uint32_t index; /* of the group or the slot */
    bool started;
    pthread_t thread;
};

struct rz_watch {
    uint32_t slots, n_groups;
    bool per_slot; /* a waiter per slot */
    int page_fd, event_fd;
    struct rz_watch_group *groups;
    pthread_mutex_t lock;
    bool stop;
    struct watch_entry *entries;  /* [slots] */
    struct watch_waiter *waiters; /* [n_groups], or [slots] */
};

static struct rz_watch_group *watch_group(struct rz_watch *watch, uint32_t slot)
{
    return &watch->groups[slot / RZ_WATCH_GROUP_SLOTS];
}

static struct rz_watch_slot *watch_slot(struct rz_watch *watch, uint32_t slot)
{
    return &watch_group(watch, slot)->slot[slot % RZ_WATCH_GROUP_SLOTS];
}

/*
 * Checks a slot; true when it is to be waited for, with the value to wait on. The kernel wakes
 * waiters at a failure, and the owner at an unlock, only if FUTEX_WAITERS is set.
 */
static bool watch_look(struct rz_watch *watch, uint32_t index, uint32_t *value)
{
    struct watch_entry *entry = &watch->entries[index];
    if (entry->state != WATCH_OPEN) {
        return false;
    }
    struct rz_watch_slot *slot = watch_slot(watch, index);
    bool held = atomic_load(&slot->held) != 0;
    uint32_t word = atomic_load(rz_watch_word(slot));
    while (word != 0 && !(word & FUTEX_OWNER_DIED)) {
        if (!(word & FUTEX_WAITERS) &&
            !atomic_compare_exchange_weak(rz_watch_word(slot), &word, word | FUTEX_WAITERS)) {
            continue;
        }
        *value = word | FUTEX_WAITERS;
        return true;
    }
    if (word == 0 && !held) {
        return false; /* not locked yet; the child kicks when it has */
    }
    *entry = (struct watch_entry){.state = WATCH_ENDED,
                                  .end = word == 0 ? RZ_WATCH_CLEAN : RZ_WATCH_FAILED,
                                  .at = rz_clock_now()};
    uint64_t one = 1;
    ssize_t written = write(watch->event_fd, &one, sizeof(one));
    rz_assert(written == sizeof(one));
    return false;
}

static void *watch_wait_ends(void *arg)
{
    const struct watch_waiter *waiter = arg;
    struct rz_watch *watch = waiter->watch;
    struct rz_watch_group *group = &watch->groups[waiter->index];
    uint32_t first = waiter->index * RZ_WATCH_GROUP_SLOTS;
    uint32_t end =
        first + RZ_WATCH_GROUP_SLOTS < watch->slots ? first + RZ_WATCH_GROUP_SLOTS : watch->slots;
    for (;;) {
        struct futex_waitv words[FUTEX_WAITV_MAX];
        unsigned n = 0;
        /* Loaded before the check, so that a change during the check ends the wait at once. */
        words[n++] = (struct futex_waitv){.val = atomic_load(&group->control),
                                          .uaddr = (uintptr_t)&group->control,
                                          .flags = FUTEX_32};
        pthread_mutex_lock(&watch->lock);
        bool stop = watch->stop;
        for (uint32_t i = first; i < end; i++) {
            uint32_t value;
            if (watch_look(watch, i, &value)) {
                words[n++] =
                    (struct futex_waitv){.val = value,
                                         .uaddr = (uintptr_t)rz_watch_word(watch_slot(watch, i)),
                                         .flags = FUTEX_32};
            }
        }
        pthread_mutex_unlock(&watch->lock);
        if (stop) {
            return NULL;
        }
        long woken = syscall(SYS_futex_waitv, words, n, 0, NULL, 0);
        rz_assert(woken >= 0 || errno == EAGAIN || errno == EINTR || errno == ENOMEM);
        if (woken < 0 && errno == ENOMEM) {
            nanosleep(&(struct timespec){.tv_nsec = (long)RZ_MILLISECOND}, NULL);
        }
    }
}

/* Waits for one slot, with the futex that every kernel has: it waits for one word only. */
static void *watch_wait_end(void *arg)
{
    const struct watch_waiter *waiter = arg;
    struct rz_watch *watch = waiter->watch;
    struct rz_watch_slot *slot = watch_slot(watch, waiter->index);
    for (;;) {
        uint32_t value = 0;
        pthread_mutex_lock(&watch->lock);
        bool locked = watch_look(watch, waiter->index, &value);
        bool over = watch->stop || watch->entries[waiter->index].state != WATCH_OPEN;
        pthread_mutex_unlock(&watch->lock);
        if (over) {
            return NULL;
        }
        _Atomic uint32_t *word = locked ? rz_watch_word(slot) : &slot->held; /* that is 0 then */
        long woken = syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
        rz_assert(woken == 0 || errno == EAGAIN || errno == EINTR);
    }
}

static bool watch_start_waiter(struct rz_watch *watch, uint32_t index)
{
    struct watch_waiter *waiter = &watch->waiters[index];
    *waiter = (struct watch_waiter){.watch = watch, .index = index};
    waiter->started =
        rz_thread_start(&waiter->thread, "rz-watch", watch->per_slot ? SLOT_STACK_BYTES : 0,
                        watch->per_slot ? watch_wait_end : watch_wait_ends, waiter) == 0;
    return waiter->started;
}

/* stop, or the state of the slot, is set already. A waiter of a slot may be about to wait for a
 * word that does not change: it is woken until it has ended. */
static void watch_end_waiter(struct rz_watch *watch, struct watch_waiter *waiter)
{
    if (!waiter->started) {
        return;
    }
    waiter->started = false;
    if (!watch->per_slot) {
        rz_watch_kick(&watch->groups[waiter->index]);
        pthread_join(waiter->thread, NULL);
        return;
    }
    struct rz_watch_slot *slot = watch_slot(watch, waiter->index);
    while (pthread_tryjoin_np(waiter->thread, NULL) == EBUSY) {
        rz_watch_wake(&slot->held);
        rz_watch_wake(rz_watch_word(slot));
        nanosleep(&(struct timespec){.tv_nsec = WATCH_END_LOOK_NS}, NULL);
    }
}

static rz_status_t watch_start_waiters(struct rz_watch *watch)
{
    for (uint32_t g = 0; g < watch->n_groups && !watch->per_slot; g++) {
        if (!watch_start_waiter(watch, g)) {
            return RZ_ERR_SYSTEM;
        }
    }
    return RZ_OK;
}

bool rz_watch_waits_for_many(void)
{
    return syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) == 0 || !rz_kernel_lacks_it();
}

rz_status_t rz_watch_open(struct rz_watch **out, uint32_t slots)
{
    rz_assert(slots > 0);
    struct rz_watch *watch = calloc(1, sizeof(*watch));
    if (!watch) {
        return RZ_ERR_NO_MEMORY;
    }
    watch->slots = slots;
    watch->n_groups = (slots + RZ_WATCH_GROUP_SLOTS - 1) / RZ_WATCH_GROUP_SLOTS;
    watch->per_slot = !rz_watch_waits_for_many();
    watch->page_fd = -1;
    watch->event_fd = -1;
    pthread_mutex_init(&watch->lock, NULL);
    size_t bytes = watch->n_groups * sizeof(*watch->groups);
    rz_status_t status = RZ_ERR_NO_MEMORY;
    watch->entries = calloc(slots, sizeof(*watch->entries));
    watch->waiters = calloc(watch->per_slot ? slots : watch->n_groups, sizeof(*watch->waiters));
    if (!watch->entries || !watch->waiters) {
        goto err_close;
    }
    status = rz_memory_create("rhizome-watch", bytes, &watch->page_fd);
    if (status != RZ_OK) {
        goto err_close;
    }
    status = rz_memory_reserve(watch->page_fd, 0, bytes);
    if (status != RZ_OK) {
        goto err_close;
    }
    void *page = NULL;
    status = rz_memory_map(watch->page_fd, bytes, true, &page, NULL);
    if (status != RZ_OK) {
        goto err_close;
    }
    watch->groups = page;
    watch->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    status = watch->event_fd >= 0 ? watch_start_waiters(watch) : RZ_ERR_SYSTEM;
    if (status != RZ_OK) {
        goto err_close;
    }
    *out = watch;
    return RZ_OK;

err_close:
    rz_watch_close(watch);
    return status;
}

void rz_watch_close(struct rz_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->stop = true;
    pthread_mutex_unlock(&watch->lock);
    for (uint32_t i = 0; watch->waiters && i < (watch->per_slot ? watch->slots : watch->n_groups);
         i++) {
        watch_end_waiter(watch, &watch->waiters[i]);
    }
    rz_memory_unmap(watch->groups, watch->n_groups * sizeof(*watch->groups));
    if (watch->page_fd >= 0) {
        close(watch->page_fd);
    }
    if (watch->event_fd >= 0) {
        close(watch->event_fd);
    }
    pthread_mutex_destroy(&watch->lock);
    free(watch->entries);
    free(watch->waiters);
    free(watch);
}

int rz_watch_page_fd(const struct rz_watch *watch)
{
    return watch->page_fd;
}

int rz_watch_event_fd(const struct rz_watch *watch)
{
    return watch->event_fd;
}

/* Resets the words: the state of the last child (a marked word, a half-done lock) is removed. That
 * child was reaped, so it writes no more; the lock excludes the waiter. */
static void watch_slot_clean(struct rz_watch_slot *slot)
{
    memset(slot, 0, sizeof(*slot));
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    int error = pthread_mutex_init(&slot->mutex, &attributes);
    rz_assert(error == 0);
    pthread_mutexattr_destroy(&attributes);
}

rz_status_t rz_watch_slot_open(struct rz_watch *watch, uint32_t *slot)
{
    rz_status_t status = RZ_ERR_NO_MEMORY;
    uint32_t found = 0;
    pthread_mutex_lock(&watch->lock);
    for (uint32_t i = 0; i < watch->slots && status != RZ_OK; i++) {
        if (watch->entries[i].state != WATCH_FREE) {
            continue;
        }
        watch_slot_clean(watch_slot(watch, i));
        watch->entries[i].state = WATCH_OPEN;
        found = i;
        status = RZ_OK;
    }
    pthread_mutex_unlock(&watch->lock);
    if (status == RZ_OK && watch->per_slot && !watch_start_waiter(watch, found)) {
        rz_watch_slot_close(watch, found);
        status = RZ_ERR_NO_MEMORY;
    }
    if (status == RZ_OK) {
        *slot = found;
    }
    return status;
}

void rz_watch_slot_close(struct rz_watch *watch, uint32_t slot)
{
    rz_assert(slot < watch->slots);
    pthread_mutex_lock(&watch->lock);
    rz_assert(watch->entries[slot].state != WATCH_FREE);
    watch->entries[slot].state = WATCH_FREE; /* an end not yet taken is dropped with it */
    pthread_mutex_unlock(&watch->lock);
    if (watch->per_slot) {
        watch_end_waiter(watch, &watch->waiters[slot]);
    }
}

bool rz_watch_take(struct rz_watch *watch, uint32_t *slot, enum rz_watch_end *end, rz_time *at)
{
    pthread_mutex_lock(&watch->lock);
    struct watch_entry *oldest = NULL;
    for (uint32_t i = 0; i < watch->slots; i++) {
        struct watch_entry *entry = &watch->entries[i];
        if (entry->state == WATCH_ENDED && (!oldest || entry->at < oldest->at)) {
            oldest = entry;
        }
    }
    if (oldest) {
        oldest->state = WATCH_TAKEN;
        *slot = (uint32_t)(oldest - watch->entries);
        *end = oldest->end;
        *at = oldest->at;
    } else {
        /* Under the lock: an end noticed from now on makes the fd readable again. */
        uint64_t ends;
        ssize_t got = read(watch->event_fd, &ends, sizeof(ends));
        (void)got;
    }
    pthread_mutex_unlock(&watch->lock);
    return oldest != NULL;
}
