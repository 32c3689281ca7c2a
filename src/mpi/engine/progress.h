/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress: polls the transports, the link to the daemon and the board, and does the work that is
 * due (hooks.h).
 */
#ifndef RZ_MPI_PROGRESS_H
#define RZ_MPI_PROGRESS_H

#include "mpi/impl.h"
#include "mpi/engine/liveness.h"

/* Polls transports, link and board once; returns the number of events. Never called from inside a
 * callback of a transport. */
unsigned rz_engine_progress(void);

/* The same for a caller that does nothing else until an event: it may work for other processes. */
static inline unsigned rz_engine_progress_waiting(void)
{
    rz_engine.waits = true;
    unsigned events = rz_engine_progress();
    rz_engine.waits = false;
    return events;
}

/* A round of progress in a local inquiry, so that a program that calls it repeatedly learns what is
 * new. None below a reduction function. */
static inline unsigned rz_engine_progress_inquiry(void)
{
    return rz_engine.reductions == 0 ? rz_engine_progress() : 0;
}

/* Checks what need not be checked in each round of progress: stop word, lease, broken connections,
 * messages of the daemon. Also before each sleep. */
void rz_engine_check(void);

/* From now on failures that ended no operation so far do so: reads all states of the board
 * again. */
void rz_engine_look_again(void);

/* Deals with what is new on the board. */
static inline void rz_engine_look(void)
{
    uint64_t news = atomic_load_explicit(&rz_engine.board->news, memory_order_acquire);
    if (__builtin_expect(news != rz_engine.news_seen, 0) && !rz_engine.rollback) {
        rz_engine_look_again();
    }
}

/* A safe point of a call, where it was found that the call must stop or end: lets the layer that
 * wants it stop the process here. As rz_engine_begin. */
int rz_engine_pause(void);

/*
 * Called at the start of every implementation function that communicates; one load in the common
 * case. MPI_SUCCESS, or RZM_ROLLBACK when the job rolls back to its restart point (all pending
 * operations have then ended and refer to no memory any more).
 */
static inline int rz_engine_begin(void)
{
    if (rz_engine.board) {
        rz_engine_look();
        if (rz_engine.info->waits) {
            rz_waits_alive(rz_engine.info->waits);
        }
    }
    return __builtin_expect(rz_engine.rollback | rz_engine.stops, 0) ? rz_engine_pause()
                                                                     : MPI_SUCCESS;
}

/* Whether nothing has happened that rz_engine_begin would deal with: then it has done what that
 * does. For calls that have another form for all other cases. */
static inline bool rz_engine_begin_calm(void)
{
    const struct rz_board *board = rz_engine.board;
    if (rz_engine.rollback | rz_engine.stops) {
        return false;
    }
    if (board) {
        if (atomic_load_explicit(&board->news, memory_order_acquire) != rz_engine.news_seen) {
            return false;
        }
        if (rz_engine.info->waits) {
            rz_waits_alive(rz_engine.info->waits);
        }
    }
    return true;
}

/* Calls that mostly end at once, without a look at the transports. A program may make no others for
 * long, while it waits for another process (it asks for a lock word) or another one for it: one of
 * so many makes a round of progress first. A power of two. */
enum { RZ_QUICK_PER_ROUND = 1024 };

/* Such a call. */
static inline void rz_engine_quick(void)
{
    if (__builtin_expect(rz_engine.quick++ % RZ_QUICK_PER_ROUND == 0, 0) && rz_engine.within == 0) {
        rz_engine_progress();
    }
}

/* As rz_engine_begin, for such a call. */
static inline int rz_engine_begin_quick(void)
{
    rz_engine_quick();
    return rz_engine_begin();
}

/* As rz_engine_begin_calm, for such a call. False, too: it is the turn of the other form, which
 * calls rz_engine_begin_quick, to make that round. */
static inline bool rz_engine_begin_quick_calm(void)
{
    return __builtin_expect(++rz_engine.quick % RZ_QUICK_PER_ROUND != 0, 1) &&
           rz_engine_begin_calm();
}

#endif
