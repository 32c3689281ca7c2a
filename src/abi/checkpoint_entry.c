/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry points of rhizome/checkpoint.h: built like those of MPI, since a roll-back may happen
 * in them.
 */
#include <rhizome/checkpoint.h>

#include "abi/entry.h"
#include "mpi/ft/checkpoint.h"

RZ_PUBLIC int RZ_Checkpoint_protect(int id, void *memory, size_t bytes)
{
    struct rz_call call = {.name = "RZ_Checkpoint_protect"};
    if (rz_call_begin(&call)) {
        call.error = rzm_checkpoint_protect(id, memory, bytes);
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Checkpoint_protect_win(int id, MPI_Win win)
{
    struct rz_call call = {.name = "RZ_Checkpoint_protect_win"};
    struct rz_win *win_;
    if (rz_call_begin(&call) && rz_arg_win(&call, "win", win, &win_)) {
        call.error = rzm_checkpoint_protect_win(id, win_);
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Checkpoint_region_bytes(int id, size_t *bytes)
{
    struct rz_call call = {.name = "RZ_Checkpoint_region_bytes"};
    if (rz_call_begin(&call) && rz_arg_pointer(&call, "bytes", bytes)) {
        call.error = rzm_checkpoint_region_bytes(id, bytes);
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Checkpoint_stream_open(int id, const char *mode, FILE **stream)
{
    struct rz_call call = {.name = "RZ_Checkpoint_stream_open"};
    if (rz_call_begin(&call) && rz_arg_pointer(&call, "mode", mode) &&
        rz_arg_pointer(&call, "stream", stream)) {
        call.error = rzm_checkpoint_stream_open(id, mode, stream);
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Checkpoint(uint64_t *generation)
{
    struct rz_call call = {.name = "RZ_Checkpoint"};
    if (rz_call_begin(&call)) {
        call.error = rzm_checkpoint(generation);
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Restore(uint64_t *generation)
{
    struct rz_call call = {.name = "RZ_Restore"};
    if (rz_call_begin(&call) && rz_arg_pointer(&call, "generation", generation)) {
        call.error = rzm_restore(generation);
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Progress_mark(uint64_t iteration)
{
    struct rz_call call = {.name = "RZ_Progress_mark"};
    if (rz_call_begin(&call)) {
        call.error = rzm_progress_mark(iteration);
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Alive(void)
{
    struct rz_call call = {.name = "RZ_Alive"};
    if (rz_call_begin(&call)) {
        call.error = rzm_alive();
    }
    return rz_call_end(&call);
}
