/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints of communicators, as the user sets them.
 */
#ifndef RZ_MPI_COMM_INFO_H
#define RZ_MPI_COMM_INFO_H

struct rz_comm;
struct rz_info;

/* The value of the info key mpi_memory_alloc_kinds, of sessions and communicators. */
#define RZ_MEMORY_KINDS "mpi,system"

/* Sets the known hints of info (NULL: none); others are ignored. */
void rz_comm_take_hints(struct rz_comm *comm, struct rz_info *info);

#endif
