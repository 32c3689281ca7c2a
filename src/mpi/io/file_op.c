/* SPDX-License-Identifier: BSD-3-Clause */
/* The row of collective accesses of a file, and their requests. */
#include "mpi/io/file_op.h"

#include "mpi/request/wait.h"

#include <stdio.h>

void rz_file_op_note(struct rz_file_op *op, int error)
{
    if (error == MPI_SUCCESS || op->error != MPI_SUCCESS) {
        return;
    }
    const char *reason = rzm_error_reason(error);
    op->error = error;
    snprintf(op->reason, sizeof(op->reason), "%s", reason ? reason : "");
}

static void unlink_op(struct rz_file_op *op)
{
    struct rz_file_op **at = &op->file->ops;
    while (*at && *at != op) {
        at = &(*at)->behind;
    }
    if (*at) {
        *at = op->behind;
    }
    op->file = NULL;
}

/* The operation that it waited for has ended. */
static int collect(struct rz_file_op *op)
{
    int error = op->inner->error;
    rz_request_destroy(op->inner);
    op->inner = NULL;
    return error;
}

/* Runs the stages that can run. True: there are no more, and *error is the result. */
static bool run_stages(struct rz_file_op *op, int *error)
{
    *error = MPI_SUCCESS;
    for (;;) {
        if (op->inner && !op->inner->complete) {
            return false;
        }
        if (op->inner) {
            *error = collect(op);
        }
        if (*error != MPI_SUCCESS || !op->next) {
            return true;
        }
        if (op->ready && !op->ready(op)) {
            return false;
        }
        int (*stage)(struct rz_file_op *) = op->next;
        op->next = NULL;
        op->ready = NULL;
        op->runs = true;
        rz_engine.within++;
        *error = stage(op);
        rz_engine.within--;
        op->runs = false;
        if (*error != MPI_SUCCESS) {
            return true;
        }
    }
}

static void advance(struct rz_request *request)
{
    struct rz_file_op *op = request->state;
    int error;
    if (request->complete || op->runs || op->file->ops != op || !run_stages(op, &error)) {
        return;
    }
    error = error != MPI_SUCCESS ? error : op->error;
    op->file->write_failed |= op->writes && error != MPI_SUCCESS;
    unlink_op(op);
    rz_request_complete(request, error);
}

/* In the call that learns of the end: functions of the program may run here. */
static int end_once(struct rz_request *request)
{
    struct rz_file_op *op = request->state;
    if (!op->is_told) {
        op->is_told = true;
        op->result = op->ended(op, request->error, &request->status);
    }
    if (op->result != MPI_SUCCESS && op->result == op->error && op->reason[0] != '\0') {
        rzm_error(op->error, "%s", op->reason);
    }
    return op->result;
}

static int query(struct rz_request *request, bool ends)
{
    (void)ends;
    return end_once(request);
}

static void waits_for(const struct rz_request *request, struct rz_blocked *blocked)
{
    const struct rz_file_op *op = request->state;
    if (op->inner && op->inner->class->waits_for) {
        op->inner->class->waits_for(op->inner, blocked);
    }
}

static void abandon(struct rz_request *request)
{
    struct rz_file_op *op = request->state;
    if (op->inner) {
        rz_request_detach(op->inner);
        op->inner = NULL;
    }
}

static void destroy(struct rz_request *request)
{
    struct rz_file_op *op = request->state;
    op->destroy(op);
}

static const struct rz_request_class op_class = {.name = "collective access to a file",
                                                 .waited_for = true,
                                                 .poll = advance,
                                                 .query = query,
                                                 .abandon = abandon,
                                                 .waits_for = waits_for,
                                                 .destroy = destroy};

int rz_file_op_start(struct rz_file_op *op, struct rz_file *file, struct rz_request **request)
{
    int error = rz_engine_begin();
    struct rz_request *made = error == MPI_SUCCESS ? rz_request_new(&op_class, file->comm) : NULL;
    if (!made) {
        op->destroy(op);
        return error != MPI_SUCCESS ? error : MPI_ERR_NO_MEM;
    }
    op->file = file;
    op->request = made;
    made->state = op;
    struct rz_file_op **end = &file->ops;
    while (*end) {
        end = &(*end)->behind;
    }
    *end = op;
    rz_request_activate(made);
    *request = made;
    advance(made);
    return MPI_SUCCESS;
}

static bool is_complete(void *arg)
{
    return ((const struct rz_request *)arg)->complete;
}

int rz_file_op_wait(struct rz_request *request, const char *call, MPI_Status *status)
{
    struct rz_blocked blocked = {
        .call = call, .comm = request->comm, .peer = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG};
    int error = request->complete ? MPI_SUCCESS : rz_engine_wait(&blocked, is_complete, request);
    if (error != MPI_SUCCESS) {
        return error; /* the roll-back destroys the request */
    }
    error = end_once(request);
    if (status && error == MPI_SUCCESS) {
        rz_wait_copy_status(request, status);
    }
    rz_request_destroy(request);
    return error;
}
