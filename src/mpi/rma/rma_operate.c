/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations of the user: their calls, their checks, their data at the origin, and the way by
 * which the target is reached. A target that has failed is no error of the call: the next
 * synchronisation reports it.
 */
#include "mpi/rma/rma_call.h"

#include "mpi/engine/waiting.h"
#include "mpi/request/request.h"
#include "mpi/rma/rma_copy.h"
#include "mpi/rma/rma_direct.h"
#include "mpi/rma/rma_owner_request.h"
#include "mpi/rma/rma_message.h"
#include "mpi/rma/rma_share.h"
#include "mpi/rma/window_passive.h"
#include "mpi/rma/window_words.h"

#include <stdlib.h>

/* ---- Checks ---- */

static int check_epoch(const struct rz_rma_call *call)
{
    struct rz_win *win = call->win;
    struct rz_win_target *target = rz_win_target(win, call->rank);
    if (win->comm->revoked) {
        return MPI_ERR_REVOKED;
    }
    if (target->hold != RZ_HOLD_NONE || target->started || win->lock_all || win->fenced) {
        return MPI_SUCCESS;
    }
    return rzm_error(MPI_ERR_RMA_SYNC,
                     "there is no access epoch for rank %d: no MPI_Win_fence, "
                     "MPI_Win_start or MPI_Win_lock before",
                     call->rank);
}

static int check_regions(const struct rz_win *win, uint64_t first, uint64_t last)
{
    for (const struct rz_win_region *region = win->regions; region; region = region->next) {
        if (first >= region->at && last - region->at < (uint64_t)region->size) {
            return MPI_SUCCESS;
        }
    }
    return rzm_error(MPI_ERR_RMA_RANGE, "the data are not in memory that is attached");
}

/* The address of the target's data, and whether they are in its memory as far as this process
 * knows. */
static int find_place(const struct rz_rma_call *call, uint64_t *at)
{
    const struct rz_win *win = call->win;
    const struct rz_win_target *target = rz_win_target(win, call->rank);
    MPI_Count first, last, offset;
    bool dynamic = win->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    bool data = call->count > 0 && call->type->size > 0;
    if (dynamic) {
        offset = call->disp;
    } else if (__builtin_mul_overflow(call->disp, target->disp_unit, &offset)) {
        return rzm_error(MPI_ERR_DISP, "target_disp is %lld, too large", (long long)call->disp);
    }
    if (call->disp < 0 && !dynamic) {
        return rzm_error(MPI_ERR_DISP, "target_disp is %lld, less than 0", (long long)call->disp);
    }
    *at = (uint64_t)offset + (dynamic ? 0 : (uint64_t)(uintptr_t)target->memory);
    if (target->reach != RZ_REACH_MEMORY && !dynamic) {
        *at = (uint64_t)offset + target->address;
    }
    if (!data) {
        return MPI_SUCCESS;
    }
    if (!rz_shape_reach(call->type, call->count, &first, &last) ||
        __builtin_add_overflow(first, offset, &first) ||
        __builtin_add_overflow(last, offset, &last)) {
        return rzm_error(MPI_ERR_RMA_RANGE, "the data at the target are too long");
    }
    if (dynamic) {
        return call->rank == win->rank ? check_regions(win, (uint64_t)first, (uint64_t)last)
                                       : MPI_SUCCESS;
    }
    return first >= 0 && last < target->size
               ? MPI_SUCCESS
               : rzm_error(MPI_ERR_RMA_RANGE,
                           "bytes %lld to %lld of the target, whose window has %lld",
                           (long long)first, (long long)last, (long long)target->size);
}

static int check_lengths(const struct rz_rma_call *call)
{
    MPI_Count there = rz_datatype_bytes(call->type, call->count);
    MPI_Count here = call->origin_type && call->what != RZ_RMA_SWAP
                         ? rz_datatype_bytes(call->origin_type, call->origin_count)
                         : there;
    MPI_Count back = call->result.type && call->what != RZ_RMA_SWAP
                         ? rz_datatype_bytes(call->result.type, call->result.count)
                         : there;
    if (here != there || back != there) {
        return rzm_error(MPI_ERR_ARG, "the origin has %lld bytes of data, the target %lld",
                         (long long)(here != there ? here : back), (long long)there);
    }
    return MPI_SUCCESS;
}

static bool is_op(const struct rz_op *op, MPI_Op handle)
{
    return op->object.predefined == (uintptr_t)handle;
}

