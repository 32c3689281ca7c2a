/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine lock, and the loop of each waiting call: progress, then spin, yield or sleep on the
 * doorbell as core/wait_rule.h says. With several threads, also which one sleeps on the doorbell,
 * and how the lock passes between them.
 */
#include "mpi/engine/waiting.h"

#include "base/assert.h"
#include "mpi/impl.h"
#include "port/clock.h"
#include "port/processor.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

/* No sleep is longer (rz_wait_sleep_ns). */
#define SLEEP_MAX (100 * RZ_MILLISECOND)

/* Without a runtime nothing rings the doorbell, nor does a lock of another program: what can only
 * be polled is polled at this interval. */
#define SLEEP_ALONE RZ_MILLISECOND

/* A thread tries so often to get the lock before it sleeps for it; a thread that gives the lock
 * away waits as long for another to take it. */
enum { LOCK_ROUNDS = 1000 };

bool rz_engine_shared;

/* Recursive: a reduction function of the user, called with the lock held, may ask for the size of a
 * datatype. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t woken =
    PTHREAD_COND_INITIALIZER; /* the thread that slept on the doorbell is awake */
static bool sleeping;         /* some thread sleeps on the doorbell */
static uint64_t completions_at_sleep;

static _Atomic unsigned queued; /* threads that want the lock and did not get it at once */
static _Atomic unsigned turns;  /* how often such a thread got it */
static unsigned sleepers;       /* threads that sleep on the condition, not on the doorbell */
static uint64_t completions_at_condition;

static unsigned looking; /* operations that wait for what rings no doorbell */

static unsigned callers;   /* calls that are inside, if threads share the engine */
static uint64_t entries;   /* calls that have come in */
static uint32_t came_back; /* how often this process has rolled back */
static _Thread_local uint32_t
    known_back; /* came_back + 1 as this thread knows it; 0: it has not called yet */
static _Thread_local unsigned user_depth; /* functions of the user below calls of this thread */

/* ---- The lock ---- */

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    /* yield has no effect on most processors; isb takes about as long as pause */
    __asm__ volatile("isb");
#endif
}

/* A thread that holds the lock while it spins gives it to a queued one within a round: a sleep for
 * the lock would take far longer. */
static void lock_take_queued(void)
{
    atomic_fetch_add(&queued, 1);
    bool taken = false;
    int rounds =
        __atomic_load_n(&rz_engine.waiting.oversubscribed, __ATOMIC_RELAXED) ? 0 : LOCK_ROUNDS;
    for (int i = 0; i < rounds && !taken; i++) {
        relax();
        taken = pthread_mutex_trylock(&lock) == 0;
    }
    if (!taken) {
        pthread_mutex_lock(&lock);
    }
    atomic_fetch_sub(&queued, 1);
    atomic_fetch_add(&turns, 1);
}

static void lock_take(void)
{
    if (pthread_mutex_trylock(&lock) != 0) {
        lock_take_queued();
    }
}

static void lock_give(void)
{
    if (sleepers > 0 && rz_engine.completions != completions_at_condition) {
        pthread_cond_broadcast(&woken);
    }
    /* What this thread completed may be what the sleeper waits for. */
    if (sleeping && rz_engine.completions != completions_at_sleep) {
        rz_doorbell_ring(rz_engine.info->doorbell, rz_engine.info->doorbell_fd);
    }
    pthread_mutex_unlock(&lock);
}

void rz_engine_enter(void)
{
    lock_take();
    callers++;
    entries++;
}

void rz_engine_leave(void)
{
    callers--;
    if (__builtin_expect(rz_engine.going_back, 0)) {
        pthread_cond_broadcast(&woken);
    }
    lock_give();
}

unsigned rz_engine_callers(void)
{
    return callers;
}

uint64_t rz_engine_entries(void)
{
    return entries;
}

void rz_engine_unlock_for_user(void)
{
    user_depth++;
    if (rz_engine_shared) {
        lock_give();
    }
}

void rz_engine_lock_after_user(void)
{
    if (rz_engine_shared) {
        lock_take();
    }
    user_depth--;
}

void rz_engine_user_begins(void)
{
    user_depth++;
}

void rz_engine_user_ended(void)
{
    user_depth--;
}

/* Each call that communicates looks at `stops` anyhow. */
bool rz_engine_reduction_begins(void)
{
    bool stopped = rz_engine.stops;
    rz_engine_user_begins();
    rz_engine.reductions++;
    rz_engine.within++;
    rz_engine.stops = true;
    return stopped;
}

void rz_engine_reduction_ended(bool stopped)
{
    rz_engine.stops = stopped;
    rz_engine.within--;
    rz_engine.reductions--;
    rz_engine_user_ended();
}

bool rz_engine_runs_user(void)
{
    return user_depth > 0;
}

/* ---- Several threads, and a roll-back ---- */

