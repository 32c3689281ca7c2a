/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffered sends: detaching and flushing the buffers of send_buffer.h. `call` names the call of the
 * user.
 */
#ifndef RZ_MPI_BUFFERED_H
#define RZ_MPI_BUFFERED_H

#include "mpi/p2p/send_buffer.h"

/* Waits until no message counts towards the owner's buffer any more, also where none is attached.
 * MPI_SUCCESS or RZM_ROLLBACK. */
int rz_buffered_flush(enum rz_buffer_owner kind, uint64_t owner, const char *call);

/* As rz_buffered_flush, and detaches the buffer. MPI_ERR_BUFFER: none is attached. */
int rz_buffered_detach(enum rz_buffer_owner kind, uint64_t owner, const char *call, void *address,
                       MPI_Count *size);

/* Makes a request that completes when rz_buffered_flush would return. */
int rz_buffered_iflush(enum rz_buffer_owner kind, uint64_t owner, struct rz_request **request);

#endif
