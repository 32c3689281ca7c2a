/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In which collective operations of a communicator this process takes part now, who asked to be
 * told when it does no more, and which members have said that they do not take part in them. Pure
 * bookkeeping: no message, no clock; the rule that it serves stands in docs/failure-semantics.md.
 *
 * Only a communicator with a failed member is asked about. There a process that does not take part
 * in an operation sends no message of it from now on: either it has left the operation, or it will
 * refuse to begin it. So whoever waits for a message of it can be told at once; and whoever asks
 * about an operation that goes on is told when this process leaves it. Answers follow the messages
 * that were sent before them.
 */
#ifndef RZ_MPI_PARTICIPATION_H
#define RZ_MPI_PARTICIPATION_H

#include <stdbool.h>
#include <stdint.h>

/* One operation; memory of the caller from begin to end. */
struct rz_participation {
    struct rz_participation *next;
    int tag; /* of its messages */
    bool on; /* begun, and not ended */
};

/* A process waits for a message of this one. */
struct rz_question {
    struct rz_question *next;
    uint32_t process;
    uint64_t context; /* where the message is expected */
    int tag;
};

/* Of one communicator; empty when zeroed. */
struct rz_participations {
    struct rz_participation *first;
    struct rz_question *questions; /* about operations that go on */
    struct rz_question *absences;  /* in such: `process` sends nothing more in `context` */
};

/* This process takes part in the operation from now on. */
void rz_participation_begin(struct rz_participations *all, struct rz_participation *one, int tag);

/* It does no more: the questions to be answered, of the caller now. Nothing if it is not on. */
struct rz_question *rz_participation_end(struct rz_participations *all,
                                         struct rz_participation *one);

/* The operation with this tag that goes on; NULL: none. */
struct rz_participation *rz_participation_find(const struct rz_participations *all, int tag);

/*
 * A process asks about question->tag. True: the answer is due now, for this process does not take
 * part (or there is no memory to remember it). False: a copy of the question is kept until the
 * operation ends; the same one is kept once.
 */
bool rz_participation_ask(struct rz_participations *all, const struct rz_question *question);

/* Whether that question is kept, so that the end of the operation answers it. */
bool rz_participation_is_asked(const struct rz_participations *all,
                               const struct rz_question *question);

/* absence->process sends no further message of that context and tag. It is remembered until the
 * operation ends here; without memory, or if the operation does not go on here, not at all. */
void rz_participation_miss(struct rz_participations *all, const struct rz_question *absence);

/* Whether that was remembered. */
bool rz_participation_misses(const struct rz_participations *all,
                             const struct rz_question *absence);

/* Forgets all questions and absences: nobody is to be answered any more. */
void rz_participations_forget(struct rz_participations *all);

#endif
