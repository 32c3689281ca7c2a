/* Pseudo-terminals for what another process writes. */
#ifndef RZ_PORT_TERMINAL_H
#define RZ_PORT_TERMINAL_H

#include "base/status.h"

/*
 * fds[0]: where is read what is written to fds[1], a terminal that changes no byte, echoes nothing
 * and is nobody's controlling terminal. Both close-on-exec. Once all have closed fds[1], and all
 * was read, reading fails with EIO. RZ_ERR_SYSTEM: there are no more (kernel.pty.max), or none at
 * all.
 */
rz_status_t rz_terminal_pair(int fds[2]);

#endif
