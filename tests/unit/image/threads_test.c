/* SPDX-License-Identifier: BSD-3-Clause */
/* A process with threads goes back to an image of its own: each thread is where it was, locks are
 * held by those that held them, and it does not matter which thread saves or restores. */
#include "../../image/apart.h"
#include "image/image.h"
#include "port/lock_owners.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#define PAGE ((size_t)4096)
#define WORKERS 3
#define TIMES 30

/* What no restore changes. */
struct outside {
    _Atomic int times, ticks, stop;
};

static struct outside *outside_new(void)
{
    void *at = map_apart(PAGE, MAP_SHARED, -1);
    assert_non_null(at);
    return at;
}

static int image_new(void)
{
    return rz_image_descriptor_aside(memfd_create("image", MFD_CLOEXEC));
}

static enum rz_image_result save_into(int fd, uint64_t *bytes)
{
    char why[512] = "";
    enum rz_image_result result =
        rz_image_save(&(struct rz_image_place){.fd = fd}, bytes, why, sizeof(why));
    if (result != RZ_IMAGE_SAVED && result != RZ_IMAGE_RESTORED) {
        fprintf(stderr, "not saved: %s\n", why);
        abort();
    }
    return result;
}

static void go_back_to(int fd, uint64_t bytes)
{
    char why[512] = "";
    rz_image_restore(fd, bytes, NULL, 0, why, sizeof(why));
    fprintf(stderr, "not restored: %s\n", why);
    abort();
}

/* ---- Threads that work, with one recursive lock and malloc ---- */

static pthread_mutex_t lock;
static uint64_t together, alone[WORKERS];
static _Atomic bool end;
static _Thread_local uint64_t mine;

static void *work(void *argument)
{
    uint64_t *own = argument;
    double x = 1;
    while (!atomic_load(&end)) {
        pthread_mutex_lock(&lock);
        pthread_mutex_lock(&lock);
        together++, ++*own, mine++;
        pthread_mutex_unlock(&lock);
        char *at = malloc(64 + *own % 5000);
        at[0] = (char)*own;
        x = x * 1.0000001 + at[0] * 1e-9;
        free(at);
        if (mine != *own) {
            abort();
        }
        pthread_mutex_unlock(&lock);
        if (*own % 64 == 0) {
            sched_yield();
        }
    }
    return x > 0 ? own : NULL;
}

static void start_workers(pthread_t thread[WORKERS])
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &recursive);
    atomic_store(&end, false);
    together = 0;
    for (int i = 0; i < WORKERS; i++) {
        alone[i] = 0;
        assert_int_equal(pthread_create(&thread[i], NULL, work, &alone[i]), 0);
    }
}

static uint64_t so_far(void)
{
    pthread_mutex_lock(&lock);
    uint64_t sum = 0, all = together;
    for (int i = 0; i < WORKERS; i++) {
        sum += alone[i];
    }
    pthread_mutex_unlock(&lock);
    if (sum != all) {
        abort();
    }
    return all;
}

static void end_workers(pthread_t thread[WORKERS])
{
    atomic_store(&end, true);
    for (int i = 0; i < WORKERS; i++) {
        void *own;
        assert_int_equal(pthread_join(thread[i], &own), 0);
        assert_ptr_equal(own, &alone[i]);
    }
    so_far();
    pthread_mutex_destroy(&lock);
}

static void await_work(uint64_t from)
{
    while (so_far() < from + 100) {
        sched_yield();
    }
}

static void *idle(void *argument)
{
    while (true) {
        free(malloc(100));
    }
    return argument;
}

static void threads_continue_where_they_were(void **state)
{
    (void)state;
    struct outside *outside = outside_new();
    int fd = image_new();
    uint64_t bytes;
    pthread_t thread[WORKERS];
    start_workers(thread);
    await_work(0);
    volatile uint64_t before = so_far();
    save_into(fd, &bytes);
    assert_true(so_far() >= before);
    await_work(so_far());
    if (atomic_fetch_add(&outside->times, 1) < TIMES) {
        if (outside->times % 3 == 0) { /* threads that the image has and the process has not */
            end_workers(thread);
        } else if (outside->times % 3 == 1) { /* and the other way round */
            pthread_t more;
            assert_int_equal(pthread_create(&more, NULL, idle, NULL), 0);
        }
        go_back_to(fd, bytes);
    }
    end_workers(thread);
    close(fd);
}

