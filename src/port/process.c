/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes through pidfd, /proc and prctl: the tree of descendants is read from /proc and
 * signalled or killed until nothing is left. */
#include "port/process.h"

#include "base/assert.h"
#include "port/clock.h"
#include "port/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The time between two scans of the process tree; less than a second. */
#define CLEAR_LOOK_NS (10 * RZ_MILLISECOND)

/* Looks for descendants of a process that is to end, which may fork meanwhile. */
#define TWIN_LOOKS 8

/* Bound of descriptors that are tried if there is no list of open ones. */
#define FILES_MAX (1 << 20)

rz_status_t rz_process_open(pid_t pid, int *pidfd)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) {
        return errno == ESRCH         ? RZ_ERR_PROC_FAILED
               : rz_kernel_lacks_it() ? RZ_ERR_UNSUPPORTED
                                      : RZ_ERR_SYSTEM;
    }
    *pidfd = fd;
    return RZ_OK;
}

rz_status_t rz_process_signal(int pidfd, int signal)
{
    if (syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) != 0) {
        return errno == ESRCH    ? RZ_ERR_PROC_FAILED
               : errno == ENOSYS ? RZ_ERR_UNSUPPORTED
                                 : RZ_ERR_SYSTEM;
    }
    return RZ_OK;
}

rz_status_t rz_process_adopt_orphans(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? RZ_OK : RZ_ERR_SYSTEM;
}

rz_status_t rz_process_fail_with_parent(pid_t parent, int signal)
{
    if (prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) != 0) {
        return RZ_ERR_SYSTEM;
    }
    /* A parent that failed before the call sends nothing any more. */
    return getppid() == parent ? RZ_OK : RZ_ERR_CLOSED;
}

bool rz_process_fix_addresses(void)
{
    int now = personality(0xffffffff); /* asks without a change */
    return now >= 0 && personality((unsigned long)now | ADDR_NO_RANDOMIZE) >= 0;
}

rz_status_t rz_process_keep_on_exec(int fd, bool keep)
{
    return fcntl(fd, F_SETFD, keep ? 0 : FD_CLOEXEC) == 0 ? RZ_OK : RZ_ERR_SYSTEM;
}

/* Closes the descriptors that /proc/self/fd names, read without heap memory. */
static bool close_named(int first, int last)
{
    struct entry {
        uint64_t inode, offset;
        unsigned short length;
        unsigned char type;
        char name[];
    };
    _Alignas(uint64_t) char names[2048];
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n = -1;
    while (folder >= 0 && (n = syscall(SYS_getdents64, folder, names, sizeof(names))) > 0) {
        for (long at = 0; at < n;) {
            const struct entry *entry = (const void *)(names + at);
            int fd = 0;
            for (const char *digit = entry->name; *digit >= '0' && *digit <= '9'; digit++) {
                fd = 10 * fd + (*digit - '0');
            }
            if (entry->name[0] != '.' && fd >= first && fd <= last && fd != folder) {
                close(fd);
            }
            at += entry->length;
        }
    }
    if (folder >= 0) {
        close(folder);
    }
    return n == 0;
}

void rz_process_close(int first, int last)
{
    struct rlimit files;
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0 || close_named(first, last)) {
        return;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur > FILES_MAX) {
        files.rlim_cur = FILES_MAX;
    }
    for (int fd = first; fd <= last && fd < (int)files.rlim_cur; fd++) {
        close(fd);
    }
}

bool rz_process_path(char *path, size_t bytes)
{
    ssize_t n = readlink("/proc/self/exe", path, bytes);
    if (n > 0 && (size_t)n < bytes) {
        path[n] = '\0';
        return true;
    }
    const char *started_as = (const char *)getauxval(AT_EXECFN); /* 0: unknown */
    char *whole = started_as ? realpath(started_as, NULL) : NULL;
    bool fits = whole && strlen(whole) < bytes;
    if (fits) {
        memcpy(path, whole, strlen(whole) + 1);
    }
    free(whole);
    return fits;
}

