/* The constructors of the standard, each as blocks. */
#include "mpi/datatype_layout.h"

#include <stdlib.h>

int rzm_type_contiguous(MPI_Count count, struct rz_datatype *oldtype, struct rz_datatype **newtype)
{
    struct rz_block block = {.length = count, .repeat = 1, .type = oldtype};
    return rz_datatype_build(&block, 1, newtype);
}

static int too_large(void)
{
    return rzm_error(MPI_ERR_COUNT, "a displacement is larger than 2^63 bytes");
}

int rzm_type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                            struct rz_datatype *oldtype, struct rz_datatype **newtype)
{
    struct rz_block block = {
        .length = blocklength, .repeat = count, .stride = stride, .type = oldtype};
    return rz_datatype_build(&block, 1, newtype);
}

int rzm_type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                    struct rz_datatype *oldtype, struct rz_datatype **newtype)
{
    MPI_Count bytes;
    if (__builtin_mul_overflow(stride, oldtype->extent, &bytes)) {
        return too_large();
    }
    return rzm_type_create_hvector(count, blocklength, bytes, oldtype, newtype);
}

/* The five constructors of listed blocks differ in these. */
struct list {
    MPI_Count count;
    struct rz_counts lengths; /* unless `length` is given */
    MPI_Count length;         /* of each block; -1: lengths */
    struct rz_counts displacements;
    bool in_extents;             /* displacements count elements of oldtype, else bytes */
    struct rz_datatype *oldtype; /* NULL: types */
    const MPI_Datatype *types;
};

static int list_block(const struct list *list, MPI_Count i, struct rz_block *block)
{
    *block = (struct rz_block){
        .displacement = rz_counts_at(list->displacements, i),
        .length = list->length >= 0 ? list->length : rz_counts_at(list->lengths, i),
        .repeat = 1,
        .type = list->types != NULL ? rz_datatype_of(list->types[i]) : list->oldtype,
    };
    if (list->in_extents &&
        __builtin_mul_overflow(block->displacement, block->type->extent, &block->displacement)) {
        return too_large();
    }
    return MPI_SUCCESS;
}

static int build_list(const struct list *list, struct rz_datatype **newtype)
{
    struct rz_block *blocks = malloc(((size_t)list->count + 1) * sizeof(*blocks));
    int error = blocks != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (MPI_Count i = 0; i < list->count && error == MPI_SUCCESS; i++) {
        error = list_block(list, i, &blocks[i]);
    }
    if (error == MPI_SUCCESS) {
        error = rz_datatype_build(blocks, (size_t)list->count, newtype);
    }
    free(blocks);
    return error;
}

int rzm_type_indexed(MPI_Count count, struct rz_counts array_of_blocklengths,
                     struct rz_counts array_of_displacements, struct rz_datatype *oldtype,
                     struct rz_datatype **newtype)
{
    struct list list = {.count = count,
                        .lengths = array_of_blocklengths,
                        .length = -1,
                        .displacements = array_of_displacements,
                        .in_extents = true,
                        .oldtype = oldtype};
    return build_list(&list, newtype);
}

int rzm_type_create_hindexed(MPI_Count count, struct rz_counts array_of_blocklengths,
                             struct rz_counts array_of_displacements, struct rz_datatype *oldtype,
                             struct rz_datatype **newtype)
{
    struct list list = {.count = count,
                        .lengths = array_of_blocklengths,
                        .length = -1,
                        .displacements = array_of_displacements,
                        .oldtype = oldtype};
    return build_list(&list, newtype);
}

int rzm_type_create_indexed_block(MPI_Count count, MPI_Count blocklength,
                                  struct rz_counts array_of_displacements,
                                  struct rz_datatype *oldtype, struct rz_datatype **newtype)
{
    struct list list = {.count = count,
                        .length = blocklength,
                        .displacements = array_of_displacements,
                        .in_extents = true,
                        .oldtype = oldtype};
    return build_list(&list, newtype);
}

int rzm_type_create_hindexed_block(MPI_Count count, MPI_Count blocklength,
                                   struct rz_counts array_of_displacements,
                                   struct rz_datatype *oldtype, struct rz_datatype **newtype)
{
    struct list list = {.count = count,
                        .length = blocklength,
                        .displacements = array_of_displacements,
                        .oldtype = oldtype};
    return build_list(&list, newtype);
}

int rzm_type_create_struct(MPI_Count count, struct rz_counts array_of_blocklengths,
                           struct rz_counts array_of_displacements,
                           const MPI_Datatype array_of_types[], struct rz_datatype **newtype)
{
    struct list list = {.count = count,
                        .lengths = array_of_blocklengths,
                        .length = -1,
                        .displacements = array_of_displacements,
                        .types = array_of_types};
    return build_list(&list, newtype);
}

/* ---- MPI_Type_create_subarray ---- */

/* One more dimension around inner (consumed): `subsize` of `size` rows of row_bytes each, beginning
 * with row start. */
static int add_dimension(struct rz_datatype **inner, MPI_Count subsize, MPI_Count start,
                         MPI_Count row_bytes)
{
    struct rz_block block = {.length = 1, .repeat = subsize, .stride = row_bytes, .type = *inner};
    if (__builtin_mul_overflow(start, row_bytes, &block.displacement)) {
        return too_large();
    }
    struct rz_datatype *outer;
    int error = rz_datatype_build(&block, 1, &outer);
    if (error == MPI_SUCCESS) {
        rz_datatype_release(*inner);
        *inner = outer;
    }
    return error;
}

int rzm_type_create_subarray(int ndims, struct rz_counts array_of_sizes,
                             struct rz_counts array_of_subsizes, struct rz_counts array_of_starts,
                             int order, struct rz_datatype *oldtype, struct rz_datatype **newtype)
{
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN) {
        return rzm_error(MPI_ERR_ARG, "order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
    }
    MPI_Count row_bytes = oldtype->extent;
    struct rz_datatype *type;
    int error = rzm_type_dup(oldtype, &type);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (int i = 0; i < ndims && error == MPI_SUCCESS; i++) {
        int at = order == MPI_ORDER_C ? ndims - 1 - i : i;
        MPI_Count size = rz_counts_at(array_of_sizes, at);
        MPI_Count subsize = rz_counts_at(array_of_subsizes, at);
        MPI_Count start = rz_counts_at(array_of_starts, at);
        if (subsize < 1 || subsize > size || start < 0 || start > size - subsize) {
            error = rzm_error(MPI_ERR_ARG, "dimension %d: no %lld from %lld on of %lld", at,
                              (long long)subsize, (long long)start, (long long)size);
            break;
        }
        error = add_dimension(&type, subsize, start, row_bytes);
        if (error == MPI_SUCCESS && __builtin_mul_overflow(row_bytes, size, &row_bytes)) {
            error = too_large();
        }
    }
    if (error == MPI_SUCCESS) {
        error = rzm_type_create_resized(type, 0, row_bytes, newtype);
    }
    rz_datatype_release(type);
    return error;
}
