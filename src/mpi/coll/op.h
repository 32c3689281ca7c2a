/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction operations. */
#ifndef RZ_MPI_OP_H
#define RZ_MPI_OP_H

#include "mpi/type/datatype.h"
#include "mpi/type/number.h"

/* inout[i] = in[i] op inout[i], for n elements that do not overlap. */
typedef void rz_op_function_t(const void *in, void *inout, MPI_Count n);

/* By kind of number; NULL: the operation is not defined on it. */
typedef rz_op_function_t *rz_op_table_t[RZ_NUMBER_COUNT];

struct rz_op {
    struct rz_object object;
    bool commutative;
    const char *name;           /* of a predefined operation */
    const rz_op_table_t *table; /* of a predefined operation; NULL: MPI_REPLACE, MPI_NO_OP */
    MPI_User_function *user;    /* of a user's operation: one of these two */
    MPI_User_function_c *user_c;
};

/* op_number.c: the tables of the arithmetic operations, indexed by the ABI's number - 0x20. */
extern const rz_op_table_t rz_op_tables[0x20];

/* MPI_ERR_OP with the reason: op is not defined for datatype. */
int rz_op_refuse(const struct rz_op *op, const struct rz_datatype *datatype);

/* Whether a reduction may use op on datatype: MPI_SUCCESS, or MPI_ERR_OP with the reason. op NULL:
 * this process does not reduce. */
static inline int rz_op_check(const struct rz_op *op, const struct rz_datatype *datatype)
{
    bool defined =
        !op || !rz_object_is_predefined(op) || (op->table && (*op->table)[rz_number_of(datatype)]);
    return defined ? MPI_SUCCESS : rz_op_refuse(op, datatype);
}

/*
 * inout[i] = in[i] op inout[i]: `in` is the operand of the lower ranks. After rz_op_check(). A
 * function of the user runs with the engine lock held, which its thread may take again: it may call
 * local inquiries, such as the size of the datatype.
 */
void rz_op_apply(struct rz_op *op, const void *in, void *inout, MPI_Count count,
                 struct rz_datatype *datatype);

static inline void rz_op_retain(struct rz_op *op)
{
    rz_object_retain(&op->object);
}

void rz_op_release(struct rz_op *op);

#endif
