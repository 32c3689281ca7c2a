/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs beside the daemon, for processes that another launcher has started (src/pmix). They are
 * rzd itself, called in another way, and find the process by RZ_MEETING_TOKEN.
 */
#ifndef RZ_DAEMON_STAND_IN_H
#define RZ_DAEMON_STAND_IN_H

/*
 * `rzd --stand-in`: a process of the job that hands its link to the process of RZ_RANK, and ends
 * as that process does: with 0 after it has left the job, else by SIGKILL. When it is
 * killed, the process notices and ends. Returns the exit status.
 */
int rz_stand_in_run(void);

/* `rzd --relay ...`: an agent (remote/agent.h). Brings what it reads from standard input to rank 0,
 * and ends when that process does. Returns the exit status. */
int rz_stand_in_relay(void);

#endif
