/* Hints of communicators. They are assertions of the user about how the communicator is used; the
 * known ones are kept and shown, nothing depends on them. */
#include "mpi/comm.h"

#include <string.h>

static const char *const known[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
};
#define N_KNOWN (sizeof(known) / sizeof(known[0]))

void rz_comm_take_hints(struct rz_comm *comm, struct rz_info *info)
{
    char value[8];
    int there;
    for (size_t i = 0; info != NULL && i < N_KNOWN; i++) {
        if (rzm_info_get(info, known[i], (int)sizeof(value) - 1, value, &there) != MPI_SUCCESS ||
            !there) {
            continue;
        }
        if (strcmp(value, "true") == 0) {
            comm->hints |= UINT32_C(1) << i;
        } else if (strcmp(value, "false") == 0) {
            comm->hints &= ~(UINT32_C(1) << i);
        }
    }
}

int rzm_comm_set_info(struct rz_comm *comm, struct rz_info *info)
{
    rz_comm_take_hints(comm, info);
    return MPI_SUCCESS;
}

int rzm_comm_get_info(struct rz_comm *comm, struct rz_info **info_used)
{
    struct rz_info *made;
    int error = rzm_info_create(&made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (size_t i = 0; i < N_KNOWN && error == MPI_SUCCESS; i++) {
        error = rzm_info_set(made, known[i], comm->hints >> i & 1 ? "true" : "false");
    }
    if (error != MPI_SUCCESS) {
        rzm_info_free(made);
        return error;
    }
    *info_used = made;
    return MPI_SUCCESS;
}
