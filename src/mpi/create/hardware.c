/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Get_hw_resource_info: the types of hardware of which this process is bound to one piece.
 */
#include "mpi/create/hardware.h"

#include "mpi/impl.h"

#include <sched.h>

int rz_hardware_processor(void)
{
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || CPU_COUNT(&cpus) != 1) {
        return -1;
    }
    int processor = 0;
    while (!CPU_ISSET((size_t)processor, &cpus)) {
        processor++;
    }
    return processor;
}

int rzm_get_hw_resource_info(struct rz_info **hw_info)
{
    struct rz_info *made;
    int error = rzm_info_create(&made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = rzm_info_set(made, RZ_HARDWARE_NODE, "true");
    if (error == MPI_SUCCESS) {
        error = rzm_info_set(made, RZ_HARDWARE_PROCESSOR,
                             rz_hardware_processor() >= 0 ? "true" : "false");
    }
    if (error != MPI_SUCCESS) {
        rzm_info_free(made);
        return error;
    }
    *hw_info = made;
    return MPI_SUCCESS;
}
