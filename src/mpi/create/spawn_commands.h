/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI_Comm_spawn is to start, in the form that the daemons read.
 */
#ifndef RZ_MPI_SPAWN_COMMANDS_H
#define RZ_MPI_SPAWN_COMMANDS_H

#include "mpi/create/intercomm.h"

struct rz_spawn_arguments {
    int count;
    char *const *commands;
    char ***argvs; /* NULL, or [count], each NULL or ending with NULL */
    const int *maxprocs;
    struct rz_info **infos; /* [count], each may be NULL */
};

/* Writes the order as the daemons read it (wire/spawn_order.h), and the number of processes in it.
 * The caller frees the order. MPI_ERR_NO_MEM, MPI_ERR_ARG, MPI_ERR_SPAWN: it is too long. */
int rz_spawn_commands_write(const struct rz_spawn_arguments *arguments, struct rz_news *order,
                            uint32_t *n_processes);

#endif
