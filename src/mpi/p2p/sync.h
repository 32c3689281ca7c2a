/*
 * Synchronous sends: the acknowledgement that a message has met its receive. It names a serial,
 * never an address; a serial is a slot and how often the slot was used.
 */
#ifndef RZ_MPI_SYNC_H
#define RZ_MPI_SYNC_H

#include "mpi/request/request.h"
#include "wire/envelope.h"

/* Gives request its serial; false: no memory. */
bool rz_sync_await(struct rz_request *request);

/* The request has ended one way or the other: its serial means nothing any more. */
void rz_sync_release(struct rz_request *request);

/* The message of this envelope has met its receive: tell its sender. */
void rz_sync_acknowledge(const struct rz_envelope *envelope);

/* An acknowledgement has come from that process. */
void rz_sync_acknowledged(uint64_t serial, uint32_t process);

/* Whether all acknowledgements have gone. */
bool rz_sync_quiet(void);

void rz_sync_close(void);

#endif
