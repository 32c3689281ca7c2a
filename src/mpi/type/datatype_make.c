/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The constructors of the standard, each as blocks and a recipe; arrays are in type_array.c.
 */
#include "mpi/type/attribute.h"
#include "mpi/type/type_recipe.h"

#include <stdlib.h>

static int displacement_too_large(void)
{
    return rzm_error(MPI_ERR_COUNT, "a displacement is larger than 2^63 bytes");
}

int rzm_type_contiguous(MPI_Count count, struct rz_datatype *oldtype, struct rz_datatype **newtype,
                        bool large)
{
    struct rz_block block = {.length = count, .repeat = 1, .type = oldtype};
    struct rz_recipe_shape shape = {
        .combiner = MPI_COMBINER_CONTIGUOUS, .large = large, .counts = 1, .types = 1};
    struct rz_recipe *recipe = rz_recipe_new(&shape);
    struct rz_datatype *made = NULL;
    rz_recipe_count(recipe, count);
    rz_recipe_type(recipe, oldtype);
    return rz_datatype_done(rz_datatype_build(&block, 1, &made), recipe, &made, newtype);
}

int rzm_type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                            struct rz_datatype *oldtype, struct rz_datatype **newtype, bool large)
{
    struct rz_block block = {
        .length = blocklength, .repeat = count, .stride = stride, .type = oldtype};
    struct rz_recipe_shape shape = {
        .combiner = MPI_COMBINER_HVECTOR, .large = large, .counts = 2, .addresses = 1, .types = 1};
    struct rz_recipe *recipe = rz_recipe_new(&shape);
    struct rz_datatype *made = NULL;
    rz_recipe_count(recipe, count);
    rz_recipe_count(recipe, blocklength);
    rz_recipe_address(recipe, stride);
    rz_recipe_type(recipe, oldtype);
    return rz_datatype_done(rz_datatype_build(&block, 1, &made), recipe, &made, newtype);
}

int rzm_type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                    struct rz_datatype *oldtype, struct rz_datatype **newtype, bool large)
{
    struct rz_block block = {.length = blocklength, .repeat = count, .type = oldtype};
    if (__builtin_mul_overflow(stride, oldtype->extent, &block.stride)) {
        return displacement_too_large();
    }
    struct rz_recipe_shape shape = {
        .combiner = MPI_COMBINER_VECTOR, .large = large, .counts = 3, .types = 1};
    struct rz_recipe *recipe = rz_recipe_new(&shape);
    struct rz_datatype *made = NULL;
    rz_recipe_count(recipe, count);
    rz_recipe_count(recipe, blocklength);
    rz_recipe_count(recipe, stride);
    rz_recipe_type(recipe, oldtype);
    return rz_datatype_done(rz_datatype_build(&block, 1, &made), recipe, &made, newtype);
}

int rzm_type_create_resized(struct rz_datatype *oldtype, MPI_Count lb, MPI_Count extent,
                            struct rz_datatype **newtype, bool large)
{
    struct rz_recipe_shape shape = {
        .combiner = MPI_COMBINER_RESIZED, .large = large, .addresses = 2, .types = 1};
    MPI_Count ub;
    if (__builtin_add_overflow(lb, extent, &ub)) {
        return rzm_error(MPI_ERR_ARG, "lb + extent does not fit 63 bits");
    }
    struct rz_recipe *recipe = rz_recipe_new(&shape);
    struct rz_datatype *made = NULL;
    rz_recipe_address(recipe, lb);
    rz_recipe_address(recipe, extent);
    rz_recipe_type(recipe, oldtype);
    int error = rz_datatype_done(rz_datatype_clone(oldtype, &made), recipe, &made, &made);
    if (error == MPI_SUCCESS) {
        made->object.flags = 0;
        rz_datatype_resize(made, lb, extent);
        *newtype = made;
    }
    return error;
}

/* ---- Blocks in a list ---- */

/* What differs between the five constructors with lists of blocks. */
struct list {
    int combiner;
    bool large;
    MPI_Count count;
    struct rz_counts lengths; /* unless `length` is given */
    MPI_Count length;         /* of each block; -1: given by `lengths` */
    struct rz_counts displacements;
    bool in_extents;             /* displacements are in extents of oldtype; otherwise in bytes */
    struct rz_datatype *oldtype; /* NULL: `types` has one for each block */
    const MPI_Datatype *types;
};

static int list_block(const struct list *list, MPI_Count i, struct rz_block *block)
{
    *block = (struct rz_block){
        .displacement = rz_counts_at(list->displacements, i),
        .length = list->length >= 0 ? list->length : rz_counts_at(list->lengths, i),
        .repeat = 1,
        .type = list->types ? rz_datatype_of(list->types[i]) : list->oldtype,
    };
    if (list->in_extents &&
        __builtin_mul_overflow(block->displacement, block->type->extent, &block->displacement)) {
        return displacement_too_large();
    }
    return MPI_SUCCESS;
}

