/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that wait for signals, end with locks, or have what others of their process have not. */
#include "rewind_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- Threads that wait for signals ---- */

static pthread_t taker, timed_taker;
static _Atomic pid_t taker_id;
static atomic_bool over;
static int taken, strange, strange_in_time; /* of a taker, until it has ended */

/* All signals are blocked in it, as programs have it. */
static void *take_signals(void *arg)
{
    sigset_t all;
    int number;
    sigfillset(&all);
    while (sigwait(&all, &number) == 0 && number != SIGUSR2) {
        taken += number == SIGUSR1;
        strange += number != SIGUSR1;
    }
    return arg;
}

static void *take_signals_for_a_time(void *arg)
{
    sigset_t all;
    sigfillset(&all);
    while (!atomic_load(&over)) {
        int number = sigtimedwait(&all, NULL, &(struct timespec){.tv_nsec = 20000000});
        strange_in_time += number > 0 && number != SIGUSR1;
    }
    return arg;
}

static pthread_t new_taker(void *(*run)(void *), bool blocks)
{
    pthread_t thread;
    sigset_t all, was;
    sigfillset(&all);
    pthread_sigmask(blocks ? SIG_SETMASK : SIG_UNBLOCK, blocks ? &all : NULL, &was);
    need(pthread_create(&thread, NULL, run, NULL) == 0, "pthread_create");
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return thread;
}

static void make_signal_thread(void)
{
    taker = new_taker(take_signals, true);
}

static void end_signal_thread(void)
{
    pthread_kill(taker, SIGUSR1);
    pthread_kill(taker, SIGUSR2);
    pthread_join(taker, NULL);
    say("signal-thread: %d taken, %d others\n", taken, strange);
}

static void make_timed_wait(void)
{
    timed_taker = new_taker(take_signals_for_a_time, rank % 2 == 0);
}

static void end_timed_wait(void)
{
    if (rank % 2 == 0) {
        pthread_kill(timed_taker, SIGUSR1);
    }
    atomic_store(&over, true);
    pthread_join(timed_taker, NULL);
    say("timed-wait: %d others\n", strange_in_time);
}

/* Without libc, whose sigfillset leaves out two signals that libc itself needs. */
static void *wait_without_libc(void *arg)
{
    const unsigned long all = ~0ul;
    atomic_store(&taker_id, gettid());
    const struct timespec time = {.tv_sec = 100};
    while (true) {
        long number = syscall(SYS_rt_sigtimedwait, &all, NULL, &time, sizeof(all));
        need(number <= 0, "a signal that nobody has sent");
    }
    return arg;
}

/* It waits when a snapshot is made. */
static void make_all_signals(void)
{
    char path[64], call[8] = "";
    need(pthread_create(&taker, NULL, wait_without_libc, NULL) == 0, "pthread_create");
    while (strncmp(call, "128 ", 4) != 0) {
        sched_yield();
        snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)atomic_load(&taker_id));
        FILE *file = fopen(path, "r");
        if (file) {
            (void)!fgets(call, sizeof(call), file);
            fclose(file);
        }
    }
}

/* ---- Signals that one thread sends to another while threads are stopped ---- */

enum { IDLE = 64 }; /* that are stopped before the sender is */
static pthread_t sender, receiver;
static atomic_long sent, received;
static atomic_bool sends_no_more, comes_no_more;

static void on_sent(int number)
{
    (void)number;
    atomic_fetch_add(&received, 1);
}

static void *receive(void *arg)
{
    while (!atomic_load(&comes_no_more)) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return arg;
}

static void *send_signals(void *arg)
{
    while (!atomic_load(&sends_no_more)) {
        if (atomic_load(&sent) - atomic_load(&received) < 100) {
            atomic_fetch_add(&sent, 1);
            need(pthread_kill(receiver, SIGRTMIN + 2) == 0, "pthread_kill");
        }
    }
    return arg;
}

static void *do_nothing(void *arg)
{
    while (true) {
        pause();
    }
    return arg;
}

static void make_sent(void)
{
    struct sigaction action = {.sa_handler = on_sent, .sa_flags = SA_RESTART};
    need(sigaction(SIGRTMIN + 2, &action, NULL) == 0 &&
             pthread_create(&receiver, NULL, receive, NULL) == 0,
         "pthread_create");
    for (int i = 0; i < IDLE; i++) {
        pthread_t idle;
        need(pthread_create(&idle, NULL, do_nothing, NULL) == 0, "pthread_create");
    }
    need(pthread_create(&sender, NULL, send_signals, NULL) == 0, "pthread_create");
}

static void end_sent(void)
{
    atomic_store(&sends_no_more, true);
    pthread_join(sender, NULL);
    atomic_store(&comes_no_more, true);
    pthread_join(receiver, NULL);
    say("sent: %ld are missing\n", atomic_load(&sent) - atomic_load(&received));
}

/* ---- Robust locks whose owner ends without having released them ---- */

static pthread_t owner, waiter;
static pthread_mutex_t left, left_too;
static sem_t held, may_end;

