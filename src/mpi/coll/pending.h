/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of one collective operation: which of them are pending, and how the operation ends
 * when one of them fails. The steps of the operation are the caller's: a schedule (schedule.h), or
 * a short operation (coll_short.c).
 *
 * Errors: a message that was too long (MPI_ERR_TRUNCATE) is kept and returned at the end, since the
 * other processes need this one to continue; any other error of a receive ends the operation at
 * once: it is over, and no further message is begun. A message to a failed process is not needed
 * by this one, and no error.
 */
#ifndef RZ_MPI_PENDING_H
#define RZ_MPI_PENDING_H

#include "mpi/p2p/p2p.h"

struct rz_pending {
    struct rz_comm *whole; /* the communicator of the operation */
    int tag;               /* of its messages */
    int error;             /* the first one */
    bool over;             /* no further message is begun */
    bool tells;            /* it sends nothing more, and tells those that wait for it */
    struct rz_request **request;
    size_t n, max;   /* max: for so many there is space */
    size_t complete; /* so many of them, in order, were found complete */

    /* The operation was given up: tells the receivers of all messages that are still to be sent
     * (rz_pending_tell), as far as they are known. NULL: the caller does that afterwards. */
    void (*gave_up)(struct rz_pending *pending);
};

/* No message was begun yet. gave_up, request and max are the caller's. */
static inline void rz_pending_begin(struct rz_pending *pending, struct rz_comm *whole, int tag)
{
    pending->whole = whole;
    pending->tag = tag;
    pending->error = MPI_SUCCESS;
    pending->over = pending->tells = false;
    pending->n = pending->complete = 0;
}

/* Notes an error; one that is not MPI_ERR_TRUNCATE ends the operation. */
static inline void rz_pending_note(struct rz_pending *pending, int error)
{
    if (__builtin_expect(error != MPI_SUCCESS, 0)) {
        pending->error = pending->error != MPI_SUCCESS ? pending->error : error;
        pending->over |= error != MPI_ERR_TRUNCATE;
    }
}

/*
 * The operation will not succeed: this process waits for no further message of it, and sends none.
 * Processes that wait for one are told now, and not when all that this process has sent was read:
 * members of a communicator could otherwise wait for one another to read. A process that fails in a
 * part of an operation leaves all of it.
 */
void rz_pending_give_up(struct rz_pending *pending, int error);

/* The operation is over: tells the process at that rank of comm, to which this process owes a
 * message, that none will come, if a failed member is the cause. */
void rz_pending_tell(const struct rz_pending *pending, const struct rz_comm *comm, int peer);

/* Begins a message; there is space for it. message->tag is that of the operation. */
void rz_pending_send(struct rz_pending *pending, const struct rz_p2p_message *message);
void rz_pending_recv(struct rz_pending *pending, const struct rz_p2p_message *message);

/* Whether no message is pending any more; then rz_pending_collect destroys the requests. */
bool rz_pending_is_settled(struct rz_pending *pending);
void rz_pending_collect(struct rz_pending *pending);

/* Waits until no message is pending any more. */
void rz_pending_settle(struct rz_pending *pending);

#endif
