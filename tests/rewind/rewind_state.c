/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with state of each kind that Linux keeps for a process (docs/process-state.md). It
 * makes the state, computes for some steps, and says at its end what has become of it: the same
 * with and without failures, or it cannot be saved.
 *
 *   rewind_state MODES STEPS FOLDER     MODES: names from the tables, with commas
 *   rewind_state --modes                their names
 */
#include "rewind_state.h"

#include <mpi.h>
#include <rhizome/rewind.h>

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int rank, steps, saved_out;
const char *folder;
static char said[1 << 14];
static bool missing;

void say(const char *format, ...)
{
    size_t n = strlen(said);
    va_list values;
    va_start(values, format);
    vsnprintf(said + n, sizeof(said) - n, format, values);
    va_end(values);
}

void need(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "rewind_state: %s: %s\n", what, strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

const char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s.%d", folder, name, rank);
    return path;
}

void may(bool holds)
{
    missing = missing || !holds;
}

/* ---- Threads and the locks that name them ---- */

static pthread_t sleeper, canceller, waiter;
static pthread_mutex_t recursive, checked, inherits, robust, contended;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t c11;
static uint32_t *numbers_of_ids, *numbers_before;
static volatile sig_atomic_t hits;

static void on_hit(int number)
{
    (void)number;
    hits = hits + 1;
}

static void *sleep_on(void *arg)
{
    while (true) {
        pause();
    }
    return arg;
}

static void *wait_for_lock(void *arg)
{
    if (pthread_mutex_lock(&contended) != 0) {
        return NULL;
    }
    pthread_mutex_unlock(&contended);
    return arg;
}

static void make_lock(pthread_mutex_t *lock, int type, int protocol, int robustness)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setrobust(&attributes, robustness);
    need(pthread_mutex_init(lock, &attributes) == 0 && pthread_mutex_lock(lock) == 0, "a lock");
}

/* Numbers that a restored process must not take for locks of the thread with this id: what held
 * ones look like, and nothing else than the id. */
enum { ID_NUMBERS = 14, ID_COPIES = 1000 };
static void make_numbers_of_ids(uint32_t id)
{
    const uint32_t like[4][ID_NUMBERS] = {
        {1, 1, id, 1, PTHREAD_MUTEX_RECURSIVE},
        {id, 1, id, 1, 16 | PTHREAD_MUTEX_RECURSIVE},
        {3, 0, 1, 1, 0, 0, id},
        {id, id, id, id, id, id, id, id, id, id, id, id, id, id},
    };
    numbers_of_ids = malloc(2 * sizeof(like) * ID_COPIES);
    need(numbers_of_ids != NULL, "malloc");
    numbers_before = numbers_of_ids + sizeof(like) / 4 * ID_COPIES;
    for (int i = 0; i < ID_COPIES; i++) {
        memcpy(numbers_of_ids + (size_t)i * sizeof(like) / 4, like, sizeof(like));
    }
    for (size_t i = 0; i < sizeof(like) / 4 * ID_COPIES; i++) {
        numbers_before[i] = ~numbers_of_ids[i];
    }
}

static int numbers_that_differ(void)
{
    int differ = 0;
    for (size_t i = 0; i < (size_t)(numbers_before - numbers_of_ids); i++) {
        differ += numbers_before[i] != ~numbers_of_ids[i];
    }
    return differ;
}

