/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whom a spawned process can hope for. Who came in place of a failed process waits until it is
 * invited (bootstrap.h). Those who would have invited it may have failed; then it must not wait for
 * ever. Each process that can be sure to invite nobody says so to who asks: one that waits itself,
 * and one that is in MPI_Finalize. When nobody else is left, the wait has ended.
 */
#ifndef RZ_MPI_BOOTSTRAP_PEERS_H
#define RZ_MPI_BOOTSTRAP_PEERS_H

#include "mpi/engine/waiting.h"

struct rz_setup_message;

/* One wait for a bootstrap message. */
struct rz_bootstrap_peers {
    rz_time begun;
    rz_time hopeless_since; /* 0: there is hope */
    bool asked;             /* everybody was asked: the wait is a long one */
};

void rz_bootstrap_peers_begin(struct rz_bootstrap_peers *bootstrap_peers);

/* In a wait, again and again: whether all others have failed, have left, or will invite nobody. */
bool rz_bootstrap_peers_gone(struct rz_bootstrap_peers *bootstrap_peers);

/* This process was invited, and may invite others from now on. */
void rz_bootstrap_peers_joined(struct rz_bootstrap_peers *bootstrap_peers);

/* This process invites nobody any more, and joins nobody: it finalizes. If it is invited all the
 * same, now or later, those who wait for it would wait for ever: then it ends as if it had failed.
 */
void rz_bootstrap_peers_leave(void);

/* A word has come. True: it was answered, or is a bootstrap message that was taken before, and
 * nobody will take it; it stays the caller's. */
bool rz_bootstrap_peers_answer(const struct rz_setup_message *word);

/* At a roll-back and in finalize: no more words will come. */
void rz_bootstrap_peers_close(void);

#endif
