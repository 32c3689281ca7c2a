/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes that are parts of arrays: MPI_Type_create_subarray and MPI_Type_create_darray. Both go
 * through the dimensions from the one whose index varies fastest to the slowest; each step builds
 * the type of the part of a dimension from the type of one index. Source: sections 5.1.3 and 5.1.4
 * of MPI 5.0.
 */
#include "mpi/type/type_recipe.h"

#include <stdlib.h>

static int array_too_large(void)
{
    return rzm_error(MPI_ERR_COUNT, "the array is larger than 2^63 bytes");
}

static int bad_order(int order)
{
    return rzm_error(MPI_ERR_ARG, "order is %d, neither MPI_ORDER_C nor MPI_ORDER_FORTRAN", order);
}

/* An array during construction. */
struct array {
    struct rz_datatype *type; /* of this process's part of the dimensions so far */
    MPI_Count row_bytes;      /* distance between two indices of the next dimension */
};

/* The indices of one dimension that belong to the part: `repeat` runs of `length` indices, `step`
 * apart, from `first` on; then one run of `rest`. */
struct runs {
    MPI_Count first, length, repeat, step, rest;
};

static bool run_block(const struct array *array, MPI_Count first, MPI_Count length,
                      MPI_Count repeat, MPI_Count step, struct rz_block *block)
{
    *block = (struct rz_block){.length = length, .repeat = repeat, .type = array->type};
    return !__builtin_mul_overflow(first, array->row_bytes, &block->displacement) &&
           !__builtin_mul_overflow(step, array->row_bytes, &block->stride);
}

/* Adds a dimension of `size` indices. */
static int array_wrap(struct array *array, MPI_Count size, const struct runs *runs)
{
    struct rz_block blocks[2];
    struct rz_datatype *outer;
    MPI_Count after, bytes;
    rz_datatype_resize(array->type, 0, array->row_bytes);
    if (__builtin_mul_overflow(size, array->row_bytes, &bytes) ||
        __builtin_mul_overflow(runs->repeat, runs->step, &after) ||
        __builtin_add_overflow(after, runs->first, &after) ||
        !run_block(array, runs->first, runs->length, runs->repeat, runs->step, &blocks[0]) ||
        !run_block(array, after, runs->rest, 1, 0, &blocks[1])) {
        return array_too_large();
    }
    int error = rz_datatype_build(blocks, runs->rest > 0 ? 2 : 1, &outer);
    if (error == MPI_SUCCESS) {
        rz_datatype_release(array->type);
        array->type = outer;
        array->row_bytes = bytes;
    }
    return error;
}

static int array_begin(struct array *array, const struct rz_datatype *oldtype)
{
    int error = rz_datatype_clone(oldtype, &array->type);
    array->row_bytes = oldtype->extent;
    if (error == MPI_SUCCESS) {
        array->type->object.flags = 0;
    }
    return error;
}

/* Completes the type: its extent is that of the whole array; consumes the recipe. */
static int array_end(int error, struct array *array, struct rz_recipe *recipe,
                     struct rz_datatype **newtype)
{
    if (error != MPI_SUCCESS) {
        rz_datatype_release(array->type);
        array->type = NULL;
    } else {
        rz_datatype_resize(array->type, 0, array->row_bytes);
    }
    return rz_datatype_done(error, recipe, &array->type, newtype);
}

/* ---- MPI_Type_create_subarray ---- */

static struct rz_recipe *subarray_recipe(int ndims, const struct rz_counts parts[3], int order,
                                         const struct rz_datatype *oldtype, bool large)
{
    struct rz_recipe_shape shape = {.combiner = MPI_COMBINER_SUBARRAY,
                                    .large = large,
                                    .integers = 2,
                                    .counts = 3 * (MPI_Count)ndims,
                                    .types = 1};
    struct rz_recipe *recipe = rz_recipe_new(&shape);
    rz_recipe_integer(recipe, ndims);
    for (int i = 0; i < 3; i++) {
        rz_recipe_counts(recipe, parts[i], ndims);
    }
    rz_recipe_integer(recipe, order);
    rz_recipe_type(recipe, oldtype);
    return recipe;
}

