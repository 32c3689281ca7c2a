/* SPDX-License-Identifier: BSD-3-Clause */
/* The process of an agent: a child that becomes `ssh`, or what takes its place. */
#ifndef RZ_REMOTE_AGENT_PROCESS_H
#define RZ_REMOTE_AGENT_PROCESS_H

#include <sys/types.h>

/*
 * Forks, and executes words, followed by more (each with NULL at the end; more may be NULL), in a
 * session of its own, with fds as standard input, output and error. It ends with this process
 * (SIGTERM), so that none is left. restore, if not NULL, is called before the program begins. One
 * that cannot be started says so on standard error, after `speaker`, and ends with
 * RZ_AGENT_NOT_STARTED. Returns -1 if there is no process (errno).
 */
pid_t rz_agent_process_start(const char *const *words, const char *const *more, const int fds[3],
                             void (*restore)(void), const char *speaker);

#endif
