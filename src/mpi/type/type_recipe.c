/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes recipes: adds the arguments of a constructor one by one, with own copies of the datatypes
 * among them.
 */
#include "mpi/type/type_recipe.h"

#include <stdlib.h>

struct rz_recipe *rz_recipe_new(const struct rz_recipe_shape *shape)
{
    MPI_Count integers = shape->integers + (shape->large ? 0 : shape->counts);
    MPI_Count wide = shape->addresses + (shape->large ? shape->counts : 0);
    size_t bytes = sizeof(struct rz_recipe) + (size_t)wide * sizeof(int64_t) +
                   (size_t)shape->types * sizeof(struct rz_datatype *) +
                   (size_t)integers * sizeof(int);
    struct rz_recipe *recipe = malloc(bytes);
    if (!recipe) {
        return NULL;
    }
    *recipe = (struct rz_recipe){
        .references = 1, .combiner = shape->combiner, .large = shape->large, .complete = true};
    recipe->wide = (int64_t *)(recipe + 1);
    recipe->types = (struct rz_datatype **)(recipe->wide + wide);
    recipe->integers = (int *)(recipe->types + shape->types);
    return recipe;
}

void rz_recipe_integer(struct rz_recipe *recipe, int value)
{
    if (recipe) {
        recipe->integers[recipe->n_integers++] = value;
    }
}

void rz_recipe_integers(struct rz_recipe *recipe, const int *values, MPI_Count n)
{
    for (MPI_Count i = 0; i < n; i++) {
        rz_recipe_integer(recipe, values[i]);
    }
}

void rz_recipe_count(struct rz_recipe *recipe, MPI_Count value)
{
    if (recipe && recipe->large) {
        recipe->wide[recipe->n_counts++] = value;
    } else {
        rz_recipe_integer(recipe, (int)value);
    }
}

void rz_recipe_counts(struct rz_recipe *recipe, struct rz_counts values, MPI_Count n)
{
    for (MPI_Count i = 0; i < n; i++) {
        rz_recipe_count(recipe, rz_counts_at(values, i));
    }
}

void rz_recipe_address(struct rz_recipe *recipe, MPI_Count value)
{
    if (recipe && recipe->large) {
        recipe->wide[recipe->n_counts++] = value;
    } else if (recipe) {
        recipe->wide[recipe->n_addresses++] = value;
    }
}

void rz_recipe_addresses(struct rz_recipe *recipe, struct rz_counts values, MPI_Count n)
{
    for (MPI_Count i = 0; i < n; i++) {
        rz_recipe_address(recipe, rz_counts_at(values, i));
    }
}

void rz_recipe_type(struct rz_recipe *recipe, const struct rz_datatype *type)
{
    struct rz_datatype *own = (struct rz_datatype *)(uintptr_t)type;
    if (!recipe) {
        return;
    }
    if (!rz_datatype_is_permanent(type)) {
        if (recipe->last == type) { /* the same type as before, as often in a struct */
            own = recipe->types[recipe->n_types - 1];
            rz_datatype_retain(own);
        } else if (rz_datatype_clone(type, &own) != MPI_SUCCESS) {
            recipe->complete = false;
            return;
        }
    }
    recipe->last = type;
    recipe->types[recipe->n_types++] = own;
}

int rz_datatype_done(int error, struct rz_recipe *recipe, struct rz_datatype *const *built,
                     struct rz_datatype **newtype)
{
    bool complete = recipe && recipe->complete;
    if (error == MPI_SUCCESS && complete) {
        struct rz_datatype *type = *built;
        if (type->recipe) { /* shared with the type that this one was cloned from */
            rz_recipe_release(type->recipe);
        }
        type->recipe = recipe;
        *newtype = type;
        return MPI_SUCCESS;
    }
    if (error == MPI_SUCCESS) {
        rz_datatype_release(*built);
        error = MPI_ERR_NO_MEM;
    }
    if (recipe) {
        rz_recipe_release(recipe);
    }
    return error;
}
