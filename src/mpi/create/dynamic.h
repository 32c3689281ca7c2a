/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that join later: what spawn, connect, accept and join have in common. All of them
 * belong to one universe, the daemons of this job, so that a process number identifies a process
 * for all.
 */
#ifndef RZ_MPI_DYNAMIC_H
#define RZ_MPI_DYNAMIC_H

#include "mpi/create/intercomm.h"
#include "mpi/engine/waiting.h"

/*
 * The counterpart of rz_news_tell: all members of comm report their error up a tree. Returns at
 * root the first error of any member; at others their own, or one that they receive. Ends with
 * MPI_ERR_PROC_FAILED or MPI_ERR_REVOKED where a member failed or revoked comm.
 */
int rz_dynamic_confirm(struct rz_comm *comm, uint64_t operation, int root, int error);

/*
 * Ends the call: root broadcasts the common result, which is its own error. So a member that
 * returns MPI_SUCCESS knows that all members have got as far, though others may return an error.
 * All members that have confirmed take part. Returns the error of the call.
 */
int rz_dynamic_result(struct rz_comm *comm, uint64_t operation, int root, int error);

/* Whether a member of comm has failed, or comm was revoked; calls do not wait for its members then.
 * rz_dynamic_why_broken: the error for that. */
bool rz_dynamic_is_broken(const struct rz_comm *comm);
int rz_dynamic_why_broken(const struct rz_comm *comm);

/* Whether that process has failed or has left the job. False for a process whose spawn our board
 * does not show yet. */
bool rz_dynamic_is_gone(uint32_t process);

/* Whether that process ended in order. */
bool rz_dynamic_has_ended(uint32_t process);

/* Makes the inter-communicator of comm's group and remote, once the board shows all processes of
 * remote. It gets the error handler of comm. As rz_comm_make. */
int rz_dynamic_make(const uint64_t words[3], struct rz_comm *comm, struct rz_group *remote,
                    const char *call, struct rz_comm **newcomm);

/* A word that is unique among those of this process for the whole job. */
uint64_t rz_dynamic_word(void);

/*
 * Waits until the other members of a comm with a goodbye (rz_comm_says_goodbye) give it up as
 * well, or it is revoked; not for failed members. MPI_SUCCESS (at once for other communicators) or
 * RZM_ROLLBACK.
 */
int rz_dynamic_part(struct rz_comm *comm, const char *call);

/*
 * In MPI_Finalize: rz_dynamic_part for all communicators that are left, and for the world of a
 * spawned process, which the daemons' barrier does not count. This process also stays while others
 * may still need a decision from it, of an agreement on a communicator that it has ended.
 */
int rz_dynamic_finish(void);

/* The reason why no process can be started in this job, to follow "no process can be started";
 * NULL: none, as far as this process knows. */
const char *rz_dynamic_refusal(void);

#endif
