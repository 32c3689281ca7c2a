/* SPDX-License-Identifier: BSD-3-Clause */
/* Pseudo-terminals for what another process writes, and lines for the user of this one. */
#ifndef RZ_PORT_TERMINAL_H
#define RZ_PORT_TERMINAL_H

#include "base/status.h"

#include <stddef.h>

/*
 * fds[0]: the reading end of what is written to fds[1], a terminal that changes no byte, echoes
 * nothing and is the controlling terminal of no process. Both close-on-exec. Once all have closed
 * fds[1], and all was read, reading fails with EIO. RZ_ERR_SYSTEM: there are no more
 * (kernel.pty.max), or none at all.
 */
rz_status_t rz_terminal_pair(int fds[2]);

/* Writes n bytes to standard error if its reader takes them now, and else drops them. */
void rz_terminal_say(const char *text, size_t n);

#endif
