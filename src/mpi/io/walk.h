/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A walk along the data of a datatype that is repeated without end, as memory and the view of a
 * file are: which bytes hold the data from a position on, piece by piece. Nothing is expanded: a
 * walk is a stack of places in the layout, as deep as the type is nested.
 *
 * The same walk serves memory (offsets from the buffer) and files (offsets in the file), so that
 * the two can be walked in step.
 */
#ifndef RZ_MPI_WALK_H
#define RZ_MPI_WALK_H

#include "mpi/type/datatype.h"
#include "mpi/type/datatype_layout.h"

/* Most types are nested less deeply; others need memory. */
#define RZ_WALK_LEVELS 8

struct rz_walk_level {
    const struct rz_layout *layout;
    size_t piece;
    MPI_Count repetition;
    MPI_Count base; /* where the layout's origin lies */
};

struct rz_walk {
    const struct rz_layout *layout; /* of one element; it must outlive the walk */
    MPI_Count size, extent, origin;
    bool is_row;         /* any number of elements is one row */
    MPI_Count position;  /* bytes of data before the place of the walk */
    MPI_Count element;   /* the number of the element it is in */
    MPI_Count row_begin; /* the offset of the present row, */
    MPI_Count row_bytes; /* its length, */
    MPI_Count in_row;    /* and how many of its bytes lie before the place */
    int depth, depth_max;
    struct rz_walk_level *levels;
    struct rz_walk_level few[RZ_WALK_LEVELS];
};

/* Elements of datatype one after another; the origin of the first lies at the offset `origin`. The
 * walk stands at position 0. Its address must not change. A type without data has no walk. */
void rz_walk_begin(struct rz_walk *walk, const struct rz_datatype *datatype, MPI_Count origin);
void rz_walk_end(struct rz_walk *walk);

/* Goes to that position: bytes of data from the beginning. */
void rz_walk_seek(struct rz_walk *walk, MPI_Count position);

/* The next piece of at most bytes_max bytes that lie in one row; *offset is where it begins.
 * Returns its length, > 0, and goes past it. Neighbouring rows are one piece. */
MPI_Count rz_walk_next(struct rz_walk *walk, MPI_Count bytes_max, MPI_Count *offset);

/* Copies the next `bytes` bytes between memory, whose data the walk follows from `memory` on, and
 * packed. */
void rz_walk_pack(struct rz_walk *walk, const char *memory, MPI_Count bytes, char *packed);
void rz_walk_unpack(struct rz_walk *walk, const char *packed, MPI_Count bytes, char *memory);

#endif
