/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same verdict at all members (info key mpi_error_uniform; ULFM): calls that
 * make communicators (construct), and collective operations, too (coll), end with an agreement on
 * how it went. Where a member was told MPI_ERR_PROC_FAILED or MPI_ERR_REVOKED, all are.
 *
 * These agreements have agreement contexts of their own, beside the one in which the user agrees
 * and shrinks, because whoever repairs leaves out operations that others have begun. Nobody waits
 * for such a member for ever: who knows that the communicator is revoked says in every verdict to
 * come that it went wrong, without having been asked, until all do. Of operations that it may never
 * have heard of (the runs of a persistent one, those of a part of the members) it is told by who
 * waits.
 */
#ifndef RZ_MPI_COMM_UNIFORM_H
#define RZ_MPI_COMM_UNIFORM_H

#include "mpi/agree/agreement_context.h"
#include "mpi/comm/comm_hints.h"

/*
 * The verdicts of one row of operations, that all members begin in one order: of the collective
 * operations and creations of a communicator, or of the runs of one persistent operation.
 */
struct rz_uniform_results;

/* One operation. It must stay where it is from rz_uniform_result_begin until `ended` is called. */
struct rz_uniform_result {
    struct rz_proposal proposal;
    struct rz_uniform_results *row;
    int error; /* first how it went here, then everywhere */
    bool all;  /* every error counts: no other may have what was made */
    bool put;  /* it is in the agreement context */
    bool over;
    void (*ended)(struct rz_uniform_result *result); /* may be NULL */
};

/* Whether calls that make communicators, or collective operations, of comm end so. */
bool rz_comm_is_uniform(const struct rz_comm *comm, enum rz_error_uniform least);

/* The row of comm; or a new one, of the persistent operation with that number. NULL: no memory. */
struct rz_uniform_results *rz_uniform_results_of(struct rz_comm *comm);
struct rz_uniform_results *rz_uniform_results_new(struct rz_comm *comm, uint64_t operation);

/* Nobody here begins anything in it any more. NULL: nothing. */
void rz_uniform_results_end(struct rz_uniform_results *row);

/* All that comm still has. */
void rz_uniform_results_comm_ends(struct rz_comm *comm);

/* An operation begins, in the row's order. It has ended here with `error`; `ended` is called,
 * perhaps at once, unless the job rolls back. */
void rz_uniform_result_begin(struct rz_uniform_results *row, struct rz_uniform_result *result);
void rz_uniform_result_tell(struct rz_uniform_result *result, int error);

/* The same, and waits: the verdict, or RZM_ROLLBACK. */
int rz_uniform_result_wait(struct rz_uniform_result *result, int error, const char *call);

/* The row of calls by the same part of comm with the same tag. NULL: no memory. */
struct rz_uniform_results *rz_uniform_results_of_part(struct rz_comm *comm, struct rz_group *part,
                                                      int tag);

/* comm is revoked here, or its members may have begun to end so. Nothing is sent yet. */
void rz_uniform_results_look(struct rz_comm *comm);

/* Those that outlived their communicator end: all agreement contexts have. */
void rz_uniform_results_close(void);

/* When the engine opens: what agreement contexts tell goes here. */
void rz_uniform_results_open(void);

/* That process is gone. */
void rz_uniform_results_failure(uint32_t process);

#endif
