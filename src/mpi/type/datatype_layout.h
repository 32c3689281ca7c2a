/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the data of one element of a datatype lies: a list of pieces, in the order of the type map.
 * A piece is a row of bytes, or another layout, repeated at a stride. A layout never changes once
 * it is made. All types that contain it share it, so a type may be freed while others use its
 * layout.
 */
#ifndef RZ_MPI_DATATYPE_LAYOUT_H
#define RZ_MPI_DATATYPE_LAYOUT_H

#include "mpi/type/datatype_object.h"

/* How a predefined type is converted for external32. */
enum rz_external {
    RZ_EXTERNAL_SAME,       /* same size; the byte order is reversed */
    RZ_EXTERNAL_SIGNED,     /* fewer bytes in external32 */
    RZ_EXTERNAL_UNSIGNED,   /* fewer bytes in external32 */
    RZ_EXTERNAL_LONG_DOUBLE /* 16 bytes: IEEE binary128 */
};

/* A predefined type, or one half of a pair type, as rows contain it. */
struct rz_basic {
    uint8_t bytes;    /* of one element */
    uint8_t external; /* of one element in external32 */
    uint8_t parts;    /* how many numbers an element has: 2 if complex */
    uint8_t way;      /* enum rz_external */
};

/* The predefined type. */
struct rz_datatype *rz_datatype_of_basic(const struct rz_basic *basic);

struct rz_piece {
    MPI_Count offset;             /* of the first repetition, from the origin of the element */
    MPI_Count repeat;             /* >= 1 */
    MPI_Count stride;             /* in bytes, between repetitions */
    MPI_Count bytes;              /* of data in one repetition; > 0 */
    const struct rz_basic *basic; /* the type of a row's elements; NULL: no row */
    struct rz_layout *child;      /* the layout that is repeated; NULL: a row */
};

struct rz_layout {
    uint32_t references;  /* 0: static, never freed */
    bool is_row;          /* all data is one row of bytes in the order of the type map */
    MPI_Count row_offset; /* where that row begins, if is_row */
    MPI_Count elements;   /* basic elements */
    MPI_Count external;   /* bytes in external32 */
    size_t n;
    struct rz_piece *pieces; /* [n]; none for a type without data */
};

/* repeat copies, stride bytes apart, of `length` consecutive elements of type; the first begins at
 * displacement. */
struct rz_block {
    MPI_Count displacement, length, repeat, stride;
    struct rz_datatype *type;
};

/* The layout of n blocks in order; the caller gets the first reference. NULL: no memory. Offsets do
 * not overflow: rz_datatype_build has checked that. */
struct rz_layout *rz_layout_new(const struct rz_block *blocks, size_t n);

void rz_layout_retain(struct rz_layout *layout);
void rz_layout_release(struct rz_layout *layout);

/* Copies the first *left bytes of one element between user (its origin) and packed; advances
 * *packed and reduces *left. */
void rz_layout_copy(const struct rz_layout *layout, char *user, char **packed, MPI_Count *left,
                    bool packing);

/* Adds to *elements the number of basic elements in the first *left bytes of one element; false:
 * the bytes end inside a basic element. Reduces *left. */
bool rz_layout_elements(const struct rz_layout *layout, MPI_Count *left, MPI_Count *elements);

/* The number of bytes of the first `elements` basic elements of one element. */
MPI_Count rz_layout_bytes(const struct rz_layout *layout, MPI_Count elements);

#endif
