/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective operations of a communicator in which this process takes part now, the processes
 * that asked to be told when it leaves one, and the members that have answered that they do not
 * take part. Only lists: no message, no clock. The rule behind it is in docs/failure-semantics.md.
 *
 * Questions are asked only about a communicator with a failed member. There a process that does not
 * take part in an operation sends no message of it from now on: it has left the operation, or it
 * will refuse to begin it. So a process that waits for such a message can be answered at once. A
 * question about an operation that is under way is answered when this process leaves it. An answer
 * follows the messages that were sent before it.
 */
#ifndef RZ_MPI_PARTICIPATION_H
#define RZ_MPI_PARTICIPATION_H

#include <stdbool.h>
#include <stdint.h>

struct rz_question;

/* One operation; the caller's memory from begin to end. */
struct rz_participation {
    struct rz_participation *next;
    int tag; /* the tag of its messages */
    bool on; /* begun, and not ended */
    struct rz_question *questions;
    struct rz_question *absences; /* `process` sends nothing more in `context` */
};

/* Another process waits for a message of this one. */
struct rz_question {
    struct rz_question *next;
    uint32_t process;
    uint64_t context; /* the context in which the message is expected */
    int tag;
};

/* The lists of one communicator; empty when zeroed. Of thousands of operations under way each must
 * be found by its tag: then they are in many lists. */
struct rz_participations {
    struct rz_participation *first;  /* all operations under way; or one that stands for `lists` */
    struct rz_participation **lists; /* owned; operations by their tags, or NULL */
    uint32_t n_lists;                /* a power of two, or 0 */
    uint32_t n;                      /* operations in `lists` */
};

/* This process takes part in the operation from now on. */
void rz_participation_begin(struct rz_participations *all, struct rz_participation *one, int tag);

/* This process takes part in the operation no longer. Returns the questions to be answered, which
 * the caller frees; NULL if it took no part. */
struct rz_question *rz_participation_end(struct rz_participations *all,
                                         struct rz_participation *one);

/* The operation under way with this tag; NULL: none. */
struct rz_participation *rz_participation_find(const struct rz_participations *all, int tag);

/*
 * A process asks about question->tag. True: the answer is due now, since this process does not take
 * part (or has no memory for the question). False: a copy of the question is kept until the
 * operation ends; equal questions are kept once.
 */
bool rz_participation_ask(struct rz_participations *all, const struct rz_question *question);

/* Whether that question is kept, so that the end of the operation answers it. */
bool rz_participation_is_asked(const struct rz_participations *all,
                               const struct rz_question *question);

/* absence->process sends no further message of that context and tag. This is kept until the
 * operation ends here. It is not kept without memory, or if the operation is not under way here. */
void rz_participation_miss(struct rz_participations *all, const struct rz_question *absence);

/* Whether that absence was kept. */
bool rz_participation_misses(const struct rz_participations *all,
                             const struct rz_question *absence);

/* The communicator ends, and with it all operations; no process is answered any more. */
void rz_participations_forget(struct rz_participations *all);

#endif
