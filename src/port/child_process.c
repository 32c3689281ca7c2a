/* SPDX-License-Identifier: BSD-3-Clause */
/* Children of this process through fork, waitid and process groups. */
#include "port/child_process.h"

#include "base/assert.h"
#include "port/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLACED_MAX = 8 };

pid_t rz_child_process_fork(void)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid != 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    return pid;
}

void rz_child_process_plain_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL); /* fails for those that no process can handle */
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void rz_child_process_lead_group(pid_t pid)
{
    setpgid(pid, pid);
}

/* All sources are moved above the targets first, so that no dup2 overwrites a source that is still
 * needed. */
bool rz_child_process_place_descriptors(const int *source, unsigned n)
{
    int moved[PLACED_MAX];
    rz_assert(n <= PLACED_MAX);
    for (unsigned i = 0; i < n; i++) {
        if ((moved[i] = fcntl(source[i], F_DUPFD, (int)n)) < 0) {
            return false;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        if (dup2(moved[i], (int)i) < 0) {
            return false;
        }
    }
    rz_process_close((int)n, INT_MAX);
    return true;
}

bool rz_child_process_in_group(pid_t pid, pid_t leader)
{
    return getpgid(pid) == leader;
}

void rz_child_process_signal_group(pid_t leader, int number)
{
    kill(-leader, number);
}

void rz_child_process_signal(pid_t pid, int number)
{
    kill(pid, number);
}

bool rz_child_process_exists(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

bool rz_child_process_is_signal(unsigned number)
{
    return number > 0 && number < NSIG;
}

bool rz_child_process_exited(int status)
{
    return WIFEXITED(status);
}

bool rz_child_process_ended_itself(int status)
{
    static const int own[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    bool itself = WIFEXITED(status);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        itself |= WIFSIGNALED(status) && WTERMSIG(status) == own[i];
    }
    return itself;
}

int rz_child_process_exit_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int rz_child_process_status_of(int exit)
{
    return W_EXITCODE(exit, 0);
}

bool rz_child_process_next_end(pid_t *pid, int *status)
{
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
        return false;
    }
    *pid = info.si_pid;
    *status = info.si_code == CLD_EXITED
                  ? (info.si_status & 0xFF) << 8
                  : (info.si_status & 0x7F) | (info.si_code == CLD_DUMPED ? 0x80 : 0);
    return true;
}

void rz_child_process_reap(pid_t pid)
{
    waitpid(pid, NULL, 0);
}

bool rz_child_process_reap_ended(pid_t pid, int *status)
{
    pid_t reaped;
    *status = 0;
    do {
        reaped = waitpid(pid, status, WNOHANG);
    } while (reaped < 0 && errno == EINTR);
    return reaped != 0;
}

bool rz_child_process_reap_next(pid_t *pid, int *status)
{
    *pid = waitpid(-1, status, WNOHANG);
    return *pid > 0;
}

void rz_child_process_lead_session(void)
{
    setsid();
}

void rz_child_process_name(const char *name)
{
    prctl(PR_SET_NAME, name);
}
