/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows the recipe of a datatype, and calls the same constructors with other basic types. */
#include "mpi/io/datarep_type.h"

#include "mpi/type/datatype_layout.h"

#include <stdlib.h>

/* The arguments of a constructor, taken one after the other in the order of section 5.1.13. */
struct contents {
    const int *integers;
    const int64_t *wide;
    bool large;
};

static MPI_Count take_count(struct contents *contents)
{
    return contents->large ? *contents->wide++ : *contents->integers++;
}

static struct rz_counts take_counts(struct contents *contents, MPI_Count n)
{
    struct rz_counts counts = {0};
    if (contents->large) {
        counts.wide = contents->wide;
        contents->wide += n;
    } else {
        counts.narrow = contents->integers;
        contents->integers += n;
    }
    return counts;
}

static struct rz_counts take_addresses(struct contents *contents, MPI_Count n)
{
    struct rz_counts addresses = {.wide = contents->wide};
    contents->wide += n;
    return addresses;
}

static const int *take_integers(struct contents *contents, MPI_Count n)
{
    const int *integers = contents->integers;
    contents->integers += n;
    return integers;
}

/* The basic types themselves: rows of bytes. */
static int make_basic(struct rz_datatype *basic, rz_basic_bytes_t bytes_of, const void *arg,
                      struct rz_datatype **newtype)
{
    MPI_Count bytes = 0;
    if (basic->size == 0) {
        rz_datatype_retain(basic);
        *newtype = basic;
        return MPI_SUCCESS;
    }
    int error = bytes_of(arg, basic, &bytes);
    struct rz_block block = {.length = bytes, .repeat = 1, .type = rz_datatype_of(MPI_BYTE)};
    return error != MPI_SUCCESS ? error : rz_datatype_build(&block, 1, newtype);
}

static int make_indexed(int combiner, struct contents *contents, struct rz_datatype *old,
                        struct rz_datatype **newtype)
{
    bool large = contents->large;
    MPI_Count n = take_count(contents);
    struct rz_counts lengths, places;
    MPI_Count length;
    switch (combiner) {
    case MPI_COMBINER_INDEXED:
        lengths = take_counts(contents, n);
        places = take_counts(contents, n);
        return rzm_type_indexed(n, lengths, places, old, newtype, large);
    case MPI_COMBINER_HINDEXED:
        lengths = take_counts(contents, n);
        places = take_addresses(contents, n);
        return rzm_type_create_hindexed(n, lengths, places, old, newtype, large);
    case MPI_COMBINER_INDEXED_BLOCK:
        length = take_count(contents);
        places = take_counts(contents, n);
        return rzm_type_create_indexed_block(n, length, places, old, newtype, large);
    default:
        length = take_count(contents);
        places = take_addresses(contents, n);
        return rzm_type_create_hindexed_block(n, length, places, old, newtype, large);
    }
}

static int make_array(int combiner, struct contents *contents, struct rz_datatype *old,
                      struct rz_datatype **newtype)
{
    bool large = contents->large;
    if (combiner == MPI_COMBINER_SUBARRAY) {
        int n = *take_integers(contents, 1);
        struct rz_counts sizes = take_counts(contents, n);
        struct rz_counts parts = take_counts(contents, n);
        struct rz_counts starts = take_counts(contents, n);
        int order = *take_integers(contents, 1);
        return rzm_type_create_subarray(n, sizes, parts, starts, order, old, newtype, large);
    }
    int size = *take_integers(contents, 1), rank = *take_integers(contents, 1);
    int n = *take_integers(contents, 1);
    struct rz_counts sizes = take_counts(contents, n);
    const int *distributions = take_integers(contents, n);
    const int *arguments = take_integers(contents, n);
    const int *grid = take_integers(contents, n);
    int order = *take_integers(contents, 1);
    return rzm_type_create_darray(size, rank, n, sizes, distributions, arguments, grid, order, old,
                                  newtype, large);
}

static int make_of_one(int combiner, struct contents *contents, struct rz_datatype *old,
                       struct rz_datatype **newtype)
{
    bool large = contents->large;
    MPI_Count n, length, stride;
    switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        return rzm_type_contiguous(take_count(contents), old, newtype, large);
    case MPI_COMBINER_VECTOR:
        n = take_count(contents);
        length = take_count(contents);
        stride = take_count(contents);
        return rzm_type_vector(n, length, stride, old, newtype, large);
    case MPI_COMBINER_HVECTOR:
        n = take_count(contents);
        length = take_count(contents);
        stride = *take_addresses(contents, 1).wide;
        return rzm_type_create_hvector(n, length, stride, old, newtype, large);
    case MPI_COMBINER_RESIZED:
        n = *take_addresses(contents, 1).wide;
        length = *take_addresses(contents, 1).wide;
        return rzm_type_create_resized(old, n, length, newtype, large);
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
        return make_array(combiner, contents, old, newtype);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return make_indexed(combiner, contents, old, newtype);
    default:
        rz_datatype_retain(old); /* MPI_COMBINER_DUP */
        *newtype = old;
        return MPI_SUCCESS;
    }
}

static int make_struct(const struct rz_recipe *recipe, struct contents *contents,
                       rz_basic_bytes_t bytes, const void *arg, struct rz_datatype **newtype)
{
    MPI_Count n = take_count(contents), made = 0;
    struct rz_counts lengths = take_counts(contents, n);
    struct rz_counts places = take_addresses(contents, n);
    MPI_Datatype *handles = malloc((size_t)(n > 0 ? n : 1) * sizeof(MPI_Datatype));
    int error = handles ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (; error == MPI_SUCCESS && made < n; made += error == MPI_SUCCESS) {
        struct rz_datatype *part;
        error = rz_datarep_type_like(recipe->types[made], bytes, arg, &part);
        if (error == MPI_SUCCESS) {
            handles[made] = rz_datatype_handle(part);
        }
    }
    if (error == MPI_SUCCESS) {
        error = rzm_type_create_struct(n, lengths, places, handles, newtype, contents->large);
    }
    while (made-- > 0) {
        rz_datatype_release(rz_datatype_of(handles[made]));
    }
    free(handles);
    return error;
}

int rz_datarep_type_like(struct rz_datatype *datatype, rz_basic_bytes_t bytes, const void *arg,
                         struct rz_datatype **newtype)
{
    const struct rz_recipe *recipe = datatype->recipe;
    bool basic = !recipe || recipe->n_types == 0; /* predefined, or by MPI_Type_create_f90_real */
    if (basic) {
        return make_basic(datatype, bytes, arg, newtype);
    }
    struct contents contents = {recipe->integers, recipe->wide, recipe->large};
    if (recipe->combiner == MPI_COMBINER_STRUCT) {
        return make_struct(recipe, &contents, bytes, arg, newtype);
    }
    struct rz_datatype *old;
    int error = rz_datarep_type_like(recipe->types[0], bytes, arg, &old);
    if (error == MPI_SUCCESS) {
        error = make_of_one(recipe->combiner, &contents, old, newtype);
        rz_datatype_release(old);
    }
    return error;
}
