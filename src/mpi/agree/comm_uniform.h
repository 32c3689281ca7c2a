/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same error at all members (info key mpi_error_uniform; ULFM): calls that make communicators
 * (construct), and with another value also collective operations (coll), end with an agreement on
 * their result. If a member got MPI_ERR_PROC_FAILED or MPI_ERR_REVOKED, all members return it.
 *
 * These agreements have contexts of their own, beside the context in which the user agrees and
 * shrinks, because a member that repairs skips operations that others have begun. No member waits
 * for such a member for ever: a process that knows that the communicator is revoked refuses in
 * every agreement of this kind, without beginning the operation, until all members refuse. If it
 * may not know of the operations (the runs of a persistent one, those of a part of the members), a
 * waiting member tells it.
 */
#ifndef RZ_MPI_COMM_UNIFORM_H
#define RZ_MPI_COMM_UNIFORM_H

#include "mpi/agree/agreement_context.h"
#include "mpi/comm/comm_hints.h"

/* The results of one row of operations, which all members begin in one order: the blocking
 * collective operations and creations of a communicator, the non-blocking ones, or the runs of one
 * persistent operation. */
struct rz_uniform_results;

/* One operation. Its address must not change from rz_uniform_result_begin until `ended` is
 * called. */
struct rz_uniform_result {
    struct rz_proposal proposal;
    struct rz_uniform_results *row;
    int error; /* first the local error, then the common one */
    bool all;  /* every error counts: if one member has none of the result, no other may have it */
    bool put;  /* it is in the agreement context */
    bool over;
    void (*ended)(struct rz_uniform_result *result); /* may be NULL */
};

/* Whether calls that make communicators, or collective operations, of comm end with such an
 * agreement. */
bool rz_comm_is_uniform(const struct rz_comm *comm, enum rz_error_uniform least);

/* The row of comm for blocking, or for non-blocking operations. rz_uniform_results_new: a new row,
 * of the persistent operation with that number. NULL: no memory. */
struct rz_uniform_results *rz_uniform_results_of(struct rz_comm *comm);
struct rz_uniform_results *rz_uniform_results_of_nonblocking(struct rz_comm *comm);
struct rz_uniform_results *rz_uniform_results_new(struct rz_comm *comm, uint64_t operation);

/* This process begins no further operation in the row. NULL: does nothing. */
void rz_uniform_results_end(struct rz_uniform_results *row);

/* Ends all rows that comm still has. */
void rz_uniform_results_comm_ends(struct rz_comm *comm);

/* rz_uniform_result_begin: an operation begins, in the row's order. rz_uniform_result_tell: it has
 * ended here with `error`; `ended` is called, perhaps at once, unless the job rolls back. */
void rz_uniform_result_begin(struct rz_uniform_results *row, struct rz_uniform_result *result);
void rz_uniform_result_tell(struct rz_uniform_result *result, int error);

/* As rz_uniform_result_tell, and waits: returns the common error, or RZM_ROLLBACK. */
int rz_uniform_result_wait(struct rz_uniform_result *result, int error, const char *call);

/* The row of the calls of the same part of comm with the same tag. NULL: no memory. */
struct rz_uniform_results *rz_uniform_results_of_part(struct rz_comm *comm, struct rz_group *part,
                                                      int tag);

/* comm is revoked here, or its members may have begun to refuse: looks whether this process must.
 * Sends nothing yet. */
void rz_uniform_results_look(struct rz_comm *comm);

/* Ends the rows that have outlived their communicators, after all agreement contexts have ended. */
void rz_uniform_results_close(void);

/* When the engine opens: registers for the events of agreement contexts. */
void rz_uniform_results_open(void);

/* That process is gone. */
void rz_uniform_results_failure(uint32_t process);

#endif
