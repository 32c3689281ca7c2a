/* SPDX-License-Identifier: BSD-3-Clause */
/* What cannot be saved. */
#include "rewind_state.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

static int stay(void *arg)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (!arg) {
        pause();
    }
    return 0;
}

/* Its end is told by no signal, and wait() does not see it. */
static void make_quiet_child(int flags)
{
    enum { STACK = 1 << 16 };
    char *stack = malloc(STACK);
    may(stack && clone(stay, stack + STACK, flags, NULL) > 0);
}

static void make_child_without_signal(void)
{
    make_quiet_child(0);
}

static void make_child_with_memory(void)
{
    make_quiet_child(CLONE_VM);
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

static void make_all_descriptors(void)
{
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
}

static void make_securebits(void)
{
    may(prctl(PR_SET_SECUREBITS, 4 /* SECBIT_NO_SETUID_FIXUP */) == 0);
}

static void make_no_new_code(void)
{
    may(prctl(65 /* PR_SET_MDWE */, 1, 0, 0, 0) == 0);
}

static void make_capabilities(void)
{
    may(prctl(PR_CAPBSET_DROP, 26 /* CAP_SYS_TTY_CONFIG */, 0, 0, 0) == 0);
}

static void make_user(void)
{
    may(setresuid(65534, (uid_t)-1, (uid_t)-1) == 0);
}

static void make_group(void)
{
    may(setresgid((gid_t)-1, 65534, (gid_t)-1) == 0);
}

static void make_groups(void)
{
    const gid_t one = 65534;
    may(setgroups(1, &one) == 0);
}

/* One that leads a group may not begin a session, but join another group. */
static void make_session(void)
{
    may(setsid() >= 0 || (getpgid(getppid()) != getpgid(0) && setpgid(0, getpgid(getppid())) == 0));
}

static void make_memory_errors(void)
{
    may(prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0) == 0);
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

/* In the place of libc's, as programs have it that run without that. */
static void make_own_rseq(void)
{
    static _Alignas(32) char own[32];
    const unsigned signature = 0x53053053;
    char *of_libc = (char *)__builtin_thread_pointer() + __rseq_offset;
    if (__rseq_size != 0) {
        may(syscall(SYS_rseq, of_libc, sizeof(own), 1, signature) == 0);
    }
    may(syscall(SYS_rseq, own, sizeof(own), 0, signature) == 0);
}

/* ---- The modes ---- */

const struct mode refused_modes[] = {
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
    {"child-without-signal", make_child_without_signal, NULL, NULL},
    {"child-with-memory", make_child_with_memory, NULL, NULL},
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
    {"all-descriptors", make_all_descriptors, NULL, NULL},
    {"securebits", make_securebits, NULL, NULL},
    {"no-new-code", make_no_new_code, NULL, NULL},
    {"capabilities", make_capabilities, NULL, NULL},
    {"user", make_user, NULL, NULL},
    {"group", make_group, NULL, NULL},
    {"groups", make_groups, NULL, NULL},
    {"session", make_session, NULL, NULL},
    {"memory-errors", make_memory_errors, NULL, NULL},
    {"namespace", make_namespace, NULL, NULL},
    {"root", make_root, NULL, NULL},
    {"keyring", make_keyring, NULL, NULL},
    {"protection-keys", make_protection_keys, NULL, NULL},
    {"segments", make_segments, NULL, NULL},
    {"own-rseq", make_own_rseq, NULL, NULL},
    {"pipe-on-output", make_pipe_on_output, NULL, end_pipe_on_output},
    {NULL, NULL, NULL, NULL},
};
