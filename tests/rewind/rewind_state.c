/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with state of each kind that Linux keeps for a process (docs/process-state.md). It
 * makes the state, computes for some steps, and says at its end what has become of it: the same
 * with and without failures, or it cannot be saved.
 *
 *   rewind_state MODES STEPS FOLDER     MODES: names from the table at the end, with commas
 *   rewind_state --modes                their names
 */
#include <mpi.h>
#include <rhizome/rewind.h>

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int rank, steps;
static const char *folder;
static char said[1 << 14];

/* For the end: also what stands on a descriptor that is redirected until then. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    size_t n = strlen(said);
    va_list values;
    va_start(values, format);
    vsnprintf(said + n, sizeof(said) - n, format, values);
    va_end(values);
}

static void need(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "rewind_state: %s: %s\n", what, strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static const char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s.%d", folder, name, rank);
    return path;
}

/* ---- Descriptors 0, 1 and 2 ---- */

static int saved_out;

static void make_streams(void)
{
    saved_out = dup(1);
    FILE *numbers = fopen(path_of("numbers"), "w");
    for (int i = 0; i < steps; i++) {
        fprintf(numbers, "%d\n", i);
    }
    fclose(numbers);
    need(freopen(path_of("numbers"), "r", stdin) && freopen(path_of("out"), "w", stdout),
         "freopen");
    setvbuf(stdin, NULL, _IONBF, 0);
}

static void step_streams(int step)
{
    int number = -1;
    if (scanf("%d", &number) != 1 || number != step) {
        say("step %d has read %d\n", step, number);
    }
    printf("step %d\n", step);
    fflush(stdout);
}

static void end_streams(void)
{
    int lines = 0, wrong = 0, number;
    dup2(saved_out, 1);
    FILE *file = fopen(path_of("out"), "r");
    for (; fscanf(file, "step %d\n", &number) == 1; lines++) {
        wrong += number != lines;
    }
    fclose(file);
    say("streams: %d lines of %d, %d wrong\n", lines, steps, wrong);
}

static void step_lines(int step)
{
    printf("step %d\n", step);
    fflush(stdout);
}

/* Standard input is closed, and its number used again; standard error is a copy of output. */
static int reused;

static void make_numbers(void)
{
    close(0);
    reused = open("/dev/zero", O_RDONLY);
    dup2(1, 2);
}

static void end_numbers(void)
{
    char c = 1;
    struct stat out, error;
    need(fstat(1, &out) == 0 && fstat(2, &error) == 0, "fstat");
    say("numbers: %d reads %d, %s\n", reused, read(0, &c, 1) == 1 ? c : -1,
        out.st_ino == error.st_ino ? "one stream" : "two streams");
}

/* What rzrun passes to rank 0. */
static void make_input(void)
{
    setvbuf(stdin, NULL, _IONBF, 0);
}

static void step_input(int step)
{
    int number = -1;
    if (rank == 0 && (scanf("%d", &number) != 1 || number != step)) {
        say("step %d has read %d\n", step, number);
    }
}

static void end_input(void)
{
    char rest[64] = "";
    if (rank == 0) {
        bool some = scanf("%63s", rest) == 1, end = getchar() == '\n' && getchar() == EOF;
        say("input: then \"%s\", %s\n", some ? rest : "", end ? "end" : "more");
    }
}

/* ---- Threads and the locks that name them ---- */

static pthread_t sleeper, canceller, waiter;
static pthread_mutex_t recursive, checked, inherits, robust, contended;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
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