static int check_op(const struct rz_rma_call *call)
{
    if (is_op(call->op, MPI_NO_OP) && !call->result.type) {
        return rzm_error(MPI_ERR_OP, "MPI_NO_OP is for calls that return the target's data");
    }
    return rz_object_is_predefined(call->op) ? MPI_SUCCESS
                                             : rzm_error(MPI_ERR_OP, "op is not predefined");
}

/* All data are of one predefined type, on which the operation is defined. Without data any types
 * will do. */
static int check_operation(const struct rz_rma_call *call, const struct rz_datatype **basic)
{
    int error = call->what == RZ_RMA_SWAP ? MPI_SUCCESS : check_op(call);
    if (error != MPI_SUCCESS || rz_datatype_bytes(call->type, call->count) == 0) {
        return error;
    }
    *basic = rz_datatype_base(call->type);
    const struct rz_datatype *own =
        call->origin_type ? rz_datatype_base(call->origin_type) : *basic;
    if (!*basic || !own || rz_number_of(own) != rz_number_of(*basic) ||
        own->size != (*basic)->size) {
        return rzm_error(MPI_ERR_TYPE,
                         "origin and target must consist of one and the same predefined type");
    }
    bool moves =
        call->what == RZ_RMA_SWAP || is_op(call->op, MPI_REPLACE) || is_op(call->op, MPI_NO_OP);
    return moves ? MPI_SUCCESS : rz_op_check(call->op, *basic);
}

/* ---- The right to accumulate ---- */

struct right {
    struct rz_win *win;
    int rank;
    bool got;
};

static bool right_ends(void *arg)
{
    struct right *right = arg;
    right->got = right->got || rz_win_try_accumulate(right->win, right->rank);
    return right->got || right->win->comm->revoked || rz_win_lost(right->win, right->rank);
}

static int right_take(struct rz_win *win, int rank, const char *call)
{
    struct right right = {win, rank, rz_win_try_accumulate(win, rank)};
    if (right.got) {
        return MPI_SUCCESS;
    }
    rz_win_set_waits(win, rank, true);
    int error = rz_win_wait(win, rank, call, right_ends, &right);
    rz_win_set_waits(win, rank, false);
    if (right.got && error == RZM_ROLLBACK) {
        rz_win_end_accumulate(win, rank);
    }
    return error != MPI_SUCCESS || right.got ? error : rz_win_check(win, rank);
}

/* ---- Doing it ---- */

static int do_here(const struct rz_rma_call *call, const struct rz_rma_operation *operation,
                   uint64_t at)
{
    struct rz_win *win = call->win;
    struct rz_win_target *target = rz_win_target(win, call->rank);
    bool right = rz_rma_accumulates(operation) &&
                 (target->reach == RZ_REACH_COPY || !rz_rma_is_atomic(win, operation, at));
    int error = right ? right_take(win, call->rank, call->name) : MPI_SUCCESS;
    if (error != MPI_SUCCESS) {
        return error;
    }
    bool done = false;
    if (target->reach == RZ_REACH_MEMORY) {
        error = rz_rma_apply(win, operation, at);
    } else {
        error = right ? rz_rma_ask_owner(call, operation, at, &done)
                      : rz_rma_share(call, operation, at, &done);
        error = error != MPI_SUCCESS || done ? error : rz_rma_copy(target, operation, at);
    }
    if (right) {
        rz_win_end_accumulate(win, call->rank);
        rz_rma_send_listed();
    }
    return error == MPI_ERR_RMA_RANGE
               ? rzm_error(error, "the memory at the target cannot be accessed")
               : error;
}

/* With the result packed, unless its type is contiguous. */
static int do_with_result(const struct rz_rma_call *call, struct rz_rma_operation *operation,
                          uint64_t at)
{
    const struct rz_rma_result *result = &call->result;
    char *packed = NULL;
    if (!operation->wants_result) {
        return do_here(call, operation, at);
    }
    if (result->type->contiguous) {
        operation->result = rz_datatype_row(result->type, result->at);
    } else {
        packed = operation->result = malloc((size_t)rz_rma_bytes(operation) + 1);
        if (!packed) {
            return MPI_ERR_NO_MEM;
        }
    }
    int error = do_here(call, operation, at);
    if (packed && error == MPI_SUCCESS) {
        rz_datatype_unpack(result->type, result->count, packed, rz_rma_bytes(operation),
                           result->at);
    }
    free(packed);
    return error;
}