/* ---- Locks that are held, and waited for, while the process is saved ---- */

static pthread_mutex_t held;
static sem_t is_held, may_release;

static void *hold(void *argument)
{
    int wrong = pthread_mutex_lock(&held) | pthread_mutex_lock(&held) | sem_post(&is_held);
    while (sem_wait(&may_release) != 0) {
    }
    wrong |= pthread_mutex_unlock(&held) | pthread_mutex_unlock(&held);
    return wrong ? NULL : argument;
}

static bool waits(pid_t id)
{
    char path[64], state = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)id);
    FILE *file = fopen(path, "r");
    bool known = file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    if (file) {
        fclose(file);
    }
    return known && state == 'S';
}

static _Atomic pid_t wanting;

static void *want(void *argument)
{
    atomic_store(&wanting, (pid_t)syscall(SYS_gettid));
    int wrong = pthread_mutex_lock(&held) | pthread_mutex_lock(&held);
    wrong |= pthread_mutex_unlock(&held) | pthread_mutex_unlock(&held);
    return wrong ? NULL : argument;
}

static void lock_knows_its_owner(int protocol, int robustness)
{
    struct outside *outside = outside_new();
    int fd = image_new(), kind = 1;
    uint64_t bytes;
    pthread_t holder, waiter;
    void *result[2];
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setrobust(&attributes, robustness);
    pthread_mutex_init(&held, &attributes);
    sem_init(&is_held, 0, 0);
    sem_init(&may_release, 0, 0);
    atomic_store(&wanting, 0);
    rz_image_set_owners(rz_lock_owners_follow());
    assert_int_equal(pthread_create(&holder, NULL, hold, &kind), 0);
    while (sem_wait(&is_held) != 0) {
    }
    assert_int_equal(pthread_create(&waiter, NULL, want, &kind), 0);
    while (atomic_load(&wanting) == 0 || !waits(atomic_load(&wanting))) {
        sched_yield();
    }
    save_into(fd, &bytes);
    if (atomic_fetch_add(&outside->times, 1) < 5) {
        go_back_to(fd, bytes);
    }
    sem_post(&may_release);
    assert_int_equal(pthread_join(holder, &result[0]) | pthread_join(waiter, &result[1]), 0);
    assert_ptr_equal(result[0], &kind);
    assert_ptr_equal(result[1], &kind);
    assert_int_equal(pthread_mutex_trylock(&held) | pthread_mutex_unlock(&held), 0);
    close(fd);
}

static void locks_know_their_owners(void **state)
{
    (void)state;
    lock_knows_its_owner(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    lock_knows_its_owner(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
    lock_knows_its_owner(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
    lock_knows_its_owner(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST);
}

/* ---- Any thread ---- */

struct roles {
    struct outside *outside;
    int fd;
    uint64_t bytes;
};

static void *save_and_go_back(void *argument)
{
    struct roles *roles = argument;
    save_into(roles->fd, &roles->bytes);
    if (atomic_fetch_add(&roles->outside->times, 1) < 5) {
        go_back_to(roles->fd, roles->bytes);
    }
    return roles;
}

static void any_thread_saves_and_restores(void **state)
{
    (void)state;
    struct roles roles = {.outside = outside_new(), .fd = image_new()};
    pthread_t thread;
    void *result;
    for (int i = 0; i < 3; i++) {
        roles.outside->times = 0;
        assert_int_equal(pthread_create(&thread, NULL, save_and_go_back, &roles), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, &roles);
        assert_int_equal(roles.outside->times, 6);
        assert_int_equal(getpid(),
                         (int)syscall(SYS_gettid)); /* again in the kernel's first thread */
    }
    close(roles.fd);
}

static void *only_go_back(void *argument)
{
    struct roles *roles = argument;
    go_back_to(roles->fd, roles->bytes);
    return NULL;
}

static void another_thread_than_the_one_that_saved_restores(void **state)
{
    (void)state;
    struct roles roles = {.outside = outside_new(), .fd = image_new()};
    save_into(roles.fd, &roles.bytes);
    if (atomic_fetch_add(&roles.outside->times, 1) < 5) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, only_go_back, &roles), 0);
        pthread_join(thread, NULL);
        fail();
    }
    close(roles.fd);
}

