/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reason of an error: noted by the first function that knows it, shown by the entry point.
 */
#include "mpi/impl.h"

#include <stdarg.h>
#include <stdio.h>

enum rz_phase rz_phase = RZ_PHASE_BEFORE;
enum rz_phase rz_world = RZ_PHASE_BEFORE;
unsigned rz_sessions_open;
int rz_world_rank = -1;

static _Thread_local struct {
    int error_class;  /* MPI_SUCCESS: none noted */
    const char *call; /* the call that returned the error; NULL while the call still runs */
    char text[256];
} reason;

int rzm_error(int error_class, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason.text, sizeof(reason.text), format, arguments);
    va_end(arguments);
    reason.error_class = error_class;
    reason.call = NULL;
    return error_class;
}

void rzm_error_returned(int error_class, const char *call)
{
    if (reason.error_class != error_class || reason.call) {
        reason.error_class = error_class;
        reason.text[0] = '\0';
    }
    reason.call = call;
}

const char *rzm_error_call(int error_class)
{
    return error_class != MPI_SUCCESS && reason.error_class == error_class ? reason.call : NULL;
}

const char *rzm_error_reason(int error_class)
{
    bool known = error_class != MPI_SUCCESS && reason.error_class == error_class;
    return known && reason.text[0] != '\0' ? reason.text : NULL;
}

/* Passed from an implementation function to the entry point that called it (rzm_error_in_status).
 */
static _Thread_local struct {
    int error;
    struct rz_comm *comm;
} cause;

int rzm_error_in_status(int error, struct rz_comm *comm)
{
    cause.error = error;
    cause.comm = comm;
    return MPI_ERR_IN_STATUS;
}

int rzm_error_take_cause(struct rz_comm **comm)
{
    int error = cause.error;
    *comm = cause.comm;
    cause.error = MPI_SUCCESS;
    cause.comm = NULL;
    return error;
}

int rzm_status_class(rz_status_t status)
{
    switch (status) {
    case RZ_OK:
        return MPI_SUCCESS;
    case RZ_IN_PROGRESS:
        return MPI_ERR_PENDING;
    case RZ_ERR_INVALID:
        return MPI_ERR_ARG;
    case RZ_ERR_NO_MEMORY:
        return MPI_ERR_NO_MEM;
    case RZ_ERR_UNSUPPORTED:
        return MPI_ERR_UNSUPPORTED_OPERATION;
    case RZ_ERR_TRUNCATE:
        return MPI_ERR_TRUNCATE;
    case RZ_ERR_PROC_FAILED:
        return MPI_ERR_PROC_FAILED;
    case RZ_ERR_PROC_FAILED_PENDING:
        return MPI_ERR_PROC_FAILED_PENDING;
    case RZ_ERR_REVOKED:
        return MPI_ERR_REVOKED;
    case RZ_ERR_ROLLBACK:
        return RZM_ROLLBACK;
    default:
        return rzm_error(MPI_ERR_OTHER, "%s", rz_status_text(status));
    }
}
