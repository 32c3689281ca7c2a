/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective operation as a schedule: the steps of this process, in order. Each algorithm writes
 * its steps once; a blocking call runs them and waits, a non-blocking one has its request run them
 * as messages arrive.
 *
 * Messages begin when their step is reached and go on beside each other until a fence, where all of
 * them must have ended. The end of the schedule is a fence. The functions that add steps never
 * return an error: the first one (no memory) is kept and ends the operation before it begins.
 *
 * Errors while it runs: a message that was too long (MPI_ERR_TRUNCATE) is remembered and told at
 * the end, for the others wait for this process to go on; any other error of a receive ends it at
 * once. A message to a failed process is nothing that this one needs, and no error. In all cases
 * nothing is pending any more when the call returns or the request completes: see p2p.h.
 *
 * A failed member (docs/failure-semantics.md): an operation that began before the failure was known
 * goes on, and fails where a receive does. One that begins later fails at once and sends nothing.
 */
#ifndef RZ_MPI_SCHEDULE_H
#define RZ_MPI_SCHEDULE_H

#include "mpi/coll/op.h"
#include "mpi/request/request.h"

struct rz_schedule;

/*
 * Begins a collective operation of comm and numbers it. call: a literal, for the hang report. What
 * keeps it from beginning: RZM_ROLLBACK, MPI_ERR_OTHER (rz_comm_enter), MPI_ERR_NO_MEM. That comm
 * is revoked, or a member has failed, is told by the end of the operation.
 */
int rz_schedule_begin(struct rz_comm *comm, const char *call, struct rz_schedule **schedule);

/* A part of an operation that was numbered before: of a call that makes a communicator.
 * MPI_ERR_NO_MEM. */
int rz_schedule_part(struct rz_comm *comm, uint64_t operation, struct rz_schedule **schedule);

/* The communicator it was begun for, or turned to. */
struct rz_comm *rz_schedule_comm(const struct rz_schedule *schedule);

/* Steps added from now on go over `comm`: between an inter-communicator and its local one. A plan
 * turns back before it ends. */
void rz_schedule_turn(struct rz_schedule *schedule, struct rz_comm *comm);

/* Ends it before anything was sent, with this error. */
void rz_schedule_refuse(struct rz_schedule *schedule, int error);

void rz_schedule_send(struct rz_schedule *schedule, const void *buffer, MPI_Count count,
                      struct rz_datatype *datatype, int dest);
void rz_schedule_recv(struct rz_schedule *schedule, void *buffer, MPI_Count count,
                      struct rz_datatype *datatype, int source);
void rz_schedule_fence(struct rz_schedule *schedule);
void rz_schedule_copy(struct rz_schedule *schedule, const void *from, MPI_Count from_count,
                      struct rz_datatype *from_type, void *to, MPI_Count to_count,
                      struct rz_datatype *to_type);

/* right[i] = left[i] op right[i] */
void rz_schedule_combine(struct rz_schedule *schedule, struct rz_op *op, const void *left,
                         void *right, MPI_Count count, struct rz_datatype *datatype);

/* Memory that lives as long as the schedule; NULL: none, and the operation ends before it begins.
 */
void *rz_schedule_bytes(struct rz_schedule *schedule, MPI_Count bytes);

/* The same for count elements of datatype, for steps alone: what a user would pass as buffer. Never
 * NULL. */
void *rz_schedule_room(struct rz_schedule *schedule, MPI_Count count,
                       const struct rz_datatype *datatype);

/* Runs it to its end and gives it back. */
int rz_schedule_run(struct rz_schedule *schedule);

/* Runs it as far as it goes; *request, set on success, does the rest. */
int rz_schedule_start(struct rz_schedule *schedule, struct rz_request **request);

/*
 * Keeps it for *request, a persistent one: each start runs the same steps again, from the first. A
 * plan reads no user data, so that it is as good every time. All runs have one tag, which no other
 * operation has; so requests may be started in another order at each member, and messages of one
 * run do not meet those of the next, for the order of messages keeps them apart.
 */
int rz_schedule_keep(struct rz_schedule *schedule, struct rz_request **request);

#endif
