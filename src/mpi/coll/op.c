/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction operations: the predefined ones (their functions: op_number.c), those of the user, and
 * their application to vectors.
 */
#include "mpi/coll/op.h"

#include "mpi/engine/waiting.h"

#include <limits.h>
#include <stdlib.h>

/* ---- Predefined ---- */

#define OBJECT(handle)                                                                             \
    {                                                                                              \
        .magic = RZ_OBJECT_MAGIC + RZ_OBJECT_OP, .predefined = 0x20 + (handle), .references = 1    \
    }
#define ARITHMETIC(handle, name_)                                                                  \
    [handle] = {.object = OBJECT(handle),                                                          \
                .commutative = true,                                                               \
                .name = "MPI_" #name_,                                                             \
                .table = &rz_op_tables[handle]},
#define FOR_WINDOWS(handle, name_) [handle] = {.object = OBJECT(handle), .name = "MPI_" #name_},

/* clang-format off */
static struct rz_op predefined[0x20] = {
    ARITHMETIC(0x01, SUM)
    ARITHMETIC(0x02, MIN)
    ARITHMETIC(0x03, MAX)
    ARITHMETIC(0x04, PROD)
    ARITHMETIC(0x08, BAND)
    ARITHMETIC(0x09, BOR)
    ARITHMETIC(0x0a, BXOR)
    ARITHMETIC(0x10, LAND)
    ARITHMETIC(0x11, LOR)
    ARITHMETIC(0x12, LXOR)
    ARITHMETIC(0x18, MINLOC)
    ARITHMETIC(0x19, MAXLOC)
    FOR_WINDOWS(0x1c, REPLACE)
    FOR_WINDOWS(0x1d, NO_OP)
};
/* clang-format on */

#define NAMED(i) [i] = &predefined[i]

struct rz_op *const rz_ops_named[0x20] = {
    NAMED(0x01), NAMED(0x02), NAMED(0x03), NAMED(0x04), NAMED(0x08), NAMED(0x09), NAMED(0x0a),
    NAMED(0x10), NAMED(0x11), NAMED(0x12), NAMED(0x18), NAMED(0x19), NAMED(0x1c), NAMED(0x1d)};

/* ---- The user's operations ---- */

static struct rz_op *free_first; /* memory of freed ones, linked by `table`: a stale handle reads a
                                    freed object, no foreign memory */

int rzm_op_create(MPI_User_function *user_fn, MPI_User_function_c *user_fn_c, int commute,
                  struct rz_op **op)
{
    struct rz_op *made = free_first;
    if (made) {
        free_first = (struct rz_op *)(uintptr_t)made->table;
    } else if ((made = malloc(sizeof(*made))) == NULL) {
        return MPI_ERR_NO_MEM;
    }
    *made = (struct rz_op){.commutative = commute != 0, .user = user_fn, .user_c = user_fn_c};
    rz_object_init(&made->object, RZ_OBJECT_OP, 0);
    *op = made;
    return MPI_SUCCESS;
}

void rz_op_release(struct rz_op *op)
{
    if (rz_object_release(&op->object)) {
        op->table = (const rz_op_table_t *)(void *)free_first;
        free_first = op;
    }
}

int rzm_op_free(struct rz_op *op)
{
    rz_op_release(op);
    return MPI_SUCCESS;
}

int rzm_op_commutative(struct rz_op *op, int *commute)
{
    *commute = op->commutative;
    return MPI_SUCCESS;
}

/* ---- Applying operations ---- */

int rz_op_refuse(const struct rz_op *op, const struct rz_datatype *datatype)
{
    if (!op->table) {
        return rzm_error(MPI_ERR_OP, "op %s is for windows, not for reductions", op->name);
    }
    const char *name = rz_datatype_name(datatype);
    return rzm_error(MPI_ERR_OP, "op %s is not defined on %s", op->name,
                     name[0] != '\0' ? name : "a datatype of the program");
}

/* The int variant takes an int count: a long vector is passed in parts. */
static void apply_user(struct rz_op *op, const char *in, char *inout, MPI_Count count,
                       struct rz_datatype *datatype)
{
    MPI_Datatype handle = rz_datatype_handle(datatype);
    if (op->user_c) {
        op->user_c((void *)(uintptr_t)in, inout, &count, &handle);
    } else {
        for (MPI_Count done = 0; done < count;) {
            int n = count - done < INT_MAX ? (int)(count - done) : INT_MAX;
            MPI_Count offset = done * datatype->extent;
            done += n;
            op->user((void *)(uintptr_t)(in + offset), inout + offset, &n, &handle);
        }
    }
}

void rz_op_apply(struct rz_op *op, const void *in, void *inout, MPI_Count count,
                 struct rz_datatype *datatype)
{
    if (count == 0) {
        return;
    }
    if (!rz_object_is_predefined(op)) {
        bool stopped = rz_engine_reduction_begins();
        apply_user(op, in, inout, count, datatype);
        rz_engine_reduction_ended(stopped);
        return;
    }
    if (!op->table) { /* MPI_REPLACE, MPI_NO_OP; between equal contiguous datatypes a copy needs no
                         memory */
        if (op->object.predefined == 0x3c) {
            rz_datatype_copy(datatype, count, in, datatype, count, inout);
        }
        return;
    }
    rz_op_function_t *function = (*op->table)[rz_number_of(datatype)];
    rz_assert(function != NULL);
    function(in, inout, count);
}

int rzm_reduce_local(const void *inbuf, void *inoutbuf, MPI_Count count,
                     struct rz_datatype *datatype, struct rz_op *op)
{
    int error = rz_op_check(op, datatype);
    if (error == MPI_SUCCESS) {
        rz_op_apply(op, inbuf, inoutbuf, count, datatype);
    }
    return error;
}
