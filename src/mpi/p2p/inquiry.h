/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A failed member, and who waits for the living ones. A collective operation fails at a process
 * only where a message that it needs will never come: from the failed process, or from a member
 * that has left the operation or will not begin it. Of the latter it learns by asking: as soon as a
 * failed member of the communicator is known, each message of a collective operation that has not
 * ended is inquired about at its living peer, once. The peer answers when it does not take part in
 * the operation (comm/participation.h): at once, or when it leaves it. A process that leaves an
 * operation, or refuses to begin one, because of a failure tells that unasked to those whom it owes
 * messages: it may be outside of MPI, where it answers nobody, when they ask. What it says never
 * overtakes the messages that it sent before.
 */
#ifndef RZ_MPI_INQUIRY_H
#define RZ_MPI_INQUIRY_H

#include "mpi/request/request.h"
#include "wire/envelope.h"

/* This process does not take part in the operation of comm any more, which is told to those who
 * asked; nothing if it has ended already. */
void rz_operation_end(struct rz_comm *comm, struct rz_participation *one);

/* Asks the peer of a message of a collective operation about it, unless it was asked already. Not
 * from inside a callback of a transport. */
void rz_inquire(struct rz_request *request);

/* The same for all active requests of communicators with a failed member. */
void rz_inquire_all(void);

/* Tells the process at that rank of comm (of its remote group) that no further message of the
 * operation with this tag will come from here: some member is known to have failed. Not from inside
 * a callback of a transport. */
void rz_absence_tell(const struct rz_comm *comm, int peer, int tag);

/* An inquiry, or the answer to one, has passed the epoch check: it is read outside of callbacks. */
void rz_inquiry_arrived(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                        size_t bytes, rz_net_token_t token);

/* Reads what has arrived; how many. The work RZ_WORK_INQUIRIES. */
unsigned rz_inquiries_read(void);

/* Forgets what was not read: at a roll-back and in finalize. */
void rz_inquiries_close(void);

#endif
