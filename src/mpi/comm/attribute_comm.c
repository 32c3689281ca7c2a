/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes of communicators: the user's, and the predefined ones.
 */
#include "mpi/type/attribute.h"
#include "mpi/comm/comm.h"
#include "mpi/engine/waiting.h"
#include "mpi/core/error.h"

#include <mpi-ext.h>

int rzm_comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete,
                           int *comm_keyval, void *extra_state)
{
    struct rz_keyval keyval = {
        .of = RZ_OBJECT_COMM, .copy.comm = copy, .delete.comm = delete, .extra = extra_state};
    return rz_keyval_make(&keyval, comm_keyval);
}

int rzm_comm_free_keyval(int *comm_keyval)
{
    return rz_keyval_free(RZ_OBJECT_COMM, comm_keyval);
}

int rzm_comm_set_attr(struct rz_comm *comm, int keyval, void *value)
{
    return rz_attribute_set(&comm->object, &comm->attributes, keyval, value);
}

int rzm_comm_delete_attr(struct rz_comm *comm, int keyval)
{
    return rz_attribute_delete(&comm->object, &comm->attributes, keyval);
}

/* The value of a predefined attribute; NULL: not one of these keys. */
static const void *predefined_value(int keyval)
{
    static int tag_ub = RZ_TAG_UB, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL, wtime_is_global = 0;
    static int fault_tolerant;
    static int universe_size, appnum;
    const struct rz_link_info *info = rz_engine.info;
    bool fixed = info->alone || info->hb_timeout != 0 || rz_engine.rewinds ||
                 rz_engine.board->flags & RZ_BOARD_NO_FT;
    universe_size = (int)(fixed ? info->n_ranks : info->n_slots);
    appnum = (int)(info->cohort.processes ? info->cohort.command : info->appnum);
    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_ub;
    case MPI_IO:
        return &io;
    case MPI_HOST:
        return &host;
    case MPI_WTIME_IS_GLOBAL:
        return &wtime_is_global;
    case MPI_UNIVERSE_SIZE:
        return &universe_size;
    case MPI_APPNUM:
        return &appnum;
    case MPIX_FT:
        fault_tolerant = !(rz_engine.board->flags & RZ_BOARD_NO_FT);
        return &fault_tolerant;
    case MPI_LASTUSEDCODE:
        return &rz_error_last_used;
    default:
        return NULL;
    }
}

int rzm_comm_get_attr(struct rz_comm *comm, int keyval, void *attribute_val, int *flag)
{
    const void *value = predefined_value(keyval);
    if (!value) {
        return rz_attribute_get(&comm->object, &comm->attributes, keyval, attribute_val, flag);
    }
    *flag = 1;
    *(const void **)attribute_val = value;
    return MPI_SUCCESS;
}
