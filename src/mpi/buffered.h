/* Buffered sends: MPI_Bsend and the buffer the user attaches for them. */
#ifndef RZ_MPI_BUFFERED_H
#define RZ_MPI_BUFFERED_H

#include "mpi/request.h"

/* A buffered send has ended: its share of the attached buffer is free again. */
void rz_buffered_ended(struct rz_request *request);

/* At a roll-back and in finalize: nothing is attached. */
void rz_buffered_close(void);

#endif
