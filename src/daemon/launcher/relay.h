/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs beside the daemon of a host: rzd itself, called in another way. They pass on what comes
 * to one process and is meant for another one.
 */
#ifndef RZ_DAEMON_RELAY_H
#define RZ_DAEMON_RELAY_H

/*
 * ---- For processes that another launcher has started (src/pmix) ----
 *
 * They find the process by RZ_MEETING_TOKEN.
 */

/*
 * `rzd --stand-in`: a process of the job that hands its link to the process of RZ_RANK, and ends
 * as that process does: with 0 after it has left the job, else by SIGKILL. When it is
 * killed, the process notices and ends. Returns the exit status.
 */
int rz_stand_in_run(void);

/* `rzd --relay ...`: an agent (remote/agent.h). Brings what it reads from standard input to rank 0,
 * and ends when that process does. Returns the exit status. */
int rz_stand_in_relay(void);

/* ---- For an rzrun of another host that attaches to a detached job (launch/attach.c) ---- */

/* `rzd --bridge JOB`: connects to the control socket of the user's job whose number begins with
 * `prefix`, and passes on bytes until one side ends. Returns the exit status; 7 (RZ_EXIT_NO_JOB) if
 * there is no such job, which was reported. */
int rz_bridge_run(const char *prefix);

#endif