static struct rz_recipe *list_recipe(const struct list *list)
{
    MPI_Count n = list->count;
    struct rz_recipe_shape shape = {.combiner = list->combiner,
                                    .large = list->large,
                                    .counts = 1 + (list->length >= 0 ? 1 : n) +
                                              (list->in_extents ? n : 0),
                                    .addresses = list->in_extents ? 0 : n,
                                    .types = list->combiner == MPI_COMBINER_STRUCT ? n : 1};
    struct rz_recipe *recipe = rz_recipe_new(&shape);
    rz_recipe_count(recipe, n);
    if (list->length >= 0) {
        rz_recipe_count(recipe, list->length);
    } else {
        rz_recipe_counts(recipe, list->lengths, n);
    }
    if (list->in_extents) {
        rz_recipe_counts(recipe, list->displacements, n);
    } else {
        rz_recipe_addresses(recipe, list->displacements, n);
    }
    for (MPI_Count i = 0; i < shape.types; i++) {
        rz_recipe_type(recipe, list->types ? rz_datatype_of(list->types[i]) : list->oldtype);
    }
    return recipe;
}

static int build_list(const struct list *list, struct rz_datatype **newtype)
{
    struct rz_datatype *made = NULL;
    struct rz_block *blocks = malloc(((size_t)list->count + 1) * sizeof(*blocks));
    int error = blocks ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (MPI_Count i = 0; i < list->count && error == MPI_SUCCESS; i++) {
        error = list_block(list, i, &blocks[i]);
    }
    if (error == MPI_SUCCESS) {
        error = rz_datatype_build(blocks, (size_t)list->count, &made);
    }
    free(blocks);
    return error != MPI_SUCCESS ? error
                                : rz_datatype_done(error, list_recipe(list), &made, newtype);
}

int rzm_type_indexed(MPI_Count count, struct rz_counts array_of_blocklengths,
                     struct rz_counts array_of_displacements, struct rz_datatype *oldtype,
                     struct rz_datatype **newtype, bool large)
{
    struct list list = {.combiner = MPI_COMBINER_INDEXED,
                        .large = large,
                        .count = count,
                        .lengths = array_of_blocklengths,
                        .length = -1,
                        .displacements = array_of_displacements,
                        .in_extents = true,
                        .oldtype = oldtype};
    return build_list(&list, newtype);
}

int rzm_type_create_hindexed(MPI_Count count, struct rz_counts array_of_blocklengths,
                             struct rz_counts array_of_displacements, struct rz_datatype *oldtype,
                             struct rz_datatype **newtype, bool large)
{
    struct list list = {.combiner = MPI_COMBINER_HINDEXED,
                        .large = large,
                        .count = count,
                        .lengths = array_of_blocklengths,
                        .length = -1,
                        .displacements = array_of_displacements,
                        .oldtype = oldtype};
    return build_list(&list, newtype);
}

int rzm_type_create_indexed_block(MPI_Count count, MPI_Count blocklength,
                                  struct rz_counts array_of_displacements,
                                  struct rz_datatype *oldtype, struct rz_datatype **newtype,
                                  bool large)
{
    struct list list = {.combiner = MPI_COMBINER_INDEXED_BLOCK,
                        .large = large,
                        .count = count,
                        .length = blocklength,
                        .displacements = array_of_displacements,
                        .in_extents = true,
                        .oldtype = oldtype};
    return build_list(&list, newtype);
}

int rzm_type_create_hindexed_block(MPI_Count count, MPI_Count blocklength,
                                   struct rz_counts array_of_displacements,
                                   struct rz_datatype *oldtype, struct rz_datatype **newtype,
                                   bool large)
{
    struct list list = {.combiner = MPI_COMBINER_HINDEXED_BLOCK,
                        .large = large,
                        .count = count,
                        .length = blocklength,
                        .displacements = array_of_displacements,
                        .oldtype = oldtype};
    return build_list(&list, newtype);
}

int rzm_type_create_struct(MPI_Count count, struct rz_counts array_of_blocklengths,
                           struct rz_counts array_of_displacements,
                           const MPI_Datatype array_of_types[], struct rz_datatype **newtype,
                           bool large)
{
    struct list list = {.combiner = MPI_COMBINER_STRUCT,
                        .large = large,
                        .count = count,
                        .lengths = array_of_blocklengths,
                        .length = -1,
                        .displacements = array_of_displacements,
                        .types = array_of_types};
    return build_list(&list, newtype);
}

int rzm_type_dup(struct rz_datatype *oldtype, struct rz_datatype **newtype)
{
    struct rz_recipe_shape shape = {.combiner = MPI_COMBINER_DUP, .types = 1};
    struct rz_recipe *recipe = rz_recipe_new(&shape);
    struct rz_datatype *made = NULL;
    rz_recipe_type(recipe, oldtype);
    int error = rz_datatype_done(rz_datatype_clone(oldtype, &made), recipe, &made, &made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = rz_attributes_copy(&oldtype->object, &oldtype->attributes, &made->attributes);
    if (error != MPI_SUCCESS) {
        rz_datatype_release(made);
        return error;
    }
    *newtype = made;
    return MPI_SUCCESS;
}
