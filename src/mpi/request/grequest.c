/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generalised requests (MPI_Grequest_start and its variants): a class of requests whose query, free
 * and cancel functions are the user's.
 */
#include "mpi/request/request.h"

#include <stdlib.h>

struct grequest {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *extra;
};

/* The user's functions run without the engine lock: they may call MPI. */
static int run_query(struct grequest *grequest, MPI_Status *status)
{
    rz_engine_unlock_for_user();
    int error = grequest->query(grequest->extra, status);
    rz_engine_lock_after_user();
    return error;
}

static int run_free(struct rz_request *request)
{
    struct grequest *grequest = request->state;
    request->state = NULL; /* free_fn is called once, by the first of query and destroy */
    rz_engine_unlock_for_user();
    int error = grequest->free(grequest->extra);
    rz_engine_lock_after_user();
    free(grequest);
    return error;
}

/* At the end of a request query_fn and free_fn may both fail; the standard requires the error of
 * the last one. */
static int query(struct rz_request *request, bool ends)
{
    int error = run_query(request->state, &request->status);
    int free_error = ends ? run_free(request) : MPI_SUCCESS;
    return free_error != MPI_SUCCESS ? free_error : error;
}

static void destroy(struct rz_request *request)
{
    if (request->state) {
        run_free(request);
    }
}

static const struct rz_request_class grequest_class = {
    .name = "generalised request", .query = query, .destroy = destroy};

int rzm_grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                       MPI_Grequest_cancel_function *cancel_fn, void *extra_state,
                       struct rz_request **request)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct grequest *grequest = malloc(sizeof(*grequest));
    struct rz_request *made = grequest ? rz_request_new(&grequest_class, NULL) : NULL;
    if (!made) {
        free(grequest);
        return MPI_ERR_NO_MEM;
    }
    *grequest = (struct grequest){query_fn, free_fn, cancel_fn, extra_state};
    made->state = grequest;
    rz_request_activate(made);
    *request = made;
    return MPI_SUCCESS;
}

int rzm_grequest_complete(struct rz_request *request)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (!request || request->class != &grequest_class || request->complete) {
        return rzm_error(MPI_ERR_REQUEST, "request is not an active generalized request");
    }
    rz_request_complete(request, MPI_SUCCESS);
    return MPI_SUCCESS;
}

bool rz_grequest_cancel(struct rz_request *request, int *error)
{
    if (request->class != &grequest_class) {
        return false;
    }
    struct grequest *grequest = request->state;
    bool complete = request->complete;
    rz_engine_unlock_for_user();
    *error = grequest->cancel(grequest->extra, complete);
    rz_engine_lock_after_user();
    return true;
}
