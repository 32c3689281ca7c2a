/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving a row, and changing an element, without a description of the operation. */
#include "mpi/rma/rma_direct.h"

static char *row_at_target(const struct rz_rma_call *call, MPI_Count bytes)
{
    return rz_rma_place(rz_win_target(call->win, call->rank), call->disp, call->type->true_lb,
                        bytes);
}

static bool move_row(const struct rz_rma_call *call)
{
    bool puts = call->what == RZ_RMA_PUT;
    const struct rz_datatype *here = puts ? call->origin_type : call->result.type;
    if (!here || !here->contiguous || !call->type->contiguous) {
        return false;
    }
    MPI_Count bytes = rz_datatype_bytes(call->type, call->count);
    MPI_Count bytes_here = rz_datatype_bytes(here, puts ? call->origin_count : call->result.count);
    char *there = bytes > 0 && bytes == bytes_here ? row_at_target(call, bytes) : NULL;
    if (!there) {
        return false;
    }
    if (puts) {
        rz_rma_move_row(there, rz_datatype_row(here, call->origin), bytes);
    } else {
        rz_rma_move_row(rz_datatype_row(here, call->result.at), there, bytes);
    }
    return true;
}

static bool change_element(const struct rz_rma_call *call)
{
    const struct rz_datatype *type = call->type;
    if (call->count != 1 || !call->win->atomic || !rz_datatype_is_permanent(type) ||
        (call->origin_type && (call->origin_type != type || call->origin_count != 1)) ||
        (call->result.type && (call->result.type != type || call->result.count != 1))) {
        return false;
    }
    char *there = row_at_target(call, type->size);
    if (!there || !type->contiguous || !rz_rma_is_element(type->size, type->extent, there)) {
        return false;
    }
    if (call->what == RZ_RMA_SWAP) {
        rz_rma_swap_element(type->size, call->origin, call->compare, call->result.at, there);
        return true;
    }
    const struct rz_rma_element element = {
        .op = call->op->object.predefined,
        .number = rz_number_of(type),
        .size = type->size,
        .data = call->origin_type ? call->origin : NULL,
        .result = call->result.type ? call->result.at : NULL,
    };
    return rz_rma_change_element(&element, there);
}

bool rz_rma_direct(const struct rz_rma_call *call)
{
    if (call->rank < 0 || !rz_rma_is_near(call->win, rz_win_target(call->win, call->rank))) {
        return false;
    }
    bool done = call->what < RZ_RMA_ACCUMULATE ? move_row(call) : change_element(call);
    if (done) {
        rz_win_target(call->win, call->rank)->touched = true;
    }
    return done;
}