struct end_wait {
    const struct rz_win *win;
    int rank;
};

static bool end_is_known(void *arg)
{
    const struct end_wait *wait = arg;
    return wait->win->comm->revoked || rz_win_lost(wait->win, wait->rank);
}

/* The memory of the target is not there any more. If its process has ended, that is known soon, and
 * the program can ask for it when it has the error. Inside MPIX_Reinit it may also have rolled back
 * already: this process will, too. */
static int await_end(const struct rz_rma_call *call)
{
    struct end_wait wait = {call->win, call->rank};
    bool waits = rz_engine.reinit_open || rz_rma_has_ended(rz_win_target(call->win, call->rank));
    int error = waits && !end_is_known(&wait)
                    ? rz_win_wait(call->win, call->rank, call->name, end_is_known, &wait)
                    : MPI_SUCCESS;
    return error != MPI_SUCCESS ? error : MPI_ERR_PROC_FAILED;
}

static int reach_target(const struct rz_rma_call *call, struct rz_rma_operation *operation,
                        uint64_t at, struct rz_request *request)
{
    struct rz_win_target *target = rz_win_target(call->win, call->rank);
    if (target->reach == RZ_REACH_MESSAGE && rz_rma_bytes(operation) > 0) {
        int begun = rz_rma_begin(call->win, call->rank, operation, at, &call->result, request);
        return request && begun != RZM_ROLLBACK ? MPI_SUCCESS : begun;
    }
    int error = rz_rma_bytes(operation) > 0 ? do_with_result(call, operation, at) : MPI_SUCCESS;
    error = error == MPI_ERR_PROC_FAILED ? await_end(call) : error;
    if (error == MPI_ERR_PROC_FAILED || error == MPI_ERR_REVOKED) {
        target->error = error;
    }
    if (request && error != RZM_ROLLBACK) {
        rz_request_complete(request, error);
    }
    return error == MPI_ERR_PROC_FAILED || (request && error != RZM_ROLLBACK) ? MPI_SUCCESS : error;
}

/* Sets the data of the origin as one row. *packed is to be freed. */
static int gather_data(const struct rz_rma_call *call, struct rz_rma_operation *operation,
                       char **packed)
{
    size_t bytes = (size_t)rz_rma_bytes(operation);
    *packed = NULL;
    if (!call->origin_type || bytes == 0 || (call->op && is_op(call->op, MPI_NO_OP))) {
        return MPI_SUCCESS;
    }
    if (call->what != RZ_RMA_SWAP && call->origin_type->contiguous) {
        operation->data = rz_datatype_row(call->origin_type, call->origin);
        operation->data_stay = true;
        return MPI_SUCCESS;
    }
    *packed = malloc(2 * bytes);
    if (!*packed) {
        return MPI_ERR_NO_MEM;
    }
    operation->data = *packed;
    MPI_Count count = call->what == RZ_RMA_SWAP ? 1 : call->origin_count;
    rz_datatype_pack(call->origin_type, count, call->origin, *packed);
    if (call->what == RZ_RMA_SWAP) {
        rz_datatype_pack(call->origin_type, 1, call->compare, *packed + bytes);
    }
    return MPI_SUCCESS;
}

static int check_call(const struct rz_rma_call *call, uint64_t *at,
                      const struct rz_datatype **basic)
{
    int error = check_epoch(call);
    error = error != MPI_SUCCESS ? error : check_lengths(call);
    error = error != MPI_SUCCESS ? error : find_place(call, at);
    if (error == MPI_SUCCESS && call->what >= RZ_RMA_ACCUMULATE) {
        error = check_operation(call, basic);
    }
    return error;
}

/* The target has failed: the operation has no effect. */
static int fail_quietly(const struct rz_rma_call *call, struct rz_request *request)
{
    struct rz_win_target *target = rz_win_target(call->win, call->rank);
    target->touched = true;
    target->error = MPI_ERR_PROC_FAILED;
    if (request) {
        rz_request_complete(request, MPI_ERR_PROC_FAILED);
    }
    return MPI_SUCCESS;
}

