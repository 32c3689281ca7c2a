/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects: what the library itself needs of them beside the calls of MPI. */
#ifndef RZ_MPI_INFO_H
#define RZ_MPI_INFO_H

/* Before the link to the daemon opens, which takes it out of the environment: how many processes
 * were asked for, as MPI_INFO_ENV and MPI_Info_create_env tell from then on. */
void rz_info_keep_maxprocs(void);

#endif
