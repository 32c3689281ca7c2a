/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of independent accesses. A thread of the library, started with the first one, does the
 * transfers one after the other, so that the program computes meanwhile.
 */
#ifndef RZ_MPI_FILE_REQUEST_H
#define RZ_MPI_FILE_REQUEST_H

#include "mpi/io/access.h"
#include "mpi/request/request.h"

/* A request, and the access that the caller begins in it. MPI_ERR_NO_MEM, RZM_ROLLBACK. */
int rz_file_request_new(struct rz_file *file, struct rz_request **request,
                        struct rz_access **access);

/* The access was begun with this error: then the request is destroyed, and the error returned.
 * Otherwise the transfer is done by the thread, or at once if there is none. */
int rz_file_request_start(struct rz_request *request, int error);

extern const struct rz_hooks rz_file_request_hooks;

/* Waits until no transfer of the file is going on: before it is closed. */
void rz_file_requests_settle(const struct rz_file *file);

/* Ends the thread that transfers; the next transfer starts another one. No file is open. */
void rz_file_requests_rest(void);

#endif
