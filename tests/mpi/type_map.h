/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes as the standard defines them, for tests: the type map of any datatype, written out in
 * full by recursion over MPI_Type_get_envelope and MPI_Type_get_contents; random datatypes. All by
 * MPI's own calls, so that other MPI libraries can run the same tests.
 */
#ifndef TYPE_MAP_H
#define TYPE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

/* One number of a type map. */
struct map_entry {
    MPI_Aint at;
    MPI_Datatype basic;
    int bytes, alignment, external; /* external: bytes in external32 */
};

struct map {
    struct map_entry *entries;
    int n, max;
    bool marked; /* lb and ub were set by a resized type */
    MPI_Aint lb_mark, ub_mark;
};

void map_free(struct map *map);
MPI_Aint map_size(const struct map *map);
MPI_Aint map_true_lb(const struct map *map);
MPI_Aint map_true_ub(const struct map *map);
MPI_Aint map_lb(const struct map *map);
MPI_Aint map_extent(const struct map *map);

/* Appends the type map of type, decoded. */
void map_decode(MPI_Datatype type, struct map *map);

/* What a type was made from. Large: by a large-count constructor. */
struct recipe {
    int combiner;
    bool large;
    MPI_Count n_integers, n_addresses, n_counts, n_types;
    int *integers;
    MPI_Aint *addresses;
    MPI_Count *counts;
    MPI_Datatype *types;
};

void recipe_get(MPI_Datatype type, struct recipe *recipe);
void recipe_free(struct recipe *recipe); /* and its types */

/* A recipe's arguments in the order of the constructor, whatever form it has. */
struct reader {
    const struct recipe *recipe;
    MPI_Count integer, address, count;
};
int read_integer(struct reader *reader);
MPI_Count read_count(struct reader *reader);
MPI_Count read_address(struct reader *reader);

/* Makes the same type again from the result of MPI_Type_get_contents, parts included. */
MPI_Datatype type_rebuild(MPI_Datatype type);

/* Frees what is not predefined. */
void type_drop(MPI_Datatype *type);

/* The predefined types that random types are made of: i < TYPE_LEAVES. */
enum { TYPE_LEAVES = 13 };
MPI_Datatype type_leaf(int i);

/* ---- Random types (type_draw.c) ---- */

struct dice {
    uint64_t state;
};

/* Whether large-count constructors are used, too; at first where MPI has them. */
extern bool type_draw_large;

int dice_below(struct dice *dice, int bound);

/* At most `depth` constructors around predefined types; type_drop() it. */
MPI_Datatype type_draw(struct dice *dice, int depth);

#endif
