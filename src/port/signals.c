/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks the signals that a loop handles and reads them through a signalfd. */
#include "port/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

void rz_signals_ignore_losses(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* then the call returns EFBIG */
}

void rz_signals_take(struct rz_signals_taken *taken)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigemptyset(&taken->taken);
    sigaddset(&taken->taken, SIGCHLD);
    sigaddset(&taken->taken, SIGTERM);
    sigaddset(&taken->taken, SIGINT);
    sigaddset(&taken->taken, SIGHUP);
    sigprocmask(SIG_BLOCK, &taken->taken, &taken->before);
    /* The default disposition: if SIGCHLD were ignored, the end of children could not be waited
     * for. */
    sigaction(SIGCHLD, &standard, &taken->children);
}

void rz_signals_give_back(const struct rz_signals_taken *taken)
{
    sigaction(SIGCHLD, &taken->children, NULL);
    sigprocmask(SIG_SETMASK, &taken->before, NULL);
}

rz_status_t rz_signals_open(const struct rz_signals_taken *taken, int *fd)
{
    *fd = signalfd(-1, &taken->taken, SFD_CLOEXEC | SFD_NONBLOCK);
    return *fd >= 0 ? RZ_OK : RZ_ERR_SYSTEM;
}

int rz_signals_next(int fd)
{
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

void rz_signals_await(void)
{
    pause();
}