static void *end_with_locks(void *arg)
{
    need(pthread_mutex_lock(&left) == 0 && pthread_mutex_lock(&left_too) == 0, "a lock");
    sem_post(&held);
    while (sem_wait(&may_end) != 0) {
    }
    return arg;
}

static void *wait_for_lock(void *arg)
{
    int result = pthread_mutex_lock(&left);
    (void)arg;
    return result == EOWNERDEAD ? &left : NULL;
}

static void make_owner_ends(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    need(pthread_mutex_init(&left, &attributes) == 0, "a lock");
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    need(pthread_mutex_init(&left_too, &attributes) == 0, "a lock");
    sem_init(&held, 0, 0);
    sem_init(&may_end, 0, 0);
    need(pthread_create(&owner, NULL, end_with_locks, NULL) == 0, "pthread_create");
    while (sem_wait(&held) != 0) {
    }
    need(pthread_create(&waiter, NULL, wait_for_lock, NULL) == 0, "pthread_create");
}

static void end_owner_ends(void)
{
    struct timespec until;
    void *result = NULL;
    sem_post(&may_end);
    pthread_join(owner, NULL);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 100;
    int joined = pthread_timedjoin_np(waiter, &result, &until);
    say("owner-ends: %s, %s\n", joined == 0 && result == &left ? "told" : "not told",
        pthread_mutex_trylock(&left_too) == EOWNERDEAD ? "told" : "not told");
}

/* ---- What one thread alone has ---- */

static sem_t has_it;

static void *have_it(void *arg)
{
    ((void (*)(void))arg)();
    sem_post(&has_it);
    while (true) {
        pause();
    }
    return arg;
}

static void in_a_thread(void (*get)(void))
{
    pthread_t thread;
    sem_init(&has_it, 0, 0);
    need(pthread_create(&thread, NULL, have_it, (void *)get) == 0, "pthread_create");
    while (sem_wait(&has_it) != 0) {
    }
}

static void get_filter(void)
{
    struct sock_filter allow = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
    struct sock_fprog program = {.len = 1, .filter = &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    may(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void make_thread_filter(void)
{
    in_a_thread(get_filter);
}

static void get_namespace(void)
{
    may(unshare(CLONE_NEWUTS) == 0);
}

static void make_thread_namespace(void)
{
    in_a_thread(get_namespace);
}

static void get_folder(void)
{
    may(unshare(CLONE_FS) == 0 && chdir("/") == 0);
}

static void make_thread_folder(void)
{
    in_a_thread(get_folder);
}

static void get_files(void)
{
    may(unshare(CLONE_FILES) == 0 && open("/dev/null", O_RDONLY) >= 0);
}

static void make_thread_files(void)
{
    in_a_thread(get_files);
}

static void get_user(void)
{
    may(geteuid() == 0 && syscall(SYS_setresuid, -1, 65534, -1) == 0);
}

static void make_thread_user(void)
{
    in_a_thread(get_user);
}

static void get_capabilities(void)
{
    may(prctl(PR_CAPBSET_DROP, 26 /* CAP_SYS_TTY_CONFIG */, 0, 0, 0) == 0);
}

static void make_thread_capabilities(void)
{
    in_a_thread(get_capabilities);
}

static void get_keyring(void)
{
    may(syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -1 /* of the thread */, 1) >= 0);
}

static void make_thread_keyring(void)
{
    in_a_thread(get_keyring);
}

static void get_securebits(void)
{
    may(prctl(PR_SET_SECUREBITS, 4 /* SECBIT_NO_SETUID_FIXUP */) == 0);
}

static void make_thread_securebits(void)
{
    in_a_thread(get_securebits);
}

static void get_no_new_privileges(void)
{
    may(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
}

static void make_thread_privileges(void)
{
    in_a_thread(get_no_new_privileges);
}

static void get_no_time_stamps(void)
{
    may(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
}

static void make_time_stamps(void)
{
    in_a_thread(get_no_time_stamps);
}

/* ---- The modes ---- */

const struct mode thread_modes[] = {
    {"signal-thread", make_signal_thread, NULL, end_signal_thread},
    {"timed-wait", make_timed_wait, NULL, end_timed_wait},
    {"all-signals", make_all_signals, NULL, NULL},
    {"sent", make_sent, NULL, end_sent},
    {"owner-ends", make_owner_ends, NULL, end_owner_ends},
    {"thread-filter", make_thread_filter, NULL, NULL},
    {"thread-namespace", make_thread_namespace, NULL, NULL},
    {"thread-folder", make_thread_folder, NULL, NULL},
    {"thread-files", make_thread_files, NULL, NULL},
    {"thread-user", make_thread_user, NULL, NULL},
    {"thread-capabilities", make_thread_capabilities, NULL, NULL},
    {"thread-keyring", make_thread_keyring, NULL, NULL},
    {"thread-securebits", make_thread_securebits, NULL, NULL},
    {"thread-privileges", make_thread_privileges, NULL, NULL},
    {"time-stamps", make_time_stamps, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
