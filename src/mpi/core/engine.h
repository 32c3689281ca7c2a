/*
 * The engine of the library: one per process. It owns the link to the daemon, the transports, the
 * peers, the matcher and all living requests; it makes progress, waits, and notices deaths,
 * roll-backs and the end of the job.
 *
 * One lock for all of it, taken by the entry points when several threads may call
 * (rz_engine_shared). Everything below is called with that lock held.
 */
#ifndef RZ_MPI_ENGINE_H
#define RZ_MPI_ENGINE_H

#include <stdbool.h>

#include "link/link.h"
#include "mpi/p2p/match.h"
#include "net/net.h"

struct rz_comm;
struct rz_peer;
struct rz_request;

/* Whether several threads may call MPI (MPI_THREAD_MULTIPLE). Set in MPI_Init; entry points skip
 * the lock when false. */
extern bool rz_engine_shared;

/* Take and give up the one engine lock of this process. Chapter code gives it up while it sleeps.
 */
void rz_engine_enter(void);
void rz_engine_leave(void);

/* For chapter code that calls a function of the user (attribute callbacks), which may call MPI. */
void rz_engine_unlock_for_user(void);
void rz_engine_lock_after_user(void);

/* A transport that was opened. */
struct rz_path {
    const struct rz_net_ops *ops;
    struct rz_net *net; /* NULL: not open */
};

enum rz_path_kind { RZ_PATH_SHM, RZ_PATH_UCX, RZ_PATH_COUNT };

/* What this process knows of a rank of the job: the board's word as last dealt with, and the peer
 * if it ever sent there. */
struct rz_member {
    uint64_t word;        /* rz_board_rank_word */
    bool dead;            /* this incarnation is dead, and what was pending with it has ended */
    uint32_t home;        /* the node where it was when the epoch began */
    struct rz_peer *peer; /* of this incarnation; NULL: nothing was sent yet */
};

struct rz_engine {
    struct rz_link *link;
    const struct rz_link_info *info;
    const struct rz_board *board;
    uint32_t epoch;     /* the door: messages of other epochs are dropped */
    uint64_t news_seen; /* of the board */
    bool rollback; /* the job has moved on; every call returns RZM_ROLLBACK until rz_ft_reinit_wait
                    */
    bool reinit_open; /* inside MPIX_Reinit: deaths are nobody's error */
    uint32_t *dead;   /* [n_dead]: who died in this epoch, in the order in which it was learnt */
    uint32_t n_dead;
    uint32_t spin_max; /* rounds of looking before the first sched_yield */
    bool crowded;      /* this node carries more processes than processors */
    struct rz_path paths[RZ_PATH_COUNT];
    struct rz_member *members; /* [info->n_ranks] */
    struct rz_matcher matcher;
    struct rz_request *active; /* all requests that are not complete, newest first */
    struct rz_request *polled; /* those whose class has a poll function */
    uint64_t completions;      /* grows with each completed request */
    uint64_t last_call;        /* message.h: in epoch last_call - 1; 0: not yet */
    struct rz_engine_counters {
        uint64_t foreign, old_epoch, future_epoch,
            old_incarnation; /* messages dropped at the door, by reason */
        uint64_t sends, receives, unexpected, bytes_sent, bytes_received;
    } counters;
};

extern struct rz_engine rz_engine;

/*
 * What a blocked call waits for, for the hang report: told to the daemon (link/waits.h) when the
 * call first sleeps. `comm` may be NULL; `peer` is a world rank, MPI_ANY_SOURCE, or MPI_PROC_NULL
 * for "all of comm".
 */
struct rz_blocked {
    const char *call;
    const struct rz_comm *comm;
    uint64_t operation; /* the number of the collective operation in comm, 0: point-to-point */
    int peer, tag;      /* MPI_ANY_TAG where no single tag is meant */
};

/*
 * At the start of every chapter function that communicates, one load in the common case:
 * MPI_SUCCESS, or RZM_ROLLBACK when the job goes back to its restart point (everything pending has
 * then ended and names no memory any more).
 */
int rz_engine_begin(void);

/* With more processes than processors whoever spins keeps the one it waits for from running: when
 * an epoch begins. */
void rz_engine_look_at_crowd(void);

/* False: the first death ends the job (rzrun --no-ft). Then nobody will ever ask for what exists
 * only to outlive one: an agreement may be a plain reduction, a checkpoint need not be kept. */
static inline bool rz_engine_fault_tolerant(void)
{
    return rz_engine.board == NULL || rz_board_fault_tolerant(rz_engine.board);
}

/* Looks at transports, link and board once; the number of events. Never from inside a callback of a
 * transport. */
unsigned rz_engine_progress(void);

/*
 * Makes progress until done(arg). Sleeps when nothing moves. MPI_SUCCESS or RZM_ROLLBACK (as
 * rz_engine_begin). What can end it besides done: news of a death completes requests; a roll-back;
 * stop word or lease end the process.
 */
int rz_engine_wait(const struct rz_blocked *blocked, bool (*done)(void *arg), void *arg);

/* Gives the processor away once: in tests that found nothing, where processes outnumber processors.
 */
void rz_engine_yield(void);

/* Others agreed that this process of the job is dead, which our daemon has not told us yet. Not
 * from inside a callback of a transport. */
void rz_engine_learn_death(uint32_t process);

/* Deaths that were nobody's error are errors from now on: look at all of the board again. */
void rz_engine_look_again(void);

/* Ends the process at once: the daemon gone, the lease expired, the stop word set. Prints why, if
 * the user can act. */
_Noreturn void rz_engine_exit(rz_status_t why);

#endif
