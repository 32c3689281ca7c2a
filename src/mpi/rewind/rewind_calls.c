/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of a program that helps. */
#include "mpi/rewind/rewind_calls.h"

#include "image/image.h"
#include "mpi/impl.h"
#include "mpi/engine/waiting.h"
#include "mpi/rewind/rewind_snapshot.h"

int rzm_rewind_now(void)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS && rz_engine.rewinds) {
        const struct rz_link_message wanted = {.type = RZ_LINK_SNAPSHOT_WANTED};
        rz_engine_tell_daemon(&wanted);
    }
    return error;
}

int rzm_rewind_exclude(void *address, size_t bytes)
{
    rz_status_t status = rz_engine.rewinds ? rz_image_exclude(address, bytes) : RZ_OK;
    return status == RZ_OK ? MPI_SUCCESS
                           : rzm_error(MPI_ERR_NO_MEM, "too many ranges are left out of images");
}

int rzm_rewind_forbid(bool forbid)
{
    rz_snapshots_forbid(forbid);
    return MPI_SUCCESS;
}
