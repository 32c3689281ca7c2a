/* Datatypes, as the point-to-point engine sees them: how many bytes, and how they come into one row. */
#ifndef RZ_MPI_DATATYPE_H
#define RZ_MPI_DATATYPE_H

#include "mpi/chapter.h"

struct rz_datatype_layout; /* of the datatype chapter: where the bytes lie */

struct rz_datatype {
    struct rz_object object; /* flags: RZ_DATATYPE_COMMITTED */
    MPI_Count size;          /* bytes of data in one element */
    MPI_Count lb, extent;
    MPI_Count true_lb, true_extent;
    bool contiguous; /* any number of elements is one row of count * size bytes that begins at true_lb (extent == size) */
    struct rz_datatype_layout *layout; /* NULL for predefined types */
    char *name;                        /* set by the user, or NULL */
};

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

/* Gathers count elements at user into count * size bytes at packed, in the order of the type map. datatype.c. */
void rz_datatype_pack(const struct rz_datatype *datatype, MPI_Count count, const void *user, void *packed);

/* Spreads the first `bytes` (<= count * size, may end inside an element) of packed over count elements at user. */
void rz_datatype_unpack(const struct rz_datatype *datatype, MPI_Count count, const void *packed, MPI_Count bytes,
                        void *user);

static inline void rz_datatype_retain(struct rz_datatype *datatype)
{
    rz_object_retain(&datatype->object);
}

/* Gives a reference back and frees the type with the last one. datatype.c. */
void rz_datatype_release(struct rz_datatype *datatype);

#endif
