/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees of processes and their ends. */
#include "../../patience.h"
#include "port/child_process.h"
#include "port/process.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int ready[2];

static void tell(void)
{
    if (write(ready[1], "", 1) != 1) {
        _exit(9);
    }
}

static void await_told(unsigned n)
{
    char byte;
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(read(ready[0], &byte, 1), 1);
    }
}

static void wait_for_ever(void)
{
    tell();
    for (;;) {
        pause();
    }
}

/* Becomes a tree `depth` deep with two children each; every second one leaves its session and loses
 * its parent. */
static void grow(unsigned depth)
{
    for (bool child = true; child && depth > 0; depth--) {
        child = false;
        for (unsigned i = 0; i < 2 && !child; i++) {
            child = fork() == 0;
            if (child && i == 1) {
                setsid();
                if (fork() != 0) {
                    _exit(0);
                }
            }
        }
    }
    wait_for_ever();
}

static void what_a_process_does_is_seen(void **state)
{
    (void)state;
    int status;
    struct rz_process_usage usage;
    assert_int_equal(rz_process_state(getpid()), 'R');
    assert_true(rz_process_usage(getpid(), &usage));
    assert_in_range(usage.resident_bytes, 100 * 1024, (uint64_t)1 << 40);
    assert_true(usage.processor < 3600 * RZ_SECOND);
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_int_equal(rz_process_state(pid), 'T');
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    assert_int_equal(rz_process_state(pid), 'Z');
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(rz_process_state(pid), 0);
    assert_false(rz_process_usage(pid, &usage));
}

/* Also when it has ended: the descriptor is never that of another process. */
static void memory_is_that_of_one_process(void **state)
{
    (void)state;
    static volatile int value = 1;
    const uint64_t at = (uintptr_t)&value;
    int fd, found = 0, next = 3;
    pid_t pid = fork();
    if (pid == 0) {
        value = 2;
        raise(SIGSTOP);
        _exit(value);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_int_equal(rz_process_memory_open(pid, &fd), RZ_OK);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_true(rz_process_memory_read(fd, at, &found, sizeof(found)));
    assert_int_equal(found, 2);
    assert_true(rz_process_memory_write(fd, at, &next, sizeof(next)));
    assert_false(rz_process_memory_read(fd, 0, &found, sizeof(found)));
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_int_equal(value, 1);
    assert_false(rz_process_memory_read(fd, at, &found, sizeof(found)));
    assert_false(rz_process_memory_write(fd, at, &next, sizeof(next)));
    close(fd);
    assert_int_equal(rz_process_memory_open(pid, &fd), RZ_ERR_PROC_FAILED);
}

static void a_whole_tree_ends_orphans_too(void **state)
{
    (void)state;
    assert_int_equal(rz_process_adopt_orphans(), RZ_OK);
    assert_int_equal(pipe(ready), 0);
    pid_t other = fork(); /* no part of the tree to end, though it looks alike */
    if (other == 0) {
        wait_for_ever();
    }
    pid_t keeper = fork();
    if (keeper == 0) {
        rz_process_adopt_orphans();
        for (unsigned i = 0; i < 2; i++) {
            if (fork() == 0) {
                grow(3);
            }
        }
        wait_for_ever();
    }
    await_told(1 + 1 + 2 * 15);
    assert_int_equal(rz_process_signal_descendants(keeper, SIGKILL, 100), 0);
    assert_int_equal(kill(keeper, 0), 0);
    assert_int_equal(kill(other, 0), 0);
    kill(keeper, SIGKILL);
    kill(other, SIGKILL);
    close(ready[1]);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 0); /* no process holds the other end any more */
    close(ready[0]);
    while (waitpid(-1, NULL, WNOHANG) > 0) {
        ;
    }
}

static void all_descendants_are_cleared_away(void **state)
{
    (void)state;
    assert_int_equal(rz_process_adopt_orphans(), RZ_OK);
    assert_true(rz_process_clear(0)); /* no child: no time needed */
    assert_int_equal(pipe(ready), 0);
    for (unsigned i = 0; i < 2; i++) {
        if (fork() == 0) {
            grow(3);
        }
    }
    await_told(2 * 15);
    assert_true(rz_process_clear(TEST_HANG_S * RZ_SECOND));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    close(ready[1]);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 0); /* no process holds the other end any more */
    close(ready[0]);
}

/* A grandchild that holds the other end is found, by a pipe and by a terminal, and nothing else. */
static void the_holder_of_a_pipe_is_found(void **state)
{
    (void)state;
    struct rz_process_holder holder;
    int held[2], master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char name[64];
    assert_int_equal(rz_process_adopt_orphans(), RZ_OK);
    assert_int_equal(pipe(held), 0);
    assert_int_equal(pipe(ready), 0);
    assert_true(master >= 0);
    assert_int_equal(unlockpt(master), 0);
    assert_int_equal(ptsname_r(master, name, sizeof(name)), 0);
    assert_false(rz_process_find_holder(getpid(), held[0], &holder));
    pid_t pid = fork();
    if (pid == 0) {
        close(held[0]);
        rz_child_process_name("a (holder)");
        wait_for_ever();
    }
    close(held[1]);
    pid_t at_terminal = fork();
    if (at_terminal == 0) {
        close(held[0]);
        assert_true(open(name, O_RDWR | O_NOCTTY) >= 0);
        wait_for_ever();
    }
    await_told(2);
    assert_true(rz_process_find_holder(getpid(), held[0], &holder));
    assert_int_equal(holder.pid, pid);
    assert_string_equal(holder.name, "a (holder)");
    assert_true(rz_process_find_holder(getpid(), master, &holder));
    assert_int_equal(holder.pid, at_terminal);
    assert_true(rz_process_clear(TEST_HANG_S * RZ_SECOND));
    assert_false(rz_process_find_holder(getpid(), held[0], &holder));
    close(held[0]), close(master), close(ready[0]), close(ready[1]);
}

