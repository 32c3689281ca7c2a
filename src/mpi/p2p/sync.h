/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends that may wait for their receivers: the acknowledgement that a synchronous one has met its
 * receive, and cancelling. Both name a serial, never an address; a serial is a slot and how often
 * the slot was used.
 *
 * A send is cancelled by its receiver, which alone knows whether it was met: CANCEL is answered by
 * CANCELLED, and the message is dropped there, or by MET. The request ends after the answer. So it
 * ends once the receiver makes progress, in whatever call, also if nobody ever receives.
 */
#ifndef RZ_MPI_SYNC_H
#define RZ_MPI_SYNC_H

#include "mpi/request/request.h"
#include "wire/envelope.h"

/* Gives request its serial; false: no memory. */
bool rz_sync_await(struct rz_request *request);

/* The request has ended one way or the other: its serial means nothing any more. */
void rz_sync_release(struct rz_request *request);

/* The send of that serial, if it waits for an answer of that process; or NULL. */
struct rz_request *rz_sync_send_of(uint64_t serial, uint32_t process);

/*
 * The message of this envelope, from another process, has met that receive: tells its sender. True:
 * that waits for a connection, and answered(receive) is called when it has gone or never will,
 * unless the receive has ended before. The receive is not to end until then: a process that fails
 * after it was told that it has the message must not take the acknowledgement along.
 */
bool rz_sync_acknowledge(const struct rz_envelope *envelope, struct rz_request *receive,
                         void (*answered)(struct rz_request *receive));

/* MPI_Cancel of a send that has a serial and has not ended: its receiver is asked. False: it cannot
 * be, and nothing is cancelled. */
bool rz_sync_cancel(const struct rz_request *request, const struct rz_envelope *envelope);

/* The same of a message to the own process: whether it was taken back. */
bool rz_sync_cancel_own(const struct rz_envelope *envelope);

/* CANCEL has come. */
void rz_sync_cancel_wanted(const struct rz_envelope *envelope);

/* Whether all acknowledgements and the like have gone. */
bool rz_sync_quiet(void);

void rz_sync_close(void);

#endif