bool rz_engine_thread_is_current(void)
{
    if (known_back == 0) {
        known_back = came_back + 1; /* its first call: it has seen nothing of earlier epochs */
    }
    return known_back == came_back + 1 && !rz_engine.going_back;
}

void rz_engine_thread_was_told(void)
{
    known_back = came_back + 1 + rz_engine.going_back;
}

void rz_engine_came_back(void)
{
    came_back++;
    known_back = came_back + 1;
    rz_engine.going_back = false;
}

/* ---- Waiting ---- */

/* Whether all sources that can ring the doorbell are quiet, after it was prepared. */
static bool nothing_new(void)
{
    if (rz_engine.woken) {
        return false;
    }
    for (int i = 0; i < RZ_PATH_COUNT; i++) {
        const struct rz_path *path = &rz_engine.paths[i];
        if (path->net && !path->ops->arm(path->net)) {
            return false;
        }
    }
    return atomic_load_explicit(&rz_engine.info->doorbell->reasons, memory_order_acquire) == 0 &&
           atomic_load_explicit(&rz_engine.board->news, memory_order_acquire) ==
               rz_engine.news_seen;
}

/* With several threads one sleeps on the doorbell; the others wait until it is awake. */
static void sleep_on_condition(rz_time timeout_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)timeout_ns;
    until.tv_sec += until.tv_nsec / (long)RZ_SECOND;
    until.tv_nsec %= (long)RZ_SECOND;
    sleepers++;
    completions_at_condition = rz_engine.completions;
    pthread_cond_timedwait(&woken, &lock, &until);
    sleepers--;
}

void rz_engine_await_others(void)
{
    while (rz_engine_shared && callers > 1) {
        if (sleeping) {
            rz_doorbell_ring(rz_engine.info->doorbell, rz_engine.info->doorbell_fd);
        }
        pthread_cond_broadcast(&woken);
        sleep_on_condition(SLEEP_MAX);
    }
}

/* What a call waits for. */
struct awaited_end {
    bool (*done)(void *arg);
    void *arg;
};

/* Whether the end came: it is looked at once more before the sleep. */
static bool sleep_on_doorbell(rz_time timeout_ns, const struct awaited_end *end)
{
    const struct rz_link_info *info = rz_engine.info;
    struct rz_path *between = &rz_engine.paths[RZ_PATH_NET];
    int fds[2] = {info->fd, -1};
    unsigned n_fds = 1;
    if (between->net) {
        fds[n_fds++] = between->ops->fd(between->net);
    }
    rz_doorbell_spare(info->doorbell,
                      rz_wait_sleeps_seldom(&rz_engine.waiting) && !rz_engine_shared);
    uint32_t value =
        rz_doorbell_prepare(info->doorbell, between->net ? RZ_DOORBELL_POLL : RZ_DOORBELL_FUTEX);
    /* The end may come without an event, by a store in shared memory (cells of net/net.h). */
    bool ended = false;
    if (!nothing_new() || (ended = end->done(end->arg))) {
        rz_doorbell_awake(info->doorbell);
        return ended;
    }
    sleeping = true;
    completions_at_sleep = rz_engine.completions;
    if (rz_engine_shared) {
        pthread_mutex_unlock(&lock);
    }
    rz_time wake_ns =
        rz_doorbell_sleep(info->doorbell, value, info->doorbell_fd, fds, n_fds, timeout_ns);
    if (rz_engine_shared) {
        lock_take();
        pthread_cond_broadcast(&woken);
    }
    sleeping = false;
    if (wake_ns > 0) {
        rz_wait_woke(&rz_engine.waiting, wake_ns);
    }
    return false;
}

static bool engine_sleep(rz_time longest_ns, const struct awaited_end *end)
{
    if (rz_engine.info->alone) {
        /* Only another thread of this process can end this wait. */
        if (rz_engine_shared) {
            sleep_on_condition(SLEEP_ALONE);
        } else {
            nanosleep(&(struct timespec){.tv_nsec = (long)SLEEP_ALONE}, NULL);
        }
        return false;
    }
    rz_engine_check();
    if (sleepers > 0 && rz_engine.completions != completions_at_condition) {
        pthread_cond_broadcast(&woken); /* one of them may wait for what this one completed */
    }
    rz_time timeout_ns = rz_engine.board->lease_ns / 4;
    timeout_ns = timeout_ns > longest_ns || timeout_ns == 0 ? longest_ns : timeout_ns;
    if (rz_engine.wake_at != RZ_TIME_NEVER) {
        rz_time now = rz_clock_now();
        rz_time left = rz_engine.wake_at > now ? rz_engine.wake_at - now : 0;
        timeout_ns = left < timeout_ns ? left : timeout_ns;
    }
    if (sleeping) {
        sleep_on_condition(timeout_ns);
        return false;
    }
    return sleep_on_doorbell(timeout_ns, end);
}

void rz_engine_looks(bool looks)
{
    rz_assert(looks || looking > 0);
    looking += looks ? 1 : (unsigned)-1;
}

