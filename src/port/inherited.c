/* SPDX-License-Identifier: BSD-3-Clause */
/* Saves signals, niceness and the limit of open files, changes them for this process, and restores
 * them in a child. */
#include "port/inherited.h"

#include <stddef.h>

#define BIT(number) (UINT64_C(1) << ((number) % 64))

void rz_inherited_take(struct rz_inherited *inherited)
{
    struct sigaction action;
    sigset_t none;
    *inherited = (struct rz_inherited){.files = {RLIM_INFINITY, RLIM_INFINITY}};
    for (int number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
            inherited->ignored |= BIT(number);
        }
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, &inherited->blocked);
    inherited->niceness = getpriority(PRIO_PROCESS, 0);
    getrlimit(RLIMIT_NOFILE, &inherited->files);
}

void rz_inherited_give(const struct rz_inherited *inherited)
{
    /* The system refuses this for some signals, which cannot be changed. */
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action = {.sa_handler =
                                       inherited->ignored & BIT(number) ? SIG_IGN : SIG_DFL};
        sigaction(number, &action, NULL);
    }
    setpriority(PRIO_PROCESS, 0, inherited->niceness);
    setrlimit(RLIMIT_NOFILE, &inherited->files);
    sigprocmask(SIG_SETMASK, &inherited->blocked, NULL);
}

void rz_inherited_raise(const struct rz_inherited *inherited, int niceness)
{
    struct rlimit files = inherited->files;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    setpriority(PRIO_PROCESS, 0, niceness);
}
