/* Buffered sends: MPI_Bsend, and the buffers the user attaches for them to the process, to
 * communicators and to sessions. */
#ifndef RZ_MPI_BUFFERED_H
#define RZ_MPI_BUFFERED_H

#include "mpi/request/request.h"

/* A buffered send has ended: its share of its buffer is free again. */
void rz_buffered_ended(struct rz_request *request);

/* The session of that id ends; its buffer, with nothing on its way any more, is not attached. */
void rz_buffered_session_ends(uint64_t session);

/* At a roll-back and in finalize: nothing is attached. */
void rz_buffered_close(void);

#endif
