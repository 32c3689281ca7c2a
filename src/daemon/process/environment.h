/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment of a process: the daemon's own, the user's for this job, the network's needs, its
 * identity. */
#ifndef RZ_DAEMON_ENVIRONMENT_H
#define RZ_DAEMON_ENVIRONMENT_H

#include "daemon/state/own_node.h"

/* For a process of that program. A NULL-terminated array of "NAME=value" that the caller frees with
 * rz_environment_free; NULL: no memory. */
char **rz_environment_make(const struct rz_daemon_job *job, const struct rz_program *program,
                           uint32_t rank, uint32_t incarnation, int link_fd);
void rz_environment_free(char **environment);

/* Says, where the job uses UCX (rzrun --net ucx), which of the user's settings of UCX do not hold.
 */
void rz_environment_tell_overruled(const struct rz_own_node *own);

#endif