static int operate_on(const struct rz_rma_call *call, struct rz_request *request)
{
    uint64_t at = 0;
    const struct rz_datatype *basic = NULL;
    struct rz_win_target *target = rz_win_target(call->win, call->rank);
    int error = check_call(call, &at, &basic);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (rz_win_lost(call->win, call->rank)) {
        return fail_quietly(call, request);
    }
    error = rz_win_lock_due(call->win, call->rank);
    if (error != MPI_SUCCESS) {
        return error == MPI_ERR_PROC_FAILED ? fail_quietly(call, request) : error;
    }
    target->touched = true;
    struct rz_rma_operation operation = {.what = call->what,
                                         .op = call->op ? call->op->object.predefined : 0,
                                         .number = basic ? rz_number_of(basic) : RZ_NUMBER_NONE,
                                         .basic = basic ? rz_shape_of(basic) : rz_shape_row(),
                                         .shape = rz_shape_of(call->type),
                                         .count = call->count,
                                         .wants_result = call->result.type != NULL};
    char *packed;
    error = gather_data(call, &operation, &packed);
    if (error == MPI_SUCCESS) {
        error = reach_target(call, &operation, at, request);
    }
    free(packed);
    return error;
}

/* Does it; request NULL: the call has none. MPI_SUCCESS, an error class or RZM_ROLLBACK. */
static int do_call(const struct rz_rma_call *call, struct rz_request **request)
{
    struct rz_request *made = NULL;
    int error = rz_engine_begin_quick();
    if (error != MPI_SUCCESS || (!request && rz_rma_direct(call))) {
        return error;
    }
    if (call->rank == MPI_PROC_NULL) {
        if (request) {
            *request = &rz_request_done;
        }
        return MPI_SUCCESS;
    }
    if (request) {
        if (!call->win->lock_all && rz_win_target(call->win, call->rank)->hold == RZ_HOLD_NONE) {
            return rzm_error(MPI_ERR_RMA_SYNC,
                             "rank %d is not locked: operations with requests "
                             "are for passive target epochs",
                             call->rank);
        }
        made = rz_rma_request_new(call->win);
        if (!made) {
            return MPI_ERR_NO_MEM;
        }
    }
    error = operate_on(call, made);
    if (error == MPI_SUCCESS && request) {
        *request = made;
    } else if (made && error != RZM_ROLLBACK) {
        rz_request_complete(made, error); /* nothing was begun */
        rz_request_destroy(made);
    }
    return error;
}

/* ---- The calls ---- */

int rzm_rput(const void *origin_addr, MPI_Count origin_count, struct rz_datatype *origin_datatype,
             int target_rank, MPI_Aint target_disp, MPI_Count target_count,
             struct rz_datatype *target_datatype, struct rz_win *win, struct rz_request **request)
{
    struct rz_rma_call call = {.name = "MPI_Put",
                               .win = win,
                               .what = RZ_RMA_PUT,
                               .origin = origin_addr,
                               .origin_count = origin_count,
                               .origin_type = origin_datatype,
                               .rank = target_rank,
                               .disp = target_disp,
                               .count = target_count,
                               .type = target_datatype};
    return do_call(&call, request);
}

int rzm_put(const void *origin_addr, MPI_Count origin_count, struct rz_datatype *origin_datatype,
            int target_rank, MPI_Aint target_disp, MPI_Count target_count,
            struct rz_datatype *target_datatype, struct rz_win *win)
{
    return rzm_rput(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                    target_count, target_datatype, win, NULL);
}

int rzm_rget(void *origin_addr, MPI_Count origin_count, struct rz_datatype *origin_datatype,
             int target_rank, MPI_Aint target_disp, MPI_Count target_count,
             struct rz_datatype *target_datatype, struct rz_win *win, struct rz_request **request)
{
    struct rz_rma_call call = {.name = "MPI_Get",
                               .win = win,
                               .what = RZ_RMA_GET,
                               .result = {origin_addr, origin_count, origin_datatype},
                               .rank = target_rank,
                               .disp = target_disp,
                               .count = target_count,
                               .type = target_datatype};
    return do_call(&call, request);
}

int rzm_get(void *origin_addr, MPI_Count origin_count, struct rz_datatype *origin_datatype,
            int target_rank, MPI_Aint target_disp, MPI_Count target_count,
            struct rz_datatype *target_datatype, struct rz_win *win)
{
    return rzm_rget(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                    target_count, target_datatype, win, NULL);
}

