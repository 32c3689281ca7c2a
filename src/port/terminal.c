/* SPDX-License-Identifier: BSD-3-Clause */
/* Pseudo-terminals in raw mode, and writing to standard error without waiting. */
#include "port/terminal.h"

#include "port/descriptor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

rz_status_t rz_terminal_pair(int fds[2])
{
    char name[64];
    struct termios settings;
    fds[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    fds[1] = -1;
    if (fds[0] >= 0 && grantpt(fds[0]) == 0 && unlockpt(fds[0]) == 0 &&
        ptsname_r(fds[0], name, sizeof(name)) == 0) {
        fds[1] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    }
    if (fds[1] >= 0 && tcgetattr(fds[1], &settings) == 0) {
        cfmakeraw(&settings);
        if (tcsetattr(fds[1], TCSANOW, &settings) == 0) {
            return RZ_OK;
        }
    }
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
        fds[i] = -1;
    }
    return RZ_ERR_SYSTEM;
}

void rz_terminal_say(const char *text, size_t n)
{
    if (rz_descriptor_await_room(STDERR_FILENO, 0)) {
        ssize_t written = write(STDERR_FILENO, text, n);
        (void)written;
    }
}