static void make_threads(void)
{
    struct sigaction action = {.sa_handler = on_hit};
    sigaction(SIGUSR2, &action, NULL);
    make_lock(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    make_lock(&checked, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    make_lock(&inherits, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
    make_lock(&robust, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
    make_lock(&contended, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
    need(pthread_rwlock_wrlock(&rwlock) == 0, "a lock");
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
               pthread_rwlock_unlock(&rwlock);
    say("locks: %d, %d\n", control, result == &contended);
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
    fesetround(FE_UPWARD);
    syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, GS_BASE);
}

static void end_registers(void)
{
    unsigned long gs = 0;
    volatile double third = 1;
    third /= 3;
    syscall(SYS_arch_prctl, 0x1004 /* ARCH_GET_GS */, &gs);
    say("registers: %d, %.20g, %lx\n", fegetround() == FE_UPWARD, third, gs);
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

/* ---- Files ---- */

static int flocked, processed, filed, offsets[2];
static FILE *appends;

static int open_as(const char *name)
{
    int fd = open(path_of(name), O_RDWR | O_CREAT, 0600);
    need(fd >= 0, name);
    return fd;
}

static int open_folder(const char *name)
{
    mkdir(path_of(name), 0700);
    return open(path_of(name), O_RDONLY | O_DIRECTORY);
}

/* One of the files is open twice: whoever closes a descriptor of it loses the lock. */
static void make_locks(void)
{
    const struct flock some = {.l_type = F_WRLCK, .l_start = 10, .l_len = 20};
    flocked = open_as("flocked");
    processed = open_as("processed");
    filed = open_as("filed");
    need(flock(flocked, LOCK_EX) == 0 && fcntl(processed, F_SETLK, &some) == 0 &&
             fcntl(filed, F_OFD_SETLK, &some) == 0 && open_as("processed") >= 0 &&
             flock(open_folder("locked"), LOCK_EX) == 0,
         "locks");
}

/* Another process cannot have them. */
static void end_locks(void)
{
    int status, free = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct flock first = {.l_type = F_WRLCK, .l_start = 29, .l_len = 1}, second = first;
        free = flock(open_as("flocked"), LOCK_EX | LOCK_NB) == 0;
        fcntl(open_as("processed"), F_GETLK, &first);
        fcntl(open_as("filed"), F_OFD_GETLK, &second);
        free |= (first.l_type == F_UNLCK) << 1 | (second.l_type == F_UNLCK) << 2;
        _exit(free | (flock(open_folder("locked"), LOCK_EX | LOCK_NB) == 0) << 3);
    }
    waitpid(pid, &status, 0);
    say("locks of files: %d free\n", WEXITSTATUS(status));
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

/* Two descriptors share an offset, and a file is appended to all the time. */
static void make_files(void)
{
    offsets[0] = open_as("shared");
    offsets[1] = dup(offsets[0]);
    appends = fopen(path_of("appended"), "a");
    need(offsets[1] >= 0 && appends, "files");
}

static void step_files(int step)
{
    char line[16];
    int n = snprintf(line, sizeof(line), "%d\n", step);
    need(write(offsets[step % 2], line, (size_t)n) == n, "write");
    fputs(line, appends);
    fflush(appends);
}

/* Each step writes to a file, and gives it another name. */
static const char *rotated_path(int step)
{
    char name[32];
    snprintf(name, sizeof(name), "rotated-%d", step);
    return path_of(name);
}

static void step_rotated(int step)
{
    static FILE *file;
    char other[4096];
    if (file) {
        fclose(file);
        snprintf(other, sizeof(other), "%s", rotated_path(step - 1));
        need(rename(path_of("rotated"), other) == 0, "rename");
    }
    file = fopen(path_of("rotated"), "w");
    need(file && fprintf(file, "step %d\n", step) > 0 && fflush(file) == 0, "rotated");
}

static void end_rotated(void)
{
    int wrong = 0;
    for (int step = 0, number = -1; step < steps - 1; step++) {
        FILE *file = fopen(rotated_path(step), "r");
        wrong += !file || fscanf(file, "step %d", &number) != 1 || number != step;
        if (file) {
            fclose(file);
        }
    }
    say("rotated: %d wrong\n", wrong);
}

static int count_lines(const char *name)
{
    FILE *file = fopen(path_of(name), "r");
    int lines = 0;
    for (int number; fscanf(file, "%d", &number) == 1 && number == lines;) {
        lines++;
    }
    bool whole = feof(file);
    fclose(file);
    return whole ? lines : -1;
}

static void end_files(void)
{
    say("files: %d %d of %d\n", count_lines("shared"), count_lines("appended"), steps);
}

/* ---- What cannot be saved ---- */

static bool missing; /* the system does not let this process have it */

static void may(bool holds)
{
    missing = missing || !holds;
}

static void make_socket(void)
{
    int ends[2];
    may(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
}

static void make_pipe(void)
{
    int ends[2];
    may(pipe(ends) == 0);
}

static void make_epoll(void)
{
    may(epoll_create1(0) >= 0);
}

static void make_eventfd(void)
{
    may(eventfd(0, 0) >= 0);
}

static void make_timerfd(void)
{
    may(timerfd_create(CLOCK_MONOTONIC, 0) >= 0);
}

static void make_signalfd(void)
{
    sigset_t none;
    sigemptyset(&none);
    may(signalfd(-1, &none, 0) >= 0);
}

static void make_inotify(void)
{
    may(inotify_init1(0) >= 0);
}

static void make_pidfd(void)
{
    may(syscall(SYS_pidfd_open, getpid(), 0) >= 0);
}

static void make_io_uring(void)
{
    char parameters[120] = "";
    may(syscall(SYS_io_uring_setup, 4, parameters) >= 0);
}

static void make_userfaultfd(void)
{
    may(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */) >= 0);
}

static void make_memfd(void)
{
    may(memfd_create("state", 0) >= 0);
}

static void make_nameless_file(void)
{
    may(tmpfile());
}

static void make_timer(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    may(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
}

static void make_child(void)
{
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() != 1) {
            pause();
        }
        _exit(0);
    }
}

static void make_shared_memory(void)
{
    may(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

static void make_segment(void)
{
    int id = shmget(IPC_PRIVATE, 4096, 0600);
    may(id >= 0 && shmat(id, NULL, 0) != (void *)-1 && shmctl(id, IPC_RMID, NULL) == 0);
}

static void make_mapped_file(void)
{
    int fd = open_as("mapped");
    may(ftruncate(fd, 4096) == 0 &&
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);
}

static void make_removed_folder(void)
{
    const char *path = path_of("removed");
    may(mkdir(path, 0700) == 0 && chdir(path) == 0 && rmdir(path) == 0);
}

/* It has another name, and /proc does not say which. */
static void make_renamed_link(void)
{
    char other[4096];
    int fd = open_as("linked");
    snprintf(other, sizeof(other), "%s", path_of("other-name"));
    may(fd >= 0 && link(path_of("linked"), other) == 0 && unlink(path_of("linked")) == 0);
}

static void make_file_of_a_process(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", getppid());
    may(open(path, O_RDONLY) >= 0);
}

static void make_watched_folder(void)
{
    signal(SIGIO, SIG_IGN);
    may(fcntl(open_folder("watched"), F_NOTIFY, DN_CREATE | DN_MULTISHOT) == 0);
}

static void make_file_limit(void)
{
    struct rlimit limit;
    may(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 100000;
    may(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void make_several_locks(void)
{
    struct flock some = {.l_type = F_WRLCK, .l_start = 10, .l_len = 20};
    int fd = open_as("several");
    may(flock(fd, LOCK_EX) == 0 && fcntl(fd, F_SETLK, &some) == 0);
}

static void make_lease(void)
{
    may(fcntl(open_as("lease"), F_SETLEASE, F_WRLCK) == 0);
}

static void make_seccomp(void)
{
    struct sock_filter allow = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
    struct sock_fprog program = {.len = 1, .filter = &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    may(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void make_capabilities(void)
{
    may(prctl(PR_CAPBSET_DROP, 26 /* CAP_SYS_TTY_CONFIG */, 0, 0, 0) == 0);
}

static void make_namespace(void)
{
    may(unshare(CLONE_NEWUTS) == 0);
}

static void make_root(void)
{
    may(chroot(folder) == 0);
}

static void make_keyring(void)
{
    may(syscall(SYS_keyctl, 0, -2, 1) >= 0);
}

static void make_protection_keys(void)
{
    may(pkey_alloc(0, 0) > 0);
}

static void make_segments(void)
{
    const unsigned entry[4] = {0, 0x10000000, 1, 0x51};
    may(syscall(SYS_modify_ldt, 1, entry, sizeof(entry)) == 0);
}

static void make_pipe_on_output(void)
{
    int ends[2];
    need(pipe(ends) == 0, "pipe");
    saved_out = dup(1);
    dup2(ends[1], 1);
    close(ends[1]);
}

static void end_pipe_on_output(void)
{
    dup2(saved_out, 1);
}

/* ---- The modes ---- */

static const struct mode {
    const char *name;
    void (*make)(void);
    void (*step)(int step);
    void (*end)(void);
} modes[] = {
    {"nothing", NULL, NULL, NULL},
    {"streams", make_streams, step_streams, end_streams},
    {"lines", NULL, step_lines, NULL},
    {"numbers", make_numbers, NULL, end_numbers},
    {"input", make_input, step_input, end_input},
    {"threads", make_threads, step_threads, end_threads},
    {"signals", make_signals, NULL, end_signals},
    {"itimer", make_itimer, step_itimer, end_itimer},
    {"properties", make_properties, NULL, end_properties},
    {"registers", make_registers, NULL, end_registers},
    {"stack", make_stack, NULL, end_stack},
    {"locks", make_locks, NULL, end_locks},
    {"files", make_files, step_files, end_files},
    {"rotated", NULL, step_rotated, end_rotated},
    {"process", make_process, NULL, end_process},
    {"socket", make_socket, NULL, NULL},
    {"pipe", make_pipe, NULL, NULL},
    {"epoll", make_epoll, NULL, NULL},
    {"eventfd", make_eventfd, NULL, NULL},
    {"timerfd", make_timerfd, NULL, NULL},
    {"signalfd", make_signalfd, NULL, NULL},
    {"inotify", make_inotify, NULL, NULL},
    {"pidfd", make_pidfd, NULL, NULL},
    {"io_uring", make_io_uring, NULL, NULL},
    {"userfaultfd", make_userfaultfd, NULL, NULL},
    {"memfd", make_memfd, NULL, NULL},
    {"nameless-file", make_nameless_file, NULL, NULL},
    {"timer", make_timer, NULL, NULL},
    {"child", make_child, NULL, NULL},
    {"shared-memory", make_shared_memory, NULL, NULL},
    {"segment", make_segment, NULL, NULL},
    {"mapped-file", make_mapped_file, NULL, NULL},
    {"removed-folder", make_removed_folder, NULL, NULL},
    {"renamed-link", make_renamed_link, NULL, NULL},
    {"file-of-a-process", make_file_of_a_process, NULL, NULL},
    {"watched-folder", make_watched_folder, NULL, NULL},
    {"file-limit", make_file_limit, NULL, NULL},
    {"several-locks", make_several_locks, NULL, NULL},
    {"lease", make_lease, NULL, NULL},
    {"seccomp", make_seccomp, NULL, NULL},
    {"capabilities", make_capabilities, NULL, NULL},
    {"namespace", make_namespace, NULL, NULL},
    {"root", make_root, NULL, NULL},
    {"keyring", make_keyring, NULL, NULL},
    {"protection-keys", make_protection_keys, NULL, NULL},
    {"segments", make_segments, NULL, NULL},
    {"pipe-on-output", make_pipe_on_output, NULL, end_pipe_on_output},
};
enum { MODES = sizeof(modes) / sizeof(*modes) };

static bool chosen(const struct mode *mode, const char *names)
{
    size_t n = strlen(mode->name);
    for (const char *at = names; (at = strstr(at, mode->name)) != NULL; at += n) {
        if ((at == names || at[-1] == ',') && (at[n] == ',' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

static void work(const char *names)
{
    double sum = 0, total = 0;
    for (int step = 0; step < steps; step++) {
        double mine = step * (rank + 1);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        for (int i = 0; i < MODES; i++) {
            if (modes[i].step && chosen(&modes[i], names)) {
                modes[i].step(step);
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

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--modes") == 0) {
        for (int i = 0; i < MODES; i++) {
            puts(modes[i].name);
        }
        return 0;
    }
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    need(argc == 4, "MODES STEPS FOLDER");
    steps = atoi(argv[2]);
    folder = argv[3];
    int known = 0, named = 1;
    for (const char *c = argv[1]; *c; c++) {
        named += *c == ',';
    }
    for (int i = 0; i < MODES; i++) {
        known += chosen(&modes[i], argv[1]);
    }
    need(known == named, "an unknown mode");
    for (int i = 0; i < MODES; i++) {
        if (modes[i].make && chosen(&modes[i], argv[1])) {
            modes[i].make();
        }
    }
    work(argv[1]);
    for (int i = 0; i < MODES; i++) {
        if (modes[i].end && chosen(&modes[i], argv[1])) {
            modes[i].end();
        }
    }
    fputs(missing ? "not here\n" : said, stdout);
    MPI_Finalize();
    return 0;
}