/* What one read of /proc reports of a process. */
struct process_entry {
    pid_t pid, parent;
    unsigned long long started;      /* with the pid, an identity */
    unsigned long long user, system; /* processor time in clock ticks */
    long resident;                   /* pages */
    char state;
    bool alive, descendant;
};

static bool process_read(pid_t pid, struct process_entry *entry)
{
    char path[32], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0) {
        return false;
    }
    text[n] = '\0';
    /* The command is in parentheses and may contain anything, parentheses too. */
    const char *after = strrchr(text, ')');
    char state;
    int parent;
    unsigned long long started, user, system;
    long resident;
    if (!after || sscanf(after + 1,
                         " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d"
                         " %*d %llu %*u %ld",
                         &state, &parent, &user, &system, &started, &resident) != 6) {
        return false;
    }
    *entry = (struct process_entry){.pid = pid,
                                    .parent = parent,
                                    .started = started,
                                    .user = user,
                                    .system = system,
                                    .resident = resident,
                                    .state = state,
                                    .alive = state != 'Z' && state != 'X'};
    return true;
}

char rz_process_state(pid_t pid)
{
    struct process_entry entry;
    return process_read(pid, &entry) ? entry.state : 0;
}

bool rz_process_usage(pid_t pid, struct rz_process_usage *usage)
{
    struct process_entry entry;
    long ticks = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
    if (ticks <= 0 || page <= 0 || !process_read(pid, &entry)) {
        return false;
    }
    *usage = (struct rz_process_usage){
        .processor = (entry.user + entry.system) * (RZ_SECOND / (rz_time)ticks),
        .resident_bytes = entry.resident > 0 ? (uint64_t)entry.resident * (uint64_t)page : 0};
    return true;
}

/* All processes of the machine; the caller frees the list. NULL: no memory or no /proc. */
static struct process_entry *process_list(size_t *n)
{
    DIR *proc = opendir("/proc");
    if (!proc) {
        return NULL;
    }
    size_t room = 256;
    struct process_entry *list = malloc(room * sizeof(*list));
    *n = 0;
    for (struct dirent *name; list && (name = readdir(proc));) {
        pid_t pid = (pid_t)strtol(name->d_name, NULL, 10);
        if (pid <= 0 || !process_read(pid, &list[*n]) || ++*n < room) {
            continue;
        }
        struct process_entry *more = realloc(list, 2 * room * sizeof(*list));
        if (!more) {
            free(list);
        }
        list = more;
        room *= 2;
    }
    closedir(proc);
    return list;
}

/* Marks the descendants of root, in as many passes as the tree is deep. */
static void process_mark(struct process_entry *list, size_t n, pid_t root)
{
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < n; i++) {
            if (list[i].descendant) {
                continue;
            }
            bool child = list[i].parent == root;
            for (size_t j = 0; j < n && !child; j++) {
                child = list[j].descendant && list[j].pid == list[i].parent;
            }
            list[i].descendant = child;
            grown = grown || child;
        }
    }
}

/* Signals the process of entry, not another one that has got its pid. Without pidfd the pid could
 * be reused between the check and the signal. False: the system forbids it. */
static bool process_signal_entry(const struct process_entry *entry, int signal)
{
    int pidfd = -1;
    struct process_entry now;
    rz_status_t status = rz_process_open(entry->pid, &pidfd);
    if (status != RZ_OK && status != RZ_ERR_UNSUPPORTED) {
        return status == RZ_ERR_PROC_FAILED;
    }
    status = RZ_ERR_PROC_FAILED;
    if (process_read(entry->pid, &now) && now.started == entry->started) {
        status = pidfd >= 0 ? rz_process_signal(pidfd, signal) : RZ_ERR_UNSUPPORTED;
    }
    if (status == RZ_ERR_UNSUPPORTED) {
        status = kill(entry->pid, signal) == 0 || errno == ESRCH ? RZ_OK : RZ_ERR_SYSTEM;
    }
    if (pidfd >= 0) {
        close(pidfd);
    }
    return status == RZ_OK || status == RZ_ERR_PROC_FAILED;
}

