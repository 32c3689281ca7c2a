/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up the signals and standard descriptors that rzrun was started with, and restores them at
 * its end. */
#include "launch/surroundings.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static struct sigaction pipe_before, terminal_before, size_before;
static struct rlimit descriptors_before;
static int ended_by;

void rz_surroundings_settle(void)
{
    static const struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            int opened = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
            (void)opened; /* fd is the lowest free number */
        }
    }
    sigaction(SIGPIPE, &ignore, &pipe_before);
    sigaction(SIGTTIN, &ignore, &terminal_before);
    sigaction(SIGXFSZ, &ignore, &size_before); /* a file that is too large is an error of its own */
    /* Each node costs some descriptors. */
    if (getrlimit(RLIMIT_NOFILE, &descriptors_before) == 0) {
        const struct rlimit raised = {descriptors_before.rlim_max, descriptors_before.rlim_max};
        setrlimit(RLIMIT_NOFILE, &raised);
    }
}

void rz_surroundings_restore(void)
{
    sigaction(SIGPIPE, &pipe_before, NULL);
    sigaction(SIGTTIN, &terminal_before, NULL);
    sigaction(SIGXFSZ, &size_before, NULL);
    if (descriptors_before.rlim_max > 0) {
        setrlimit(RLIMIT_NOFILE, &descriptors_before);
    }
}

void rz_surroundings_signalled(int number)
{
    ended_by = number;
}

int rz_surroundings_exit(int status)
{
    const struct sigaction *before = ended_by == SIGPIPE ? &pipe_before : NULL;
    sigset_t only;
    if ((ended_by != SIGPIPE && ended_by != SIGINT) || status != 128 + ended_by ||
        (before && before->sa_handler == SIG_IGN)) {
        return status;
    }
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(ended_by, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, ended_by);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(ended_by);
    return status;
}
