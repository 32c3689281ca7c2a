/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes, as point-to-point communication sees them: their number of bytes, and how data are
 * packed into one contiguous row.
 */
#ifndef RZ_MPI_DATATYPE_H
#define RZ_MPI_DATATYPE_H

#include "mpi/type/datatype_object.h"

struct rz_block; /* datatype_layout.h */

/* Bytes of data in count elements. */
static inline MPI_Count rz_datatype_bytes(const struct rz_datatype *datatype, MPI_Count count)
{
    return datatype->size * count;
}

/* The start of the row of a contiguous type. */
static inline void *rz_datatype_row(const struct rz_datatype *datatype, const void *user)
{
    return (char *)user + datatype->true_lb;
}

/* Gathers count elements at user into count * size bytes at packed, in the order of the type map.
 * datatype.c. */
void rz_datatype_pack(const struct rz_datatype *datatype, MPI_Count count, const void *user,
                      void *packed);

/* Unpacks the first `bytes` (<= count * size; they may end inside an element) of packed to count
 * elements at user. */
void rz_datatype_unpack(const struct rz_datatype *datatype, MPI_Count count, const void *packed,
                        MPI_Count bytes, void *user);

/* Copies from one type to another within this process: MPI_SUCCESS; MPI_ERR_TRUNCATE when the data
 * do not fit (as much as fits is copied); MPI_ERR_NO_MEM. The two must not overlap. datatype.c. */
int rz_datatype_copy(const struct rz_datatype *from_type, MPI_Count from_count, const void *from,
                     const struct rz_datatype *to_type, MPI_Count to_count, void *to);

/* Whether it is never freed: a predefined type, with or without a number in the ABI. */
static inline bool rz_datatype_is_permanent(const struct rz_datatype *datatype)
{
    return datatype->object.predefined != 0 || (datatype->object.flags & RZ_DATATYPE_PERMANENT);
}

static inline void rz_datatype_retain(struct rz_datatype *datatype)
{
    rz_object_retain(&datatype->object);
}

/* The last reference was released: frees the type. datatype.c. */
void rz_datatype_end(struct rz_datatype *datatype);

static inline void rz_datatype_release(struct rz_datatype *datatype)
{
    if (rz_object_release(&datatype->object)) {
        rz_datatype_end(datatype);
    }
}

/*
 * A new datatype of n blocks, not committed, with lb and extent as section 5.1 of the standard
 * defines them: without explicit bounds, lb is that of the data and the extent is rounded up to the
 * alignment; explicit bounds of a part take precedence. MPI_ERR_NO_MEM; MPI_ERR_COUNT when a size
 * or displacement does not fit 63 bits.
 */
int rz_datatype_build(const struct rz_block *blocks, size_t n, struct rz_datatype **newtype);

/* Another object with the same layout and recipe, without name and attributes. MPI_ERR_NO_MEM. */
int rz_datatype_clone(const struct rz_datatype *type, struct rz_datatype **newtype);

/* Sets lb and extent explicitly. */
void rz_datatype_resize(struct rz_datatype *type, MPI_Count lb, MPI_Count extent);

/* Releases a reference to a recipe, and frees it with the last one. datatype.c. */
void rz_recipe_release(struct rz_recipe *recipe);

#endif