int rzm_raccumulate(const void *origin_addr, MPI_Count origin_count,
                    struct rz_datatype *origin_datatype, int target_rank, MPI_Aint target_disp,
                    MPI_Count target_count, struct rz_datatype *target_datatype, struct rz_op *op,
                    struct rz_win *win, struct rz_request **request)
{
    struct rz_rma_call call = {.name = "MPI_Accumulate",
                               .win = win,
                               .what = RZ_RMA_ACCUMULATE,
                               .op = op,
                               .origin = origin_addr,
                               .origin_count = origin_count,
                               .origin_type = origin_datatype,
                               .rank = target_rank,
                               .disp = target_disp,
                               .count = target_count,
                               .type = target_datatype};
    return do_call(&call, request);
}

int rzm_accumulate(const void *origin_addr, MPI_Count origin_count,
                   struct rz_datatype *origin_datatype, int target_rank, MPI_Aint target_disp,
                   MPI_Count target_count, struct rz_datatype *target_datatype, struct rz_op *op,
                   struct rz_win *win)
{
    return rzm_raccumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                           target_count, target_datatype, op, win, NULL);
}

int rzm_rget_accumulate(const void *origin_addr, MPI_Count origin_count,
                        struct rz_datatype *origin_datatype, void *result_addr,
                        MPI_Count result_count, struct rz_datatype *result_datatype,
                        int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                        struct rz_datatype *target_datatype, struct rz_op *op, struct rz_win *win,
                        struct rz_request **request)
{
    struct rz_rma_call call = {.name = "MPI_Get_accumulate",
                               .win = win,
                               .what = RZ_RMA_ACCUMULATE,
                               .op = op,
                               .origin = origin_addr,
                               .origin_count = origin_count,
                               .origin_type = origin_datatype,
                               .result = {result_addr, result_count, result_datatype},
                               .rank = target_rank,
                               .disp = target_disp,
                               .count = target_count,
                               .type = target_datatype};
    return do_call(&call, request);
}

int rzm_get_accumulate(const void *origin_addr, MPI_Count origin_count,
                       struct rz_datatype *origin_datatype, void *result_addr,
                       MPI_Count result_count, struct rz_datatype *result_datatype, int target_rank,
                       MPI_Aint target_disp, MPI_Count target_count,
                       struct rz_datatype *target_datatype, struct rz_op *op, struct rz_win *win)
{
    return rzm_rget_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                               result_count, result_datatype, target_rank, target_disp,
                               target_count, target_datatype, op, win, NULL);
}

static int check_single(const void *origin, bool ignored, const struct rz_datatype *datatype)
{
    if (!rz_datatype_is_permanent(datatype)) {
        return rzm_error(MPI_ERR_TYPE, "datatype is not predefined");
    }
    if (!ignored && (!origin || origin == MPI_IN_PLACE)) {
        return rzm_error(MPI_ERR_BUFFER, "origin_addr is %s",
                         origin ? "MPI_IN_PLACE" : "a null pointer");
    }
    return MPI_SUCCESS;
}

int rzm_fetch_and_op(const void *origin_addr, void *result_addr, struct rz_datatype *datatype,
                     int target_rank, MPI_Aint target_disp, struct rz_op *op, struct rz_win *win)
{
    bool ignored = op->object.predefined == (uintptr_t)MPI_NO_OP;
    int error = check_single(origin_addr, ignored, datatype);
    return error != MPI_SUCCESS ? error
                                : rzm_rget_accumulate(origin_addr, 1, ignored ? NULL : datatype,
                                                      result_addr, 1, datatype, target_rank,
                                                      target_disp, 1, datatype, op, win, NULL);
}

int rzm_compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                         struct rz_datatype *datatype, int target_rank, MPI_Aint target_disp,
                         struct rz_win *win)
{
    int error = check_single(origin_addr, false, datatype);
    if (error == MPI_SUCCESS && !rz_rma_is_comparable(datatype)) {
        error = rzm_error(MPI_ERR_TYPE, "datatype is no integer, logical or MPI_BYTE");
    }
    struct rz_rma_call call = {.name = "MPI_Compare_and_swap",
                               .win = win,
                               .what = RZ_RMA_SWAP,
                               .origin = origin_addr,
                               .origin_count = 1,
                               .origin_type = datatype,
                               .compare = compare_addr,
                               .result = {result_addr, 1, datatype},
                               .rank = target_rank,
                               .disp = target_disp,
                               .count = 1,
                               .type = datatype};
    return error != MPI_SUCCESS ? error : do_call(&call, NULL);
}
