/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective operation as a schedule: the steps of this process, in order. Each algorithm writes
 * its steps once. A blocking call runs each step as it is added; the request of a non-blocking call
 * keeps the steps, and runs them as messages arrive. Short blocking operations along the tree do
 * without (coll_short.c).
 *
 * A message is started when its step is reached. Messages run concurrently until a fence, where all
 * of them must have ended. The end of the schedule is a fence. The functions that add steps never
 * return an error: the first error is kept and ends the operation, of a non-blocking call before it
 * begins.
 *
 * Errors while it runs: a message that was too long (MPI_ERR_TRUNCATE) is kept and returned at the
 * end, since the other processes need this one to continue; any other error of a receive ends the
 * operation at once. A message to a failed process is not needed by this one, and no error. In all
 * cases no message is pending any more when the call returns or the request completes: see p2p.h.
 *
 * A failed member (docs/failure-semantics.md): an operation that began before the failure was known
 * continues, and fails where a receive fails. One that begins later fails at once and sends
 * nothing.
 */
#ifndef RZ_MPI_SCHEDULE_H
#define RZ_MPI_SCHEDULE_H

#include "mpi/coll/op.h"
#include "mpi/request/request.h"

struct rz_schedule;

/* What one rank gives to a data movement or gets from it. */
struct rz_part {
    char *buffer;
    MPI_Count count;
    struct rz_datatype *datatype;
};

/*
 * Begins a collective operation of comm and numbers it. call: a literal, for reports of hanging
 * calls. Errors: RZM_ROLLBACK, MPI_ERR_OTHER (rz_comm_enter), MPI_ERR_NO_MEM. That comm is revoked,
 * or a member has failed, is reported at the end of the operation.
 */
int rz_schedule_begin(struct rz_comm *comm, const char *call, struct rz_schedule **schedule);

/* The same for a blocking call: steps run as they are added. (With several threads they do not: an
 * object that a step names may be freed by another thread as soon as the others have what they
 * need, so that a list must hold it.) */
int rz_schedule_begin_now(struct rz_comm *comm, const char *call, struct rz_schedule **schedule);

/* Of a blocking call: runs the steps that were added, and each further one as it is added. */
void rz_schedule_run_now(struct rz_schedule *schedule);

/* Why the process ends that has no memory for a message of such a part, or of another kind in the
 * same call: others wait for it, and this process would wait for them in what follows. */
#define RZ_FOR_CREATION "to take part in the making of a communicator"

/* Begins a part of an operation that was numbered before, in a call that makes a communicator.
 * Without memory for it the process ends. */
int rz_schedule_part(struct rz_comm *comm, uint64_t operation, struct rz_schedule **schedule);

/* The communicator for which the schedule was begun, or that rz_schedule_turn has set. */
struct rz_comm *rz_schedule_comm(const struct rz_schedule *schedule);

/* Steps added from now on use `comm`: switches between an inter-communicator and its local one. A
 * plan switches back before it ends. */
void rz_schedule_turn(struct rz_schedule *schedule, struct rz_comm *comm);

/* Makes the operation end with this error; if no step was added yet, before anything is sent. */
void rz_schedule_refuse(struct rz_schedule *schedule, int error);

/* Whether the call blocks; whether the operation has failed, so that no further step runs; its
 * number; and the error. */
bool rz_schedule_is_blocking(const struct rz_schedule *schedule);
bool rz_schedule_is_over(const struct rz_schedule *schedule);
uint64_t rz_schedule_operation(const struct rz_schedule *schedule);
int rz_schedule_error(const struct rz_schedule *schedule);

/* Of an operation whose steps run at once: how many messages have begun since the last fence; the
 * error with which the k-th of them has ended, MPI_SUCCESS: it has not; and withdraws all of them,
 * which are receives, whatever became of them. */
size_t rz_schedule_pending(const struct rz_schedule *schedule);
int rz_schedule_error_of(const struct rz_schedule *schedule, size_t k);
void rz_schedule_forget(struct rz_schedule *schedule);

void rz_schedule_send(struct rz_schedule *schedule, const void *buffer, MPI_Count count,
                      struct rz_datatype *datatype, int dest);
void rz_schedule_recv(struct rz_schedule *schedule, void *buffer, MPI_Count count,
                      struct rz_datatype *datatype, int source);
void rz_schedule_fence(struct rz_schedule *schedule);
void rz_schedule_copy(struct rz_schedule *schedule, const struct rz_part *from,
                      const struct rz_part *to);

/* right[i] = left[i] op right[i] */
void rz_schedule_combine(struct rz_schedule *schedule, struct rz_op *op, const void *left,
                         void *right, MPI_Count count, struct rz_datatype *datatype);

/* Memory that stays valid as long as the schedule; NULL: none, and the operation ends. */
void *rz_schedule_bytes(struct rz_schedule *schedule, MPI_Count bytes);

/* Memory for count elements of datatype, to be used in steps like a buffer that a user would pass.
 * Never NULL. */
void *rz_schedule_room(struct rz_schedule *schedule, MPI_Count count,
                       const struct rz_datatype *datatype);

/* Runs the schedule to its end, or waits for the end of what runs, and destroys it. */
int rz_schedule_run(struct rz_schedule *schedule);

/* Runs the schedule as far as it goes without waiting; *request, set on success, does the rest. */
int rz_schedule_start(struct rz_schedule *schedule, struct rz_request **request);

/*
 * Keeps the schedule for *request, a persistent request: each start runs the same steps again. A
 * plan reads no user data, so it can be run many times. All runs have one tag, which no other
 * operation has; so members may start requests in different orders. Messages of one run do not
 * match receives of the next one, since messages keep their order.
 */
int rz_schedule_keep(struct rz_schedule *schedule, struct rz_request **request);

#endif