unsigned rz_process_signal_descendants(pid_t root, int signal, unsigned looks)
{
    unsigned alive = 0;
    for (unsigned look = 0; look < looks; look++) {
        size_t n;
        struct process_entry *list = process_list(&n);
        if (!list) {
            return alive;
        }
        process_mark(list, n, root);
        alive = 0;
        for (size_t i = 0; i < n; i++) {
            if (!list[i].descendant || !list[i].alive) {
                continue;
            }
            alive++;
            process_signal_entry(&list[i], signal);
        }
        free(list);
        if (alive == 0) {
            break;
        }
    }
    return alive;
}

/* Reaps until no child is left, at most for this time. Returns whether none is left. */
static bool reap_all(rz_time within)
{
    rz_time until = rz_clock_now() + within;
    sigset_t child_ended, before;
    pid_t pid;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child_ended, &before);
    for (;;) {
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
            ;
        }
        rz_time now = rz_clock_now();
        if (pid < 0 || now >= until) {
            break;
        }
        struct timespec left = {.tv_nsec = (long)(until - now)};
        sigtimedwait(&child_ended, NULL, &left);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid < 0; /* ECHILD: with WNOHANG and no options more there is nothing else */
}

/* The number may be another process's by now. */
static bool is_twin(pid_t pid)
{
    char path[32];
    struct stat there, own;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat(path, &there) == 0 && stat("/proc/self/exe", &own) == 0 &&
           there.st_dev == own.st_dev && there.st_ino == own.st_ino;
}

bool rz_process_end_twin(pid_t pid)
{
    struct process_entry twin;
    if (!process_read(pid, &twin)) {
        return kill(pid, 0) != 0 && errno == ESRCH;
    }
    if (!is_twin(pid)) {
        return false;
    }
    rz_process_signal_descendants(pid, SIGKILL, TWIN_LOOKS);
    return process_signal_entry(&twin, SIGKILL);
}

bool rz_process_clear(rz_time within)
{
    rz_time until = rz_clock_now() + within;
    bool none = reap_all(0);
    /* A scan reads /proc of the whole machine: between two scans the killed processes get time. */
    while (!none && rz_clock_now() < until) {
        rz_process_signal_descendants(getpid(), SIGKILL, 1);
        none = reap_all(CLEAR_LOOK_NS);
    }
    return none;
}

/* Whether pid holds this file: a pipe, whose two ends are one inode, or a terminal. */
static bool process_holds(pid_t pid, const struct stat *file)
{
    char path[64];
    struct stat held;
    bool holds = false;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *files = opendir(path);
    for (struct dirent *name; files && !holds && (name = readdir(files));) {
        holds = fstatat(dirfd(files), name->d_name, &held, 0) == 0 &&
                held.st_mode == file->st_mode && held.st_rdev == file->st_rdev &&
                held.st_dev == file->st_dev && held.st_ino == file->st_ino;
    }
    if (files) {
        closedir(files);
    }
    return holds;
}

static void process_name(struct rz_process_holder *holder)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)holder->pid);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(holder->name, sizeof(holder->name), file)) {
        snprintf(holder->name, sizeof(holder->name), "?");
    }
    holder->name[strcspn(holder->name, "\n")] = '\0';
    if (file) {
        fclose(file);
    }
}

void rz_process_mapped_files(pid_t pid, bool (*visit)(void *arg, const char *path), void *arg)
{
    char line[4608];
    bool goes_on = true;
    snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(line, "re");
    while (maps && goes_on && fgets(line, sizeof(line), maps)) {
        line[strcspn(line, "\n")] = '\0';
        char *path = strchr(line, '/');
        goes_on = !path || visit(arg, path);
    }
    if (maps) {
        fclose(maps);
    }
}