int rzm_type_create_subarray(int ndims, struct rz_counts array_of_sizes,
                             struct rz_counts array_of_subsizes, struct rz_counts array_of_starts,
                             int order, struct rz_datatype *oldtype, struct rz_datatype **newtype,
                             bool large)
{
    struct rz_counts parts[3] = {array_of_sizes, array_of_subsizes, array_of_starts};
    struct array array;
    if (ndims < 1) {
        return rzm_error(MPI_ERR_ARG, "ndims is %d, less than 1", ndims);
    }
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN) {
        return bad_order(order);
    }
    int error = array_begin(&array, oldtype);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (int i = 0; i < ndims && error == MPI_SUCCESS; i++) {
        int at = order == MPI_ORDER_C ? ndims - 1 - i : i;
        MPI_Count size = rz_counts_at(array_of_sizes, at);
        MPI_Count subsize = rz_counts_at(array_of_subsizes, at);
        MPI_Count start = rz_counts_at(array_of_starts, at);
        if (subsize < 1 || subsize > size || start < 0 || start > size - subsize) {
            error = rzm_error(
                MPI_ERR_ARG,
                "array_of_subsizes[%d] %lld and array_of_starts[%d] %lld: no such part of "
                "array_of_sizes[%d] %lld",
                at, (long long)subsize, at, (long long)start, at, (long long)size);
        } else {
            struct runs runs = {.first = start, .length = subsize, .repeat = 1};
            error = array_wrap(&array, size, &runs);
        }
    }
    struct rz_recipe *recipe = subarray_recipe(ndims, parts, order, oldtype, large);
    return array_end(error, &array, recipe, newtype);
}

/* ---- MPI_Type_create_darray ---- */

struct darray {
    int size, rank, ndims;
    struct rz_counts gsizes;
    const int *distribs, *dargs, *psizes;
    int order;
};

/* The indices of a dimension of `size`, in blocks of `block`, that belong to the process at `place`
 * of `places`. */
static struct runs cyclic_runs(MPI_Count size, MPI_Count block, MPI_Count places, MPI_Count place)
{
    struct runs runs = {.first = 0};
    if (place > (size - 1) / block) {
        return runs; /* no block */
    }
    runs.first = place * block;
    runs.length = block;
    MPI_Count blocks = (size - 1) / block + 1; /* the last one may be short */
    MPI_Count mine = (blocks - 1 - place) / places + 1;
    bool has_last = (blocks - 1) % places == place;
    MPI_Count last = size - (blocks - 1) * block;
    runs.repeat = mine - (has_last && last < block ? 1 : 0);
    runs.rest = runs.repeat < mine ? last : 0;
    runs.step = runs.repeat + (runs.rest > 0) > 1 ? block * places : 0;
    return runs;
}

static int darray_runs(const struct darray *darray, int i, int place, struct runs *runs)
{
    MPI_Count size = rz_counts_at(darray->gsizes, i), places = darray->psizes[i];
    MPI_Count darg = darray->dargs[i];
    bool by_default = darg == MPI_DISTRIBUTE_DFLT_DARG;
    if (size < 1) {
        return rzm_error(MPI_ERR_ARG, "array_of_gsizes[%d] is %lld, less than 1", i,
                         (long long)size);
    }
    if (darray->distribs[i] == MPI_DISTRIBUTE_NONE) {
        if (places != 1) {
            return rzm_error(MPI_ERR_ARG, "array_of_psizes[%d] is %lld, not 1, but is not shared",
                             i, (long long)places);
        }
        *runs = cyclic_runs(size, size, 1, 0);
        return MPI_SUCCESS;
    }
    if (!by_default && darg < 1) {
        return rzm_error(MPI_ERR_ARG, "array_of_dargs[%d] is %lld, less than 1", i,
                         (long long)darg);
    }
    switch (darray->distribs[i]) {
    case MPI_DISTRIBUTE_BLOCK:
        darg = by_default ? (size - 1) / places + 1 : darg;
        if (darg <= (size - 1) / places) {
            return rzm_error(MPI_ERR_ARG,
                             "array_of_dargs[%d]: %lld blocks of %lld do not cover %lld", i,
                             (long long)places, (long long)darg, (long long)size);
        }
        break;
    case MPI_DISTRIBUTE_CYCLIC:
        darg = by_default ? 1 : darg;
        break;
    default:
        return rzm_error(MPI_ERR_ARG, "array_of_distribs[%d] is %d, no MPI_DISTRIBUTE_*", i,
                         darray->distribs[i]);
    }
    *runs = cyclic_runs(size, darg, places, place);
    return MPI_SUCCESS;
}

