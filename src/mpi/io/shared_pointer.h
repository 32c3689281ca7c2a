/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared file pointer: a place in the view, in etypes, that all members move. The daemon of
 * the node of rank 0 keeps it (daemon/service/pointers.h), so that no member needs another one's
 * help. It survives the failure of any process, and ends with that node; then calls that use it
 * return MPI_ERR_PROC_FAILED.
 *
 * Nothing is sent when a file is opened or gets a view: each question names the generation of the
 * pointer, which grows with each view, and where a generation begins.
 */
#ifndef RZ_MPI_SHARED_POINTER_H
#define RZ_MPI_SHARED_POINTER_H

#include "mpi/io/file_object.h"
#include "wire/link_messages.h"

/* A question to the daemon. Starts as {0}; its address must not change while it is open. */
struct rz_shared_question {
    uint64_t number;
    bool open, answered;
    rz_status_t status;
    int64_t value;
    struct rz_shared_question *next;
};

/* Called by all members: a new generation, which begins at `place`. */
void rz_shared_pointer_begin(struct rz_file *file, MPI_Count place);

/* All members have closed the file. Called by all; waits for nothing. */
void rz_shared_pointer_end(struct rz_file *file);

/* Asks; `answered` becomes true, perhaps at once. value: where to set it, or how many etypes to
 * add. */
void rz_shared_question_ask(struct rz_shared_question *question, struct rz_file *file,
                            enum rz_pointer_question what, MPI_Count value);

/* The answer: the place before. MPI_ERR_PROC_FAILED, MPI_ERR_NO_MEM. */
int rz_shared_question_result(const struct rz_shared_question *question, const struct rz_file *file,
                              MPI_Count *place);

/* Forgets a question that may be open. */
void rz_shared_question_drop(struct rz_shared_question *question);

/* Asks and waits: *before is where the pointer was. Also RZM_ROLLBACK. call: a literal. */
int rz_shared_pointer_ask(struct rz_file *file, enum rz_pointer_question what, MPI_Count value,
                          const char *call, MPI_Count *before);

#endif