static void make_threads(void)
{
    make_numbers_of_ids((uint32_t)gettid());
    struct sigaction action = {.sa_handler = on_hit};
    sigaction(SIGUSR2, &action, NULL);
    make_lock(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    make_lock(&checked, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    make_lock(&inherits, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
    make_lock(&robust, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
    make_lock(&contended, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
    need(pthread_rwlock_wrlock(&rwlock) == 0, "a lock");
    need(mtx_init(&c11, mtx_recursive) == thrd_success && mtx_lock(&c11) == thrd_success, "a lock");
    need(pthread_create(&sleeper, NULL, sleep_on, NULL) == 0 &&
             pthread_create(&canceller, NULL, sleep_on, NULL) == 0 &&
             pthread_create(&waiter, NULL, wait_for_lock, &contended) == 0,
         "pthread_create");
}

static void step_threads(int step)
{
    int wrong = 0;
    wrong |= pthread_mutex_lock(&recursive) | pthread_mutex_unlock(&recursive);
    wrong |= pthread_mutex_lock(&inherits) | pthread_mutex_unlock(&inherits);
    wrong |= pthread_mutex_lock(&robust) | pthread_mutex_unlock(&robust);
    wrong |= mtx_lock(&c11) | mtx_unlock(&c11);
    wrong |= pthread_mutex_lock(&checked) != EDEADLK;
    wrong |= pthread_rwlock_wrlock(&rwlock) != EDEADLK;
    if (wrong) {
        say("threads: step %d: a lock does not know its owner\n", step);
    }
}

static void end_threads(void)
{
    clockid_t clock;
    struct sched_param param;
    int policy;
    char name[16] = "";
    void *result;
    int control = pthread_kill(sleeper, SIGUSR2);
    while (control == 0 && hits == 0) {
        sched_yield();
    }
    control |= pthread_setname_np(sleeper, "renamed") | pthread_getname_np(sleeper, name, 16) |
               pthread_getcpuclockid(sleeper, &clock) |
               pthread_getschedparam(sleeper, &policy, &param) |
               clock_gettime(clock, &(struct timespec){0});
    say("threads: %d hit, %s, %d\n", (int)hits, name, control);
    control = pthread_cancel(canceller) | pthread_cancel(sleeper);
    control |= pthread_join(canceller, &result) | pthread_join(sleeper, NULL);
    say("cancelled: %d, %d\n", control, result == PTHREAD_CANCELED);
    control = pthread_mutex_unlock(&contended) | pthread_join(waiter, &result);
    control |= pthread_mutex_unlock(&recursive) | pthread_mutex_unlock(&checked) |
               pthread_mutex_unlock(&inherits) | pthread_mutex_unlock(&robust) |
               pthread_rwlock_unlock(&rwlock) | mtx_unlock(&c11);
    say("locks: %d, %d; %d numbers differ\n", control, result == &contended, numbers_that_differ());
    free(numbers_of_ids);
}

/* ---- Signals and timers ---- */

static pthread_t blocker;
static sem_t blocks;
static volatile sig_atomic_t ticks;

static void *wait_for_signal(void *arg)
{
    (void)arg;
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    int number = 0;
    while (sem_wait(&blocks) != 0) {
    }
    sigwait(&mask, &number);
    return number == SIGUSR1 ? &blocker : NULL;
}

/* Pending for the process, twice in a queue with values, for this thread, and for another. */
static void make_signals(void)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigaddset(&mask, SIGRTMIN + 1);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    sem_init(&blocks, 0, 0);
    need(pthread_create(&blocker, NULL, wait_for_signal, NULL) == 0, "pthread_create");
    pthread_kill(blocker, SIGUSR1);
    kill(getpid(), SIGUSR1);
    sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 7});
    sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 8});
    pthread_kill(pthread_self(), SIGRTMIN + 1);
}

static void end_signals(void)
{
    sigset_t mask;
    siginfo_t info;
    struct timespec none = {0};
    void *got;
    sem_post(&blocks);
    pthread_join(blocker, &got);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigaddset(&mask, SIGRTMIN + 1);
    say("signals: %s", got == &blocker ? "of the thread" : "lost");
    for (int number; (number = sigtimedwait(&mask, &info, &none)) > 0;) {
        say(" %s %d from %s", number == SIGUSR1 ? "usr1" : "rt",
            info.si_code == SI_QUEUE ? info.si_value.sival_int : 0,
            info.si_pid == getpid() ? "itself" : "another");
    }
    say("\n");
}

static void on_tick(int number)
{
    (void)number;
    ticks = ticks + 1;
}

static void make_itimer(void)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_interval.tv_usec = 1000, .it_value.tv_usec = 1000};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* It would wait for ever if the timer stood still. */
static void step_itimer(int step)
{
    (void)step;
    for (int before = ticks; ticks == before;) {
        sched_yield();
    }
}

static void end_itimer(void)
{
    struct itimerval timer = {0}, was;
    setitimer(ITIMER_REAL, &timer, &was);
    say("itimer: each %ld us\n", (long)was.it_interval.tv_usec);
}

/* ---- Properties ---- */

