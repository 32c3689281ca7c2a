/* SPDX-License-Identifier: BSD-3-Clause */
/* `rzd --bridge JOB`: a program beside the daemon of a detached job, by which an rzrun of another
 * host attaches to it (launch/attach.c). */
#ifndef RZ_DAEMON_JOB_BRIDGE_H
#define RZ_DAEMON_JOB_BRIDGE_H

/* Connects to the control socket of the user's job whose number begins with `prefix`, and passes on
 * bytes until one side ends. Returns the exit status; 7 (RZ_EXIT_NO_JOB) if there is no such job,
 * which was reported. */
int rz_bridge_run(const char *prefix);

#endif
