/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The locks in control blocks. They are robust: an owner that has failed is passed over.
 *
 * The lock of a target for passive epochs: each member has a byte for a shared lock, and there is
 * one word for the owner of the exclusive lock. A process that wants a shared lock sets its byte,
 * and then looks at the word; one that wants an exclusive lock claims the word, and then looks at
 * all bytes. So no count can be left wrong by a process that fails between two steps.
 *
 * A process that waits for a word of the block sets its byte in `waits`; the process that frees it
 * sends each of these a message (rma_message.h).
 */
#ifndef RZ_MPI_WINDOW_WORDS_H
#define RZ_MPI_WINDOW_WORDS_H

#include "mpi/rma/window.h"

/*
 * Tries to take the lock of target `at` for member `rank`. *claimed, false at first, is kept
 * between tries: the word is claimed, and shared locks are awaited. To give up a claim:
 * rz_win_unlock_word.
 */
bool rz_win_try_shared(struct rz_win *win, int at, int rank);
bool rz_win_try_exclusive(struct rz_win *win, int at, int rank, bool *claimed);

/* Frees what rank holds of the lock of target `at`, and wakes those that wait: whether any does, so
 * that messages to them are listed. */
bool rz_win_unlock_word(struct rz_win *win, int at, int rank);

/* The same for the right to accumulate there by more than single atomic stores. */
bool rz_win_try_accumulate(struct rz_win *win, int at);
void rz_win_end_accumulate(struct rz_win *win, int at);

/* Tells that member that a word of this process's block has changed, if it waits for one. */
void rz_win_wake(struct rz_win *win, int rank);

/* This process waits, or does not wait any more, for a word of the block of target `at`. */
void rz_win_set_waits(struct rz_win *win, int at, bool waits);

#endif
