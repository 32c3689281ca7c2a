/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffered sends: detaching and flushing the buffers of send_buffer.h, in the call that is named.
 */
#ifndef RZ_MPI_BUFFERED_H
#define RZ_MPI_BUFFERED_H

#include "mpi/p2p/send_buffer.h"

/* Waits until nothing of the owner's buffer is on its way, also where none is attached. MPI_SUCCESS
 * or RZM_ROLLBACK. */
int rz_buffered_flush(enum rz_buffer_owner kind, uint64_t owner, const char *call);

/* The same, and gives the buffer back. MPI_ERR_BUFFER: none is attached. */
int rz_buffered_detach(enum rz_buffer_owner kind, uint64_t owner, const char *call, void *address,
                       MPI_Count *size);

/* A request that ends when rz_buffered_flush would return. */
int rz_buffered_iflush(enum rz_buffer_owner kind, uint64_t owner, struct rz_request **request);

#endif
