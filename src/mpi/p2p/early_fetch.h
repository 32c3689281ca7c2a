/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Before a snapshot (mpi/rewind) each payload must be where its message is: those of messages that
 * were not received yet, and that their senders still hold, are fetched into memory of the library.
 * After a restoration the envelopes of these messages name another epoch.
 */
#ifndef RZ_MPI_EARLY_FETCH_H
#define RZ_MPI_EARLY_FETCH_H

#include "mpi/p2p/message.h"

/* Begins to fetch the payloads that are not here. Returns the bytes that still are to come. */
size_t rz_early_fetch_all(void);

/* The communicator is revoked: ends the fetches of its messages. Their senders may have heard it
 * before, and then answer none. To be called before the requests of the communicator end. */
void rz_early_revoked(const struct rz_comm *comm);

/* The messages that are kept belong to this epoch, and their senders are the present processes. */
void rz_early_into_epoch(void);

#endif
