/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that come later: what spawn, connect, accept and join have in common. Everything stays
 * inside one universe, the daemons of this job, so that a number names a process for all of them.
 */
#ifndef RZ_MPI_DYNAMIC_H
#define RZ_MPI_DYNAMIC_H

#include "mpi/create/intercomm.h"
#include "mpi/engine/waiting.h"

/*
 * The other half of rz_news_tell: all of comm say how they fared, up a tree. At root the first
 * error of anybody; at others their own, or what they hear of. Ends with MPI_ERR_PROC_FAILED or
 * MPI_ERR_REVOKED where one failed or revoked comm.
 */
int rz_dynamic_confirm(struct rz_comm *comm, uint64_t operation, int root, int error);

/*
 * The end of it: root tells all how they have fared together, which is its own error. So who
 * returns MPI_SUCCESS knows that all have come as far as it has, though others may return an error.
 * All that have confirmed take part. The error of the call.
 */
int rz_dynamic_result(struct rz_comm *comm, uint64_t operation, int root, int error);

/* Whether a member of comm failed, or it was revoked: nobody waits there for others any more. And
 * the error that this is. */
bool rz_dynamic_is_broken(const struct rz_comm *comm);
int rz_dynamic_why_broken(const struct rz_comm *comm);

/* Whether that process has failed or has left the job. False of one whose spawn our board does not
 * show yet. */
bool rz_dynamic_is_gone(uint32_t process);

/* Whether it left in good order. */
bool rz_dynamic_has_ended(uint32_t process);

/* The inter-communicator of comm's group and remote, once the board shows all of it. The error
 * handler of comm. As rz_comm_make. */
int rz_dynamic_make(const uint64_t words[3], struct rz_comm *comm, struct rz_group *remote,
                    const char *call, struct rz_comm **newcomm);

/* A word that nobody else of this process says, for as long as the job lasts. */
uint64_t rz_dynamic_word(void);

/* Waits until the other members of a comm with a farewell (rz_comm_says_farewell) have come to give
 * it up, too, or it is revoked; the failed are not waited for. MPI_SUCCESS (at once for others) or
 * RZM_ROLLBACK. */
int rz_dynamic_part(struct rz_comm *comm, const char *call);

/* In MPI_Finalize: the same for all that are left, and for the world of a spawned process, which
 * the daemons' barrier does not count; and nobody leaves to whom others still look for what was
 * agreed on a communicator that this process has ended. */
int rz_dynamic_finish(void);

/* Why no process can be started while this job runs, to follow "no process can be started"; NULL:
 * it can, as far as this process knows. */
const char *rz_dynamic_refusal(void);

#endif
