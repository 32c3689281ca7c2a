/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the library itself needs of info objects, beside the calls of MPI.
 */
#ifndef RZ_MPI_INFO_H
#define RZ_MPI_INFO_H

/* Reads the requested number of processes, for MPI_INFO_ENV and MPI_Info_create_env, before the
 * link to the daemon opens, which removes it from the environment. */
void rz_info_keep_maxprocs(void);

#endif
