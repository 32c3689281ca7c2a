/* SPDX-License-Identifier: BSD-3-Clause */
/* What is to be started by MPI_Comm_spawn, as the daemons read it. */
#ifndef RZ_MPI_SPAWN_COMMANDS_H
#define RZ_MPI_SPAWN_COMMANDS_H

#include "mpi/create/intercomm.h"

struct rz_spawn_wish {
    int count;
    char *const *commands;
    char ***argvs; /* NULL, or [count], each NULL or ending with NULL */
    const int *maxprocs;
    struct rz_info **infos; /* [count], each may be NULL */
};

/* As the daemons read it (wire/spawn_order.h), and how many processes that makes. The order is of
 * the caller, by free(). MPI_ERR_NO_MEM, MPI_ERR_ARG, MPI_ERR_SPAWN: it is too long. */
int rz_spawn_commands_write(const struct rz_spawn_wish *wish, struct rz_news *order,
                            uint32_t *n_processes);

#endif
