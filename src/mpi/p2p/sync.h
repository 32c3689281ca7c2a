/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends that may wait for their receivers: the acknowledgement that a synchronous send has met its
 * receive, and cancelling. Messages about them name a serial, never an address; a serial consists
 * of a slot and the number of times that the slot was used.
 *
 * A send is cancelled by its receiver, which alone knows whether the message has met a receive: it
 * answers CANCEL by CANCELLED, and drops the message, or by MET. The request ends after the answer.
 * So it ends once the receiver makes progress, in any call, even if the receive is never posted.
 */
#ifndef RZ_MPI_SYNC_H
#define RZ_MPI_SYNC_H

#include "mpi/request/request.h"
#include "wire/envelope.h"

/* Gives request a serial; false: no memory. */
bool rz_sync_await(struct rz_request *request);

/* The request has ended: its serial becomes invalid. */
void rz_sync_release(struct rz_request *request);

/* The send of that serial, if it waits for an answer of that process; or NULL. */
struct rz_request *rz_sync_send_of(uint64_t serial, uint32_t process);

/*
 * The message of this envelope, from another process, has met that receive: sends the
 * acknowledgement. True: it waits for a connection, and answered(receive) is called when it has
 * left or never will, unless the receive has ended before. The receive must not end until then:
 * otherwise this process could report the receive as complete, fail, and the acknowledgement would
 * be lost.
 */
bool rz_sync_acknowledge(const struct rz_envelope *envelope, struct rz_request *receive,
                         void (*answered)(struct rz_request *receive));

/* MPI_Cancel of a send that has a serial and has not ended: asks the receiver. False: it cannot be
 * asked, and nothing is cancelled. */
bool rz_sync_cancel(const struct rz_request *request, const struct rz_envelope *envelope);

/* As rz_sync_cancel, for a message to this process itself: whether it was taken back. */
bool rz_sync_cancel_own(const struct rz_envelope *envelope);

/* A CANCEL message has arrived. */
void rz_sync_cancel_wanted(const struct rz_envelope *envelope);

/* Whether all acknowledgements and answers have left. */
bool rz_sync_quiet(void);

void rz_sync_close(void);

#endif
