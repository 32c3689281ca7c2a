/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor check: what Rhizome needs of the kernel, tested as Rhizome uses it. */
#include "cmd/rzdoctor.h"

#include "port/clock.h"
#include "port/doorbell.h"
#include "port/kernel.h"
#include "port/memory.h"
#include "port/process.h"
#include "port/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TRIAL_LIMIT_S = 10, TRIAL_LIMIT_MS = 1000 * TRIAL_LIMIT_S, MEMORY_BYTES = 64 << 20 };

#define SECCOMP "; in a container, a seccomp profile that allows it"

/* The one line of a trial's text, for the middle of a sentence. */
static const char *why(struct rz_doctor_trial *trial, char room[RZ_DOCTOR_TEXT])
{
    if (WIFSIGNALED(trial->status) && trial->status != -1) {
        snprintf(room, RZ_DOCTOR_TEXT, "killed by signal %d (%s)", WTERMSIG(trial->status),
                 strsignal(WTERMSIG(trial->status)));
    } else if (trial->text[0]) {
        snprintf(room, RZ_DOCTOR_TEXT, "%.*s", (int)strcspn(trial->text, "\n"), trial->text);
    } else {
        snprintf(room, RZ_DOCTOR_TEXT, "%s",
                 trial->status == -1 ? "no end within 10 s" : "it was refused");
    }
    return room;
}

/* In a trial: reports why and is its exit status. */
static int refused(const char *what)
{
    fprintf(stderr, "%s: %s", what, strerror(errno));
    return 1;
}

/* In a trial of a feature that has a substitute: reports it and is its exit status. */
static int does_without(const char *call, const char *since, const char *instead)
{
    printf("%s is not there (%s has it, if no seccomp profile forbids it): %s instead", call, since,
           instead);
    return 0;
}

/* In a child of a trial; it ends with the trial, too. */
_Noreturn static void wait_to_be_killed(pid_t parent)
{
    while (rz_process_fail_with_parent(parent, SIGKILL) == RZ_OK) {
        pause();
    }
    _exit(1);
}

/* ---- processes ---- */

static int try_pidfd(void *arg)
{
    (void)arg;
    int fd;
    pid_t self = getpid(), child = fork();
    if (child == 0) {
        wait_to_be_killed(self);
    }
    if (child < 0) {
        return refused("fork");
    }
    rz_status_t status = rz_process_open(child, &fd);
    if (status == RZ_ERR_UNSUPPORTED) {
        kill(child, SIGKILL);
        return does_without("pidfd_open", "Linux 5.3", "processes are signalled by their numbers");
    }
    int bad = status != RZ_OK                           ? refused("pidfd_open")
              : rz_process_signal(fd, SIGKILL) != RZ_OK ? refused("pidfd_send_signal")
                                                        : 0;
    if (bad) {
        kill(child, SIGKILL);
        return bad;
    }
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, TRIAL_LIMIT_MS) == 1 ? 0 : refused("poll of a pidfd");
}

static int try_descendants(void *arg)
{
    (void)arg;
    int status;
    if (rz_process_adopt_orphans() != RZ_OK) {
        return refused("PR_SET_CHILD_SUBREAPER");
    }
    pid_t middle = fork();
    if (middle == 0) {
        _exit(fork() < 0);
    }
    if (middle < 0 || waitpid(middle, &status, 0) != middle) {
        return refused("fork");
    }
    return wait(&status) > 0 ? 0 : refused("waiting for an orphan");
}

static int try_close_range(void *arg)
{
    (void)arg;
    int fd = dup(STDERR_FILENO);
    rz_process_close(fd, INT_MAX);
    if (fcntl(fd, F_GETFD) != -1) {
        return refused("closing descriptors");
    }
    return syscall(SYS_close_range, fd, INT_MAX, 0) == 0
               ? 0
               : does_without("close_range", "Linux 5.9", "descriptors are closed one by one");
}

static int try_fences(void *arg)
{
    (void)arg;
    struct rz_doorbell bell = {0};
    bool can = rz_doorbell_join();
    rz_doorbell_spare(&bell, true);
    return can && atomic_load(&bell.spares)
               ? 0
               : does_without("membarrier", "Linux 4.16",
                              "each message takes a fence of its sender");
}

