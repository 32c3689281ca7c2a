/* Datatypes, as the point-to-point engine sees them: how many bytes, and how they come into one
 * row. */
#ifndef RZ_MPI_DATATYPE_H
#define RZ_MPI_DATATYPE_H

#include "mpi/chapter.h"

struct rz_layout; /* of the datatype chapter (datatype_layout.h): where the bytes lie */
struct rz_recipe; /* of the datatype chapter (type_recipe.h): how it was made */
struct rz_attribute;

struct rz_datatype {
    struct rz_object object; /* flags: RZ_DATATYPE_COMMITTED, _PERMANENT */
    MPI_Count size;          /* bytes of data in one element */
    MPI_Count lb, extent;
    MPI_Count true_lb, true_extent;
    bool contiguous; /* any number of elements is one row of count * size bytes that begins at
                        true_lb (extent == size) */
    bool marked; /* lb and extent were set by MPI_Type_create_resized, here or in a part; else they
                    follow the data */
    uint8_t alignment;  /* the largest of its basic elements */
    uint8_t number;     /* enum rz_number of a predefined type without a name; of others 0 */
    MPI_Count elements; /* basic elements in one element */
    struct rz_layout *layout;
    struct rz_recipe *recipe; /* NULL: predefined, or made by the library for itself */
    struct rz_attribute *attributes;
    char *name; /* set by the user, or NULL */
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

#endif
