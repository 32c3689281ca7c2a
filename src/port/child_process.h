/* SPDX-License-Identifier: BSD-3-Clause */
/* Children of this process: forked, signalled with all that they started, and their ends. */
#ifndef RZ_PORT_CHILD_PROCESS_H
#define RZ_PORT_CHILD_PROCESS_H

#include "base/status.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * fork. In the child (0) all signals are blocked: no handler of this process runs there. In the
 * parent the child's pid, or -1.
 */
pid_t rz_child_process_fork(void);

/* The process leads a group of its own, named by its pid. By the child and by the parent: the group
 * must exist before the first signal to it. Async-signal-safe. */
void rz_child_process_lead_group(pid_t pid);

/* In a child: source[i] becomes descriptor i, all others are closed; n at most 8. False: there are
 * no more descriptors. Async-signal-safe. */
bool rz_child_process_place_descriptors(const int *source, unsigned n);

/* Whether pid is in the group that `leader` leads. */
bool rz_child_process_in_group(pid_t pid, pid_t leader);

/* To every process of a group; to one process. One that is gone is no error. */
void rz_child_process_signal_group(pid_t leader, int number);
void rz_child_process_signal(pid_t pid, int number);

/* Whether there is a process of this number that could be signalled, ended and not reaped ones
 * too. */
bool rz_child_process_exists(pid_t pid);

/* A number that signals have. */
bool rz_child_process_is_signal(unsigned number);

/* ---- ends ---- */

/* A status as waitpid gives it. */
bool rz_child_process_exited(int status); /* by itself, not by a signal */
int rz_child_process_exit_of(int status); /* as a shell tells it: the exit, or 128 + signal */
int rz_child_process_status_of(int exit); /* of one that exits so */

/* A child that has ended and is not reaped yet; it stays so. False: there is none. */
bool rz_child_process_next_end(pid_t *pid, int *status);

/* Lets go of it, and of its number. */
void rz_child_process_reap(pid_t pid);

/* The same in one: the next child that has ended is reaped. False: there is none. */
bool rz_child_process_reap_next(pid_t *pid, int *status);

/* Leads a session of its own: signals of a terminal do not come here. An error means that it does
 * already. */
void rz_child_process_lead_session(void);

/* The name that ps shows for this thread; at most 15 characters. */
void rz_child_process_name(const char *name);

#endif