/* A child that holds its slot of the watch page is killed, as a rank might be. */
static int try_watch(void *arg)
{
    (void)arg;
    struct rz_watch *watch;
    struct rz_watch_held *held;
    uint32_t slot;
    enum rz_watch_end end;
    rz_time at;
    int ends[2];
    char byte;
    rz_status_t status = rz_watch_open(&watch, 1);
    if (status != RZ_OK) {
        return refused("a page of memory");
    }
    if (rz_watch_slot_open(watch, &slot) != RZ_OK || pipe(ends) != 0) {
        return refused("memory");
    }
    pid_t self = getpid(), child = fork();
    if (child == 0) {
        if (rz_watch_hold(&held, rz_watch_page_fd(watch), slot) == RZ_OK &&
            write(ends[1], "", 1) == 1) {
            wait_to_be_killed(self);
        }
        _exit(1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &byte, 1) != 1) {
        return refused("robust mutex");
    }
    rz_time killed = rz_clock_now();
    kill(child, SIGKILL);
    struct pollfd ready = {.fd = rz_watch_event_fd(watch), .events = POLLIN};
    if (poll(&ready, 1, TRIAL_LIMIT_MS) != 1 || !rz_watch_take(watch, &slot, &end, &at) ||
        end != RZ_WATCH_FAILED) {
        return refused("the kernel does not mark the robust mutex of a failed process");
    }
    printf("a killed process was noticed after %.2f ms", (double)(at - killed) / 1e6);
    if (rz_watch_waits_for_many()) {
        return 0;
    }
    printf("; ");
    return does_without("futex_waitv", "Linux 5.16", "a thread waits for each process");
}

/* ---- memory ---- */

static int try_memory(void *arg)
{
    (void)arg;
    int fd;
    void *at;
    if (rz_memory_create("rzdoctor", MEMORY_BYTES, &fd) != RZ_OK) {
        return refused("memfd_create, with seals");
    }
    if (fcntl(fd, F_GET_SEALS) == F_SEAL_SEAL) {
        does_without("memfd_create", "Linux 3.17", "files of /dev/shm without a name or seals");
    } else if (ftruncate(fd, 4096) == 0) {
        fprintf(stderr, "a sealed memfd can be made shorter");
        return 1;
    }
    if (rz_memory_map(fd, 0, true, &at, NULL) != RZ_OK) {
        return refused("mmap of a memfd");
    }
    if (rz_memory_reserve(fd, 0, 1 << 20) != RZ_OK) {
        return refused("fallocate of a memfd");
    }
    memset(at, 1, 1 << 20);
    return 0;
}

/* One child reads the memory of the other, as ranks of one node do. */
static int try_copy(void *arg)
{
    (void)arg;
    static char mine[4096], theirs[sizeof(mine)];
    int ends[2];
    char byte;
    if (pipe(ends) != 0) {
        return refused("pipe");
    }
    pid_t self = getpid(), owner = fork();
    if (owner == 0) {
        memset(mine, 'x', sizeof(mine));
        rz_process_let_read(self);
        if (write(ends[1], "", 1) == 1) {
            wait_to_be_killed(self);
        }
        _exit(1);
    }
    if (owner < 0 || read(ends[0], &byte, 1) != 1) {
        return refused("fork");
    }
    pid_t reader = fork();
    if (reader == 0) {
        if (rz_process_fail_with_parent(self, SIGKILL) != RZ_OK) {
            _exit(1);
        }
        struct rz_process_vector part = {theirs, (uint64_t)(uintptr_t)mine, sizeof(mine)};
        errno = 0;
        if (!rz_process_copy(owner, &part, 1)) {
            _exit(refused("process_vm_readv"));
        }
        _exit(theirs[sizeof(theirs) - 1] != 'x');
    }
    int status;
    bool read_it = reader > 0 && waitpid(reader, &status, 0) == reader;
    kill(owner, SIGKILL);
    if (!read_it) {
        return refused("fork");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int yama_scope(void)
{
    int scope = -1;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "r");
    if (file) {
        if (fscanf(file, "%d", &scope) != 1) {
            scope = -1;
        }
        fclose(file);
    }
    return scope;
}

static void check_copy(struct rz_doctor_report *report)
{
    struct rz_doctor_trial trial;
    char room[RZ_DOCTOR_TEXT];
    int scope = yama_scope();
    if (rz_doctor_try(try_copy, NULL, TRIAL_LIMIT_S, &trial)) {
        rz_doctor_say(report, RZ_DOCTOR_OK, "process_vm_readv", NULL,
                      "large messages within a node are copied once");
    } else {
        rz_doctor_say(report, RZ_DOCTOR_WARNING, "process_vm_readv",
                      scope >= 2 ? "as root: sysctl kernel.yama.ptrace_scope=1"
                                 : "in a container, a seccomp profile that allows process_vm_readv",
                      "%s%s: large messages within a node are copied twice", why(&trial, room),
                      scope >= 2 ? " (kernel.yama.ptrace_scope is 2 or 3)" : "");
    }
}

/* ---- clock and processors ---- */

/* The smallest step of the clock, and the cost of reading it: the best of some rounds, because
 * other processes run here, too. */
static void look_at_clock(rz_time *step, rz_time *cost)
{
    enum { ROUNDS = 20, LOOKS = 500 };
    *step = *cost = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        rz_time first = rz_clock_now(), last = first;
        for (int i = 0; i < LOOKS; i++) {
            rz_time now = rz_clock_now();
            if (now > last && now - last < *step) {
                *step = now - last;
            }
            last = now;
        }
        if ((last - first) / LOOKS < *cost) {
            *cost = (last - first) / LOOKS;
        }
    }
}

