/* SPDX-License-Identifier: BSD-3-Clause */
/* Children of this process: how they are forked, signalled together with their descendants, and
 * reaped. */
#ifndef RZ_PORT_CHILD_PROCESS_H
#define RZ_PORT_CHILD_PROCESS_H

#include "base/status.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Forks. In the child (0) all signals are blocked: no handler of this process runs there. In the
 * parent it returns the child's pid, or -1.
 */
pid_t rz_child_process_fork(void);

/* In a child: signals are as a new program expects them: none is blocked, none is ignored or
 * handled. Async-signal-safe. */
void rz_child_process_plain_signals(void);

/* The process leads a group of its own, whose number is its pid. Both child and parent call it: the
 * group must exist before the first signal to it. Async-signal-safe. */
void rz_child_process_lead_group(pid_t pid);

/* In a child: source[i] becomes descriptor i, all others are closed; n at most 8. False: there are
 * no more descriptors. Async-signal-safe. */
bool rz_child_process_place_descriptors(const int *source, unsigned n);

/* Whether pid is in the group that `leader` leads. */
bool rz_child_process_in_group(pid_t pid, pid_t leader);

/* Sends a signal to every process of a group, or to one process. It is no error if the process has
 * ended. */
void rz_child_process_signal_group(pid_t leader, int number);
void rz_child_process_signal(pid_t pid, int number);

/* Whether a process with this number exists, including one that has ended and is not reaped. */
bool rz_child_process_exists(pid_t pid);

/* Whether signals have this number. */
bool rz_child_process_is_signal(unsigned number);

/* ---- ends of children ---- */

/* Functions of a status as waitpid returns it. */
bool rz_child_process_exited(int status); /* it exited, and was not ended by a signal */
/* It exited, or was ended by a signal that instructions of its own raise. */
bool rz_child_process_ended_itself(int status);
/* The exit status as in a shell: that of the exit, or 128 + signal. */
int rz_child_process_exit_of(int status);
int rz_child_process_status_of(int exit); /* the status of a process that exits with it */

/* A child that has ended and is not reaped yet; it is not reaped by this call. False: there is
 * none. */
bool rz_child_process_next_end(pid_t *pid, int *status);

/* Reaps the child: its number may be used again. */
void rz_child_process_reap(pid_t pid);

/* Reaps this child if it has ended. False: it has not. A child that is not there has ended with
 * status 0. */
bool rz_child_process_reap_ended(pid_t pid, int *status);

/* Reaps the next child that has ended. False: there is none. */
bool rz_child_process_reap_next(pid_t *pid, int *status);

/* The process leads a session of its own, so that signals of a terminal do not reach it. An error
 * means that it does already. */
void rz_child_process_lead_session(void);

/* Sets the name that ps shows for this thread; at most 15 characters. */
void rz_child_process_name(const char *name);

#endif
