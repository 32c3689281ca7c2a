/* SPDX-License-Identifier: BSD-3-Clause */
/* Pseudo-terminals for the output of another process, and lines for the user of this one. */
#ifndef RZ_PORT_TERMINAL_H
#define RZ_PORT_TERMINAL_H

#include "base/status.h"

#include <stddef.h>

/*
 * Opens a pseudo-terminal: what is written to fds[1] is read from fds[0]. It changes no byte,
 * echoes nothing, and is the controlling terminal of no process. Both are close-on-exec. When all
 * copies of fds[1] are closed and everything was read, reading fails with EIO. RZ_ERR_SYSTEM: there
 * are no more (kernel.pty.max), or none at all.
 */
rz_status_t rz_terminal_pair(int fds[2]);

/* Writes n bytes to standard error if its reader takes them now, and else drops them. */
void rz_terminal_say(const char *text, size_t n);

#endif
