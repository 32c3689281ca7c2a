/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of the engine, and how calls wait.
 */
#ifndef RZ_MPI_WAITING_H
#define RZ_MPI_WAITING_H

#include "mpi/engine/blocked.h"
#include "mpi/engine/progress.h"

/* ---- The lock ---- */

/* Whether several threads may call MPI (MPI_THREAD_MULTIPLE). Set in MPI_Init; entry points skip
 * the lock when false. */
extern bool rz_engine_shared;

/* Take and give up the one engine lock of this process. A waiting call gives it up while it sleeps.
 */
void rz_engine_enter(void);
void rz_engine_leave(void);

/* Around a function of the user (attribute callbacks), which may call MPI. */
void rz_engine_unlock_for_user(void);
void rz_engine_lock_after_user(void);

/* The same with the lock held throughout: for functions that may only ask (reductions). While a
 * function of the user runs below the library, its thread is not carried away by a roll-back. */
void rz_engine_user_begins(void);
void rz_engine_user_ended(void);

/* A roll-back: waits until no other thread is inside a call. Their waits have ended already. */
void rz_engine_await_others(void);

/* The roll-back is over. The calling thread took part in it; each other one that has called MPI
 * before is told at its next call, by an error. */
void rz_engine_came_back(void);

/* ---- Waiting ---- */

/*
 * Makes progress until done(arg). Sleeps when nothing moves (core/wait_rule.h). MPI_SUCCESS or
 * RZM_ROLLBACK (as rz_engine_begin). What can end it besides done: news of a failure completes
 * requests; a roll-back; stop word or lease end the process.
 */
int rz_engine_wait(const struct rz_blocked *blocked, bool (*done)(void *arg), void *arg);

/*
 * Waits until our board knows all of these: before communicators of processes are made that others
 * told us of. Ends at the latest when the daemons have decided about them. MPI_SUCCESS,
 * MPI_ERR_OTHER: such slots are not in this job; RZM_ROLLBACK.
 */
int rz_engine_await(const uint32_t *process, int n, const char *call);

/* Gives the processor and the lock away once. */
void rz_engine_yield(void);

/* Whether a test that found nothing (MPI_Test) gives the processor away: the awaited process may
 * want this very one. */
static inline bool rz_engine_yields(void)
{
    const struct rz_wait_rule *rule = &rz_engine.waiting;
    return rule->crowded || (rule->shared && rz_wait_yields_cheaply(rule));
}

#endif
