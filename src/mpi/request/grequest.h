/* SPDX-License-Identifier: BSD-3-Clause */
/* Generalised requests: operations of the user behind requests of MPI. */
#ifndef RZ_MPI_GREQUEST_H
#define RZ_MPI_GREQUEST_H

#include "mpi/request/request.h"

/* MPI_Cancel: calls the user's cancel_fn, whether or not the operation has ended. False: request is
 * no generalised request; otherwise *error is what the function returned. */
bool rz_grequest_cancel(struct rz_request *request, int *error);

#endif