static void check_clock(struct rz_doctor_report *report)
{
    enum { SLOW_NS = 1000, COARSE_NS = 1000 };
    struct timespec resolution = {0};
    rz_time step, cost;
    look_at_clock(&step, &cost);
    clock_getres(CLOCK_MONOTONIC, &resolution);
    bool good = cost <= SLOW_NS && step <= COARSE_NS && resolution.tv_nsec <= COARSE_NS;
    rz_doctor_say(report, good ? RZ_DOCTOR_OK : RZ_DOCTOR_WARNING, "clock",
                  good ? NULL
                       : "see /sys/devices/system/clocksource/clocksource0: tsc is fast, hpet and "
                         "acpi_pm are slow",
                  "resolution %ld ns, smallest step seen %llu ns, %llu ns to read",
                  resolution.tv_nsec, (unsigned long long)step, (unsigned long long)cost);
}

/* The share of processor time that the control group allows, in processors; 0: no bound. */
static double quota(void)
{
    double most = 0, period = 0;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (file && fscanf(file, "%lf %lf", &most, &period) != 2) {
        most = 0;
    }
    if (file) {
        fclose(file);
    }
    return period > 0 ? most / period : 0;
}

static void check_processors(struct rz_doctor_report *report)
{
    cpu_set_t *set = CPU_ALLOC(CPU_SETSIZE * 8);
    size_t bytes = CPU_ALLOC_SIZE(CPU_SETSIZE * 8);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int ours = set && sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : (int)online;
    double share = quota();
    CPU_FREE(set);
    if (share > 0 && share < ours) {
        rz_doctor_say(report, RZ_DOCTOR_WARNING, "processors",
                      "give the container more, or start no more ranks than that",
                      "%d of %ld, but the control group allows the time of %.1f", ours, online,
                      share);
    } else {
        rz_doctor_say(report, RZ_DOCTOR_OK, "processors", NULL, "%d of %ld may be used", ours,
                      online);
    }
}

static const struct {
    const char *subject, *good, *remedy;
    int (*body)(void *arg);
} trials[] = {
    {"pidfd", "processes are watched and signalled by descriptor",
     "a seccomp profile that allows it", try_pidfd},
    {"subreaper", "orphans of a rank are found and ended", "Linux 3.4 or later" SECCOMP,
     try_descendants},
    {"close_range", "no descriptor leaks into ranks", "a seccomp profile that allows it",
     try_close_range},
    {"membarrier", "messages within a node need no fence of their sender",
     "a seccomp profile that allows it", try_fences},
    {"memfd", "shared memory without names, sealed; /dev/shm is not used",
     "raise the limit on file sizes (ulimit -f) if there is one; Linux 3.17 or later" SECCOMP
     ", or a /dev/shm",
     try_memory},
};

void rz_doctor_check_machine(struct rz_doctor_report *report)
{
    struct utsname system;
    rz_doctor_section(report, "Machine");
    uname(&system);
    rz_doctor_say(report, RZ_DOCTOR_OK, "kernel", NULL, "%s %s, %s", system.sysname, system.release,
                  system.machine);
    check_processors(report);
    check_clock(report);
}

void rz_doctor_check_kernel(struct rz_doctor_report *report)
{
    struct rz_doctor_trial trial;
    char room[RZ_DOCTOR_TEXT];
    rz_doctor_section(report, "Kernel");
    for (size_t i = 0; i < sizeof(trials) / sizeof(*trials); i++) {
        if (rz_doctor_try(trials[i].body, NULL, TRIAL_LIMIT_S, &trial)) {
            rz_doctor_say(report, RZ_DOCTOR_OK, trials[i].subject, NULL, "%s",
                          trial.text[0] ? trial.text : trials[i].good);
        } else {
            rz_doctor_say(report, RZ_DOCTOR_FAULT, trials[i].subject, trials[i].remedy, "%s",
                          why(&trial, room));
        }
    }
    if (rz_doctor_try(try_watch, NULL, TRIAL_LIMIT_S, &trial)) {
        rz_doctor_say(report, RZ_DOCTOR_OK, "robust futexes", NULL, "%s", trial.text);
    } else {
        rz_doctor_say(report, RZ_DOCTOR_FAULT, "robust futexes",
                      "a kernel with robust futexes; failures are noticed later without", "%s",
                      why(&trial, room));
    }
    check_copy(report);
}
