/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a datatype was made: what MPI_Type_get_envelope and MPI_Type_get_contents return. Values are
 * in the order of the tables in section 5.1.13 of the standard.
 *
 * A constructor makes a recipe, adds its arguments in that order, and passes it to
 * rz_datatype_done. If memory runs out on the way, that last step returns the error.
 */
#ifndef RZ_MPI_TYPE_RECIPE_H
#define RZ_MPI_TYPE_RECIPE_H

#include "mpi/type/datatype.h"
#include "mpi/type/datatype_layout.h"

/* How many of each kind of argument a constructor has. */
struct rz_recipe_shape {
    int combiner;
    bool large;
    MPI_Count integers;  /* int in every variant, e.g. ndims, order */
    MPI_Count counts;    /* int, or MPI_Count in the large variant */
    MPI_Count addresses; /* MPI_Aint, or MPI_Count in the large variant */
    MPI_Count types;
};

/* NULL: no memory; the functions below accept NULL. */
struct rz_recipe *rz_recipe_new(const struct rz_recipe_shape *shape);

void rz_recipe_integer(struct rz_recipe *recipe, int value);
void rz_recipe_integers(struct rz_recipe *recipe, const int *values, MPI_Count n);
void rz_recipe_count(struct rz_recipe *recipe, MPI_Count value);
void rz_recipe_counts(struct rz_recipe *recipe, struct rz_counts values, MPI_Count n);
void rz_recipe_address(struct rz_recipe *recipe, MPI_Count value);
void rz_recipe_addresses(struct rz_recipe *recipe, struct rz_counts values, MPI_Count n);
void rz_recipe_type(struct rz_recipe *recipe, const struct rz_datatype *type);

/*
 * The end of a constructor that built *built with this result: takes the recipe and sets *newtype,
 * or undoes both. (*built is passed by address, since the call that builds it may be another
 * argument.) MPI_ERR_NO_MEM when the recipe is not complete; otherwise error.
 */
int rz_datatype_done(int error, struct rz_recipe *recipe, struct rz_datatype *const *built,
                     struct rz_datatype **newtype);

#endif