static void make_properties(void)
{
    cpu_set_t set, one;
    struct rlimit limit = {.rlim_cur = 4096, .rlim_max = 8192};
    sched_getaffinity(0, sizeof(set), &set);
    CPU_ZERO(&one);
    for (int i = CPU_SETSIZE - 1; CPU_COUNT(&one) == 0 && i >= 0; i--) {
        if (CPU_ISSET(i, &set)) {
            CPU_SET(i, &one);
        }
    }
    need(sched_setaffinity(0, sizeof(one), &one) == 0, "sched_setaffinity");
    need(nice(3) >= 0 && setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 30, 1 << 30}) == 0 &&
             setrlimit(RLIMIT_CORE, &limit) == 0,
         "limits");
    const unsigned long node = 1;
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    syscall(SYS_set_mempolicy, 1 /* MPOL_PREFERRED */, &node, 2);
    syscall(SYS_ioprio_set, 1, 0, 3 << 13); /* idle */
    umask(027);
    need(chdir(folder) == 0, "chdir");
    prctl(PR_SET_NAME, "a name");
    prctl(PR_SET_TIMERSLACK, 123456);
    if (geteuid() == 0) { /* others cannot be saved without /proc, which this closes to them */
        prctl(PR_SET_DUMPABLE, 0);
    }
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    personality(personality(0xffffffff) | SHORT_INODE);
}

static void end_properties(void)
{
    cpu_set_t set;
    struct rlimit size, core;
    char name[16] = "", here[4096] = "", there[4096] = "";
    int reaper = 0, parent = 0, memory = 0;
    syscall(SYS_get_mempolicy, &memory, NULL, 0, NULL, 0);
    sched_getaffinity(0, sizeof(set), &set);
    getrlimit(RLIMIT_FSIZE, &size);
    getrlimit(RLIMIT_CORE, &core);
    prctl(PR_GET_NAME, name);
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    prctl(PR_GET_PDEATHSIG, &parent);
    say("properties: %d processor, nice %d, limits %ld %ld %ld, io %ld, umask %o, %s, \"%s\"\n",
        CPU_COUNT(&set), getpriority(PRIO_PROCESS, 0), (long)size.rlim_max, (long)core.rlim_cur,
        (long)core.rlim_max, syscall(SYS_ioprio_get, 1, 0), umask(0),
        realpath(folder, there) && strcmp(getcwd(here, sizeof(here)), there) == 0 ? "there" : here,
        name);
    say("controls: slack %d, no huge pages %d, reaper %d, parent %d, no privileges %d, %x\n",
        prctl(PR_GET_TIMERSLACK), prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), reaper, parent,
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), personality(0xffffffff) & SHORT_INODE);
    say("policies: %d %d, dumpable %d\n", sched_getscheduler(0), memory, prctl(PR_GET_DUMPABLE));
}

/* ---- Registers and stacks ---- */

enum { STACK_BYTES = 1 << 16, GS_BASE = 0x5000 };
static char stack[STACK_BYTES];
static volatile bool on_it;

static void make_registers(void)
{
    volatile long double none = 0; /* of the x87 unit, with a flag of its own */
    feclearexcept(FE_ALL_EXCEPT);
    none = 1 / none;
    fesetround(FE_UPWARD);
    syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, GS_BASE);
}

static void end_registers(void)
{
    unsigned long gs = 0;
    volatile double third = 1;
    int flags = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW);
    third /= 3;
    syscall(SYS_arch_prctl, 0x1004 /* ARCH_GET_GS */, &gs);
    say("registers: %d, %.20g, %lx, %s\n", fegetround() == FE_UPWARD, third, gs,
        flags == FE_DIVBYZERO ? "divided by zero" : "other flags");
    fesetround(FE_TONEAREST);
}

static void on_stack(int number)
{
    char here = (char)number;
    uintptr_t at = (uintptr_t)&here;
    on_it = at >= (uintptr_t)stack && at < (uintptr_t)stack + STACK_BYTES;
}

static void make_stack(void)
{
    struct sigaction action = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
    need(sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK_BYTES}, NULL) == 0 &&
             sigaction(SIGURG, &action, NULL) == 0,
         "sigaltstack");
}

static void end_stack(void)
{
    raise(SIGURG);
    say("stack: %d\n", on_it);
}

