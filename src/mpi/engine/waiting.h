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
extern bool rz_engine_shared RZ_OWN;

/* From now on they do. Others that do already may be reading it. */
static inline void rz_engine_share(void)
{
    if (!rz_engine_shared) {
        rz_engine_shared = true;
    }
}

/* Take and give up the one engine lock of this process. A waiting call gives it up while it
 * sleeps. */
void rz_engine_enter(void);
void rz_engine_leave(void);

/* An operation waits for something that rings no doorbell, a lock of another program: until it says
 * false, no sleep of a waiting call is longer than 1 ms. The lock is held. */
void rz_engine_looks(bool looks);

/* How many calls are inside the engine, with this one. The lock is held. */
unsigned rz_engine_callers(void);

/* How many calls have entered the engine so far. The lock is held. */
uint64_t rz_engine_entries(void);

/* Around a function of the user (attribute callbacks), which may call MPI. */
void rz_engine_unlock_for_user(void);
void rz_engine_lock_after_user(void);

/*
 * As above, with the lock held throughout, for functions that may only call inquiries (reductions).
 * While a function of the user runs below the library, a roll-back does not jump out of its thread.
 */
void rz_engine_user_begins(void);
void rz_engine_user_ended(void);

/*
 * The same for a reduction function, which may run anywhere below a call, with the lock held: calls
 * that communicate are refused meanwhile. Returns what rz_engine_reduction_ended takes.
 */
bool rz_engine_reduction_begins(void);
void rz_engine_reduction_ended(bool stopped);

/* A roll-back: waits until no other thread is inside a call. The waits of those threads have ended
 * already. */
void rz_engine_await_others(void);

/* The roll-back is over. The calling thread took part in it; every other thread that has called MPI
 * before gets an error at its next call. */
void rz_engine_came_back(void);

/* ---- Waiting ---- */

/*
 * Makes progress until done(arg). Sleeps when there are no events (core/wait_rule.h). MPI_SUCCESS
 * or RZM_ROLLBACK (as rz_engine_begin). Besides done, a wait ends by a failure, which completes
 * requests, and by a roll-back; stop word and lease end the process.
 */
int rz_engine_wait(const struct rz_blocked *blocked, bool (*done)(void *arg), void *arg);

/*
 * Waits until our board shows all of these processes: called before communicators are made of
 * processes that other processes named. Ends at the latest when the daemons have decided about
 * them. MPI_SUCCESS; MPI_ERR_OTHER: such slots are not in this job; RZM_ROLLBACK.
 */
int rz_engine_await(const uint32_t *process, int n, const char *call);

/* Gives the processor and the lock away once. */
void rz_engine_yield(void);

/* Whether a test that finds nothing (MPI_Test) gives the processor away: the awaited process may
 * need this very processor. */
static inline bool rz_engine_yields(void)
{
    const struct rz_wait_rule *rule = &rz_engine.waiting;
    return rule->oversubscribed || (rule->shared && rz_wait_yields_cheaply(rule));
}

#endif
