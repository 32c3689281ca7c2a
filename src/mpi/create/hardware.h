/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pieces of hardware to which this process is bound.
 */
#ifndef RZ_MPI_HARDWARE_H
#define RZ_MPI_HARDWARE_H

/* The types of hardware, as users name them in the info key mpi_hw_resource_type. */
#define RZ_HARDWARE_KEY "mpi_hw_resource_type"
#define RZ_HARDWARE_SHARED_MEMORY "mpi_shared_memory"
#define RZ_HARDWARE_NODE "rhizome://node"
#define RZ_HARDWARE_PROCESSOR "rhizome://processor"

/* The number, on its node, of the only processor on which this process may run; -1: there are
 * several. */
int rz_hardware_processor(void);

#endif
