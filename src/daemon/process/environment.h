/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment of a process: the daemon's own, the user's for this job, what the network needs,
 * and the identity of the process. */
#ifndef RZ_DAEMON_ENVIRONMENT_H
#define RZ_DAEMON_ENVIRONMENT_H

#include "daemon/state/own_node.h"

/* Makes the environment for a process of that program: a NULL-terminated array of "NAME=value",
 * which the caller frees with rz_environment_free; NULL: no memory. */
char **rz_environment_make(const struct rz_daemon_job *job, const struct rz_program *program,
                           uint32_t rank, uint32_t incarnation, int link_fd);
void rz_environment_free(char **environment);

/* If the job uses UCX (rzrun --net ucx), reports which of the user's UCX settings are
 * overridden. */
void rz_environment_tell_overruled(const struct rz_own_node *own);

#endif
