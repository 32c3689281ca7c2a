/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective access as a row of stages. Each stage does what this process can do alone, and may
 * start a collective operation of the hidden communicator; when that has ended the next stage
 * runs. So one mechanism serves blocking, split and non-blocking calls, and a failure ends an
 * access as it ends the operation that it waits for.
 *
 * The accesses of a file run one after the other, in the order of their calls, which is the same
 * at all members: so the operations of the hidden communicator match.
 *
 * Errors of this process alone (input and output, memory before the first stage) do not end its
 * part: the others need it. They are noted, and are the result at the end.
 */
#ifndef RZ_MPI_FILE_OP_H
#define RZ_MPI_FILE_OP_H

#include "mpi/io/file_object.h"
#include "mpi/request/request.h"

struct rz_file_op {
    struct rz_file *file; /* NULL: it has ended */
    struct rz_file_op *behind;
    struct rz_request *request; /* of the call */
    struct rz_request *inner;   /* the operation that it waits for, or NULL */
    /* The next stage: MPI_SUCCESS; an error ends the access, also at the others. It sets `next`
     * anew, or leaves NULL there: the access has ended. */
    int (*next)(struct rz_file_op *op);
    /* Whether it may go on although it waits for no operation; NULL: at once. */
    bool (*ready)(struct rz_file_op *op);
    bool writes, runs; /* runs: a stage of it, in which progress may be made */
    int error;         /* noted */
    char reason[200];
    /* A call learns that the access has ended with this error: returns the error of the call, and
     * sets the status. Called once at most; functions of the program may run in it. */
    int (*ended)(struct rz_file_op *op, int error, MPI_Status *status);
    bool is_told;
    int result; /* of `ended` */
    void (*destroy)(struct rz_file_op *op);
};

/* Starts op, whose functions are set; *request, which owns it, does the rest. MPI_ERR_NO_MEM: op
 * is destroyed. */
int rz_file_op_start(struct rz_file_op *op, struct rz_file *file, struct rz_request **request);

/* The end of a blocking call: waits for the request, and destroys it. call: a literal. */
int rz_file_op_wait(struct rz_request *request, const char *call, MPI_Status *status);

/* Notes an error of this process; the first one counts. */
void rz_file_op_note(struct rz_file_op *op, int error);

#endif