bool rz_process_find_holder(pid_t root, int fd, struct rz_process_holder *holder)
{
    char terminal[64];
    struct stat file;
    bool known = ptsname_r(fd, terminal, sizeof(terminal)) == 0 ? stat(terminal, &file) == 0
                                                                : fstat(fd, &file) == 0;
    size_t n;
    struct process_entry *list = known ? process_list(&n) : NULL;
    if (!list) {
        return false;
    }
    process_mark(list, n, root);
    holder->pid = 0;
    for (size_t i = 0; i < n && !holder->pid; i++) {
        if (list[i].descendant && list[i].alive && process_holds(list[i].pid, &file)) {
            holder->pid = list[i].pid;
            process_name(holder);
        }
    }
    free(list);
    return holder->pid != 0;
}

unsigned long rz_process_numbers(void)
{
    unsigned long n = 0;
    FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
    if (file) {
        n = fscanf(file, "%lu", &n) == 1 ? n : 0;
        fclose(file);
    }
    return n;
}

void rz_process_let_read(pid_t by)
{
    /* EINVAL: no Yama, no permission needed */
    prctl(PR_SET_PTRACER, by > 0 ? (unsigned long)by : PR_SET_PTRACER_ANY, 0, 0, 0);
}

bool rz_process_copy(pid_t pid, const struct rz_process_vector *vectors, unsigned n)
{
    rz_assert(n <= RZ_PROCESS_VECTORS_MAX);
    struct iovec here[RZ_PROCESS_VECTORS_MAX], there[RZ_PROCESS_VECTORS_MAX];
    size_t bytes = 0;
    for (unsigned i = 0; i < n; i++) {
        here[i] = (struct iovec){.iov_base = vectors[i].to, .iov_len = vectors[i].bytes};
        there[i] = (struct iovec){.iov_base = (void *)(uintptr_t)vectors[i].from,
                                  .iov_len = vectors[i].bytes};
        bytes += vectors[i].bytes;
    }
    ssize_t copied = process_vm_readv(pid, here, n, there, n, 0);
    return copied >= 0 && (size_t)copied == bytes;
}

static bool move_ranges(pid_t pid, const struct rz_process_range *ranges, unsigned n, void *here,
                        bool writes)
{
    rz_assert(n <= RZ_PROCESS_RANGES_MAX);
    struct iovec there[RZ_PROCESS_RANGES_MAX], row = {.iov_base = here};
    for (unsigned i = 0; i < n; i++) {
        there[i] =
            (struct iovec){.iov_base = (void *)(uintptr_t)ranges[i].at, .iov_len = ranges[i].bytes};
        row.iov_len += ranges[i].bytes;
    }
    ssize_t copied = writes ? process_vm_writev(pid, &row, 1, there, n, 0)
                            : process_vm_readv(pid, &row, 1, there, n, 0);
    return copied >= 0 && (size_t)copied == row.iov_len;
}

bool rz_process_gather(pid_t pid, const struct rz_process_range *ranges, unsigned n, void *here)
{
    return move_ranges(pid, ranges, n, here, false);
}

bool rz_process_scatter(pid_t pid, const struct rz_process_range *ranges, unsigned n,
                        const void *here)
{
    return move_ranges(pid, ranges, n, (void *)(uintptr_t)here, true);
}

rz_status_t rz_process_memory_open(pid_t pid, int *fd)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    int opened = open(path, O_RDWR | O_CLOEXEC);
    if (opened < 0) {
        return errno == ENOENT || errno == ESRCH ? RZ_ERR_PROC_FAILED : RZ_ERR_UNSUPPORTED;
    }
    *fd = opened;
    return RZ_OK;
}

bool rz_process_memory_read(int fd, uint64_t at, void *to, size_t bytes)
{
    ssize_t done = pread(fd, to, bytes, (off_t)at);
    return done >= 0 && (size_t)done == bytes;
}

bool rz_process_memory_write(int fd, uint64_t at, const void *from, size_t bytes)
{
    ssize_t done = pwrite(fd, from, bytes, (off_t)at);
    return done >= 0 && (size_t)done == bytes;
}

void rz_process_leave_terminal(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; nothing >= 0 && fd < 3; fd++) {
        dup2(nothing, fd);
    }
    if (nothing > 2) {
        close(nothing);
    }
}
