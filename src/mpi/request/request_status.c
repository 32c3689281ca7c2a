/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Request_get_status and variants: inquiries that do not end the use of a request. The error of
 * an operation is put into the status; the call does not return it.
 */
#include "mpi/request/wait.h"

static bool is_done(const struct rz_request *request)
{
    return !request || !request->active;
}

/* Looks at a request that is complete or inactive. */
static int look_into(struct rz_request *request, MPI_Status *status)
{
    bool ended = request && request->complete;
    int error = MPI_SUCCESS;
    if (ended && request->class->query) {
        error = request->class->query(request, false);
    }
    if (!ended) {
        rz_wait_empty_status(status);
    } else if (status) {
        rz_wait_copy_status(request, status);
    }
    return error;
}

/* In an array each status carries its error. */
static void look_into_one_of(struct rz_request *request, MPI_Status *status, struct rz_blame *blame)
{
    int error = look_into(request, status);
    if (status) {
        status->MPI_ERROR = request && request->complete ? request->error : MPI_SUCCESS;
        status->MPI_ERROR = error != MPI_SUCCESS ? error : status->MPI_ERROR;
    }
    if (error != MPI_SUCCESS) {
        rz_wait_blame(blame, error, request);
    }
}

/* Makes some progress, unless no request is active. */
static int progress(void)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS && rz_engine_progress() == 0 && rz_engine_yields()) {
        rz_engine_yield();
    }
    return rz_engine.rollback ? RZM_ROLLBACK : error;
}

int rzm_request_get_status(struct rz_request *request, int *flag, MPI_Status *status)
{
    int error = is_done(request) ? rz_engine_begin() : progress();
    if (error != MPI_SUCCESS) {
        return error;
    }
    *flag = is_done(request);
    return *flag ? look_into(request, status) : MPI_SUCCESS;
}

int rzm_request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                               MPI_Status *array_of_statuses)
{
    int error = progress();
    if (error != MPI_SUCCESS) {
        return error;
    }
    *flag = 1;
    for (int i = 0; i < count && *flag; i++) {
        *flag = is_done(rz_request_of(array_of_requests[i]));
    }
    struct rz_blame blame = {0};
    for (int i = 0; i < count && *flag; i++) {
        look_into_one_of(rz_request_of(array_of_requests[i]),
                         array_of_statuses ? &array_of_statuses[i] : NULL, &blame);
    }
    return rz_wait_cause(&blame);
}

int rzm_request_get_status_any(int count, const MPI_Request array_of_requests[], int *indx,
                               int *flag, MPI_Status *status)
{
    int error = progress();
    if (error != MPI_SUCCESS) {
        return error;
    }
    bool some_active = false;
    for (int i = 0; i < count; i++) {
        struct rz_request *request = rz_request_of(array_of_requests[i]);
        some_active = some_active || !is_done(request);
        if (request && request->complete) {
            *indx = i;
            *flag = 1;
            return look_into(request, status);
        }
    }
    *indx = MPI_UNDEFINED;
    *flag = !some_active;
    return *flag ? look_into(NULL, status) : MPI_SUCCESS;
}

int rzm_request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount,
                                int array_of_indices[], MPI_Status *array_of_statuses)
{
    int error = progress();
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_blame blame = {0};
    bool some_active = false;
    *outcount = 0;
    for (int i = 0; i < incount; i++) {
        struct rz_request *request = rz_request_of(array_of_requests[i]);
        some_active = some_active || !is_done(request);
        if (!request || !request->complete) {
            continue;
        }
        look_into_one_of(request, array_of_statuses ? &array_of_statuses[*outcount] : NULL, &blame);
        array_of_indices[(*outcount)++] = i;
    }
    if (*outcount == 0 && !some_active) {
        *outcount = MPI_UNDEFINED;
    }
    return rz_wait_cause(&blame);
}