void rz_engine_yield(void)
{
    rz_engine_unlock_for_user();
    sched_yield();
    rz_engine_lock_after_user();
}

/* Another thread wants the lock: it gets it before this one takes it again, unless it sleeps for
 * longer. */
static void give_way(void)
{
    unsigned before = atomic_load(&turns);
    rz_engine_unlock_for_user();
    for (int i = 0; i < LOCK_ROUNDS && atomic_load(&turns) == before; i++) {
        relax();
    }
    rz_engine_lock_after_user();
}

/* Gives the processor away, and measures how long that takes. */
static void offer(void)
{
    rz_time begun = rz_clock_now();
    rz_engine_yield();
    rz_wait_offered(&rz_engine.waiting, rz_clock_now() - begun);
}

/* Other threads are inside calls: they wait as well, or run a function of the user. */
static inline bool others_inside(void)
{
    return rz_engine_shared && callers > 1;
}

/* The next step after a round without an event. */
static enum rz_wait_step next_step(struct rz_wait_course *course)
{
    struct rz_wait_rule *rule = &rz_engine.waiting;
    if (course->idle == 0) {
        rz_wait_begins(rule, course);
    }
    if (!rz_wait_by_time(rule, course, others_inside())) {
        return rz_wait_counted(rule, course);
    }
    if (rz_engine_shared && atomic_load_explicit(&queued, memory_order_relaxed) > 0) {
        give_way();
    }
    if (!rz_wait_looks(course)) {
        return RZ_WAIT_SPIN;
    }
    rz_time now = rz_clock_now();
    /* Not before: the call takes a lock of this process, which one that copies from its memory
     * needs. */
    if (course->since != 0 && !course->watched && now >= course->offer_at) {
        course->watched = true;
        course->losses = rz_processor_losses();
    }
    return rz_wait_timed(rule, course, now);
}

/* Something happened. */
static inline void wait_anew(struct rz_wait_course *course)
{
    if (course->since != 0) {
        rz_wait_came(&rz_engine.waiting, course,
                     course->watched && rz_processor_losses() != course->losses);
    }
    *course = (struct rz_wait_course){0};
}

/* Whether the end came. */
static bool take_step(enum rz_wait_step step, struct rz_wait_course *course,
                      const struct awaited_end *end)
{
    switch (step) {
    case RZ_WAIT_SPIN:
        relax();
        break;
    case RZ_WAIT_YIELD:
        rz_engine_yield();
        break;
    case RZ_WAIT_OFFER:
        offer();
        break;
    case RZ_WAIT_SLEEP:
        if (!rz_engine.waiting.sleepless) {
            rz_time begun = rz_clock_now();
            bool ended =
                engine_sleep(rz_wait_sleep_ns(course, looking ? SLEEP_ALONE : SLEEP_MAX), end);
            rz_wait_slept(course, rz_clock_now() - begun);
            return ended;
        }
        break;
    }
    return false;
}

int rz_engine_wait(const struct rz_blocked *blocked, bool (*done)(void *arg), void *arg)
{
    struct rz_wait_course course = {0};
    struct rz_blocked_told told = {.wait = NULL};
    const struct awaited_end end = {done, arg};
    while (!done(arg) && !rz_engine.rollback) {
        if ((blocked->beside ? rz_engine_progress() : rz_engine_progress_waiting()) > 0) {
            wait_anew(&course);
            continue;
        }
        if (__builtin_expect(rz_engine.stops, 0)) {
            rz_engine_pause();
        }
        enum rz_wait_step step = next_step(&course);
        if (step == RZ_WAIT_SLEEP) {
            told.threads = rz_engine_shared;
            rz_blocked_tell(&told, blocked, arg);
        }
        if (take_step(step, &course, &end)) {
            break;
        }
    }
    rz_blocked_over(&told);
    return rz_engine.rollback ? RZM_ROLLBACK : MPI_SUCCESS;
}

/* ---- Processes named by other processes ---- */

struct awaited {
    const uint32_t *process;
    int n, first; /* the board shows all before `first` */
};

static bool all_known(void *arg)
{
    struct awaited *awaited = arg;
    while (awaited->first < awaited->n && rz_process_known(awaited->process[awaited->first])) {
        awaited->first++;
    }
    return awaited->first == awaited->n;
}

int rz_engine_await(const uint32_t *process, int n, const char *call)
{
    for (int i = 0; i < n; i++) {
        if (rz_process_slot(process[i]) >= rz_engine.info->n_slots) {
            return rzm_error(MPI_ERR_OTHER, "another process names slot %u; this job has %u",
                             rz_process_slot(process[i]), rz_engine.info->n_slots);
        }
    }
    struct awaited awaited = {process, n, 0};
    if (all_known(&awaited)) {
        return MPI_SUCCESS;
    }
    struct rz_blocked blocked = {.call = call, .peer = process[awaited.first], .tag = MPI_ANY_TAG};
    return rz_engine_wait(&blocked, all_known, &awaited);
}
