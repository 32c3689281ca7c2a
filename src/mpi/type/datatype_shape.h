/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shape of a datatype: where the data of its elements lie, without what only its own process
 * needs. One-sided operations send it to the target, which moves data along it.
 */
#ifndef RZ_MPI_DATATYPE_SHAPE_H
#define RZ_MPI_DATATYPE_SHAPE_H

#include "mpi/type/datatype.h"
#include "mpi/type/datatype_layout.h"
#include "wire/cursor.h"

struct rz_shape {
    MPI_Count size, extent; /* of one element */
    MPI_Count true_lb;
    bool contiguous;          /* as rz_datatype.contiguous */
    struct rz_layout *layout; /* of one element; NULL if contiguous */
};

/* The shape of type; its layout belongs to type. */
struct rz_shape rz_shape_of(const struct rz_datatype *type);

/* The shape of a row of bytes. */
static inline struct rz_shape rz_shape_row(void)
{
    return (struct rz_shape){.size = 1, .extent = 1, .contiguous = true};
}

/*
 * Calls row(arg, at, bytes) for each row of bytes in `count` elements whose first one has its
 * origin at `origin`, in the order of the type map, until one returns false: the result. Addresses
 * are numbers, since the memory may be another process's.
 */
typedef bool rz_shape_row_t(void *arg, uint64_t at, MPI_Count bytes);
bool rz_shape_rows(const struct rz_shape *shape, MPI_Count count, uint64_t origin,
                   rz_shape_row_t *row, void *arg);

/* Copies count elements from `origin`, in memory of this process, to the row `packed`, or back. */
void rz_shape_pack(const struct rz_shape *shape, MPI_Count count, const void *origin, char *packed);
void rz_shape_unpack(const struct rz_shape *shape, MPI_Count count, const char *packed,
                     void *origin);

/* The first and the last byte of count > 0 elements, from the origin of the first; false: there are
 * no data, or the numbers do not fit. */
bool rz_shape_reach(const struct rz_datatype *type, MPI_Count count, MPI_Count *first,
                    MPI_Count *last);

/* The one predefined type of which all data of type consist; NULL: there are several, or none. */
const struct rz_datatype *rz_datatype_base(const struct rz_datatype *type);

/* The number of bytes that rz_shape_put writes. */
size_t rz_shape_bytes(const struct rz_shape *shape);
void rz_shape_put(const struct rz_shape *shape, struct rz_wire_writer *writer);

/* Reads a shape, to be ended by rz_shape_end. False: no memory, or it is malformed. */
bool rz_shape_get(struct rz_shape *shape, struct rz_wire_reader *reader);
void rz_shape_end(struct rz_shape *shape);

#endif
