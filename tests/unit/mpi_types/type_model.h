/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes by the definitions of the standard: a type map written out in full, and constructors
 * that copy it. */
#ifndef TYPE_MODEL_H
#define TYPE_MODEL_H

#include <stdbool.h>

#include "base/random.h"
#include "mpi/type/datatype.h"

struct model_entry {
    MPI_Count at;
    int bytes, alignment;
};

struct model {
    struct model_entry *entries;
    int n, max;
    bool marked; /* it has lb and ub marks */
    MPI_Count lb_mark, ub_mark;
};

void model_free(struct model *model);

/* Appends all of part, moved by `at`. */
void model_append(struct model *model, const struct model *part, MPI_Count at);

MPI_Count model_size(const struct model *model);
MPI_Count model_lb(const struct model *model);
MPI_Count model_extent(const struct model *model);
MPI_Count model_true_lb(const struct model *model);
MPI_Count model_true_extent(const struct model *model);

/*
 * A random datatype, made by the library, and its model. Depth: constructors around a predefined
 * type. What is returned is the caller's: release a type that is not predefined.
 */
struct rz_datatype *type_draw(struct rz_random *random, int depth, struct model *model);

static inline int draw(struct rz_random *random, int bound)
{
    return (int)rz_random_below(random, (uint64_t)bound);
}

#endif
