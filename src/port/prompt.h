/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls that another process could make wait: while they are made a signal comes each
 * millisecond, which ends the wait.
 *
 * A descriptor that comes along with a message (SCM_RIGHTS) can be a socket that waits for its peer
 * when its last copy is closed (SO_LINGER), for as long as its sender chose. Whoever closes such a
 * descriptor waits, and so does who closes a connection with it unread, or receives without room
 * for it: nothing of the receiver's own prevents that before Linux 6.16 (SO_PASSRIGHTS). A write to
 * an eventfd that another process has filled waits, too, if that process has made it wait.
 *
 * The signal is SIGURG, which does nothing by itself. It is for one thread: that which prepares.
 */
#ifndef RZ_PORT_PROMPT_H
#define RZ_PORT_PROMPT_H

#include "base/status.h"

/* From now on this thread's calls between begin and end are prompt: a handler and a timer are
 * kept. RZ_ERR_SYSTEM: there is no timer for it; begin and end do nothing then. */
rz_status_t rz_prompt_prepare(void);

/* Gives both back. */
void rz_prompt_forget(void);

/* Not nested. Nothing happens in a thread that has not prepared. In between calls may return
 * EINTR. */
void rz_prompt_begin(void);
void rz_prompt_end(void);

/* Closes a descriptor that another process has sent, or over which it can send some. */
void rz_prompt_close(int fd);

#endif
