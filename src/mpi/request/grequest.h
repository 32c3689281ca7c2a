/* SPDX-License-Identifier: BSD-3-Clause */
/* Generalised requests: operations of the user behind requests of MPI. */
#ifndef RZ_MPI_GREQUEST_H
#define RZ_MPI_GREQUEST_H

#include "mpi/request/request.h"

/* MPI_Cancel: the user's function is asked whether or not the operation has ended. False: request
 * is none of these; else *error is what the function returned. */
bool rz_grequest_cancel(struct rz_request *request, int *error);

#endif
