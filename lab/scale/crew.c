/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a model run, their barrier, and the large tables that they share. */
#include "scale/crew.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct seat {
    struct rz_scale_crew *crew;
    uint32_t self;
    pthread_t thread;
};

struct rz_scale_crew {
    pthread_mutex_t mutex;
    pthread_cond_t turned;
    uint32_t size, waiting;
    uint64_t turn; /* how often all threads have met */
    rz_scale_task *task;
    void *user;
    bool started, over;
    struct seat seats[RZ_SCALE_CREW_MAX];
};

/* The size is final only when all threads that could be started exist; a pthread_barrier needs it
 * before. */
static void *seat_work(void *at)
{
    struct seat *seat = at;
    struct rz_scale_crew *crew = seat->crew;
    pthread_mutex_lock(&crew->mutex);
    while (!crew->started) {
        pthread_cond_wait(&crew->turned, &crew->mutex);
    }
    pthread_mutex_unlock(&crew->mutex);
    for (;;) {
        rz_scale_crew_meet(crew);
        if (crew->over) {
            return NULL;
        }
        crew->task(crew->user, seat->self);
        rz_scale_crew_meet(crew);
    }
}

struct rz_scale_crew *rz_scale_crew_create(uint32_t threads)
{
    if (threads == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        threads = processors > 0 ? (uint32_t)processors : 1;
    }
    threads = threads < RZ_SCALE_CREW_MAX ? threads : RZ_SCALE_CREW_MAX;
    struct rz_scale_crew *crew = calloc(1, sizeof(*crew));
    if (!crew) {
        return NULL;
    }
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->turned, NULL);
    uint32_t size = 1;
    for (; size < threads; size++) {
        struct seat *seat = &crew->seats[size];
        seat->crew = crew;
        seat->self = size;
        if (pthread_create(&seat->thread, NULL, seat_work, seat) != 0) {
            break;
        }
    }
    pthread_mutex_lock(&crew->mutex);
    crew->size = size;
    crew->started = true;
    pthread_cond_broadcast(&crew->turned);
    pthread_mutex_unlock(&crew->mutex);
    return crew;
}

void rz_scale_crew_destroy(struct rz_scale_crew *crew)
{
    crew->over = true;
    rz_scale_crew_meet(crew);
    for (uint32_t i = 1; i < crew->size; i++) {
        pthread_join(crew->seats[i].thread, NULL);
    }
    pthread_cond_destroy(&crew->turned);
    pthread_mutex_destroy(&crew->mutex);
    free(crew);
}

uint32_t rz_scale_crew_size(const struct rz_scale_crew *crew)
{
    return crew->size;
}

void rz_scale_crew_do(struct rz_scale_crew *crew, rz_scale_task *task, void *user)
{
    crew->task = task;
    crew->user = user;
    rz_scale_crew_meet(crew);
    task(user, 0);
    rz_scale_crew_meet(crew);
}

void rz_scale_crew_meet(struct rz_scale_crew *crew)
{
    pthread_mutex_lock(&crew->mutex);
    if (++crew->waiting == crew->size) {
        crew->waiting = 0;
        crew->turn++;
        pthread_cond_broadcast(&crew->turned);
    } else {
        uint64_t turn = crew->turn;
        while (crew->turn == turn) {
            pthread_cond_wait(&crew->turned, &crew->mutex);
        }
    }
    pthread_mutex_unlock(&crew->mutex);
}

struct rz_scale_part rz_scale_crew_part(const struct rz_scale_crew *crew, uint32_t self,
                                        uint64_t all)
{
    uint64_t words = (all + 63) / 64;
    struct rz_scale_part part = {words * self / crew->size * 64,
                                 words * (self + 1) / crew->size * 64};
    part.end = part.end < all ? part.end : all;
    part.first = part.first < all ? part.first : all;
    return part;
}

void *rz_scale_table_create(uint64_t bytes)
{
    /* The system overcommits memory; without this check it would kill this process in the middle of
     * a run. */
    uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (bytes / page >= pages) {
        return NULL;
    }
    void *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED) {
        return NULL;
    }
    madvise(table, bytes, MADV_HUGEPAGE); /* optional: otherwise slower */
    return table;
}

void rz_scale_table_destroy(void *table, uint64_t bytes)
{
    if (table) {
        munmap(table, bytes);
    }
}
