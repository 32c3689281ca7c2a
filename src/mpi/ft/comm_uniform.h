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

#include "mpi/ft/agreement_context.h"

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

/*
 * A call by which `part` of comm's members (NULL: all) made a communicator has ended here with
 * `error`; *made is given back, and NULL then, where the verdict is an error. tag: of the call.
 */
int rz_uniform_made_by(struct rz_comm *comm, struct rz_group *part, int tag, int error,
                       struct rz_comm **made);

/* comm is revoked here, or its members may have begun to end so. Nothing is sent yet. */
void rz_uniform_results_look(struct rz_comm *comm);

/* Those that outlived their communicator end: all agreement contexts have. */
void rz_uniform_results_close(void);

/*
 * From agreement contexts: another member says that there is a row with this word, of `part` (NULL:
 * all), in comm, which is revoked. And, to whom `owner` is of: a member will never say anything in
 * that row.
 */
void rz_uniform_results_announced(struct rz_comm *comm, struct rz_group *part, uint64_t word,
                                  uint32_t by);
void rz_uniform_results_given_up(struct rz_agreement_context **owner);

/* Also from agreement contexts: that process has failed. */
void rz_uniform_results_failure(uint32_t process);

/* Speaks for those who will begin nothing any more: from rz_agreement_contexts_tick. */
void rz_uniform_results_speak(void);

#endif
