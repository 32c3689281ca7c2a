/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Put, MPI_Get, MPI_Accumulate and their like, with and without requests. */
#include "mpi/rma/rma_operate.h"

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
    return rz_rma_operate(&call, request);
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
    return rz_rma_operate(&call, request);
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
    return rz_rma_operate(&call, request);
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
    return rz_rma_operate(&call, request);
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
    return error != MPI_SUCCESS ? error : rz_rma_operate(&call, NULL);
}