/* The first stack, beyond the limit that the process began with. */
enum { DEEP_BYTES = 24 << 20, FRAME_BYTES = 4096 };

static int use_stack(int frames)
{
    volatile char frame[FRAME_BYTES];
    frame[0] = (char)frames;
    return frames > 0 ? use_stack(frames - 1) + frame[0] - frame[0] : 0;
}

static void make_deep(void)
{
    struct rlimit limit;
    need(getrlimit(RLIMIT_STACK, &limit) == 0, "getrlimit");
    if (limit.rlim_max >= 2 * DEEP_BYTES) {
        limit.rlim_cur = 2 * DEEP_BYTES;
        need(setrlimit(RLIMIT_STACK, &limit) == 0 && use_stack(DEEP_BYTES / FRAME_BYTES) == 0,
             "the stack");
    }
}

static void end_deep(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    say("deep: %ld\n", (long)limit.rlim_cur);
}

/* What the kernel has for a process that uses membarrier(), and a file that says whose it is. */
static int own_status;

static void make_process(void)
{
    need(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0,
         "membarrier");
    own_status = open("/proc/self/stat", O_RDONLY);
}

static void end_process(void)
{
    char text[16] = "";
    need(pread(own_status, text, sizeof(text) - 1, 0) > 0, "/proc/self/stat");
    say("process: membarrier %ld, %s\n",
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0),
        atoi(text) == getpid() ? "its own" : "another one's");
}

/* ---- The modes ---- */

const struct mode process_modes[] = {
    {"nothing", NULL, NULL, NULL},
    {"threads", make_threads, step_threads, end_threads},
    {"signals", make_signals, NULL, end_signals},
    {"itimer", make_itimer, step_itimer, end_itimer},
    {"properties", make_properties, NULL, end_properties},
    {"registers", make_registers, NULL, end_registers},
    {"stack", make_stack, NULL, end_stack},
    {"deep", make_deep, NULL, end_deep},
    {"process", make_process, NULL, end_process},
    {NULL, NULL, NULL, NULL},
};

static const struct mode *const tables[] = {process_modes, file_modes,   memory_modes,
                                            thread_modes,  undone_modes, refused_modes};
enum { TABLES = sizeof(tables) / sizeof(*tables), MODES_MAX = 128 };

static const struct mode *chosen[MODES_MAX]; /* NULL: behind the last one */

static const struct mode *mode_named(const char *name, size_t n)
{
    for (int i = 0; i < TABLES; i++) {
        for (const struct mode *mode = tables[i]; mode->name; mode++) {
            if (strlen(mode->name) == n && memcmp(mode->name, name, n) == 0) {
                return mode;
            }
        }
    }
    return NULL;
}

/* In the order in which they are named. */
static void choose(const char *names)
{
    for (int i = 0; *names; i++) {
        size_t n = strcspn(names, ",");
        chosen[i] = mode_named(names, n);
        need(chosen[i] && i + 1 < MODES_MAX, "an unknown mode");
        names += n + (names[n] == ',');
    }
}

static void work(void)
{
    double sum = 0, total = 0;
    for (int step = 0; step < steps; step++) {
        double mine = step * (rank + 1);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        for (int i = 0; chosen[i]; i++) {
            if (chosen[i]->step) {
                chosen[i]->step(step);
            }
        }
        if (step % 10 == 0 && rank == 0) {
            RZ_Rewind_now();
        }
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    say("%d steps: %.17g\n", steps, total);
}

static int show_modes(void)
{
    for (int i = 0; i < TABLES; i++) {
        for (const struct mode *mode = tables[i]; mode->name; mode++) {
            puts(mode->name);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--modes") == 0) {
        return show_modes();
    }
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    need(argc == 4, "MODES STEPS FOLDER");
    steps = atoi(argv[2]);
    folder = argv[3];
    choose(argv[1]);
    for (int i = 0; chosen[i]; i++) {
        if (chosen[i]->make) {
            chosen[i]->make();
        }
    }
    work();
    for (int i = 0; chosen[i]; i++) {
        if (chosen[i]->end) {
            chosen[i]->end();
        }
    }
    fputs(missing ? "not here\n" : said, stdout);
    MPI_Finalize();
    return 0;
}
