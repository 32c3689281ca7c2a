/* MPI_Get_hw_resource_info: which pieces of hardware this process is bound to one of. */
#include "mpi/engine.h"

#include "mpi/chapter.h"

#include <sched.h>

static bool bound_to_one_processor(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) == 1;
}

int rzm_get_hw_resource_info(struct rz_info **hw_info)
{
    struct rz_info *made;
    int error = rzm_info_create(&made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = rzm_info_set(made, "rhizome://node", "true");
    if (error == MPI_SUCCESS) {
        error =
            rzm_info_set(made, "rhizome://processor", bound_to_one_processor() ? "true" : "false");
    }
    if (error != MPI_SUCCESS) {
        rzm_info_free(made);
        return error;
    }
    *hw_info = made;
    return MPI_SUCCESS;
}
