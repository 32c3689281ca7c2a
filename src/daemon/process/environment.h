/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment of a process: the daemon's own, the user's for this job, what the network needs,
 * and the identity of the process. */
#ifndef RZ_DAEMON_ENVIRONMENT_H
#define RZ_DAEMON_ENVIRONMENT_H

#include "daemon/state/own_node.h"

/* What a service of the daemon adds. */
struct rz_environment_given {
    char *const *texts;        /* NULL-terminated: NAME=value; NULL: none */
    char *const *defaults;     /* the same; the user's own settings override them */
    const char *rank_variable; /* the name of a variable that holds rank; NULL: none */
    uint32_t rank;
};

struct rz_environment_config {
    const struct rz_daemon_job *job;
    const struct rz_program *program;
    const struct rz_environment_given *given;
    int link_fd;
    int streams[3]; /* what the process gets as descriptors 0, 1 and 2 */
};

/* Makes the environment for a process: a NULL-terminated array of "NAME=value", which the caller
 * frees with rz_environment_free; NULL: no memory. */
char **rz_environment_make(const struct rz_environment_config *config, uint32_t rank,
                           uint32_t incarnation);
void rz_environment_free(char **environment);

/* If the job uses UCX (rzrun --net ucx), reports which of the user's UCX settings are
 * overridden. */
void rz_environment_tell_overruled(const struct rz_own_node *own);

#endif
