/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided operations at the memory of their target. The data of the origin are packed.
 */
#ifndef RZ_MPI_RMA_APPLY_H
#define RZ_MPI_RMA_APPLY_H

#include "mpi/coll/op.h"
#include "mpi/rma/window.h"
#include "mpi/type/datatype_shape.h"

enum rz_rma_what {
    RZ_RMA_PUT,
    RZ_RMA_GET,
    RZ_RMA_ACCUMULATE, /* with a result: get_accumulate */
    RZ_RMA_SWAP,       /* compare and swap: data is the new value, then the value compared with */
    RZ_RMA_WHAT_COUNT
};

struct rz_rma_operation {
    enum rz_rma_what what;
    unsigned op;           /* ACCUMULATE: the number of the operation in the ABI */
    enum rz_number number; /* ACCUMULATE, SWAP: of the basic type, which has the shape `basic` */
    struct rz_shape basic;
    struct rz_shape shape; /* of the data at the target */
    MPI_Count count;
    const char *data; /* NULL: none */
    bool data_stay;   /* until the next synchronisation: the user's own buffer */
    char *result;     /* NULL: none is wanted */
    bool wants_result;
};

static inline MPI_Count rz_rma_bytes(const struct rz_rma_operation *operation)
{
    return operation->shape.size * operation->count;
}

/* Whether it changes data together with other accumulates, so that it has to be atomic. */
static inline bool rz_rma_accumulates(const struct rz_rma_operation *operation)
{
    return operation->what >= RZ_RMA_ACCUMULATE;
}

/* How the packed data of an operation are read from its target, and written there. */
struct rz_rma_memory {
    bool (*read)(void *arg, const struct rz_rma_operation *operation, char *packed);
    bool (*write)(void *arg, const struct rz_rma_operation *operation, const char *packed);
    void *arg;
};

/* Whether it can be done by atomic instructions for each element at `at`, so that the right to
 * accumulate is not needed. */
bool rz_rma_is_atomic(const struct rz_win *win, const struct rz_rma_operation *operation,
                      uint64_t at);

/* Whether elements of this size and extent at `at` can be changed by atomic instructions. */
static inline bool rz_rma_is_element(MPI_Count size, MPI_Count extent, const void *at)
{
    return extent == size && (size == 1 || size == 2 || size == 4 || size == 8) &&
           (uintptr_t)at % (uintptr_t)size == 0;
}

/* One such element, atomically. False: the operation is not defined on it, or has no use; nothing
 * was done. */
struct rz_rma_element {
    unsigned op; /* as in struct rz_rma_operation */
    enum rz_number number;
    MPI_Count size;
    const void *data; /* NULL: none */
    void *result;     /* NULL: none is wanted */
};
bool rz_rma_change_element(const struct rz_rma_element *element, void *at);
void rz_rma_swap_element(MPI_Count size, const void *next, const void *compare, void *result,
                         void *at);

/* Does it at memory of this process. For an accumulate that is not atomic the caller has the right
 * to accumulate. MPI_SUCCESS or MPI_ERR_NO_MEM. */
int rz_rma_apply(const struct rz_win *win, const struct rz_rma_operation *operation, uint64_t at);

/* Does an accumulate by reading, computing and writing. MPI_ERR_RMA_RANGE: it could not be read or
 * written. */
int rz_rma_accumulate_by(const struct rz_rma_memory *memory,
                         const struct rz_rma_operation *operation);

#endif
