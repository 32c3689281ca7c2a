/* SPDX-License-Identifier: BSD-3-Clause */
/* Forks and executes an agent. */
#include "remote/agent_process.h"

#include "port/child_process.h"
#include "port/process.h"
#include "remote/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The longest command of an agent, in words. */
#define WORDS_MAX (RZ_AGENT_WORDS_MAX + 8)

static _Noreturn void become(const char *const *words, const char *const *more, const int fds[3],
                             void (*restore)(void), const char *speaker, pid_t parent)
{
    const char *all[WORDS_MAX + 1];
    size_t n = 0;
    if (!rz_child_process_place_descriptors(fds, 3) ||
        rz_process_fail_with_parent(parent, SIGTERM) != RZ_OK) {
        _exit(EXIT_FAILURE);
    }
    rz_child_process_lead_session(); /* signals of the terminal are not for it, nor questions */
    rz_child_process_plain_signals();
    if (restore) {
        restore();
    }
    for (; *words && n < WORDS_MAX; words++) {
        all[n++] = *words;
    }
    for (; more && *more && n < WORDS_MAX; more++) {
        all[n++] = *more;
    }
    all[n] = NULL;
    execvp(all[0], (char **)(uintptr_t)all);
    dprintf(STDERR_FILENO, "%s%s cannot be started: %s\n", speaker, all[0], strerror(errno));
    _exit(RZ_AGENT_NOT_STARTED);
}

pid_t rz_agent_process_start(const char *const *words, const char *const *more, const int fds[3],
                             void (*restore)(void), const char *speaker)
{
    pid_t parent = getpid(), pid = rz_child_process_fork();
    if (pid == 0) {
        become(words, more, fds, restore, speaker, parent);
    }
    return pid;
}
