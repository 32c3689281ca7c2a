/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving a row, and changing an element, without a description of the operation. */
#include "mpi/rma/rma_direct.h"

/* Whether there is an access epoch for the target, which needs no lock first, and its memory is
 * within reach of loads and stores. */
static bool is_within_reach(const struct rz_rma_call *call)
{
    const struct rz_win *win = call->win;
    const struct rz_win_target *target = rz_win_target(win, call->rank);
    bool open =
        target->hold != RZ_HOLD_NONE || target->started || win->fenced || win->lock_all_unchecked;
    return open && target->reach == RZ_REACH_MEMORY && win->flavor != MPI_WIN_FLAVOR_DYNAMIC &&
           !win->comm->revoked && !rz_win_lost(win, call->rank);
}

/* Where `bytes` bytes of the target begin; NULL: not all are inside of its memory. */
static char *row_at_target(const struct rz_rma_call *call, MPI_Count bytes)
{
    const struct rz_win_target *target = rz_win_target(call->win, call->rank);
    MPI_Count first;
    bool fits = call->disp >= 0 && bytes <= target->size &&
                !__builtin_mul_overflow(call->disp, target->disp_unit, &first) &&
                !__builtin_add_overflow(first, call->type->true_lb, &first);
    return fits && first >= 0 && first <= target->size - bytes ? target->memory + first : NULL;
}

static void copy_row(char *to, const char *from, MPI_Count bytes)
{
    if (bytes == (MPI_Count)sizeof(uint64_t)) {
        memmove(to, from, sizeof(uint64_t)); /* one instruction */
    } else {
        memmove(to, from, (size_t)bytes);
    }
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
        copy_row(there, rz_datatype_row(here, call->origin), bytes);
    } else {
        copy_row(rz_datatype_row(here, call->result.at), there, bytes);
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
    if (call->rank < 0 || !is_within_reach(call)) {
        return false;
    }
    bool done = call->what < RZ_RMA_ACCUMULATE ? move_row(call) : change_element(call);
    if (done) {
        rz_win_target(call->win, call->rank)->touched = true;
    }
    return done;
}
