/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contents of datatype objects.
 */
#ifndef RZ_MPI_DATATYPE_OBJECT_H
#define RZ_MPI_DATATYPE_OBJECT_H

#include "mpi/impl.h"

struct rz_layout; /* where the bytes lie (datatype_layout.h) */
struct rz_attribute;

/* How a datatype was made (type_recipe.h). */
struct rz_recipe {
    uint32_t references;
    int combiner;
    bool large;    /* made by a large-count constructor: counts and addresses are both MPI_Count */
    bool complete; /* no allocation has failed */
    MPI_Count n_integers, n_addresses, n_counts, n_types;
    int *integers;
    int64_t *wide; /* addresses or counts: no constructor has both */
    /* The library's own copies, so that MPI_Type_free of a part does not affect the recipe; or
     * permanent types. */
    struct rz_datatype **types;
    /* the user's type for which the last copy was made, during construction */
    const struct rz_datatype *last;
};

struct rz_datatype {
    struct rz_object object; /* flags: RZ_DATATYPE_COMMITTED, _PERMANENT */
    MPI_Count size;          /* bytes of data in one element */
    MPI_Count lb, extent;
    MPI_Count true_lb, true_extent;
    bool contiguous; /* any number of elements is one row of count * size bytes that begins at
                        true_lb (extent == size) */
    bool marked; /* lb and extent were set by MPI_Type_create_resized, here or in a part; otherwise
                    they follow from the data */
    uint8_t alignment; /* the largest of its basic elements */
    /* enum rz_number of a predefined type without a number in the ABI; 0 for others */
    uint8_t number;
    MPI_Count elements; /* basic elements in one element */
    struct rz_layout *layout;
    struct rz_recipe *recipe; /* NULL: predefined, or made by the library for its own use */
    struct rz_attribute *attributes;
    char *name; /* set by the user, or NULL */
};

#endif
