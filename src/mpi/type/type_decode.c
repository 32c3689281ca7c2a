/* SPDX-License-Identifier: BSD-3-Clause */
/* How a datatype was made: MPI_Type_get_envelope, MPI_Type_get_contents. */
#include "mpi/type/type_recipe.h"

int rzm_type_get_envelope_c(struct rz_datatype *datatype, MPI_Count *num_integers,
                            MPI_Count *num_addresses, MPI_Count *num_large_counts,
                            MPI_Count *num_datatypes, int *combiner)
{
    static const struct rz_recipe named = {.combiner = MPI_COMBINER_NAMED};
    const struct rz_recipe *recipe = datatype->recipe ? datatype->recipe : &named;
    *num_integers = recipe->n_integers;
    *num_addresses = recipe->n_addresses;
    *num_large_counts = recipe->n_counts;
    *num_datatypes = recipe->n_types;
    *combiner = recipe->combiner;
    return MPI_SUCCESS;
}

static int needs_wide(const char *call)
{
    return rzm_error(MPI_ERR_TYPE,
                     "datatype was made by a large-count constructor: decode it with %s", call);
}

int rzm_type_get_envelope(struct rz_datatype *datatype, int *num_integers, int *num_addresses,
                          int *num_datatypes, int *combiner)
{
    MPI_Count integers, addresses, counts, types;
    int how;
    rzm_type_get_envelope_c(datatype, &integers, &addresses, &counts, &types, &how);
    if (counts > 0) {
        return needs_wide("MPI_Type_get_envelope_c");
    }
    if (integers > INT_MAX) {
        return rzm_error(MPI_ERR_COUNT, "num_integers would be %lld", (long long)integers);
    }
    *num_integers = (int)integers;
    *num_addresses = (int)addresses;
    *num_datatypes = (int)types;
    *combiner = how;
    return MPI_SUCCESS;
}

/* Checks that an output array is long enough. */
static int room(const char *limit, MPI_Count max, const char *name, const void *array, MPI_Count n)
{
    if (max < n) {
        return rzm_error(MPI_ERR_ARG, "%s is %lld, but there are %lld (MPI_Type_get_envelope)",
                         limit, (long long)max, (long long)n);
    }
    if (!array && n > 0) {
        return rzm_error(MPI_ERR_ARG, "%s is a null pointer", name);
    }
    return MPI_SUCCESS;
}

static void copy_out(void *to, const void *from, size_t bytes)
{
    if (to && bytes > 0) {
        memcpy(to, from, bytes);
    }
}

/* Makes the user's handles: the permanent type itself, otherwise a new object. */
static int give_types(const struct rz_recipe *recipe, MPI_Datatype *handles)
{
    for (MPI_Count i = 0; i < recipe->n_types; i++) {
        struct rz_datatype *type = recipe->types[i];
        if (!rz_datatype_is_permanent(type) && rz_datatype_clone(type, &type) != MPI_SUCCESS) {
            while (i-- > 0) {
                if (!rz_datatype_is_permanent(recipe->types[i])) {
                    rz_datatype_release(rz_datatype_of(handles[i]));
                }
            }
            return MPI_ERR_NO_MEM;
        }
        handles[i] = rz_datatype_handle(type);
    }
    return MPI_SUCCESS;
}

int rzm_type_get_contents_c(struct rz_datatype *datatype, MPI_Count max_integers,
                            MPI_Count max_addresses, MPI_Count max_large_counts,
                            MPI_Count max_datatypes, int array_of_integers[],
                            MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                            MPI_Datatype array_of_datatypes[])
{
    const struct rz_recipe *recipe = datatype->recipe;
    if (!recipe) {
        return rzm_error(MPI_ERR_TYPE, "datatype is predefined (MPI_COMBINER_NAMED): no contents");
    }
    int error = room("max_integers", max_integers, "array_of_integers", array_of_integers,
                     recipe->n_integers);
    if (error == MPI_SUCCESS) {
        error = room("max_addresses", max_addresses, "array_of_addresses", array_of_addresses,
                     recipe->n_addresses);
    }
    if (error == MPI_SUCCESS) {
        error = room("max_large_counts", max_large_counts, "array_of_large_counts",
                     array_of_large_counts, recipe->n_counts);
    }
    if (error == MPI_SUCCESS) {
        error = room("max_datatypes", max_datatypes, "array_of_datatypes", array_of_datatypes,
                     recipe->n_types);
    }
    if (error == MPI_SUCCESS) {
        error = give_types(recipe, array_of_datatypes);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    copy_out(array_of_integers, recipe->integers, (size_t)recipe->n_integers * sizeof(int));
    copy_out(array_of_addresses, recipe->wide, (size_t)recipe->n_addresses * sizeof(int64_t));
    copy_out(array_of_large_counts, recipe->wide, (size_t)recipe->n_counts * sizeof(int64_t));
    return MPI_SUCCESS;
}

int rzm_type_get_contents(struct rz_datatype *datatype, int max_integers, int max_addresses,
                          int max_datatypes, int array_of_integers[], MPI_Aint array_of_addresses[],
                          MPI_Datatype array_of_datatypes[])
{
    if (datatype->recipe && datatype->recipe->n_counts > 0) {
        return needs_wide("MPI_Type_get_contents_c");
    }
    return rzm_type_get_contents_c(datatype, max_integers, max_addresses, 0, max_datatypes,
                                   array_of_integers, array_of_addresses, NULL, array_of_datatypes);
}
