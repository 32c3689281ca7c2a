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
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
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

/* ---- What cannot be saved ---- */

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

/* ---- */

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
    fputs(said, stdout);
    MPI_Finalize();
    return 0;
}
