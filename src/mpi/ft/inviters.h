/*
 * Whom a newcomer can hope for. Who came in place of a dead process waits until it is invited
 * (invitation.h). Those who would have invited it may have died; then it must not wait for ever.
 * Each process that can be sure to invite nobody says so to who asks: one that waits itself, and
 * one that is in MPI_Finalize. When nobody else is left, the wait has ended.
 */
#ifndef RZ_MPI_INVITERS_H
#define RZ_MPI_INVITERS_H

#include "mpi/core/engine.h"

struct rz_word;

/* One wait for an invitation. */
struct rz_inviters {
    rz_time begun;
    rz_time hopeless_since; /* 0: there is hope */
    bool asked;             /* everybody was asked: the wait is a long one */
};

void rz_inviters_begin(struct rz_inviters *inviters);

/* In a wait, again and again: whether all others are dead, have left, or will invite nobody. */
bool rz_inviters_gone(struct rz_inviters *inviters);

/* This process was invited, and may invite others from now on. */
void rz_inviters_joined(struct rz_inviters *inviters);

/* This process invites nobody any more, and joins nobody: it finalizes. If it is invited all the
 * same, now or later, those who wait for it would wait for ever: then it ends as if it had died. */
void rz_inviters_leave(void);

/* A word has come. True: it was answered, or is an invitation that was taken before, and nobody
 * will take it; it stays the caller's. */
bool rz_inviters_answer(const struct rz_word *word);

/* At a roll-back and in finalize: no more words will come. */
void rz_inviters_close(void);

#endif
