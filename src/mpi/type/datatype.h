/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes, as the point-to-point engine sees them: how many bytes, and how they come into one
 * row. */
#ifndef RZ_MPI_DATATYPE_H
#define RZ_MPI_DATATYPE_H

#include "mpi/type/datatype_object.h"

struct rz_block; /* datatype_layout.h */

/* Bytes of data in count elements. */
static inline MPI_Count rz_datatype_bytes(const struct rz_datatype *datatype, MPI_Count count)
{
    return datatype->size * count;
}

/* Where the row of a contiguous type begins. */
static inline void *rz_datatype_row(const struct rz_datatype *datatype, const void *user)
{
    return (char *)user + datatype->true_lb;
}

/* Gathers count elements at user into count * size bytes at packed, in the order of the type map.
 * datatype.c. */
void rz_datatype_pack(const struct rz_datatype *datatype, MPI_Count count, const void *user,
                      void *packed);

/* Spreads the first `bytes` (<= count * size, may end inside an element) of packed over count
 * elements at user. */
void rz_datatype_unpack(const struct rz_datatype *datatype, MPI_Count count, const void *packed,
                        MPI_Count bytes, void *user);

/*
 * From one type to another within this process: MPI_SUCCESS; MPI_ERR_TRUNCATE when it does not fit
 * (as much as fits is copied); MPI_ERR_NO_MEM. The two must not overlap. datatype.c.
 */
int rz_datatype_copy(const struct rz_datatype *from_type, MPI_Count from_count, const void *from,
                     const struct rz_datatype *to_type, MPI_Count to_count, void *to);

/* Whether it is never freed: the predefined types, named or not. */
static inline bool rz_datatype_is_permanent(const struct rz_datatype *datatype)
{
    return datatype->object.predefined != 0 || (datatype->object.flags & RZ_DATATYPE_PERMANENT);
}

static inline void rz_datatype_retain(struct rz_datatype *datatype)
{
    rz_object_retain(&datatype->object);
}

/* Gives a reference back and frees the type with the last one. datatype.c. */
void rz_datatype_release(struct rz_datatype *datatype);

/*
 * A new datatype of n blocks, not committed, with lb, extent and the rest after section 5.1 of the
 * standard: without marks, lb is that of the data and the extent is rounded up to the alignment;
 * marks win. MPI_ERR_NO_MEM; MPI_ERR_COUNT when a size or displacement does not fit 63 bits.
 */
int rz_datatype_build(const struct rz_block *blocks, size_t n, struct rz_datatype **newtype);

/* Another object with the same layout and recipe, without name and attributes. MPI_ERR_NO_MEM. */
int rz_datatype_clone(const struct rz_datatype *type, struct rz_datatype **newtype);

/* Sets lb and extent for good. */
void rz_datatype_resize(struct rz_datatype *type, MPI_Count lb, MPI_Count extent);

/* Gives a reference to a recipe back, and frees it with the last one. datatype.c. */
void rz_recipe_release(struct rz_recipe *recipe);

#endif
