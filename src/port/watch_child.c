/* SPDX-License-Identifier: BSD-3-Clause */
/* The child's side of the watch: a helper thread owns the lock while the process runs. */
#include "port/watch.h"

#include "base/assert.h"
#include "port/clock.h"
#include "port/memory.h"
#include "port/thread.h"
#include "port/watch_page.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_STACK_BYTES = 64 * 1024 };

struct rz_watch_held {
    struct rz_watch_group *groups;
    size_t bytes;
    struct rz_watch_group *group;
    struct rz_watch_slot *slot;
    pthread_t owner;
    pid_t number; /* of the owner; valid after `answered` */
    sem_t answered;
    /* The release: a condition, because C libraries before 2.30 have no semaphore with this
     * clock. */
    pthread_mutex_t lock;
    pthread_cond_t released;
    bool is_released;
    rz_time every;
    void (*beat)(void *arg);
    void *beat_arg;
    int error; /* of taking the lock; valid after `answered` */
};

static void watch_wait(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
        rz_assert(errno == EINTR);
    }
}

/* Waits for the release, and calls beat at each period. */
static void watch_rest(struct rz_watch_held *held)
{
    rz_time at = rz_clock_now() + held->every;
    pthread_mutex_lock(&held->lock);
    while (!held->is_released) {
        struct timespec until = {.tv_sec = (time_t)(at / RZ_SECOND),
                                 .tv_nsec = (long)(at % RZ_SECOND)};
        if (held->every == 0) {
            pthread_cond_wait(&held->released, &held->lock);
        } else if (pthread_cond_timedwait(&held->released, &held->lock, &until) == ETIMEDOUT) {
            pthread_mutex_unlock(&held->lock);
            held->beat(held->beat_arg);
            pthread_mutex_lock(&held->lock);
            at = rz_clock_now() + held->every;
        }
    }
    pthread_mutex_unlock(&held->lock);
}

/* A thread of its own, because a main thread that calls pthread_exit would look failed. */
static void *watch_own(void *arg)
{
    struct rz_watch_held *held = arg;
    held->number = gettid();
    held->error = pthread_mutex_trylock(&held->slot->mutex);
    if (held->error == 0) {
        atomic_store(&held->slot->held, 1);
        rz_watch_kick(held->group);
        rz_watch_wake(&held->slot->held);
    }
    int error = held->error; /* held may be invalid after an error was answered */
    sem_post(&held->answered);
    if (error == 0) {
        watch_rest(held);
        pthread_mutex_unlock(&held->slot->mutex);
    }
    return NULL;
}

static void watch_held_free(struct rz_watch_held *held)
{
    sem_destroy(&held->answered);
    pthread_cond_destroy(&held->released);
    pthread_mutex_destroy(&held->lock);
    rz_memory_unmap(held->groups, held->bytes);
    free(held);
}

rz_status_t rz_watch_hold(struct rz_watch_held **held, int page_fd, uint32_t slot)
{
    return rz_watch_hold_beating(held, page_fd, slot, 0, NULL, NULL);
}

rz_status_t rz_watch_hold_beating(struct rz_watch_held **out, int page_fd, uint32_t slot,
                                  rz_time every, void (*beat)(void *arg), void *arg)
{
    struct rz_watch_held *held = calloc(1, sizeof(*held));
    if (!held) {
        return RZ_ERR_NO_MEMORY;
    }
    held->every = every;
    held->beat = beat;
    held->beat_arg = arg;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&held->released, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&held->lock, NULL);
    sem_init(&held->answered, 0, 0);
    void *page = NULL;
    rz_status_t status = rz_memory_map(page_fd, 0, true, &page, &held->bytes);
    if (status != RZ_OK) {
        goto err_free;
    }
    held->groups = page;
    status = RZ_ERR_INVALID;
    if (slot / RZ_WATCH_GROUP_SLOTS >= held->bytes / sizeof(*held->groups)) {
        goto err_free;
    }
    held->group = &held->groups[slot / RZ_WATCH_GROUP_SLOTS];
    held->slot = &held->group->slot[slot % RZ_WATCH_GROUP_SLOTS];
    /* A forked child must not be able to touch the lock of its parent. */
    madvise(page, held->bytes, MADV_DONTFORK);
    status = RZ_ERR_SYSTEM;
    if (rz_thread_start(&held->owner, "rz-watch", WATCH_STACK_BYTES, watch_own, held) != 0) {
        goto err_free;
    }
    watch_wait(&held->answered);
    if (held->error != 0) {
        pthread_join(held->owner, NULL);
        status = RZ_ERR_INVALID;
        goto err_free;
    }
    *out = held;
    return RZ_OK;

err_free:
    watch_held_free(held);
    return status;
}

pid_t rz_watch_thread(const struct rz_watch_held *held)
{
    return held->number;
}

void rz_watch_release(struct rz_watch_held *held)
{
    pthread_mutex_lock(&held->lock);
    held->is_released = true;
    pthread_cond_signal(&held->released);
    pthread_mutex_unlock(&held->lock);
    pthread_join(held->owner, NULL);
    watch_held_free(held);
}
