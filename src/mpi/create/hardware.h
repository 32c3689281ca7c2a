/* SPDX-License-Identifier: BSD-3-Clause */
/* The hardware that this process is bound to one piece of. */
#ifndef RZ_MPI_HARDWARE_H
#define RZ_MPI_HARDWARE_H

/* The types of hardware, as users name them in the info key of that name. */
#define RZ_HARDWARE_KEY "mpi_hw_resource_type"
#define RZ_HARDWARE_SHARED_MEMORY "mpi_shared_memory"
#define RZ_HARDWARE_NODE "rhizome://node"
#define RZ_HARDWARE_PROCESSOR "rhizome://processor"

/* The number, on its node, of the only processor that this process may run on; -1: of several. */
int rz_hardware_processor(void);

#endif
