/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A failed member, and processes that wait for members that are alive. A collective operation fails
 * at a process only where a message that it needs will never come: from the failed process, or from
 * a member that has left the operation or will not begin it. The process learns of the latter by
 * inquiry: as soon as it knows of a failed member of the communicator, it asks the sender of each
 * message that it waits for there, once. The sender answers when it does not take part in the
 * operation (comm/participation.h): at once, or when it leaves. A process that leaves an operation,
 * or refuses to begin one, because of a failure also answers without a question, to all processes
 * that it owes messages: it may be outside of MPI when they ask. An answer never overtakes messages
 * that were sent before it. A member that has ended in order amid an operation is no failure of
 * which all would learn: the processes that needed its message tell all others.
 */
#ifndef RZ_MPI_INQUIRY_H
#define RZ_MPI_INQUIRY_H

#include "mpi/request/request.h"
#include "wire/envelope.h"

/* This process takes part in the operation of comm no longer: answers those that have asked. Does
 * nothing if the operation has ended already. _asked: a member has failed or asked, or this
 * operation is not the one that began last. */
void rz_operation_end_asked(struct rz_comm *comm, struct rz_participation *one);
static inline void rz_operation_end(struct rz_comm *comm, struct rz_participation *one)
{
    struct rz_comm *whole = rz_comm_whole(comm);
    struct rz_participations *all = &whole->participations;
    if (all->first == one && !one->questions && !one->absences && !whole->collectives_failed) {
        all->first = one->next;
        one->on = false;
    } else {
        rz_operation_end_asked(comm, one);
    }
}

/* Asks the peer about a message of a collective operation, unless it was asked already. Not called
 * from inside a callback of a transport. */
void rz_inquire(struct rz_request *request);

/* As rz_inquire, for all active requests of communicators with a failed member. */
void rz_inquire_all(void);

/*
 * Tells the process at that rank of comm (of its remote group) that this process will send no
 * further message of the operation with this tag: some member is known to have failed. Not called
 * from inside a callback of a transport.
 */
void rz_absence_tell(const struct rz_comm *comm, int peer, int tag);

/*
 * A message of the operation will not come, though no member is known to have failed: its sender
 * has ended in order amid the operation. Only the processes that have messages with it see that. So
 * this process stops the collective operations of the communicator, as after a failure, and tells
 * all members. Not called from inside a callback of a transport.
 */
void rz_absence_tell_all(struct rz_comm *whole, int tag);

/* An inquiry, or the answer to one, has passed the epoch check: queues it, to be read outside of
 * callbacks. */
void rz_inquiry_arrived(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                        size_t bytes, rz_net_token_t token);

/* Reads what has arrived; returns the number of messages. The work RZ_WORK_INQUIRIES. */
unsigned rz_inquiries_read(void);

/* Drops what was not read: at a roll-back and in finalize. */
void rz_inquiries_close(void);

#endif