static void a_pidfd_names_one_process(void **state)
{
    (void)state;
    int pidfd;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        wait_for_ever();
    }
    await_told(1);
    rz_status_t status = rz_process_open(child, &pidfd);
    if (status == RZ_ERR_UNSUPPORTED) { /* as on an old kernel */
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(ready[0]);
        close(ready[1]);
        skip();
    }
    assert_int_equal(status, RZ_OK);
    assert_int_equal(rz_process_signal(pidfd, SIGKILL), RZ_OK);
    struct pollfd polled = {.fd = pidfd, .events = POLLIN};
    assert_int_equal(poll(&polled, 1, TEST_HANG_MS), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(rz_process_signal(pidfd, SIGKILL), RZ_ERR_PROC_FAILED);
    close(pidfd);
    assert_int_equal(rz_process_open(child, &pidfd), RZ_ERR_PROC_FAILED);
    close(ready[0]);
    close(ready[1]);
}

static void descriptors_of_a_range_are_closed(void **state)
{
    enum { N = 300, FROM = 20, TO = 250 };
    static int fds[N];
    (void)state;
    for (int i = 0; i < N; i++) {
        assert_true((fds[i] = fcntl(STDERR_FILENO, F_DUPFD, 100)) >= 100);
    }
    rz_process_close(fds[TO], fds[FROM]); /* nothing lies between */
    rz_process_close(fds[FROM], fds[TO]);
    for (int i = 0; i < N; i++) {
        assert_int_equal(fcntl(fds[i], F_GETFD) == -1, i >= FROM && i <= TO);
    }
    rz_process_close(100, INT_MAX);
    assert_int_equal(fcntl(fds[N - 1], F_GETFD), -1);
    assert_true(fcntl(STDERR_FILENO, F_GETFD) >= 0);
}

static void the_own_program_is_found(void **state)
{
    char path[4096], exe[4096] = "";
    (void)state;
    assert_true(rz_process_path(path, sizeof(path)));
    assert_int_equal(path[0], '/');
    if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0) {
        assert_string_equal(path, exe);
    }
    assert_false(rz_process_path(path, 3));
}

static void a_child_fails_with_its_parent(void **state)
{
    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid_t parent = fork();
    if (parent == 0) {
        pid_t self = getpid();
        if (fork() == 0) {
            if (rz_process_fail_with_parent(self, SIGKILL) != RZ_OK) {
                _exit(1);
            }
            wait_for_ever();
        }
        for (;;) {
            pause();
        }
    }
    close(ready[1]);
    await_told(1);
    kill(parent, SIGKILL);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 0);
    waitpid(parent, NULL, 0);
    close(ready[0]);
    assert_int_equal(rz_process_fail_with_parent(getpid(), 0), RZ_ERR_CLOSED); /* not our parent */
}

static bool count_libc(void *arg, const char *path)
{
    int *seen = arg;
    assert_int_equal(path[0], '/');
    seen[0]++;
    seen[1] += strstr(path, "/libc.so") != NULL;
    return seen[1] == 0; /* not again after the first one */
}

static void mapped_files_are_visited(void **state)
{
    int seen[2] = {0, 0};
    (void)state;
    rz_process_mapped_files(getpid(), count_libc, seen);
    assert_int_equal(seen[1], 1);
    seen[0] = seen[1] = 0;
    rz_process_mapped_files(INT32_MAX, count_libc, seen);
    assert_int_equal(seen[0], 0);
}

/* Stopped, with a child; and another program is left alone. */
static void a_twin_is_ended_with_its_child(void **state)
{
    (void)state;
    int ends[2], status;
    char none;
    assert_int_equal(pipe(ends), 0);
    pid_t twin = fork();
    if (twin == 0) {
        close(ends[0]);
        pid_t parent = fork() == 0 ? getppid() : 0;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if this test fails */
        while (parent == 0 || getppid() == parent) {
            raise(SIGSTOP);
        }
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(waitpid(twin, &status, WUNTRACED), twin);
    assert_true(WIFSTOPPED(status));
    assert_true(rz_process_end_twin(twin));
    assert_int_equal(waitpid(twin, &status, 0), twin);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(read(ends[0], &none, 1), 0); /* the child has ended, too */
    assert_true(rz_process_end_twin(twin));
    close(ends[0]);
    pid_t other = vfork(); /* returns when the other program runs */
    if (other == 0) {
        execlp("sleep", "sleep", "1000", (char *)NULL);
        _exit(1);
    }
    assert_false(rz_process_end_twin(other));
    assert_int_equal(kill(other, SIGTERM), 0);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_descendants_are_cleared_away),
        cmocka_unit_test(the_holder_of_a_pipe_is_found),
        cmocka_unit_test(mapped_files_are_visited),
        cmocka_unit_test(a_pidfd_names_one_process),
        cmocka_unit_test(descriptors_of_a_range_are_closed),
        cmocka_unit_test(the_own_program_is_found),
        cmocka_unit_test(a_child_fails_with_its_parent),
        cmocka_unit_test(a_twin_is_ended_with_its_child),
        cmocka_unit_test(what_a_process_does_is_seen),
        cmocka_unit_test(memory_is_that_of_one_process),
        cmocka_unit_test(a_whole_tree_ends_orphans_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