/* Checks all arguments that do not concern a single dimension. */
static int darray_check(const struct darray *darray)
{
    MPI_Count places = 1;
    if (darray->ndims < 1) {
        return rzm_error(MPI_ERR_ARG, "ndims is %d, less than 1", darray->ndims);
    }
    if (darray->order != MPI_ORDER_C && darray->order != MPI_ORDER_FORTRAN) {
        return bad_order(darray->order);
    }
    for (int i = 0; i < darray->ndims; i++) {
        if (darray->psizes[i] < 1) {
            return rzm_error(MPI_ERR_ARG, "array_of_psizes[%d] is %d, less than 1", i,
                             darray->psizes[i]);
        }
        places = places > INT_MAX ? places : places * darray->psizes[i];
    }
    if (places != darray->size) {
        return rzm_error(MPI_ERR_ARG, "size is %d, but array_of_psizes is of another number",
                         darray->size);
    }
    if (darray->rank < 0 || darray->rank >= darray->size) {
        return rzm_error(MPI_ERR_ARG, "rank is %d, not in 0..%d", darray->rank, darray->size - 1);
    }
    return MPI_SUCCESS;
}

static struct rz_recipe *darray_recipe(const struct darray *darray,
                                       const struct rz_datatype *oldtype, bool large)
{
    struct rz_recipe_shape shape = {.combiner = MPI_COMBINER_DARRAY,
                                    .large = large,
                                    .integers = 4 + 3 * (MPI_Count)darray->ndims,
                                    .counts = darray->ndims,
                                    .types = 1};
    struct rz_recipe *recipe = rz_recipe_new(&shape);
    rz_recipe_integer(recipe, darray->size);
    rz_recipe_integer(recipe, darray->rank);
    rz_recipe_integer(recipe, darray->ndims);
    rz_recipe_counts(recipe, darray->gsizes, darray->ndims);
    rz_recipe_integers(recipe, darray->distribs, darray->ndims);
    rz_recipe_integers(recipe, darray->dargs, darray->ndims);
    rz_recipe_integers(recipe, darray->psizes, darray->ndims);
    rz_recipe_integer(recipe, darray->order);
    rz_recipe_type(recipe, oldtype);
    return recipe;
}

/* The process's position in dimension i of the grid, which is row-major for both orders of the
 * array. */
static int darray_place(const struct darray *darray, int i)
{
    int below = 1;
    for (int k = i + 1; k < darray->ndims; k++) {
        below *= darray->psizes[k];
    }
    return darray->rank / below % darray->psizes[i];
}

int rzm_type_create_darray(int size, int rank, int ndims, struct rz_counts array_of_gsizes,
                           const int array_of_distribs[], const int array_of_dargs[],
                           const int array_of_psizes[], int order, struct rz_datatype *oldtype,
                           struct rz_datatype **newtype, bool large)
{
    struct darray darray = {.size = size,
                            .rank = rank,
                            .ndims = ndims,
                            .gsizes = array_of_gsizes,
                            .distribs = array_of_distribs,
                            .dargs = array_of_dargs,
                            .psizes = array_of_psizes,
                            .order = order};
    struct array array;
    int error = darray_check(&darray);
    error = error != MPI_SUCCESS ? error : array_begin(&array, oldtype);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (int i = 0; i < ndims && error == MPI_SUCCESS; i++) {
        int at = order == MPI_ORDER_C ? ndims - 1 - i : i;
        struct runs runs;
        error = darray_runs(&darray, at, darray_place(&darray, at), &runs);
        if (error == MPI_SUCCESS) {
            error = array_wrap(&array, rz_counts_at(array_of_gsizes, at), &runs);
        }
    }
    return array_end(error, &array, darray_recipe(&darray, oldtype, large), newtype);
}