/* ---- A thread that stays ---- */

static int tick(void *argument)
{
    struct outside *outside = argument; /* in the reserved region, as its stack is; no libc */
    while (!atomic_load(&outside->stop)) {
        atomic_fetch_add(&outside->ticks, 1);
        __asm__ volatile("syscall" : : "a"(SYS_sched_yield) : "rcx", "r11", "memory");
    }
    atomic_store(&outside->stop, 2);
    __asm__ volatile("syscall" : : "a"(SYS_exit), "D"(0) : "rcx", "r11", "memory");
    return 0;
}

static void an_excluded_thread_runs_on(void **state)
{
    (void)state;
    struct outside *outside = outside_new();
    int fd = image_new(), tid;
    uint64_t bytes;
    char *stack = map_apart(16 * PAGE, MAP_PRIVATE, -1);
    assert_non_null(stack);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    tid = clone(tick, stack + 16 * PAGE,
                CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
                outside);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert_true(tid > 0);
    assert_int_equal(rz_image_exclude_thread(tid), RZ_OK);
    save_into(fd, &bytes);
    int ticks = outside->ticks;
    while (outside->ticks < ticks + 10) {
        sched_yield();
    }
    if (atomic_fetch_add(&outside->times, 1) < 5) {
        go_back_to(fd, bytes);
    }
    outside->stop = 1;
    while (outside->stop != 2 || syscall(SYS_tgkill, getpid(), tid, 0) == 0) {
        sched_yield();
    }
    rz_image_include_thread(tid);
    munmap(stack, 16 * PAGE);
    close(fd);
}

/* ---- Threads that change the lists of what is excluded ---- */

static void *change_lists(void *argument)
{
    while (!atomic_load(&end)) {
        rz_image_exclude(argument, PAGE);
        rz_image_include(argument, PAGE);
    }
    return argument;
}

/* A save that finds no descriptor for write protection makes one, which it excludes. */
static void close_protector(void)
{
    for (int fd = 3; fd < 1 << 17; fd++) {
        char link[64], name[64] = "";
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        if (readlink(link, name, sizeof(name) - 1) > 0 &&
            strcmp(name, "anon_inode:[userfaultfd]") == 0) {
            close(fd);
            return;
        }
    }
}

static void lists_change_while_the_process_is_saved(void **state)
{
    (void)state;
    struct outside *outside = outside_new();
    int fd = image_new();
    uint64_t bytes;
    pthread_t thread[WORKERS];
    void *page[WORKERS];
    atomic_store(&end, false);
    for (int i = 0; i < WORKERS; i++) {
        page[i] = map_apart(PAGE, MAP_PRIVATE, -1);
        assert_int_equal(pthread_create(&thread[i], NULL, change_lists, page[i]), 0);
    }
    for (int i = 0; i < TIMES; i++) {
        close_protector();
        save_into(fd, &bytes);
    }
    if (atomic_fetch_add(&outside->times, 1) < 5) {
        go_back_to(fd, bytes);
    }
    atomic_store(&end, true);
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        munmap(page[i], PAGE);
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_know_their_owners),
        cmocka_unit_test(threads_continue_where_they_were),
        cmocka_unit_test(any_thread_saves_and_restores),
        cmocka_unit_test(another_thread_than_the_one_that_saved_restores),
        cmocka_unit_test(an_excluded_thread_runs_on),
        cmocka_unit_test(lists_change_while_the_process_is_saved),
    };
    char why[256] = "";
    if (rz_image_check(why, sizeof(why)) != RZ_OK && strstr(why, "this build")) {
        return 0;
    }
    for (int fd = 3; fd < 256; fd++) { /* of the launcher */
        close(fd);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
