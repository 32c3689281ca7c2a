/*
 * Hints of communicators. Most are assertions of the user about how the communicator is used: the
 * known ones are kept and shown, nothing depends on them. How far the error of a death reaches
 * (mpi_error_range, ULFM; ALGORITHMS 2.9) is one that matters.
 */
#include "mpi/comm/comm.h"
#include "mpi/core/engine.h"

#include <string.h>

#define VALUES_MAX 3
#define BITS 2 /* of comm->hints, for each key */

static const struct {
    const char *key, *values[VALUES_MAX]; /* the first is the default */
} known[] = {
    {"mpi_assert_no_any_tag", {"false", "true"}},
    {"mpi_assert_no_any_source", {"false", "true"}},
    {"mpi_assert_exact_length", {"false", "true"}},
    {"mpi_assert_allow_overtaking", {"false", "true"}},
    {"mpi_assert_strict_persistent_collective_ordering", {"false", "true"}},
    {"mpi_error_range", {"local", "group", "universe"}},
};
enum { N_KNOWN = sizeof(known) / sizeof(known[0]), ERROR_RANGE = N_KNOWN - 1 };

static unsigned hint(const struct rz_comm *comm, int key)
{
    return comm->hints >> (BITS * key) & ((1u << BITS) - 1);
}

static void set_hint(struct rz_comm *comm, int key, unsigned value)
{
    comm->hints &= ~(((1u << BITS) - 1) << (BITS * key));
    comm->hints |= value << (BITS * key);
}

enum rz_error_range rz_comm_error_range(const struct rz_comm *comm)
{
    return (enum rz_error_range)hint(comm, ERROR_RANGE);
}

void rz_comm_take_hints(struct rz_comm *comm, struct rz_info *info)
{
    char value[16];
    int there;
    for (int key = 0; info != NULL && key < N_KNOWN; key++) {
        if (rzm_info_get(info, known[key].key, (int)sizeof(value) - 1, value, &there) !=
                MPI_SUCCESS ||
            !there) {
            continue;
        }
        for (unsigned i = 0; i < VALUES_MAX && known[key].values[i] != NULL; i++) {
            if (strcmp(value, known[key].values[i]) == 0) {
                set_hint(comm, key, i);
            }
        }
    }
    rz_comm_look_at_range(comm);
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
    for (int key = 0; key < N_KNOWN && error == MPI_SUCCESS; key++) {
        error = rzm_info_set(made, known[key].key, known[key].values[hint(comm, key)]);
    }
    if (error != MPI_SUCCESS) {
        rzm_info_free(made);
        return error;
    }
    *info_used = made;
    return MPI_SUCCESS;
}
